"""The changes of state of each transactional id, record by record, compared with the coordinator's decisions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.audit.findings import Finding
from model_tests.common.reports import listed
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import StateRecord
from model_tests.logs.coordinator_log_edges import (
    COMPLETION,
    FENCING,
    may_be_taken_back,
    outcome_stays,
    step_between,
)
from model_tests.logs.coordinator_log_values import StateValue
from spec import rules
from spec.evidence import Layer, evidences
from spec.protocol.coordinator import BUMPING
from spec.vocabulary import ABSENT, Api, ControlType, TransactionState

PREPARED: Final = {
    TransactionState.PREPARE_COMMIT.value: ControlType.COMMIT.value,
    TransactionState.PREPARE_ABORT.value: ControlType.ABORT.value,
}
COMPLETED: Final = {
    TransactionState.COMPLETE_COMMIT.value: ControlType.COMMIT.value,
    TransactionState.COMPLETE_ABORT.value: ControlType.ABORT.value,
}
ONGOING: Final = TransactionState.ONGOING.value
IN_MEMORY_ALONE: Final = (TransactionState.DEAD.value, TransactionState.PREPARE_EPOCH_FENCE.value)
"""States that no release writes: a tombstone stands for the one, PrepareAbort for the other."""
_MOST_REFUSED: Final = 8
"""Appends in a row that are taken to have been refused, at most."""


@dataclass(slots=True)
class CoordinatorLink:
    """A record, whether records may be missing before it, the step that led to it, and that which raised its epoch.

    `blamed` where it is broken and nothing excuses it; `unsure` where the one before is, and may have said anything.
    """

    record: StateRecord
    after_hole: bool
    step: str = ""
    raised_by: str = ""
    broken: bool = False
    blamed: bool = False
    unsure: bool = False


@evidences(rules.TXN_LEGAL_TRANSITION, Layer.AUDIT)
@evidences(rules.TXN_ONE_OUTCOME, Layer.AUDIT)
def judge_changes(links: Sequence[CoordinatorLink]) -> tuple[list[Finding], int]:
    """Every change of state between two records that follow each other, against the coordinator's decisions."""
    findings: list[Finding] = []
    judged = 0
    for number, link in enumerate(links):
        if link.record.value is not None and link.record.value.state in IN_MEMORY_ALONE:
            findings.append(_broken(links, number, ""))
            link.broken = link.blamed = True
            judged += 1
            continue
        if link.after_hole:
            findings += _across_hole(links, number)
            continue
        judged += 1
        fenced = number > 0 and links[number - 1].raised_by == FENCING
        steps = (step_between(before, link.record.value, fenced=fenced) for before in _befores(links, number))
        link.step = next(filter(None, steps), "")
        link.raised_by = _raised_by(links, number)
        link.unsure = not link.step and number > 0 and links[number - 1].blamed
        if link.step and _is_handed_out_again(links, number):
            again = f"{_change(link.record, None)}: the id had expired, and is given a producer id that it had before"
            findings.append(_worded_finding(link.record, rules.IDS_IDENTITY_NEVER_REPEATS, again))
        if not link.step and not link.unsure and not _follows_unknown(links, number):
            excuse, before = after_refusal(links, number), links[number - 1]
            if number and before.broken and not excuse:  # so it was not refused: nothing leads on from any state before
                findings[-1] = _broken(links, number - 1, "")
                before.blamed = link.unsure = True
                continue
            findings.append(_broken(links, number, excuse))
            link.broken, link.blamed = True, findings[-1].severity is Severity.VIOLATION
    return findings, judged


def _is_handed_out_again(links: Sequence[CoordinatorLink], number: int) -> bool:
    """An id that comes again after it expired has a producer id that it had before."""
    given = links[number].record.value
    if given is None or not number or links[number - 1].record.value is not None:
        return False
    had = [one.record.value for one in links[:number] if one.record.value is not None]
    return any(one.producer_id == given.producer_id and one.producer_epoch >= given.producer_epoch for one in had)


def _across_hole(links: Sequence[CoordinatorLink], number: int) -> Iterator[Finding]:
    """Two records with anything between them: under version 2 every end of a transaction has an epoch of its own."""
    link, before = links[number], links[number - 1].record.value if number else None
    after = link.record.value
    if before is None or after is None or after.client_version < BUMPING or _identity(before) != _identity(after):
        return
    ends = PREPARED | COMPLETED
    if before.state in COMPLETED and after.state in ends and ends[before.state] != ends[after.state]:
        link.broken = link.blamed = True
        why = "what is between them is missing, but under version 2 no two transactions end in one epoch"
        yield _worded_finding(link.record, rules.TXN_ONE_OUTCOME, f"{_change(link.record, before)}: {why}")


def after_refusal(links: Sequence[CoordinatorLink], number: int) -> str:
    """What an append that was refused though its record is in the log would explain; empty where it does not.

    A coordinator whose append was refused keeps the state that it had before. An id whose first append was refused is
    in memory alone, until it expires.
    """
    after = links[number].record.value
    if number == 0:
        return "the id was known in memory alone, its first append refused" if after is None else ""
    refused = f"the append of the record before, at offset {links[number - 1].record.offset}, was refused"
    if links[number - 1].after_hole:
        return f"{refused}, and what the coordinator knew before that is missing"
    for place in range(number - 1, max(number - _MOST_REFUSED, 0) - 1, -1):
        kept = links[place - 1].record.value if place else None
        between = all(step_between(kept, link.record.value) for link in links[place:number])
        unwritten = place == 0 and after is None
        if between and (step_between(kept, after) or unwritten):
            return f"{refused} though it is in the log, and the coordinator went on from {_worded(kept)}"
    return ""


