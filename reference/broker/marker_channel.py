"""Markers: outstanding at a coordinator (TransactionMarkerChannelManager), and written by a leader."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto, unique
from typing import Final

from reference.broker.transaction_metadata import TopicPartition, TransactionEntry, TransactionMetadata
from reference.errors import Impossible
from reference.log.batch import RecordBatch, marker_batch
from reference.log.partition import AppendResult, Partition
from spec.versions import Profile
from spec.vocabulary import (
    ControlType,
    CoordinatorEpoch,
    Epoch,
    ErrorCode,
    Origin,
    ProducerId,
    Timestamp,
    TransactionState,
)

VERSION_WITH_TRANSACTION_VERSION: Final = 2
"""First version of WriteTxnMarkers that holds the transaction version of the marker."""


@dataclass(frozen=True, slots=True)
class TxnMarker:
    """One marker of a WriteTxnMarkers request."""

    producer_id: ProducerId
    epoch: Epoch
    committed: bool
    coordinator_epoch: CoordinatorEpoch
    transaction_version: int = 0

    def batch(self, now: Timestamp) -> RecordBatch:
        """The marker as a control batch, written at `now` (milliseconds)."""
        outcome = ControlType.COMMIT if self.committed else ControlType.ABORT
        return marker_batch(self.producer_id, self.epoch, outcome, self.coordinator_epoch, now)


def write_marker(partition: Partition, marker: TxnMarker, version: int, now: Timestamp) -> AppendResult:
    """Append one marker as WriteTxnMarkers of `version` asks.

    Args:
        partition: where it goes.
        marker: what the coordinator decided, and its epochs.
        version: of WriteTxnMarkers; older ones cannot carry the transaction version.
        now: the marker's timestamp, in milliseconds.

    Raises:
        Refusal: the marker is stale; nothing has changed.
    """
    return partition.append(
        marker.batch(now), Origin.COORDINATOR, marker_version=reported_transaction_version(marker, version)
    )


def reported_transaction_version(marker: TxnMarker, version: int) -> int:
    """The transaction version as the request's version can carry it; else 0."""
    return marker.transaction_version if version >= VERSION_WITH_TRANSACTION_VERSION else 0


WriteMarker = Callable[[TopicPartition, TxnMarker], ErrorCode | None]
"""Writes a marker at the partition's leader.

None means that the partition no longer exists, LEADER_NOT_AVAILABLE that no leader of it is registered.
"""


@unique
class MarkerVerdict(Enum):
    """The meaning of a marker's answer for its sender."""

    DONE = auto()
    AGAIN = auto()
    STOP = auto()  # a newer coordinator or epoch is at work: all sending for the transaction ends


MEANING: Final = {
    None: MarkerVerdict.DONE,
    ErrorCode.NONE: MarkerVerdict.DONE,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: MarkerVerdict.DONE,
    ErrorCode.UNSUPPORTED_VERSION: MarkerVerdict.DONE,
    ErrorCode.LEADER_NOT_AVAILABLE: MarkerVerdict.AGAIN,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: MarkerVerdict.AGAIN,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: MarkerVerdict.AGAIN,
    ErrorCode.NOT_ENOUGH_REPLICAS: MarkerVerdict.AGAIN,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: MarkerVerdict.AGAIN,
    ErrorCode.REQUEST_TIMED_OUT: MarkerVerdict.AGAIN,
    ErrorCode.KAFKA_STORAGE_ERROR: MarkerVerdict.AGAIN,
    ErrorCode.NETWORK_EXCEPTION: MarkerVerdict.AGAIN,
    ErrorCode.INVALID_PRODUCER_EPOCH: MarkerVerdict.STOP,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: MarkerVerdict.STOP,
}


@dataclass(slots=True)
class PendingMarkers:
    """The markers of one decided transaction.

    Attributes:
        entry: of the transactional id, which stays pending until all are written.
        marker: the same for every partition.
        completed: the change that follows the last one.
        partitions: those that have no marker yet.
    """

    entry: TransactionEntry
    marker: TxnMarker
    completed: TransactionMetadata
    partitions: set[TopicPartition]


class MarkerChannel:
    """Decided transactions in the order of their decisions, as long as markers are owed.

    Attributes:
        profile: whether the marker of a partition without a leader is dropped.
        owed: those transactions.
    """

    __slots__ = ("owed", "profile")

    def __init__(self, profile: Profile) -> None:
        """No markers yet."""
        self.profile = profile
        self.owed: list[PendingMarkers] = []

    def add(self, entry: TransactionEntry, epoch: CoordinatorEpoch, completed: TransactionMetadata) -> None:
        """Add a marker for every partition of a decided transaction."""
        decided = entry.metadata
        marker = TxnMarker(
            decided.producer_id,
            decided.epoch,
            decided.state == TransactionState.PREPARE_COMMIT,
            epoch,
            decided.client_version,
        )
        self.owed.append(PendingMarkers(entry, marker, completed, set(decided.partitions)))

    def forget(self, entries: set[TransactionEntry]) -> None:
        """Drop the markers of ids that another node coordinates now."""
        self.owed = [owed for owed in self.owed if owed.entry not in entries]

    def send(self, write: WriteMarker) -> list[PendingMarkers]:
        """Send every outstanding marker once; returns the transactions that have all of theirs."""
        if self.profile.leaderless_marker_dropped:
            write = without_the_leaderless(write)
        waiting: list[PendingMarkers] = []
        finished: list[PendingMarkers] = []
        for owed in self.owed:
            if send_markers(owed, write):
                (waiting if owed.partitions else finished).append(owed)
        self.owed = waiting
        return finished

    def put_back(self, owed: PendingMarkers) -> None:
        """Retry a transaction whose completion did not reach the log."""
        self.owed.append(owed)


def without_the_leaderless(write: WriteMarker) -> WriteMarker:
    """Treats a partition without a registered leader as one that no longer exists (KAFKA-20734)."""

    def write_or_drop(partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        error = write(partition, marker)
        return None if error is ErrorCode.LEADER_NOT_AVAILABLE else error

    return write_or_drop


def send_markers(owed: PendingMarkers, write: WriteMarker) -> bool:
    """Send the markers of one transaction; whether to continue with it."""
    stopped = False
    for partition in sorted(owed.partitions):
        match meaning_of(write(partition, owed.marker)):
            case MarkerVerdict.DONE:
                owed.partitions.discard(partition)
                owed.entry.forget_partition(partition)
            case MarkerVerdict.STOP:
                stopped = True
    return not stopped


def meaning_of(error: ErrorCode | None) -> MarkerVerdict:
    """The meaning of a marker's answer.

    Raises:
        Impossible: no leader answers a marker with this error.
    """
    if error not in MEANING:
        raise Impossible(f"a marker was answered with {error}")
    return MEANING[error]
