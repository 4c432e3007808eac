"""The history of each transactional id: its transactions by its coordinator's log, and what breaks it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.audit.coordinator_log_changes import (
    COMPLETED,
    IN_MEMORY_ALONE,
    ONGOING,
    PREPARED,
    CoordinatorLink,
)
from model_tests.audit.coordinator_log_keys import ReportedOfId, diagnose_keys, judged_id
from model_tests.audit.findings import Finding
from model_tests.audit.holes import Holes
from model_tests.logs.coordinator_log import StateRecord
from model_tests.logs.coordinator_log_edges import COMPLETION
from model_tests.logs.coordinator_log_values import Partition, StateValue
from spec.vocabulary import ABSENT, TransactionState

ALWAYS: Final = 2**63 - 1
"""Later than any time."""


@dataclass(frozen=True, slots=True)
class CoordinatorTransaction:
    """One transaction by its coordinator's log; offsets there, -1 for a record that is not in it.

    Attributes:
        producer_epoch: while it was open; -1 where that is not known.
        marker_epoch: of its Prepare record, and so of its markers.
        outcome: type of its markers; -1 while it is open.
        partitions: those registered; what is known of them is in `listed`.
        listed: all registered partitions are known.
        prepared_ms: when the outcome was durable, by the coordinator's clock; -1 where it is not.
        completed_ms: when all markers were written, likewise.
        coordinator_epoch: of the coordinator that decided the outcome; -1 where that is not known.
        after_hole: records of the id may be missing between the transaction before and this one.
        doubtful: one of its records breaks the history, so that no other rule is checked on it.
        expired_ms: when the id was removed after it; -1 where it was not, or had a further transaction.
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
    expired_ms: int = ABSENT

    @property
    def decided(self) -> bool:
        """The outcome is durable."""
        return self.outcome != ABSENT

    @property
    def completed(self) -> bool:
        """All markers are written, by the coordinator's log."""
        return self.completed_offset != ABSENT


@dataclass(frozen=True, slots=True)
class HeldProducerId:
    """A producer id that an id had.

    Attributes:
        later_unread: of the newest records of the id some could not be read, or are missing.
        whole: every record of it that was ever appended is there.
        first_offset: of its first record that is there.
        first_ms: when that was appended.
        sound: nothing in the history of the id is broken or in doubt.
    """

    producer_id: int
    transactional_id: str
    later_unread: bool
    known_until_ms: int = ALWAYS
    whole: bool = False
    first_offset: int = ABSENT
    first_ms: int = ABSENT
    sound: bool = True


@dataclass(frozen=True, slots=True)
class CoordinatorHistory:
    """The contents of one partition of `__transaction_state`.

    Attributes:
        whole: every record that was ever appended is there.
        known_until_ms: time of the newest record, after which it may have been copied; `ALWAYS` where it ends there.
        judged: changes of state that were looked at.
    """

    partition: int
    whole: bool
    ids: tuple[str, ...]
    identities: tuple[HeldProducerId, ...]
    transactions: tuple[CoordinatorTransaction, ...]
    judged: int = 0
    known_until_ms: int = ALWAYS


def history(
    partition: int, records: Sequence[StateRecord], missing: Holes, *, whole: bool
) -> tuple[CoordinatorHistory, list[Finding]]:
    """The transactions of every id, and what the specification does not allow.

    Args:
        partition: which one.
        records: of the log.
        missing: holes in the log.
        whole: whether nothing of it is missing.
    """
    by_id: dict[str, list[StateRecord]] = {}
    for record in records:
        by_id.setdefault(record.transactional_id, []).append(record)
    under_keys = {name: judged_id(own, missing, whole=whole) for name, own in by_id.items()}
    reported, findings = diagnose_keys(under_keys, missing, whole=whole)
    transactions: list[CoordinatorTransaction] = []
    identities: list[HeldProducerId] = []
    unbroken = {producer_id for own in reported.values() for broken, producer_id in _named(own) if not broken}
    judged = 0
    for name, own in reported.items():
        findings += own.findings
        judged += own.judged
        transactions += _transactions(own.links)
        identities += _identities(name, own, unbroken)
    known = CoordinatorHistory(partition, whole, tuple(by_id), tuple(identities), tuple(transactions), judged=judged)
    return known, findings


