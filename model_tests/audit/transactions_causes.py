"""One cause, one finding: a partition's own findings that the join with the coordinator's log explains are merged."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from model_tests.audit.findings import Finding
from model_tests.audit.transactions_summary import DataRun
from model_tests.histories.severity import Severity
from spec import rules
from spec.vocabulary import ABSENT, Api

_OF_EPOCHS: Final = (rules.FENCE_STALE_EPOCH, rules.FENCE_EPOCH_MONOTONE, rules.SEQ_EPOCH_RESET)
"""A partition's own findings after a batch with an epoch that is not its transaction's."""

_BESIDE: Final = (rules.SEQ_STATE_RECOVERABLE, rules.LSO_ABORTED_INDEX)
"""Rules about the files that a broker keeps beside its log."""

_OF_SEQUENCES: Final = (rules.SEQ_SUCCESSOR, rules.SEQ_EXACTLY_ONCE)


def with_joined(held: Sequence[Finding], finding: Finding) -> list[Finding]:
    """The findings of a log with one of the join's; those of the same cause become part of it."""
    same = next((one for one in held if _same_cause(one, finding)), None)
    if same is None:
        return [*held, finding]
    if finding.offset in same.elsewhere:
        lacks = f"producer id {same.producer_id} lacks its sequences at offset {same.offset}: {same.message}"
        merged = replace(finding, message=f"{finding.message}; {lacks}", others=(same.producer_id,))
    elif same.severity is Severity.SUSPICIOUS:
        merged = replace(finding, message=f"{finding.message}; {same.message}")
    elif _is_there(same, finding):
        place = f"at offset {finding.offset} " if finding.offset != same.offset else ""
        merged = replace(
            same,
            message=f"{same.message}; {place}{finding.message}",
            transactional_id=finding.transactional_id,
            step=finding.step,
            remedy=finding.remedy,
        )
    else:
        merged = replace(finding, message=f"{finding.message}; and so {same.rule.id} at offset {same.offset}")
    merged = replace(merged, until=max(same.until, finding.until))
    return [merged if one is same else one for one in held]


def with_markers(held: Sequence[Finding]) -> list[Finding]:
    """The findings of a log; a marker that is missing is one with its producer's batch that has no number, its data.

    A marker that is not marked as one seems to be data, and its transaction to go on to the next marker.
    """
    left = list(held)
    for batch in (one for one in held if one.rule is rules.SEQ_WELL_FORMED and one.severity is Severity.VIOLATION):
        lacking = [one for one in left if _lacks(one, batch)]
        sentence = "".join(f"; at offset {one.offset} {one.message}" for one in lacking)
        named = next((one.transactional_id for one in lacking if one.transactional_id), batch.transactional_id)
        remedy = next((one.remedy for one in lacking if one.remedy), batch.remedy)
        merged = replace(batch, message=batch.message + sentence, transactional_id=named, remedy=remedy)
        left = [merged if one is batch else one for one in left if one not in lacking]
    return left


def _lacks(one: Finding, batch: Finding) -> bool:
    """Whether a finding is of a missing marker where the batch is."""
    return (
        one.producer_id == batch.producer_id
        and one.offset < batch.offset <= one.until
        and one.severity is Severity.VIOLATION
    )


def with_consequences(held: Sequence[Finding], runs: Sequence[DataRun]) -> list[Finding]:
    """The findings of a log; what broker's files say otherwise only since a batch or a marker is broken is part of it.

    Args:
        held: the findings.
        runs: the transactional data of the log.
    """
    left = list(held)
    for cause in (one for one in held if one.severity is Severity.VIOLATION and any(each.follows for each in held)):
        if cause in left:
            broken = _broken_by(cause, runs)
            left = _together(cause, [one for one in left if one is not cause and _follows(one, cause, broken)], left)
    for first in [one for one in left if one.follows]:
        if first in left:
            left = _together(first, [one for one in left if one is not first and _is_alike(one, first)], left)
    return left


