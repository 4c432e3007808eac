"""The crossing: its table, the reasons of what is not seen, and its page of the docs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import MappingProxyType
from typing import Final

from model_tests.common.derived import DerivedTable, Row
from model_tests.mutants.decisions import table
from model_tests.mutants.decisions.crossing import CrossingCell, Sight
from model_tests.mutants.decisions.layers import AUDIT, KNOWN_BUGS, PROOFS, SEARCHES, SESSIONS
from spec.rules import RULES

CROSSING: Final = DerivedTable(Path(__file__).parent / "crossing.json", "make tables", table.of_decisions)
"""A line for each decision and layer."""


def read_cells(path: Path | None = None) -> tuple[CrossingCell, ...]:
    """The cells as they were written, but for what is stale.

    Args:
        path: another table than the one beside the code.
    """
    cells = tuple(map(_cell, CROSSING.rows(path)))
    stale = CROSSING.stale(path)
    return tuple(cell for cell in cells if cell.decision not in stale)


def write_cells(cells: Iterable[CrossingCell], path: Path | None = None) -> None:
    """A line for each cell, under the digests of the decisions as they are now.

    Args:
        cells: one for every decision and layer.
        path: another place than the one beside the code.
    """
    CROSSING.write(map(asdict, cells), path=path)


def _cell(row: Row) -> CrossingCell:
    known = {part.name: row[part.name] for part in fields(CrossingCell) if part.name in row}
    return CrossingCell(**{**known, "sight": Sight(row["sight"]), "rules": tuple(row.get("rules", ()))})


BY_LAYER: Final[Mapping[str, str]] = MappingProxyType(
    {
        SEARCHES: "what these mutants change breaks no claim of the systems, and all that must happen still does",
        KNOWN_BUGS: "each case asks about one claim, which what these mutants change does not touch",
        PROOFS: "what is proved is safety, and every lemma holds under these mutants too",
        AUDIT: "a log shows which batches were appended and the state after them, and no answer or refusal",
    }
)
"""Of layers that ask about something in particular; sessions and traces hold every answer and every state."""

UNNAMED: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("completing.is_given_up", SESSIONS): "a marker that is sent again is refused again, without an answer",
        ("fence.asks_as_leader", SESSIONS): "who is not confirmed is refused before the log, and nothing is a copy",
        ("registering.client_version", SESSIONS): "no answer shows the version, and the end of the transaction says it",
        ("seq.continues_forgotten", SESSIONS): "no recorded broker is of 2.0 to 2.4, which alone decide so",
        ("seq.unknown_error", SESSIONS): "every recorded broker takes any first sequence, and returns no error",
        ("ending._own_version", SESSIONS): "no answer shows the version that the coordinator writes down",
        ("ids._written_version", SESSIONS): "no answer shows the version that the coordinator writes down",
        ("registering._written_version", SESSIONS): "no answer shows the version that the coordinator writes down",
        ("groups._dead_guard", SESSIONS): "no recorded group is dead on the coordinator that is asked",
        ("electing.is_empty", AUDIT): "no replica is eligible in the recorded cluster, which is of 3.9",
        ("electing._leads_again", AUDIT): "an audit checks whether a replica is fit to lead; the last leader is not",
        ("coordinator", AUDIT): "some request leads from one record to the next under these mutants too",
        ("ending", AUDIT): "some request leads from one record to the next under these mutants too",
        ("ids", AUDIT): "some request leads from one record to the next under these mutants too",
    }
)
"""By decision or family, and layer, where mutants decide otherwise."""

FEW: Final[Mapping[str, str]] = MappingProxyType(
    {
        "verification_queue": "only small inputs and unit tests: no system, trace or recording has such a queue",
        "cleaning.stays_empty": "unit tests alone: no system of the cleaner has rounds",
        "completing.is_dropped": "only the search for the known bug has partitions without a leader",
        "coordinator_steps.LOGGED_AS": "unit tests alone: no recorded or simulated log refuses a record",
        "coordinator_steps.PASSED_ON": "unit tests alone: no recorded or simulated log refuses a record",
        "coordinator_steps.not_logged": "unit tests alone: no recorded or simulated log refuses a record",
        "ending._own_version": "only the steps of traces have the version that is written down",
        "ids._written_version": "only the steps of traces have the version that is written down",
        "registering._written_version": "only the steps of traces have the version that is written down",
        "groups.epoch_guards": "only a fact for all inputs: no system, trace or recording has KIP-848",
        "groups._dead_guard": "only a fact for all inputs: no recorded or searched group is dead on its coordinator",
        "groups._with_dead": "no recorded or searched group is dead on its coordinator, and no fact is about the order",
        "groups.sync_guards": "no recorded or searched member syncs where its mutants decide otherwise",
        "committing._unnamed": "no recorded client commits for a group without a name, and the systems name theirs",
        "completing.is_given_up": "its sender alone knows that a marker is sent no more: sent again it is refused",
        "coordinator.look_up": "all but the proofs look tables up by numbers; the mutants look up terms otherwise",
        "finding.hash_of": "only the audit asks where a name belongs; the solver is asked about hashes, not names",
        "judge_clients": "only histories that clients wrote are judged by it",
        "judge_join": "only logs have other clocks, operators, and copies that lack what others have",
        "judge_orphans": "only the audit has the log of the controller that elected coordinators",
        "verification.UNAVAILABLE": "no recorded coordinator was unavailable when a leader asked it",
    }
)
"""By decision, or by family where it is the same for all."""


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
