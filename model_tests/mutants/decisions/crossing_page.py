"""The crossing: its table, and its page of the docs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final

from model_tests.common.derived import DerivedTable, Row
from model_tests.mutants.decisions import table
from model_tests.mutants.decisions.crossing import CrossingCell, Sight
from model_tests.mutants.decisions.expected import (
    ENOUGH,
    by_decision,
    seen_by,
    seen_by_few,
    unnamed,
    why_unnamed,
)
from spec.rules import RULES

CROSSING: Final = DerivedTable(table.DIRECTORY / "crossing.json", table.RENEW, table.of_decisions)
"""A line for each decision and layer."""


def read_cells(path: Path | None = None) -> tuple[CrossingCell, ...]:
    """The cells without what is stale; none where nothing was run.

    Args:
        path: another table than that of the last runs.
    """
    return tuple(map(_cell, CROSSING.fresh(lambda row: (row["decision"],), path)))


def write_cells(cells: Iterable[CrossingCell], path: Path | None = None) -> None:
    """A line for each cell, under the digests of the decisions as they are now.

    Args:
        cells: one for every decision and layer.
        path: another place.
    """
    CROSSING.write(map(asdict, cells), path=path)


def _cell(row: Row) -> CrossingCell:
    known = {part.name: row[part.name] for part in fields(CrossingCell) if part.name in row}
    return CrossingCell(**{**known, "sight": Sight(row["sight"]), "rules": tuple(row.get("rules", ()))})


TITLE: Final = "# Crossing of decisions and layers"

_MARKS: Final[Mapping[Sight, str]] = {
    Sight.UNSEEN: "unnamed",
    Sight.ALIKE: "alike",
    Sight.UNREAD: "",
    Sight.UNTRIED: "?",
}


def page(cells: Sequence[CrossingCell]) -> str:
    """The page as Markdown; without cells it says how to make them."""
    rows = by_decision(cells)
    if not rows:
        return f"{TITLE}\n\n{table.tried_of(0)}"
    return "\n".join((*_opening(rows), *_table(rows), *_few(rows), *_unnamed(cells), *_alike(cells))) + "\n"


def _opening(rows: Mapping[str, Mapping[str, CrossingCell]]) -> Iterator[str]:
    counts = [len(seen_by(row)) for row in rows.values()]
    enough = sum(count >= ENOUGH for count in counts)
    yield from ("---", "hide-toc: true", "---", "")
    yield TITLE
    yield ""
    yield f"Which layers would detect a broken decision? Some mutants of each of the {len(rows)} decisions and"
    yield "tables are tried by every layer that reads it, until it names a rule: recorded sessions replayed, steps"
    yield "of the reference's traces judged, small systems searched, known bugs searched for, proofs of systems and of"
    yield "facts that hold for all inputs of a decision, and the audit of logs: recorded ones, some with a defect, and"
    yield "small ones written for what no recording has."
    yield f"{enough} decisions are seen broken by {ENOUGH} layers or more, {counts.count(1)} by one,"
    yield f"{counts.count(0)} by none of these."
    yield ""
    yield "| layer | decisions that it reads | seen broken there |"
    yield "| --- | ---: | ---: |"
    for layer in next(iter(rows.values())):
        column = [row[layer] for row in rows.values()]
        read = sum(cell.sight not in (Sight.UNREAD, Sight.UNTRIED) for cell in column)
        seen = sum(cell.sight is Sight.SEEN for cell in column)
        yield f"| {layer} | {read} | {seen} |"
    yield ""


def _table(rows: Mapping[str, Mapping[str, CrossingCell]]) -> Iterator[str]:
    layers = tuple(next(iter(rows.values())))
    yield "A cell has the first rule that was named. *Goal* is a search that names none, but no longer reaches what it"
    yield "must; *unnamed*, mutants decide otherwise in the layer and no rule is named; *alike*, no mutant decides"
    yield "otherwise there; an empty cell, the layer does not ask this decision."
    untried = sum(cell.sight is Sight.UNTRIED for row in rows.values() for cell in row.values())
    if untried:
        yield f"*?* are {untried} cells that have not been looked for yet."
    yield ""
    yield f"| decision | {' | '.join(layers)} |"
    yield f"| --- |{' --- |' * len(layers)}"
    for decision, row in rows.items():
        yield f"| `{decision}` | {' | '.join(_word(row[layer]) for layer in layers)} |"
    yield ""


def _word(cell: CrossingCell) -> str:
    if cell.sight is not Sight.SEEN:
        return _MARKS[cell.sight]
    return next((rule for rule in cell.rules if rule in RULES), "goal")


def _few(rows: Mapping[str, Mapping[str, CrossingCell]]) -> Iterator[str]:
    few = seen_by_few([cell for row in rows.values() for cell in row.values()])
    yield f"## Seen by fewer than {ENOUGH} layers: {len(few)}"
    yield ""
    for name, why in few.items():
        yield f"- `{name}`, seen by {', '.join(seen_by(rows[name])) or 'none'}: {why}"
    yield ""


def _unnamed(cells: Sequence[CrossingCell]) -> Iterator[str]:
    left = unnamed(cells)
    yield f"## Read, and no rule named: {len(left)}"
    yield ""
    for cell in left:
        tried = f"{cell.distinguishing} of {cell.put} mutants decide otherwise there, judged {cell.met} times"
        yield f"- `{cell.decision}`, {cell.layer} ({tried}): {why_unnamed(cell)}"
    yield ""


def _alike(cells: Sequence[CrossingCell]) -> Iterator[str]:
    left = [cell for cell in cells if cell.sight is Sight.ALIKE]
    yield f"## Read where no mutant decides otherwise: {len(left)}"
    yield ""
    yield from (f"- `{cell.decision}`, {cell.layer}: alike in every call, all {cell.put} mutants" for cell in left)
    yield ""
