"""WriteTxnMarkers at a partition's leader: the coordinator's decision becomes a control batch."""

from dataclasses import dataclass
from typing import Final

from reference.log.batch import RecordBatch, marker_batch
from reference.log.partition import AppendResult, Partition
from spec.vocabulary import ControlType, CoordinatorEpoch, Epoch, Origin, ProducerId, Timestamp

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
