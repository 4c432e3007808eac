"""The coordinator's metadata of one transactional id, and its changes in two steps (TransactionMetadata).

A change is prepared, written to the log, and only then takes effect: in between the id has a pending state.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from reference.broker.coordinator_errors import ConcurrentTransactions, InvalidProducerIdMapping, UnknownServerError
from reference.broker.ids import ProducerIdentity
from reference.errors import Impossible, ProducerFenced
from spec import rules
from spec.versions import Profile
from spec.vocabulary import (
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Epoch,
    ProducerId,
    Timestamp,
    TransactionState,
)

LAST_CLIENT_EPOCH: Final = Epoch(MAX_EPOCH - 1)
"""The last epoch that a client gets; the one after it is kept for fencing."""

NO_TIMEOUT_MS: Final = 2**31 - 1
"""Timeout of a transaction that another coordinator decides (KIP-939): it is never aborted for its age."""

BUMPS_EPOCH: Final = 2
"""First transaction version under which every end of a transaction bumps the epoch."""

Before = frozenset[TransactionState]
AT_REST: Final[Before] = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)
PREPARED: Final[Before] = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})

VALID_BEFORE: Final[Mapping[TransactionState, Before]] = MappingProxyType(
    {
        TransactionState.EMPTY: AT_REST,
        TransactionState.ONGOING: AT_REST | {TransactionState.ONGOING},
        TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
        TransactionState.PREPARE_ABORT: AT_REST | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
        TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
        TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
        TransactionState.DEAD: AT_REST,
        TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
    }
)
"""The states from which each state may be reached."""


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class TransactionMetadata(NamedTuple):
    """A transactional id at one moment; never changed, only replaced.

    Attributes:
        producer_id: of the newest producer with the id.
        epoch: of that producer, -1 if none has been handed out.
        timeout_ms: after which an open transaction is aborted.
        state: where the transaction stands.
        partitions: those in the transaction.
        updated_ms: time of the last change.
        started_ms: time at which the transaction began, -1 if none has.
        last_epoch: the epoch before the last bump, -1 if that is not known; it is not in the log.
        previous_producer_id: the producer id before the last change of it.
        next_producer_id: the producer id after the transaction, where the epochs of this one are used up.
        client_version: transaction version with which the last transition was made.
    """

    producer_id: ProducerId
    epoch: Epoch
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    updated_ms: Timestamp
    started_ms: Timestamp = NO_TIMESTAMP
    last_epoch: Epoch = NO_EPOCH
    previous_producer_id: ProducerId = NO_PRODUCER_ID
    next_producer_id: ProducerId = NO_PRODUCER_ID
    client_version: int = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether no epoch is left that a client could get."""
        return self.epoch >= LAST_CLIENT_EPOCH


def new_transactional_id(producer_id: ProducerId, timeout_ms: int, now: Timestamp) -> TransactionMetadata:
    """The metadata of a new id: no epoch has been handed out."""
    return TransactionMetadata(producer_id, NO_EPOCH, timeout_ms, TransactionState.EMPTY, frozenset(), now)


# --- the changes, each as the record that is written -------------------------------------------------------------


def increment_epoch(
    metadata: TransactionMetadata, timeout_ms: int, expected: Epoch | None, now: Timestamp
) -> TransactionMetadata:
    """InitProducerId: the next epoch, or the same one again for a retry.

    Args:
        metadata: of the id, at rest.
        timeout_ms: `transaction.timeout.ms` of the client.
        expected: epoch that the client names, None if it names none.
        now: milliseconds, by the coordinator's clock.

    Raises:
        UnknownServerError: the epochs are used up (the broker's own check fails).
        ProducerFenced: the expected epoch is neither the current nor the last one.
    """
    # [fence.epoch_exhaustion]
    if metadata.is_exhausted:
        raise UnknownServerError(epoch=metadata.epoch, expected=expected)

    epoch, last_epoch = _incremented(metadata, expected)
    return metadata._replace(
        epoch=epoch,
        last_epoch=last_epoch,
        timeout_ms=timeout_ms,
        state=TransactionState.EMPTY,
        partitions=frozenset(),
        started_ms=NO_TIMESTAMP,
        updated_ms=now,
    )


def _incremented(metadata: TransactionMetadata, expected: Epoch | None) -> tuple[Epoch, Epoch]:
    bumped = Epoch(metadata.epoch + 1)
    if expected is None:
        return bumped, NO_EPOCH
    if expected == metadata.epoch or metadata.epoch == NO_EPOCH:
        return bumped, metadata.epoch
    if expected == metadata.last_epoch:  # the answer to a call that succeeded was lost
        return metadata.epoch, metadata.last_epoch
    raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=metadata.epoch, got=expected)


