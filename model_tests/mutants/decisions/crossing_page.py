"""The crossing as a page of the docs: a row for each decision, a column for each layer, and why some are not seen."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from model_tests.mutants.decisions.crossing import CrossingCell, Sight
from model_tests.mutants.decisions.crossing_reasons import BY_LAYER, FEW, UNNAMED
from spec.rules import RULES

ENOUGH: Final = 2
"""So many layers must see a decision broken, or it is said why not."""

_MARKS: Final[Mapping[Sight, str]] = {
    Sight.UNSEEN: "unnamed",
    Sight.ALIKE: "alike",
    Sight.UNREAD: "",
    Sight.UNTRIED: "?",
}


def by_decision(cells: Sequence[CrossingCell]) -> dict[str, dict[str, CrossingCell]]:
    """The cells of each decision, by layer."""
    rows: dict[str, dict[str, CrossingCell]] = {}
    for cell in cells:
        rows.setdefault(cell.decision, {})[cell.layer] = cell
    return rows


def seen_by(row: Mapping[str, CrossingCell]) -> tuple[str, ...]:
    """The layers that see a decision broken."""
    return tuple(layer for layer, cell in row.items() if cell.sight is Sight.SEEN)


def seen_by_few(cells: Sequence[CrossingCell]) -> dict[str, str]:
    """The decisions that fewer layers detect than must, each with the reason: empty where none was given."""
    rows = by_decision(cells).items()
    return {name: why_few(name, row) for name, row in rows if len(seen_by(row)) < ENOUGH}


def unnamed(cells: Sequence[CrossingCell]) -> tuple[CrossingCell, ...]:
    """The cells in which mutants decide otherwise, and no rule is named."""
    return tuple(cell for cell in cells if cell.sight is Sight.UNSEEN)


def page(cells: Sequence[CrossingCell]) -> str:
    """The page as Markdown."""
    rows = by_decision(cells)
    return "\n".join((*_opening(rows), *_table(rows), *_few(rows), *_unnamed(cells), *_alike(cells))) + "\n"


def _opening(rows: Mapping[str, Mapping[str, CrossingCell]]) -> Iterator[str]:
    counts = [len(seen_by(row)) for row in rows.values()]
    enough = sum(count >= ENOUGH for count in counts)
    yield from ("---", "hide-toc: true", "---", "")
    yield "# Crossing of decisions and layers"
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


def why_few(decision: str, row: Mapping[str, CrossingCell]) -> str:
    """Why few layers see a decision: by its own name or its family's, or that not every layer was run."""
    untried = [layer for layer, cell in row.items() if cell.sight is Sight.UNTRIED]
    if untried:
        return f"not yet asked are {', '.join(untried)}"
    return FEW.get(decision) or FEW.get(decision.partition(".")[0], "")


def why_unnamed(cell: CrossingCell) -> str:
    """Why a layer names no rule: of this decision, its family, or all that it reads; empty where none was given."""
    names = (cell.decision, cell.decision.partition(".")[0])
    own = next((UNNAMED[name, cell.layer] for name in names if (name, cell.layer) in UNNAMED), "")
    return own or BY_LAYER.get(cell.layer, "")


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
