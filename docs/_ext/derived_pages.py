"""The pages of what becomes of mutants: written in each build from `build/mutants`, as far as it is not stale."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from sphinx.application import Sphinx

from model_tests.mutants.decisions import crossing_page, states, table

PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "mutants": lambda: table.page(table.read()),
        "mutant_states": lambda: states.page(states.read()),
        "crossing": lambda: crossing_page.page(crossing_page.read_cells()),
    }
)
"""What each page says, as Markdown; its file among the docs holds its title alone."""


def written(_: Sphinx, name: str, source: list[str]) -> None:
    """Put what the table says in the place of the file's text.

    Args:
        name: of the page.
        source: its text, the only entry.
    """
    if name in PAGES:
        source[0] = PAGES[name]()


def setup(app: Sphinx) -> dict[str, bool]:
    """Have pages written when they are read."""
    app.connect("source-read", written)
    return {"parallel_read_safe": True}