def rotate_producer_id(
    metadata: TransactionMetadata, producer_id: ProducerId, timeout_ms: int, recall: bool, now: Timestamp
) -> TransactionMetadata:
    """InitProducerId after the last epoch: a new producer id; `recall` keeps the last epoch for a retry.

    Args:
        metadata: of the id, at its last epoch.
        producer_id: the new one.
        timeout_ms: `transaction.timeout.ms` of the client.
        recall: whether the last epoch is kept, for a client that asks again.
        now: milliseconds, by the coordinator's clock.
    """
    return metadata._replace(
        producer_id=producer_id,
        epoch=Epoch(0),
        last_epoch=metadata.epoch if recall else NO_EPOCH,
        timeout_ms=timeout_ms,
        state=TransactionState.EMPTY,
        partitions=frozenset(),
        started_ms=NO_TIMESTAMP,
        updated_ms=now,
    )


def add_partitions(
    metadata: TransactionMetadata, added: frozenset[TopicPartition], client_version: int, now: Timestamp
) -> TransactionMetadata:
    """More partitions in the transaction; the first ones begin it.

    Args:
        metadata: of the id.
        added: partitions, of which some may be in the transaction already.
        client_version: transaction version of the client.
        now: milliseconds, by the coordinator's clock.
    """
    ongoing = metadata.state == TransactionState.ONGOING
    return metadata._replace(
        state=TransactionState.ONGOING,
        partitions=metadata.partitions | added,
        started_ms=metadata.started_ms if ongoing else now,
        updated_ms=now,
        client_version=client_version,
    )


def fence_epoch(metadata: TransactionMetadata, bump: bool, profile: Profile) -> TransactionMetadata:
    """The epoch that fences the producer of an open transaction; it is never written to the log as such.

    Raises:
        UnknownServerError: there is no epoch above the current one, and the version has no alternative.
    """
    # [fence.epoch_exhaustion]
    if metadata.epoch == MAX_EPOCH and not profile.last_epoch_recovers:
        raise UnknownServerError(epoch=metadata.epoch)

    bumps = bump and metadata.epoch < MAX_EPOCH
    return metadata._replace(
        state=TransactionState.PREPARE_EPOCH_FENCE,
        epoch=Epoch(metadata.epoch + 1) if bumps else metadata.epoch,
        last_epoch=NO_EPOCH,
    )


def prepare_end(
    metadata: TransactionMetadata, commit: bool, client_version: int, next_producer_id: ProducerId, now: Timestamp
) -> TransactionMetadata:
    """The decision on a transaction; under version 2 with the epoch that follows it.

    Args:
        metadata: of the id, with an open transaction, or without one to be aborted under version 2.
        commit: the outcome.
        client_version: transaction version of the client.
        next_producer_id: where the epochs are used up, else -1.
        now: milliseconds, by the coordinator's clock.
    """
    state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    began_now = metadata.state != TransactionState.ONGOING
    decided = metadata._replace(
        state=state,
        next_producer_id=next_producer_id,
        started_ms=now if began_now else metadata.started_ms,
        updated_ms=now,
        client_version=client_version,
    )
    if client_version < BUMPS_EPOCH:
        return decided
    # [fence.epoch_exhaustion] an id that has got beyond its last epoch is aborted where it is
    epoch = Epoch(min(metadata.epoch + 1, MAX_EPOCH))
    return decided._replace(epoch=epoch, last_epoch=metadata.epoch)


def complete_end(metadata: TransactionMetadata, profile: Profile, now: Timestamp) -> TransactionMetadata:
    """The end of a transaction whose markers are all written."""
    committed = metadata.state == TransactionState.PREPARE_COMMIT
    completed = metadata._replace(
        state=TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT,
        partitions=frozenset(),
        updated_ms=now,
        next_producer_id=NO_PRODUCER_ID,
    )
    if metadata.client_version < BUMPS_EPOCH:
        return completed
    rotates = metadata.next_producer_id != NO_PRODUCER_ID
    return completed._replace(
        producer_id=metadata.next_producer_id if rotates else metadata.producer_id,
        epoch=Epoch(0) if rotates else metadata.epoch,
        last_epoch=metadata.last_epoch if profile.completion_keeps_last_epoch else metadata.epoch,
    )


def as_recorded(change: TransactionMetadata, profile: Profile) -> TransactionMetadata:
    """The change as its record holds it: some versions keep the client's transaction version in an end alone."""
    if profile.client_version_kept or change.state not in (TransactionState.EMPTY, TransactionState.ONGOING):
        return change
    return change._replace(client_version=0)


def taken_over(known: TransactionMetadata, change: TransactionMetadata, profile: Profile) -> TransactionMetadata:
    """The memory after a change that is in the log (TransactionMetadata.completeTransitionTo).

    known: the memory before.
    change: the change in the log; it names the producer id before the change as the previous one.
    profile: decides which fields an older coordinator does not take over.
    """
    if not profile.previous_id_always_follows and not _rotates_before_4_1(change):
        change = change._replace(previous_producer_id=known.previous_producer_id)
    if change.state == TransactionState.EMPTY and not profile.empty_clears_start:
        change = change._replace(started_ms=known.started_ms)
    return change


