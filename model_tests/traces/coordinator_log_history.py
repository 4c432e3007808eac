"""The history of each transactional id: its transactions, as its coordinator's log tells them, and what breaks it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.traces.audit_findings import Finding, Severity
from model_tests.traces.audit_holes import Holes
from model_tests.traces.coordinator_log import StateRecord
from model_tests.traces.coordinator_log_edges import FENCING, may_be_taken_back, outcome_stays, step_between
from model_tests.traces.coordinator_log_values import Partition, StateValue
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import ABSENT, ControlType, TransactionState

_PREPARED: Final = {
    TransactionState.PREPARE_COMMIT.value: ControlType.COMMIT.value,
    TransactionState.PREPARE_ABORT.value: ControlType.ABORT.value,
}
_COMPLETED: Final = {
    TransactionState.COMPLETE_COMMIT.value: ControlType.COMMIT.value,
    TransactionState.COMPLETE_ABORT.value: ControlType.ABORT.value,
}
_ONGOING: Final = TransactionState.ONGOING.value
WITHOUT_MARKERS: Final = frozenset[Partition]()


@dataclass(frozen=True, slots=True)
class CoordinatorTransaction:
    """One transaction by its coordinator's log; offsets there, -1 for a record that is not in it.

    Attributes:
        producer_epoch: while it was open; -1 where that is not known.
        marker_epoch: of its Prepare record, and so of its markers.
        outcome: type of its markers; -1 while it is open.
        partitions: those registered; what is known of them says `listed`.
        listed: all registered partitions are known.
        prepared_ms: when the outcome was durable, by the coordinator's clock; -1 where it is not.
        completed_ms: when all markers were written, likewise.
        coordinator_epoch: of the coordinator that decided the outcome; -1 where that is not known.
        after_hole: records of the id directly before it may be missing.
        doubtful: one of its records breaks the history, so that nothing else is held against it.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    marker_epoch: int
    state: int
    outcome: int
    partitions: frozenset[Partition]
    listed: bool
    first_offset: int
    started_ms: int
    timeout_ms: int
    prepared_offset: int = ABSENT
    prepared_ms: int = ABSENT
    completed_offset: int = ABSENT
    completed_ms: int = ABSENT
    coordinator_epoch: int = ABSENT
    client_version: int = 0
    after_hole: bool = False
    doubtful: bool = False

    @property
    def decided(self) -> bool:
        """The outcome is durable."""
        return self.outcome != ABSENT

    @property
    def completed(self) -> bool:
        """All markers are written, says the coordinator."""
        return self.completed_offset != ABSENT


@dataclass(frozen=True, slots=True)
class Identity:
    """A producer id that an id had; `later_unread` says that its newest records could not be read."""

    producer_id: int
    transactional_id: str
    later_unread: bool


@dataclass(frozen=True, slots=True)
class CoordinatorHistory:
    """What one partition of `__transaction_state` tells.

    Attributes:
        whole: every record that was ever appended is there.
        judged: changes of state that were looked at.
    """

    partition: int
    whole: bool
    ids: tuple[str, ...]
    identities: tuple[Identity, ...]
    transactions: tuple[CoordinatorTransaction, ...]
    judged: int = 0


@dataclass(slots=True)
class _Link:
    """A record, whether records may be missing before it, the step that led to it, and that which raised its epoch."""

    record: StateRecord
    after_hole: bool
    step: str = ""
    raised_by: str = ""
    broken: bool = False


def history(
    partition: int, records: Sequence[StateRecord], missing: Holes, *, whole: bool
) -> tuple[CoordinatorHistory, list[Finding]]:
    """The transactions of every id, and what the specification does not allow."""
    by_id: dict[str, list[StateRecord]] = {}
    for record in records:
        by_id.setdefault(record.transactional_id, []).append(record)
    findings: list[Finding] = []
    transactions: list[CoordinatorTransaction] = []
    identities: dict[int, Identity] = {}
    judged = 0
    for name, own in by_id.items():
        links = list(_linked(own, missing, whole=whole))
        found, count = judge_changes(links)
        findings += found
        judged += count
        transactions += _transactions(links)
        unread = bool(own[-1].unread)
        values = [record.value for record in own if record.value is not None]
        identities |= {value.producer_id: Identity(value.producer_id, name, unread) for value in values}
    known = CoordinatorHistory(
        partition, whole, tuple(by_id), tuple(identities.values()), tuple(transactions), judged=judged
    )
    return known, findings


def _linked(records: Iterable[StateRecord], missing: Holes, *, whole: bool) -> Iterator[_Link]:
    """The readable records of one id."""
    before, unread = ABSENT, False
    for record in records:
        if record.unread:
            unread = True
            continue
        gone = missing.cleaned_between(before, record.row) or missing.unreadable_between(before, record.row)
        yield _Link(record, unread or gone or (before == ABSENT and not whole))
        before, unread = record.row, False


@evidences(rules.TXN_LEGAL_TRANSITION, Layer.AUDIT)
@evidences(rules.TXN_ONE_OUTCOME, Layer.AUDIT)
def judge_changes(links: Sequence[_Link]) -> tuple[list[Finding], int]:
    """Every change of state between two records that follow each other, against the coordinator's decisions."""
    findings: list[Finding] = []
    judged = 0
    for number, link in enumerate(links):
        if link.after_hole:
            continue
        judged += 1
        fenced = number > 0 and links[number - 1].raised_by == FENCING
        steps = (step_between(before, link.record.value, fenced=fenced) for before in _befores(links, number))
        link.step = next(filter(None, steps), "")
        link.raised_by = _raised_by(links, number)
        if not link.step and not _follows_unknown(links, number):
            link.broken = True
            findings.append(_broken(links, number))
    return findings, judged


