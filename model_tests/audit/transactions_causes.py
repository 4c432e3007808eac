"""One cause, one finding: what the join with the coordinator's log, or a broken batch, explains is its consequence."""

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
    """The findings of a log with one of the join's; of two with the same cause the one is the other's consequence."""
    same = next((one for one in held if _same_cause(one, finding)), None)
    if same is None:
        return [*held, finding]
    own = same.producer_id == finding.producer_id and same.severity is not Severity.SUSPICIOUS
    if own and _is_there(same, finding):
        named, step, remedy = finding.transactional_id, finding.step, finding.remedy
        merged = replace(same.causes([finding]), transactional_id=named, step=step, remedy=remedy)
    else:
        merged = finding.causes([same])
    return [merged if one is same else one for one in held]


def with_markers(held: Sequence[Finding]) -> list[Finding]:
    """The findings of a log; a marker that is missing is caused by its producer's batch that has no number, its data.

    A marker that is not marked as one seems to be data, and its transaction to go on to the next marker.
    """
    left = list(held)
    for batch in (one for one in held if one.rule is rules.SEQ_WELL_FORMED and one.severity is Severity.VIOLATION):
        lacking = [one for one in left if _lacks(one, batch)]
        named = next((one.transactional_id for one in lacking if one.transactional_id), batch.transactional_id)
        remedy = next((one.remedy for one in lacking if one.remedy), batch.remedy)
        merged = replace(batch.causes(lacking), transactional_id=named, remedy=remedy)
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
    """The findings of a log; what files say otherwise only since a batch or a marker is broken is a consequence of it.

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
    """The findings, some of them as consequences of another."""
    merged = cause.causes(of_it)
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
    return frozenset((cause.offset, *cause.found_at, *begun))


def _follows(one: Finding, cause: Finding, broken: frozenset[int]) -> bool:
    """Whether a finding is a mere consequence of what another has broken."""
    if broken.isdisjoint(one.follows):
        return False
    lacks_marker = cause.until != ABSENT or cause.rule is rules.SEQ_WELL_FORMED
    own = one.producer_id in (cause.producer_id, *cause.others) and cause.rule not in _BESIDE
    return own or lacks_marker or not set(cause.found_at).isdisjoint(one.follows)


def _same_cause(one: Finding, finding: Finding) -> bool:
    if one.producer_id != finding.producer_id:
        return finding.offset in one.found_at and finding.step != Api.WRITE_TXN_MARKERS
    if one.rule is rules.SEQ_FIRST and one.severity is Severity.SUSPICIOUS:
        return one.offset == finding.offset
    if one.severity is not Severity.VIOLATION:
        return False
    if one.offset <= finding.offset or one.found_at:
        return _is_there(one, finding)
    if finding.rule is one.rule is rules.FENCE_COORDINATOR_EPOCH:
        return bool(one.guard)  # markers after one of an epoch that was too high seem stale
    if finding.step == Api.WRITE_TXN_MARKERS:
        wrong_epoch = finding.rule is rules.TXN_MARKER_ONCE and finding.producer_epoch != ABSENT
        return wrong_epoch and one.rule in _OF_EPOCHS and one.producer_epoch < finding.producer_epoch
    return finding.step == Api.PRODUCE and _follows_data(one, finding)


def _is_there(one: Finding, finding: Finding) -> bool:
    """The join's finding is about the batch that the partition's is about, or that comes late by it."""
    return finding.offset == one.offset or finding.offset in one.found_at


def _follows_data(one: Finding, finding: Finding) -> bool:
    """Where data has an epoch that is too high, what comes in the right one seems stale, or the sequences twice.

    Where the epoch is too low, its sequences seem to be left out of the right one.
    """
    if finding.rule is rules.TXN_REGISTERED_BEFORE_DATA:
        stale = one.rule in _OF_EPOCHS and one.producer_epoch < finding.producer_epoch
        return stale or (one.rule in _OF_SEQUENCES and one.producer_epoch == finding.producer_epoch)
    too_low = finding.rule is rules.FENCE_STALE_EPOCH and one.producer_epoch > finding.producer_epoch
    return too_low and one.rule in _OF_SEQUENCES
