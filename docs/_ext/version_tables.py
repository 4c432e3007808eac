"""Releases side by side: `versions` shows every behaviour under every profile, `behaviours` what each means.

The sentences are those of the profile's own documentation; a behaviour without one fails the build.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, listed, prose, table

from spec.versions import NEWEST, PROFILES, SPLIT_OUT_OF_ORDER, Profile

DECISIONS: Final = Path(__file__).parents[2] / "spec" / "protocol"
NAME: Final = "name"
ALTERED: Final = {"3.9.0-nover": "3.9.0", SPLIT_OUT_OF_ORDER.name: NEWEST.name}
"""Profiles that are another one with a setting or a proposal, and which; every other follows the one before it."""

BEHAVIOURS: Final = tuple(part.name for part in fields(Profile) if part.name != NAME)


@lru_cache(maxsize=1)
def sentences() -> Mapping[str, str]:
    """What the documentation of profiles says of each behaviour.

    Raises:
        ValueError: it says nothing of one, or of one that there is not.
    """
    attributes = cleandoc(Profile.__doc__ or "").partition("Attributes:\n")[2]
    items = re.split(r"^    (?=\w+: )", attributes, flags=re.MULTILINE)
    reported = {
        name: " ".join(text.split()) for name, _, text in (item.partition(": ") for item in items if item.strip())
    }
    wrong = set(reported) ^ {NAME, *BEHAVIOURS}
    if wrong or not all(reported.values()):
        raise ValueError(f"spec.versions.Profile does not document its fields one by one: {', '.join(sorted(wrong))}")
    return reported


def before(profile: Profile) -> Profile | None:
    """The profile that one is compared with: what it alters, else the release before it; none for the oldest."""
    if profile.name in ALTERED:
        return PROFILES[ALTERED[profile.name]]
    plain = [other for other in PROFILES.values() if other.name not in ALTERED]
    return next((old for old, new in pairwise(plain) if new is profile), None)


def value_text(value: object) -> str:
    """A value of a behaviour."""
    return {True: "yes", False: "·"}[value] if isinstance(value, bool) else str(value)


@lru_cache(maxsize=1)
def readers() -> Mapping[str, tuple[str, ...]]:
    """For each behaviour the functions of the decisions that read it."""
    found: dict[str, list[str]] = {name: [] for name in BEHAVIOURS}
    for path in sorted(DECISIONS.glob("*.py")):
        for function in _functions(path):
            for name in dict.fromkeys(_read(function)):
                found[name].append(f"{path.stem}.{function.name}")
    return {name: tuple(where) for name, where in found.items()}


def _functions(path: Path) -> Iterator[ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _read(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        is_profile = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "profile"
        if is_profile and isinstance(node, ast.Attribute) and node.attr in BEHAVIOURS:
            yield node.attr


class Versions(SphinxDirective):
    """A row for each behaviour that profiles differ in, a column for each profile; what changed is marked."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        head: tuple[Cell, ...] = ("behaviour", *PROFILES)
        rows = [self._row(name) for name in BEHAVIOURS if differs(name)]
        return [table([head, *rows], (), kind="versions")]

    def _row(self, name: str) -> tuple[Cell, ...]:
        return behaviour_link(name), *(_cell(profile, name) for profile in PROFILES.values())


def differs(name: str) -> bool:
    """Whether some profile has another value than the others."""
    return len({getattr(profile, name) for profile in PROFILES.values()}) > 1


def behaviour_link(name: str) -> nodes.Node:
    """The name of a behaviour, as a link to its sentence on the same page."""
    return nodes.reference("", "", nodes.literal("", name), refid=_anchor(name), internal=True)


def _anchor(name: str) -> str:
    return f"behaviour-{nodes.make_id(name)}"


def _cell(profile: Profile, name: str) -> nodes.inline:
    value, old = getattr(profile, name), before(profile)
    changed = old is not None and getattr(old, name) != value
    kind = ["cell-off"] if value is False else []
    text = "no" if changed and value is False else value_text(value)
    return nodes.inline("", text, classes=[*kind, *(["cell-differs"] if changed else [])])


class Behaviours(SphinxDirective):
    """What each behaviour means, where it changed, and which decisions read it."""

    def run(self) -> list[nodes.Node]:
        """Render the list."""
        return [nodes.definition_list("", *(self._item(name) for name in BEHAVIOURS), classes=["behaviours"])]

    def _item(self, name: str) -> nodes.definition_list_item:
        term = nodes.term("", "", nodes.literal("", name), ids=[_anchor(name)])
        meaning = nodes.paragraph("", "", prose(_capital(sentences()[name])))
        return nodes.definition_list_item("", term, nodes.definition("", meaning, _changes(name), _readers(name)))


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _changes(name: str) -> nodes.paragraph:
    changed = [
        f"{profile.name}: {_reported(getattr(profile, name))}"
        for profile in PROFILES.values()
        if (old := before(profile)) is None or getattr(old, name) != getattr(profile, name)
    ]
    return nodes.paragraph("", "; ".join(changed), classes=["changes"])


def _reported(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _readers(name: str) -> nodes.paragraph:
    reading = readers()[name]
    where = listed(nodes.literal("", place) for place in reading) if reading else nodes.Text("no decision")
    return nodes.paragraph("", "", nodes.Text("Read by "), where, classes=["changes"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives, and refuse to build where a behaviour is without its sentence."""
    app.add_directive("versions", Versions)
    app.add_directive("behaviours", Behaviours)
    app.connect("builder-inited", lambda _: sentences())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