def _raised_by(links: Sequence[_Link], number: int) -> str:
    """The step that gave the id its epoch; empty where that is not known."""
    before, link = links[number - 1] if number else None, links[number]
    kept = before is not None and _identity(before.record.value) == _identity(link.record.value)
    return before.raised_by if before is not None and kept else link.step


def _identity(value: StateValue | None) -> tuple[int, int] | None:
    return (value.producer_id, value.producer_epoch) if value is not None else None


def _befores(links: Sequence[_Link], number: int) -> Iterator[StateValue | None]:
    """What memory may have held: the record before; where that was taken back or is broken, also the one before it.

    A coordinator that gave up waiting for an append goes on from the state before it, though the record is durable.
    A decided outcome is never taken back, nor a raised epoch.
    """
    before = links[number - 1].record.value if number else None
    yield before
    if number < 2 or links[number - 1].after_hole:
        return
    earlier = links[number - 2].record.value
    broken = links[number - 1].broken
    if broken or may_be_taken_back(before, links[number].record.value):
        yield earlier
    for right in (earlier, links[number].record.value):
        if broken and before is not None and right is not None:
            yield _with_identity(before, right)


def _follows_unknown(links: Sequence[_Link], number: int) -> bool:
    """The record before may have been taken back, and what was before that one is missing."""
    if number == 0 or not links[number - 1].after_hole:
        return False
    return bool(may_be_taken_back(links[number - 1].record.value, links[number].record.value))


def _with_identity(value: StateValue, right: StateValue) -> StateValue:
    """A broken record, had it the identity of a neighbour."""
    return replace(
        value,
        producer_id=right.producer_id,
        producer_epoch=right.producer_epoch,
        client_version=right.client_version,
    )


def _broken(links: Sequence[_Link], number: int) -> Finding:
    record = links[number].record
    before = links[number - 1].record.value if number else None
    after = record.value
    rule, why = _rule_of(before, after)
    identity = after or before
    first = f"the first record of {record.transactional_id}" if number == 0 else f"{record.transactional_id}: "
    change = f" is {_worded(after)}" if number == 0 else f"{_worded(before)} is followed by {_worded(after)}"
    return Finding(
        rule=rule,
        severity=Severity.VIOLATION,
        offset=record.offset,
        producer_id=identity.producer_id if identity else ABSENT,
        producer_epoch=identity.producer_epoch if identity else ABSENT,
        message=f"{first}{change}: {why}",
        transactional_id=record.transactional_id,
        step=_step_to(after),
    )


def _rule_of(before: StateValue | None, after: StateValue | None) -> tuple[rules.Rule, str]:
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
    if after.state in _PREPARED:
        return "EndTxn"
    if after.state in _COMPLETED:
        return "completion after the markers"
    return "AddPartitionsToTxn" if after.state == _ONGOING else "InitProducerId"


def _worded(value: StateValue | None) -> str:
    if value is None:
        return "a tombstone"
    name = TransactionState(value.state).name.title().replace("_", "")
    listed = ", ".join(f"{topic}-{number}" for topic, number in sorted(value.partitions)[:4])
    more = ", ..." if len(value.partitions) > 4 else ""
    partitions = f" with {listed}{more}" if listed else ""
    return f"{name} of producer {value.producer_id} epoch {value.producer_epoch}{partitions}"


def _transactions(links: Sequence[_Link]) -> Iterator[CoordinatorTransaction]:
    """The transactions of one id, in order."""
    current: CoordinatorTransaction | None = None
    for link in links:
        value = link.record.value
        if link.after_hole and current is not None:
            yield replace(current, doubtful=not current.completed)
            current = None
        if value is None or value.state == TransactionState.EMPTY.value:
            if current is not None:
                yield replace(current, doubtful=True)
            current = None
            continue
        current = _continued(current, link, value)
        if value.state in _COMPLETED:
            yield current
            current = None
    if current is not None:
        yield current


def _continued(current: CoordinatorTransaction | None, link: _Link, value: StateValue) -> CoordinatorTransaction:
    record = link.record
    if current is None:
        current = _begun(link, value)
    doubtful = current.doubtful or link.broken
    current = replace(current, state=value.state, doubtful=doubtful)
    if value.state == _ONGOING:
        return replace(current, partitions=current.partitions | value.partitions)
    if value.state in _PREPARED:
        return replace(
            current,
            partitions=value.partitions if not link.broken else current.partitions | value.partitions,
            outcome=_PREPARED[value.state],
            marker_epoch=value.producer_epoch,
            prepared_offset=record.offset,
            prepared_ms=record.timestamp,
            coordinator_epoch=record.coordinator_epoch,
            client_version=value.client_version,
        )
    return _completed(current, record, value)


def _begun(link: _Link, value: StateValue) -> CoordinatorTransaction:
    record = link.record
    return CoordinatorTransaction(
        transactional_id=record.transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch if value.state == _ONGOING else ABSENT,
        marker_epoch=ABSENT,
        state=value.state,
        outcome=ABSENT,
        partitions=value.partitions,
        listed=value.state not in _COMPLETED,
        first_offset=record.offset,
        started_ms=value.start_time,
        timeout_ms=value.timeout,
        after_hole=link.after_hole,
    )


def _completed(current: CoordinatorTransaction, record: StateRecord, value: StateValue) -> CoordinatorTransaction:
    """With its last record; where the Prepare record is missing, that one says when the outcome was decided."""
    known = current.decided
    return replace(
        current,
        outcome=current.outcome if known else _COMPLETED[value.state],
        marker_epoch=current.marker_epoch if known else value.producer_epoch,
        prepared_ms=current.prepared_ms if known else value.update_time,
        completed_offset=record.offset,
        completed_ms=record.timestamp,
    )
