"""Where each answer is known from: `source-counts` counts, `source-tables` shows guards by releases, with every row.

The rows are those of `spec/sources`; a guard without a row, or a row without a guard, fails the build.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from tables import Cell, folded, table

from spec.sources.decisions import DECISIONS, RELEASED, answers
from spec.sources.table import OF_RELEASES, SourceRow, Support, files, known, rows, support_of

SHOWN: Final[Mapping[Support, str]] = {
    Support.SOURCE: "source",
    Support.RECORDING: "recorded",
    Support.UNMET: "·",
    Support.WRONG: "wrong",
    Support.UNSUPPORTED: "nothing",
}
"""A cell, by how the answer is known; one that is empty is of a guard that the release does not have."""

COUNTED: Final[Mapping[Support, str]] = {
    Support.SOURCE: "by a method of the release's source",
    Support.RECORDING: "by a recorded broker of the release alone",
    Support.UNMET: "shown to be met by nothing that the release can be sent",
    Support.WRONG: "contradicted by the release's source, and not yet corrected",
    Support.UNSUPPORTED: "supported by nothing",
}

RELEASES: Final = tuple(profile.name for profile in RELEASED)


def named(decision: str) -> list[tuple[str, str]]:
    """Guards of a decision with each of their answers, in the order of the newest release that has them."""
    found = dict.fromkeys((cell.guard, cell.answer) for cell in known().support if cell.decision == decision)
    order = list(answers(decision, RELEASED[-1])) if decision in DECISIONS else []
    return sorted(found, key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))


def supports(decision: str, guard: str, answer: str) -> Iterator[str]:
    """How the answer is known, release by release; empty where the release does not give it."""
    by_cell = {
        cell.release: support_of(found)
        for cell, found in known().support.items()
        if (cell.decision, cell.guard, cell.answer) == (decision, guard, answer)
    }
    yield from (SHOWN[by_cell[release]] if release in by_cell else "" for release in RELEASES)


def reported(row: SourceRow) -> str:
    """Where a row's answer is known from, and what is so instead."""
    place = f"{row.at} ({', '.join(paths(row))})" if row.at else ""
    recorded = f"recorded sessions of {row.note}" if row.support is Support.RECORDING else row.note
    sentence = {Support.WRONG: f"wrong: {row.note}", Support.UNMET: f"met by nothing: {row.note}"}.get(
        row.support, recorded
    )
    return "; ".join(part for part in (sentence, place) if part)


def spanned(row: SourceRow) -> str:
    """The releases of a row."""
    return row.first if row.first == row.last else f"{row.first} to {row.last}"


def paths(row: SourceRow) -> list[str]:
    """The files that have the method, in the releases of the row."""
    by_release = files()[row.holder]
    return list(dict.fromkeys(by_release[profile.name] for profile in row.releases if profile.name in by_release))


def counts() -> list[str]:
    """How many answers are known how."""
    found = known().count()
    return [f"{found[kind]} {words}" for kind, words in COUNTED.items()]


class SourceCounts(SphinxDirective):
    """Answers by how they are known: those that nothing supports too."""

    def run(self) -> list[nodes.Node]:
        """Render the list."""
        total = nodes.paragraph("", f"{len(known().support)} answers of guards and values of behaviours are known:")
        items = (nodes.list_item("", nodes.paragraph("", line)) for line in counts())
        return [total, nodes.bullet_list("", *items)]


class SourceTables(SphinxDirective):
    """For each decision guards by releases, and the rows behind the cells."""

    def run(self) -> list[nodes.Node]:
        """Render the tables."""
        sections: list[nodes.Node] = []
        for decision in (*DECISIONS, OF_RELEASES):
            section = nodes.section(ids=[nodes.make_id(f"source-{decision}")], names=[f"source {decision}"])
            section += nodes.title("", "", nodes.literal("", decision))
            section += _matrix(decision)
            section += folded("where each is known from", _rows(decision))
            sections.append(section)
        return sections


def _matrix(decision: str) -> nodes.table:
    head: tuple[Cell, ...] = ("guard", "answers", *RELEASES)
    body = [
        (nodes.literal("", guard), answer, *(_cell(support) for support in supports(decision, guard, answer)))
        for guard, answer in named(decision)
    ]
    return table([head, *body], (), kind="versions")


def _cell(support: str) -> Cell:
    if support in (SHOWN[Support.WRONG], SHOWN[Support.UNSUPPORTED]):
        return nodes.inline("", support, classes=["cell-differs"])
    return nodes.inline("", support, classes=["cell-off"] if support == SHOWN[Support.UNMET] else [])


def _rows(decision: str) -> nodes.table:
    body: list[tuple[Cell, ...]] = [
        (nodes.literal("", row.guard), row.answer, spanned(row), reported(row))
        for row in rows()
        if row.decision == decision
    ]
    return table([("guard", "answers", "releases", "known from"), *body], (15, 15, 15, 55))


def refuse_gaps(_: Sphinx) -> None:
    """Stop the build where the table is incomplete.

    Raises:
        ExtensionError: something has no row, or a row is about nothing.
    """
    gaps = [f"{cell.decision}.{cell.guard} in {cell.release}" for cell in known().missing]
    gaps += [row.place for row in known().superfluous]
    if gaps:
        raise ExtensionError(f"spec/sources does not fit the decisions: {'; '.join(gaps)}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives, and refuse to build with gaps."""
    app.add_directive("source-counts", SourceCounts)
    app.add_directive("source-tables", SourceTables)
    app.connect("builder-inited", refuse_gaps)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