def _identities(name: str, own: ReportedOfId, unbroken: Collection[int]) -> Iterator[HeldProducerId]:
    """The producer ids of one id; one that only a broken record has is another id's if that has it unbroken."""
    unread = any(record.unread for record in own.records[-1:]) or _has_later_hole(own.links)
    first = {one.value.producer_id: one for one in reversed(own.records) if one.value is not None}
    named = sorted(_named(own), key=lambda one: one[0])
    its_own = {producer_id for broken, producer_id in named if not broken}
    for producer_id in dict.fromkeys(producer_id for _, producer_id in named):
        if producer_id in its_own or producer_id not in unbroken:
            at = first[producer_id].offset, first[producer_id].timestamp
            yield HeldProducerId(producer_id, name, unread, ALWAYS, False, *at, sound=not own.findings)


def _named(own: ReportedOfId) -> list[tuple[bool, int]]:
    """The producer ids that the records of one id name, and whether the record is broken."""
    return [(link.broken, link.record.value.producer_id) for link in own.links if link.record.value is not None]


def _has_later_hole(links: Sequence[CoordinatorLink]) -> bool:
    """Records may be missing after the last transaction that is here."""
    for link in reversed(links[1:]):
        if link.record.value is not None and link.record.value.state != TransactionState.EMPTY.value:
            return False
        if link.after_hole:
            return True
    return False


def _transactions(links: Sequence[CoordinatorLink]) -> Iterator[CoordinatorTransaction]:
    """The transactions of one id, in order."""
    current: CoordinatorTransaction | None = None
    after_hole = False
    for link in links:
        value = link.record.value
        after_hole |= link.after_hole
        if value is not None and value.state in IN_MEMORY_ALONE:
            current = replace(current, doubtful=True) if current is not None else None
            continue
        if current is not None and current.completed:
            if value is not None and _completes_again(current, link, value):
                current = _completed(current, link.record, value)
                continue
            is_removed = value is None and not link.record.unread
            yield replace(current, expired_ms=link.record.timestamp) if is_removed else current
            current = None
        if link.after_hole and current is not None:
            yield replace(current, doubtful=True)
            current = None
        if value is None or value.state == TransactionState.EMPTY.value:
            if current is not None:
                expired = value is None and not link.record.unread
                yield replace(current, doubtful=True, expired_ms=link.record.timestamp if expired else ABSENT)
            current = None
            continue
        current = _continued(current, link, value, after_hole=after_hole)
        after_hole = False
    if current is not None:
        yield current


def _completes_again(current: CoordinatorTransaction, link: CoordinatorLink, value: StateValue) -> bool:
    """The Complete record once more, its first append refused; a completed transaction is not completed twice."""
    same = COMPLETED.get(value.state) == current.outcome
    return same and not link.after_hole and not link.broken and link.step == COMPLETION


def _continued(
    current: CoordinatorTransaction | None, link: CoordinatorLink, value: StateValue, *, after_hole: bool
) -> CoordinatorTransaction:
    record = link.record
    if current is None or (current.doubtful and not link.broken and current.producer_id != value.producer_id):
        doubted = current is not None
        current = replace(_begun(link, value), doubtful=doubted, after_hole=after_hole)
    doubtful = current.doubtful or link.broken or link.unsure
    current = replace(current, state=value.state, doubtful=doubtful)
    if value.state == ONGOING:
        return replace(current, partitions=current.partitions | value.partitions)
    if value.state in PREPARED:
        return replace(
            current,
            partitions=value.partitions if not link.broken else current.partitions | value.partitions,
            outcome=PREPARED[value.state],
            marker_epoch=value.producer_epoch,
            prepared_offset=record.offset,
            prepared_ms=record.timestamp,
            coordinator_epoch=record.coordinator_epoch,
            client_version=value.client_version,
        )
    return _completed(current, record, value)


def _begun(link: CoordinatorLink, value: StateValue) -> CoordinatorTransaction:
    record = link.record
    return CoordinatorTransaction(
        transactional_id=record.transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch if value.state == ONGOING else ABSENT,
        marker_epoch=ABSENT,
        state=value.state,
        outcome=ABSENT,
        partitions=value.partitions,
        listed=value.state not in COMPLETED,
        first_offset=record.offset,
        started_ms=value.start_time,
        timeout_ms=value.timeout,
    )


def _completed(current: CoordinatorTransaction, record: StateRecord, value: StateValue) -> CoordinatorTransaction:
    """With its last record; where the Prepare record is missing, that one has the time of the decision."""
    known = current.decided
    return replace(
        current,
        outcome=current.outcome if known else COMPLETED[value.state],
        marker_epoch=current.marker_epoch if known else value.producer_epoch,
        prepared_ms=current.prepared_ms if known else value.update_time,
        completed_offset=record.offset,
        completed_ms=record.timestamp,
        client_version=current.client_version if known else value.client_version,
    )