def _rotates_before_4_1(change: TransactionMetadata) -> bool:
    ends = change.state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
    return change.state == TransactionState.EMPTY or (ends and change.client_version >= BUMPS_EPOCH)


class TransactionEntry:
    """One transactional id in the coordinator's memory.

    Attributes:
        transactional_id: the id.
        metadata: the current metadata.
        pending: the state that a change under way leads to, None if there is none.
        failed_fence: a fence raised the epoch, but its abort did not reach the log.
    """

    __slots__ = ("failed_fence", "metadata", "pending", "transactional_id")

    def __init__(self, transactional_id: str, metadata: TransactionMetadata) -> None:
        """An id without a change under way."""
        self.transactional_id = transactional_id
        self.metadata = metadata
        self.pending: TransactionState | None = None
        self.failed_fence = False

    @property
    def is_fencing(self) -> bool:
        """Whether the change under way is the fencing of an open transaction."""
        return self.pending == TransactionState.PREPARE_EPOCH_FENCE

    def check_not_pending(self) -> None:
        """One change at a time; a fence gives way to the abort that it leads to.

        Raises:
            ConcurrentTransactions: another change is under way.
        """
        # [txn.legal_transition]
        if self.pending is not None and not self.is_fencing:
            raise ConcurrentTransactions(pending=self.pending.name)

    def check_settled(self) -> None:
        """No change may be under way, not even a fence.

        Raises:
            ConcurrentTransactions: a change is under way.
        """
        # [txn.legal_transition]
        if self.pending is not None:
            raise ConcurrentTransactions(pending=self.pending.name)

    def begin(self, change: TransactionMetadata) -> TransactionMetadata:
        """Prepare a change: from now until it is completed or cancelled the id is pending.

        Returns:
            the change, with the present producer id as the previous one.

        Raises:
            Impossible: another change is pending, or the state does not lead to the new one.
        """
        if self.pending is not None:
            raise Impossible(f"{self.transactional_id} goes to {self.pending.name} already")
        if self.metadata.state not in VALID_BEFORE[change.state]:
            raise Impossible(
                f"{self.transactional_id} cannot go from {self.metadata.state.name} to {change.state.name}"
            )
        self.pending = change.state
        return change._replace(previous_producer_id=self.metadata.producer_id)

    def complete(self, change: TransactionMetadata) -> None:
        """Complete a change that is in the log.

        Raises:
            Impossible: it is not the change that was begun.
        """
        if self.pending != change.state:
            raise Impossible(f"{self.transactional_id} is not on its way to {change.state.name}")
        self.metadata = change
        self.pending = None

    def cancel(self) -> None:
        """Drop a change that did not reach the log."""
        self.pending = None

    def raise_epoch(self, epoch: Epoch) -> None:
        """Fence the current producer before the abort of its transaction is written."""
        self.pending = None
        self.metadata = self.metadata._replace(epoch=epoch, last_epoch=NO_EPOCH)

    def forget_partition(self, partition: TopicPartition) -> None:
        """A partition has its marker."""
        self.metadata = self.metadata._replace(partitions=self.metadata.partitions - {partition})


# Checks of the identity in a request: the newest producer of the transactional id, by producer id and epoch.


def identity_of(metadata: TransactionMetadata) -> ProducerIdentity:
    """Producer id and epoch of an id."""
    return ProducerIdentity(metadata.producer_id, metadata.epoch)


def check_expected(metadata: TransactionMetadata, expected: ProducerIdentity | None) -> None:
    """A producer that resumes has the current producer id, or the last epoch of the one before.

    Raises:
        ProducerFenced: it has another one.
    """
    if expected is None or metadata.epoch == NO_EPOCH or expected.producer_id == metadata.producer_id:
        return

    # [fence.stale_epoch]
    if expected.producer_id != metadata.previous_producer_id or expected.epoch < LAST_CLIENT_EPOCH:
        raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=metadata.producer_id, got=expected.producer_id)


def check_producer(metadata: TransactionMetadata, producer: ProducerIdentity) -> None:
    """Check that the request comes from the newest producer with the id.

    Raises:
        InvalidProducerIdMapping: the producer id is another.
        ProducerFenced: the epoch is another.
    """
    # [fence.stale_epoch]
    if producer.producer_id != metadata.producer_id:
        raise InvalidProducerIdMapping(current=metadata.producer_id, got=producer.producer_id)

    # [fence.stale_epoch]
    if producer.epoch != metadata.epoch:
        raise ProducerFenced(rules.FENCE_STALE_EPOCH, current=metadata.epoch, got=producer.epoch)
