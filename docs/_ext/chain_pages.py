"""The chain on the page: each link of the theorem, what breaks it, what stays in words, and what is assumed."""

from collections.abc import Iterator, Mapping

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, folded, listed, prose, table

from model_tests.verify.chain import assumed
from spec.systems.assumptions import Assumption, ids
from spec.systems.chain import LINKS, ChainLink


class ProofChain(SphinxDirective):
    """Two tables: what is proved of each link, and what stays in words."""

    def run(self) -> list[nodes.Node]:
        """Render both."""
        proved = [("link", "says", "shown", "takes no more", "discharges", "broken by"), *map(_proved, LINKS)]
        words = [("link", "both sides are instances of", "in words, not proved"), *map(_in_words, LINKS)]
        return [table(proved, (12, 26, 20, 16, 8, 18)), table(words, (14, 26, 60))]


class ChainAssumptions(SphinxDirective):
    """What the theorem assumes, folded: each assumption beside what breaks a claim without it."""

    def run(self) -> list[nodes.Node]:
        """Render the table."""
        rows = [("", "assumption", "broken without it by"), *map(_assumption, taken := assumed())]
        return folded(f"Its {len(taken)} assumptions, each beside its control", table(rows, (6, 54, 40), kind="index"))


def _assumption(assumption: Assumption) -> tuple[Cell, ...]:
    controls = "; ".join(map(str, assumption.controls))
    return assumption.id, assumption.statement, controls or f"no control: {assumption.no_control}"


def _proved(link: ChainLink) -> tuple[Cell, ...]:
    sides = (listed(_names(side)) for side in (link.shows, link.takes))
    return link.name, link.sentence, *sides, ", ".join(ids(link.discharges)), str(link.control)


def _in_words(link: ChainLink) -> tuple[Cell, ...]:
    formula = nodes.literal("", link.formula) if link.formula else ""
    return link.name, formula, prose(link.in_words)


def _names(side: Mapping[str, tuple[str, ...]]) -> Iterator[nodes.Node]:
    return (nodes.literal("", f"{system}.{name}") for system, names in side.items() for name in names)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("chain-assumptions", ChainAssumptions)
    app.add_directive("proof-chain", ProofChain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