def _together(cause: Finding, of_it: Sequence[Finding], held: list[Finding]) -> list[Finding]:
    """The findings, some of them as part of another."""
    if not of_it:
        return held
    more = f", and {len(of_it) - 1} more" if len(of_it) > 1 else ""
    others = dict.fromkeys((*cause.others, *(one.producer_id for one in of_it)))
    sentence = f"{cause.message}; and so {of_it[0].rule.id} at offset {of_it[0].offset}: {of_it[0].message}{more}"
    merged = replace(cause, message=sentence, others=tuple(one for one in others if one != cause.producer_id))
    return [merged if one is cause else one for one in held if one not in of_it]


def _is_alike(one: Finding, first: Finding) -> bool:
    """Whether both have the same cause, an entry of the aborted index among them: its value shows that."""
    same = not set(first.follows).isdisjoint(one.follows)
    return same and rules.LSO_ABORTED_INDEX in (one.rule, first.rule)


def _broken_by(cause: Finding, runs: Sequence[DataRun]) -> frozenset[int]:
    """Offsets of what is broken: of batches, and of the first one of the transaction that lacks its marker."""
    whose = {cause.producer_id, *cause.others}
    own = [run for run in runs if run.producer_id in whose and run.first_offset <= cause.offset]
    latest = {run.producer_id: run.marker for run in sorted(own, key=lambda one: one.first_offset)}
    begun = (run.first_offset for run in own if run.marker == latest[run.producer_id])
    return frozenset((cause.offset, *cause.elsewhere, *begun))


def _follows(one: Finding, cause: Finding, broken: frozenset[int]) -> bool:
    """Whether a finding is a mere consequence of what another has broken."""
    if broken.isdisjoint(one.follows):
        return False
    lacks_marker = cause.until != ABSENT or cause.rule is rules.SEQ_WELL_FORMED
    own = one.producer_id in (cause.producer_id, *cause.others) and cause.rule not in _BESIDE
    return own or lacks_marker or not set(cause.elsewhere).isdisjoint(one.follows)


def _same_cause(one: Finding, finding: Finding) -> bool:
    if one.producer_id != finding.producer_id:
        return finding.offset in one.elsewhere and finding.step != Api.WRITE_TXN_MARKERS
    if one.rule is rules.SEQ_FIRST and one.severity is Severity.SUSPICIOUS:
        return one.offset == finding.offset
    if one.severity is not Severity.VIOLATION:
        return False
    if one.offset <= finding.offset or one.late:
        return _is_there(one, finding)
    if finding.rule is one.rule is rules.FENCE_COORDINATOR_EPOCH:
        return bool(one.guard)  # markers after one of an epoch that was too high seem stale
    if finding.step == Api.WRITE_TXN_MARKERS:
        wrong_epoch = finding.rule is rules.TXN_MARKER_ONCE and finding.producer_epoch != ABSENT
        return wrong_epoch and one.rule in _OF_EPOCHS and one.producer_epoch < finding.producer_epoch
    return finding.step == Api.PRODUCE and _follows_data(one, finding)


def _is_there(one: Finding, finding: Finding) -> bool:
    """The join's finding is about the batch that the partition's is about, or that comes late by it."""
    return finding.offset == one.offset or finding.offset in one.late


def _follows_data(one: Finding, finding: Finding) -> bool:
    """Where data has an epoch that is too high, what comes in the right one seems stale, or the sequences twice.

    Where the epoch is too low, its sequences seem to be left out of the right one.
    """
    if finding.rule is rules.TXN_REGISTERED_BEFORE_DATA:
        stale = one.rule in _OF_EPOCHS and one.producer_epoch < finding.producer_epoch
        return stale or (one.rule in _OF_SEQUENCES and one.producer_epoch == finding.producer_epoch)
    too_low = finding.rule is rules.FENCE_STALE_EPOCH and one.producer_epoch > finding.producer_epoch
    return too_low and one.rule in _OF_SEQUENCES
