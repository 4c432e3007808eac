"""Defects of markers: which are sent, their effect at a partition, and what readers see of it."""

from typing import Final

from model_tests.mutants.defects.planted import defect
from reference.broker import marker_channel
from reference.broker.marker_channel import (
    MEANING,
    MarkerChannel,
    MarkerVerdict,
    PendingMarkers,
    TxnMarker,
    WriteMarker,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_append import CompletedTxn, ProducerAppend
from reference.log.producer_state import ProducerState
from reference.log.record import EndTransactionMarker
from reference.log.txn_index import AbortedTxn, TransactionIndex
from reference.world.handling import Handling
from spec import rules
from spec.vocabulary import NO_OFFSET, ErrorCode, Offset

_add = MarkerChannel.add
_send_markers = marker_channel.send_markers
_adopt_marker = ProducerAppend.adopt_marker
_resume = Handling._resume


# --- which markers are sent -------------------------------------------------------------------------------------


def owe_nothing(channel: MarkerChannel, entry: object, epoch: object, completed: object) -> None:
    """A decided transaction is complete at once."""
    _add(channel, entry, epoch, completed)  # type: ignore[arg-type]
    channel.owed[-1].partitions.clear()


def owe_the_first(channel: MarkerChannel, entry: object, epoch: object, completed: object) -> None:
    """Only one partition gets its marker."""
    _add(channel, entry, epoch, completed)  # type: ignore[arg-type]
    channel.owed[-1].partitions = set(sorted(channel.owed[-1].partitions)[:1])


def tear(owed: PendingMarkers, write: WriteMarker) -> bool:
    """The last partition gets the opposite outcome."""
    last = max(owed.partitions, default=None)

    def torn(partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        if partition == last and partition.topic == "t" and len(owed.entry.metadata.partitions) > 1:
            contrary = TxnMarker(
                marker.producer_id,
                marker.epoch,
                not marker.committed,
                marker.coordinator_epoch,
                marker.transaction_version,
            )
            return write(partition, contrary)
        return write(partition, marker)

    return _send_markers(owed, torn)


def flip(owed: PendingMarkers, write: WriteMarker) -> bool:
    """Commits get ABORT markers."""

    def flipped(partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        reported = TxnMarker(
            marker.producer_id, marker.epoch, False, marker.coordinator_epoch, marker.transaction_version
        )
        return write(partition, reported)

    return _send_markers(owed, flipped)


def done_if(*errors: ErrorCode) -> dict[ErrorCode | None, MarkerVerdict]:
    """These errors count as written."""
    return MEANING | dict.fromkeys(errors, MarkerVerdict.DONE)


STOPPED_BY_NETWORK: Final = MEANING | {ErrorCode.NOT_LEADER_OR_FOLLOWER: MarkerVerdict.STOP}


# --- what a marker does -----------------------------------------------------------------------------------------


def any_coordinator(part: ProducerAppend, marker: EndTransactionMarker) -> None:
    """A marker of a replaced coordinator is taken."""


def adopt_without_coordinator(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """A partition does not remember which coordinator was the last."""
    before = part.entry.coordinator_epoch
    _adopt_marker(part, batch, marker)
    part.entry = part.entry._replace(coordinator_epoch=before)


def adopt_and_stay_open(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """After the marker the producer still counts as in its transaction."""
    first = part.entry.txn_first_offset
    _adopt_marker(part, batch, marker)
    part.entry = part.entry._replace(txn_first_offset=first)


def lenient(part: ProducerAppend) -> int:
    """A marker may come late (KAFKA-19446)."""
    return 0


def never_again(part: ProducerAppend, batch: RecordBatch) -> bool:
    """A marker that is sent again is refused (KAFKA-19999)."""
    return False


def complete_as_committed(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """An abort is noted as a commit."""
    if part.entry.in_transaction:
        part.completed.append(CompletedTxn(part.producer_id, part.entry.txn_first_offset, batch.base_offset, False))


def complete_without_waiting(state: ProducerState, txn: CompletedTxn) -> None:
    """A marker counts before it is replicated."""
    state.ongoing.pop(txn.first_offset, None)


def stable_by_newest(state: ProducerState) -> Offset:
    """The newest open transaction holds the last stable offset."""
    if not state.ongoing and not state.unreplicated:
        return NO_OFFSET
    return max((*state.ongoing, *state.unreplicated))


def stable_at_the_high_watermark(partition: Partition) -> Offset:
    """Open transactions do not hold the last stable offset."""
    return partition.high_watermark


def note_nothing(index: TransactionIndex, entry: AbortedTxn) -> None:
    """Aborted transactions are not noted."""


OF_MARKERS: Final = (
    defect("a decided transaction is complete at once", rules.TXN_MARKER_ONCE, MarkerChannel, "add", owe_nothing),
    defect("one partition gets its marker", rules.TXN_MARKER_ONCE, MarkerChannel, "add", owe_the_first),
    defect("one partition gets the opposite outcome", rules.TXN_ATOMIC, marker_channel, "send_markers", tear),
    defect("commits get ABORT markers", rules.TXN_ONE_OUTCOME, marker_channel, "send_markers", flip),
    defect(
        "a lost marker counts as written",
        rules.TXN_MARKER_ONCE,
        marker_channel,
        "MEANING",
        done_if(ErrorCode.NETWORK_EXCEPTION),
    ),
    defect(
        "a marker for an unavailable partition counts as written",
        rules.TXN_MARKER_ONCE,
        marker_channel,
        "MEANING",
        done_if(ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ),
    defect(
        "an unavailable partition ends all sending",
        rules.TXN_COMPLETES,
        marker_channel,
        "MEANING",
        STOPPED_BY_NETWORK,
    ),
    defect(
        "a replaced coordinator writes markers",
        rules.FENCE_COORDINATOR_EPOCH,
        ProducerAppend,
        "check_coordinator_epoch",
        any_coordinator,
    ),
    defect(
        "a marker leaves no coordinator epoch",
        rules.FENCE_COORDINATOR_EPOCH,
        ProducerAppend,
        "adopt_marker",
        adopt_without_coordinator,
    ),
    defect(
        "a marker ends nothing for its producer",
        rules.TXN_REGISTERED_BEFORE_DATA,
        ProducerAppend,
        "adopt_marker",
        adopt_and_stay_open,
    ),
    defect(
        "late markers are taken (KAFKA-19446)",
        rules.TXN_NO_CROSSTALK,
        ProducerAppend,
        "effective_marker_version",
        lenient,
    ),
    defect(
        "repeated markers are refused (KAFKA-19999)",
        rules.TXN_COMPLETES,
        ProducerAppend,
        "is_marker_retry",
        never_again,
    ),
    defect(
        "aborts are noted as commits",
        rules.LSO_READ_COMMITTED,
        ProducerAppend,
        "complete_transaction",
        complete_as_committed,
    ),
    defect("aborts are not noted", rules.LSO_READ_COMMITTED, TransactionIndex, "append", note_nothing),
    defect(
        "a marker counts before it is replicated",
        rules.LSO_READ_COMMITTED,
        ProducerState,
        "complete",
        complete_without_waiting,
    ),
    defect(
        "the newest open transaction bounds readers",
        rules.LSO_READ_COMMITTED,
        ProducerState,
        "first_unstable",
        stable_by_newest,
    ),
    defect(
        "open transactions do not bound readers",
        rules.LSO_READ_COMMITTED,
        Partition,
        "last_stable",
        property(stable_at_the_high_watermark),
    ),
)
"""Mutants of markers and of the last stable offset."""
