"""The chain on the page: `proof-chain` shows each link of the theorem, what breaks it, and what stays in words."""

from collections.abc import Iterator, Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, listed, prose, table

from spec.systems.assumptions import ids
from spec.systems.chain import LINKS, ChainLink


class ProofChain(SphinxDirective):
    """Two tables: what is proved of each link, and what stays in words."""

    def run(self) -> list[nodes.Node]:
        """Render both."""
        proved = [("link", "says", "shown", "takes no more", "discharges", "broken by"), *map(_proved, LINKS)]
        words = [("link", "both sides are instances of", "in words, not proved"), *map(_in_words, LINKS)]
        return [table(proved, (12, 26, 20, 16, 8, 18)), table(words, (14, 26, 60))]


def _proved(link: ChainLink) -> tuple[Cell, ...]:
    sides = (listed(_names(side)) for side in (link.shows, link.takes))
    return link.name, link.sentence, *sides, ", ".join(ids(link.discharges)), str(link.control)


def _in_words(link: ChainLink) -> tuple[Cell, ...]:
    formula = nodes.literal("", link.formula) if link.formula else ""
    return link.name, formula, prose(link.in_words)


def _names(side: Mapping[str, tuple[str, ...]]) -> Iterator[nodes.Node]:
    return (nodes.literal("", f"{system}.{name}") for system, names in side.items() for name in names)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("proof-chain", ProofChain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
