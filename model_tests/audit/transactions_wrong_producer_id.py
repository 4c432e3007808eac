"""A marker that a transaction lacks and that is elsewhere: under another producer's id, or behind later markers."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.transaction_findings import Located, located, outcome_word
from model_tests.audit.transactions_gaps import reported_at
from model_tests.audit.transactions_join import Gap, MarkedData
from model_tests.audit.transactions_judge import JudgedTransaction
from model_tests.audit.transactions_misplaced import found_misplaced, with_lacking
from model_tests.audit.transactions_rows import marker_of, outcome_of
from model_tests.audit.transactions_summary import AuditedMarker
from model_tests.histories.severity import Severity
from spec.judging.judge_join import FARTHEST_CLOCKS_MS, agrees
from spec.vocabulary import Api


def with_misnamed(
    judged: Iterable[JudgedTransaction], loose: Sequence[MarkedData], found: Sequence[Located]
) -> tuple[list[JudgedTransaction], list[Located]]:
    """The transactions, and what was found of the markers of none that are not what one of these lacks.

    Args:
        judged: with what is missing of each transaction.
        loose: the markers of no transaction.
        found: what was found of them.
    """
    left, result = list(found), []
    for one in judged:
        own = list(one.findings)
        if not own or not left:
            result.append(one)
            continue
        for gap in one.one.gaps:
            lacking = next((each for each in own if _is_of_gap(each, gap)), None)
            if lacking is None:
                continue
            moved = found_misplaced(one.one, gap.place, loose, left)
            named = _named_otherwise(one.one.known, gap, loose, left)
            if moved is not None:
                left = [each for each in left if each is not moved]
                own[own.index(lacking)] = with_lacking(moved, lacking)
            elif named is not None:
                marker, its = named
                left = [each for each in left if each not in its]
                own[own.index(lacking)] = _misnamed(lacking, its, marker, one.one.known)
        result.append(replace(one, findings=tuple(own)))
    return result, left


def _is_of_gap(each: Located, gap: Gap) -> bool:
    place, finding = each
    is_there = place is gap.place and finding.offset == reported_at(gap)
    return is_there and finding.step == Api.WRITE_TXN_MARKERS and finding.severity is Severity.VIOLATION


def _named_otherwise(
    known: CoordinatorTransaction, gap: Gap, loose: Iterable[MarkedData], found: Iterable[Located]
) -> tuple[AuditedMarker, list[Located]] | None:
    """The marker of another producer that has all else of the missing one, and what was found of it."""
    for ended in loose:
        marker = ended.marker
        is_there = ended.place is gap.place and gap.after < marker.offset <= gap.before
        if not is_there or not agrees(outcome_of(known), marker_of(marker), FARTHEST_CLOCKS_MS):
            continue
        offsets = {marker.offset, *(run.first_offset for run in ended.runs)}
        its = [
            (place, one)
            for place, one in found
            if place is gap.place and one.producer_id == marker.producer_id and one.offset in offsets
        ]
        if its:
            return marker, its
    return None


def _misnamed(
    lacking: Located, found: Iterable[Located], marker: AuditedMarker, known: CoordinatorTransaction
) -> Located:
    """The marker as the cause of what its transaction lacks, and of what was found of it under the other id."""
    place, finding = lacking
    message = (
        f"the {outcome_word(marker.outcome)} marker has producer id {marker.producer_id}, for which nothing asks for "
        f"it, and is in all else what producer id {known.producer_id} lacks here"
    )
    at, remedy = marker.offset, finding.remedy
    of, named = located(place, finding.rule, at, known, message, finding.step, remedy, marker.producer_epoch)
    named = replace(named, producer_id=marker.producer_id)
    return of, named.causes([finding, *(one for _, one in found)])