def _raised_by(links: Sequence[CoordinatorLink], number: int) -> str:
    """The step that gave the id its epoch; empty where that is not known."""
    before, link = links[number - 1] if number else None, links[number]
    kept = before is not None and _identity(before.record.value) == _identity(link.record.value)
    return before.raised_by if before is not None and kept else link.step


def _identity(value: StateValue | None) -> tuple[int, int] | None:
    return (value.producer_id, value.producer_epoch) if value is not None else None


def _befores(links: Sequence[CoordinatorLink], number: int) -> Iterator[StateValue | None]:
    """What memory may have held: the record before; where that was taken back or is broken, also the one before it.

    A coordinator that gave up waiting for an append continues from the state before it, though the record is durable.
    A decided outcome is never taken back, nor a raised epoch.
    """
    before = links[number - 1].record.value if number else None
    yield before
    if number < 2 or links[number - 1].after_hole:
        return
    earlier = links[number - 2].record.value
    broken = links[number - 1].broken
    if links[number - 2].broken:  # it may have come too early
        yield earlier
    if broken or may_be_taken_back(before, links[number].record.value):
        yield earlier
    for right in (earlier, links[number].record.value):
        if broken and before is not None and right is not None:
            yield _with_identity(before, right)


def _follows_unknown(links: Sequence[CoordinatorLink], number: int) -> bool:
    """The records before may have been taken back, one after the other, and what was before them is missing."""
    for before in reversed(links[max(number - _MOST_REFUSED, 0) : number]):
        if before.step or before.broken or not may_be_taken_back(before.record.value, links[number].record.value):
            return False
        if before.after_hole:
            return True
    return False


def _with_identity(value: StateValue, right: StateValue) -> StateValue:
    """A broken record, had it the identity of a neighbour."""
    return replace(
        value,
        producer_id=right.producer_id,
        producer_epoch=right.producer_epoch,
        client_version=right.client_version,
    )


def _broken(links: Sequence[CoordinatorLink], number: int, excuse: str) -> Finding:
    record = links[number].record
    before = links[number - 1].record.value if number else None
    rule, why = _rule_of(before, record.value)
    change = f"the first record of {record.transactional_id} is {_worded(record.value)}"
    change = _change(record, before) if number else change
    message = f"{change}: {why}" + (f"; unless {excuse}" if excuse else "")
    severity = Severity.UNDECIDED if excuse else Severity.VIOLATION
    return _worded_finding(record, rule, message, severity, record.value or before)


def _change(record: StateRecord, before: StateValue | None) -> str:
    return f"{record.transactional_id}: {_worded(before)} is followed by {_worded(record.value)}"


def _worded_finding(
    record: StateRecord,
    rule: rules.Rule,
    message: str,
    severity: Severity = Severity.VIOLATION,
    whose: StateValue | None = None,
) -> Finding:
    identity = whose or record.value
    return Finding(
        rule=rule,
        severity=severity,
        offset=record.offset,
        producer_id=identity.producer_id if identity else ABSENT,
        producer_epoch=identity.producer_epoch if identity else ABSENT,
        message=message,
        transactional_id=record.transactional_id,
        step=_step_to(record.value),
    )


def _rule_of(before: StateValue | None, after: StateValue | None) -> tuple[rules.Rule, str]:
    if after is not None and after.state in IN_MEMORY_ALONE:
        return rules.TXN_LEGAL_TRANSITION, "a state that coordinators have in memory alone and never write"
    if before is not None and not outcome_stays(before, after):
        return rules.TXN_ONE_OUTCOME, "the outcome was durable already and may only be completed"
    if before is None or after is None:
        return rules.TXN_LEGAL_TRANSITION, "no request and no step of the coordinator makes such a record"
    if before.producer_id == after.producer_id and after.producer_epoch < before.producer_epoch:
        return rules.FENCE_EPOCH_MONOTONE, "the epoch falls, so that a fenced producer could write again"
    return rules.TXN_LEGAL_TRANSITION, "no request and no step of the coordinator leads from the one to the other"


def _step_to(after: StateValue | None) -> str:
    """The request that makes such a record."""
    if after is None:
        return "expiration of the id"
    if after.state in PREPARED:
        return Api.END_TXN
    if after.state in COMPLETED:
        return COMPLETION
    return Api.ADD_PARTITIONS_TO_TXN if after.state == ONGOING else Api.INIT_PRODUCER_ID


def _worded(value: StateValue | None) -> str:
    if value is None:
        return "a tombstone"
    name = TransactionState(value.state).name.title().replace("_", "")
    names = listed((f"{topic}-{number}" for topic, number in sorted(value.partitions)), 4)
    partitions = f" with {names}" if names else ""
    timeout = f" and timeout {value.timeout}, expected above 0" if value.timeout <= 0 else ""
    return f"{name} of producer {value.producer_id} epoch {value.producer_epoch}{timeout}{partitions}"
