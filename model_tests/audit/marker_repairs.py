"""Repairs for a missing marker that is elsewhere: under another producer's id, or behind later markers.

The missing marker of the transaction is one finding, and the marker where it stands is another. A repair states that
both are about one marker. The join has the data of a log up to each marker, not its batches, so it cannot be repeated
with the marker in its right place. Therefore the repair works on the two findings.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.diagnosis import Judge, Repair, diagnose
from model_tests.audit.findings import Finding
from model_tests.audit.repair_kinds import MARKER_PLACE, MARKER_PRODUCER, RepairKind
from model_tests.audit.transaction_findings import Located, is_misplaced, located, outcome_word
from model_tests.audit.transactions_join import Gap, JoinedTransaction, MarkedData
from model_tests.audit.transactions_judge import JudgedTransaction
from model_tests.audit.transactions_rows import marker_of, outcome_of
from model_tests.audit.transactions_summary import AuditedMarker
from model_tests.histories.severity import Severity
from spec.judging.judge_join import FARTHEST_CLOCKS_MS, agrees

Findings: TypeAlias = tuple[Finding, ...]
"""Findings of one log."""

MarkerRepair: TypeAlias = Repair[Findings, Finding]


def diagnose_markers(
    judged: Iterable[JudgedTransaction], loose: Sequence[MarkedData], found: Sequence[Located]
) -> tuple[list[JudgedTransaction], list[Located]]:
    """The transactions, and the findings about loose markers, except for markers that a transaction lacks.

    Args:
        judged: the transactions, each with what it lacks.
        loose: the markers of no transaction.
        found: what was found of them.
    """
    left, result = list(found), []
    for one in judged:
        own = list(one.findings)
        for gap, lacking in one.unmarked:
            here = tuple(each for place, each in left if place is gap.place)
            if here and lacking[1].severity is Severity.VIOLATION:
                cause, explained = _diagnosed(lacking[1], one, gap, loose, here)
                own[own.index(lacking)] = gap.place, cause
                left = [each for each in left if each[0] is not gap.place or each[1] not in explained]
        result.append(replace(one, findings=tuple(own)))
    return result, left


def _diagnosed(
    lacking: Finding, judged: JudgedTransaction, gap: Gap, loose: Sequence[MarkedData], here: Findings
) -> tuple[Finding, Findings]:
    """The finding that a marker is missing, or its cause; and the findings about markers that the cause explains."""
    ways = list(_ways(lacking, judged.one, gap, loose, here))
    evidence = (lacking, *(one for one in here if any(one in taken for *_, taken in ways)))
    repairs: Iterator[MarkerRepair] = (
        Repair(kind, (cause,), partial(_without, (lacking, *taken)), len(loose)) for kind, cause, taken in ways
    )
    places = len(gap.place.summary.markers) + len(gap.place.summary.runs)
    judge: Judge[Findings, Findings, Finding] = Judge(lambda held: held, len, lambda held: held, places)
    for one in diagnose(evidence, evidence, repairs, judge).explanations:
        (cause,) = one.causes
        return cause.causes([each for each in one.explained if each != cause]), one.explained
    return lacking, ()


def _ways(
    lacking: Finding, one: JoinedTransaction, gap: Gap, loose: Sequence[MarkedData], here: Findings
) -> Iterator[tuple[RepairKind, Finding, Findings]]:
    """The markers that may be the missing one, as its cause, each with the findings about it.

    It is the transaction's own marker in another place, or another producer's marker in the right place.
    """
    for ended in (each for each in loose if each.place is gap.place):
        marker = ended.marker
        offsets = {marker.offset, *(run.first_offset for run in ended.runs)}
        of = tuple(each for each in here if each.producer_id == marker.producer_id and each.offset in offsets)
        moved = [each for each in of if each.offset == marker.offset] if is_misplaced(ended, one) else []
        if moved:
            yield MARKER_PLACE, moved[0], (moved[0],)
        elif _is_named_otherwise(marker, one.known, gap):
            yield MARKER_PRODUCER, _misnamed(lacking, marker, one.known, gap), of


def _without(explained: Findings, held: Findings) -> Findings:
    """The findings without those that a repair explains, if all of those are among them."""
    return tuple(one for one in held if one not in explained) if set(explained) <= set(held) else held


def _is_named_otherwise(marker: AuditedMarker, known: CoordinatorTransaction, gap: Gap) -> bool:
    """The marker stands where the missing one should be, and differs from it in the producer id alone."""
    is_there = gap.after < marker.offset <= gap.before
    return is_there and bool(agrees(outcome_of(known), marker_of(marker), FARTHEST_CLOCKS_MS))


def _misnamed(lacking: Finding, marker: AuditedMarker, known: CoordinatorTransaction, gap: Gap) -> Finding:
    """The marker as the cause of the missing marker, and of the findings about it under the other id."""
    message = (
        f"the {outcome_word(marker.outcome)} marker has producer id {marker.producer_id}, for which nothing asks for "
        f"it, and is in all else what producer id {known.producer_id} lacks here"
    )
    _, named = located(gap.place, lacking.rule, marker.offset, known, message, lacking.step, lacking.remedy)
    return replace(named, producer_id=marker.producer_id)
