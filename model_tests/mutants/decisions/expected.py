"""What is expected of the layers: enough of them detect each decision broken, and one that reads it names a rule.

The exceptions are listed, each with its reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from model_tests.mutants.decisions.crossing import CrossingCell, Sight
from model_tests.mutants.decisions.hunting import MutantFate
from model_tests.mutants.decisions.layers import AUDIT, KNOWN_BUGS, NAMING, PROOFS, SEARCHES, SESSIONS
from model_tests.mutants.decisions.made import mutants
from model_tests.mutants.decisions.mutation_loop import MutationResults

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

MOST_GAPS: Final = 0.02
"""Of all mutants at most so many may be detected by nothing and explained by nothing; measured: 45 of 2,875."""


def shortcomings(results: MutationResults) -> tuple[str, ...]:
    """What a run of all mutants in all layers has found that is not as expected, a line each."""
    return tuple(_shortcomings(results))


def _shortcomings(results: MutationResults) -> Iterator[str]:
    cells = results.cells_of(mutants(), NAMING)
    for name, why in seen_by_few(cells).items():
        if not why:
            yield f"{name}: fewer than {ENOUGH} layers see it broken, and no reason is given"
    left = unnamed(cells)
    for cell in left:
        if not why_unnamed(cell):
            yield f"{cell.decision}: {cell.layer} name no rule where mutants decide otherwise, and no reason is given"
    of_cells = {(name, cell.layer) for cell in left for name in (cell.decision, cell.decision.partition(".")[0])}
    for name, layer in (each for each in UNNAMED if each not in of_cells):
        yield f"{name}: {layer} name a rule, but a reason is given why they do not"
    fates = results.fates_of(mutants())
    untried = [each for each in fates if each.fate is MutantFate.UNTRIED]
    if untried:
        yield f"{len(untried):,} of {len(fates):,} mutants have not been tried in every layer"
    gaps = [each for each in fates if each.fate is MutantFate.GAP]
    if len(gaps) > MOST_GAPS * len(fates):
        yield f"{len(gaps):,} of {len(fates):,} mutants are detected by nothing, more than {MOST_GAPS:.0%}"


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
