"""The defects of the known bugs, planted in the reference where no profile has them."""

from typing import Final

from model_tests.bugs import coordinator_script
from model_tests.mutants.defects.of_client import one_more_in_flight, renumber_backwards
from model_tests.mutants.defects.planted import Patch, Planted
from reference.broker import transaction_timeouts
from reference.broker.end_txn import EndTransaction
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.broker.transaction_metadata import TransactionEntry
from reference.client.partition_queue import PartitionQueue
from reference.client.producer import IdempotentProducer
from reference.client.transaction_states import ErrorHandling, ProducerRequest, meaning
from reference.log.batch import RecordBatch
from reference.log.cleaner import BatchCleaner
from reference.log.producer_append import ProducerAppend
from reference.log.producer_entry import NO_GUARD, ProducerEntry, VerificationEntry
from reference.log.producer_state import ProducerState
from reference.log.record import EndTransactionMarker
from spec import rules
from spec.vocabulary import ErrorCode, ProducerId, Timestamp

_identified = IdempotentProducer.identified
_adopt_marker = ProducerAppend.adopt_marker
_clean = BatchCleaner.clean


def renumber_everything(producer: IdempotentProducer, identity: ProducerIdentity) -> None:
    """A raised epoch numbers again what is in flight for every partition."""
    for partition, _ in enumerate(producer.queues):
        producer.request_bump(partition)
    _identified(producer, identity)


def count_on(queue: PartitionQueue, identity: ProducerIdentity) -> None:
    """An idle partition takes up a raised epoch and continues its sequence."""
    queue.identity = identity


def forget_with_the_records(_: ProducerState, entry: ProducerEntry, __: Timestamp) -> bool:
    """A producer is forgotten as soon as its records are deleted."""
    return not entry.in_transaction


def keep_time_of_data(part: ProducerAppend, batch: RecordBatch, marker: EndTransactionMarker) -> None:
    """A marker does not count for the age of its producer."""
    before = part.entry.last_timestamp
    _adopt_marker(part, batch, marker)
    part.entry = part.entry._replace(last_timestamp=before)


def let_overtake(_: ProducerAppend, __: RecordBatch, ___: VerificationEntry) -> None:
    """No sequence that waits for its verification is remembered."""


def abort_without_fence(coordinator: TransactionCoordinator, entry: TransactionEntry) -> None:
    """A transaction past its timeout is aborted with the epoch that its producer has."""
    known = entry.metadata
    coordinator.end_txn(EndTransaction(entry.transactional_id, known.producer_id, known.epoch, False, 0, False))


def go_on_after_mapping_error(request: ProducerRequest, error: ErrorCode) -> ErrorHandling:
    """A client takes an unknown producer id for an abortable error."""
    return ErrorHandling.BUMP if error is ErrorCode.INVALID_PRODUCER_ID_MAPPING else meaning(request, error)


def take_any_guard(_: ProducerState, __: ProducerId, guard: int) -> bool:
    """A consent is used whatever has happened since the request."""
    return guard != NO_GUARD


def recognise_no_repetition(_: ProducerAppend, __: RecordBatch) -> bool:
    """A marker whose epoch the partition has already is stale, repeated or not."""
    return False


def take_markers_for_data(cleaner: BatchCleaner, batch: RecordBatch) -> RecordBatch | None:
    """A marker goes when a later record has a key of the same bytes."""
    keys = [record.key for record in batch.records()] if batch.is_control else []
    superseded = any(cleaner.keys.offsets.get(key or b"", -1) > batch.base_offset for key in keys)
    return None if superseded else _clean(cleaner, batch)


DEFECTS: Final = {
    "KAFKA-14884": Planted(
        "a guard is not compared",
        rules.TXN_REGISTERED_BEFORE_DATA,
        (Patch(ProducerState, "is_verified", take_any_guard),),
    ),
    "KAFKA-19999": Planted(
        "a repeated marker is stale",
        rules.TXN_COMPLETES,
        (Patch(ProducerAppend, "is_marker_retry", recognise_no_repetition),),
    ),
    "KAFKA-6119": Planted(
        "a timeout that does not fence",
        rules.TXN_CLIENT_VERDICT,
        (Patch(transaction_timeouts, "_fence_quietly", abort_without_fence),),
    ),
    "KAFKA-18019": Planted(
        "an unknown producer id is no end",
        rules.FENCE_ZOMBIE_CANNOT_COMMIT,
        (Patch(coordinator_script, "meaning", go_on_after_mapping_error),),
    ),
    "KAFKA-5494": Planted(
        "two batches in flight, and a window of one",
        rules.SEQ_WINDOW_SUFFICES,
        (Patch(PartitionQueue, "__init__", one_more_in_flight),),
    ),
    "KAFKA-8483": Planted(
        "numbered again in arbitrary order",
        rules.SEQ_ORDER,
        (Patch(PartitionQueue, "start_at_beginning", renumber_backwards),),
    ),
    "KAFKA-12152": Planted(
        "an idle partition counts on", rules.SEQ_EPOCH_RESET, (Patch(PartitionQueue, "adopt", count_on),)
    ),
    "librdkafka#4953": Planted(
        "everything in flight is numbered again",
        rules.SEQ_EXACTLY_ONCE,
        (Patch(IdempotentProducer, "identified", renumber_everything),),
    ),
    "KAFKA-7190": Planted(
        "state goes with the records",
        rules.SEQ_SUCCESSOR,
        (Patch(ProducerState, "is_expired", forget_with_the_records),),
    ),
    "KAFKA-9144": Planted(
        "a marker does not refresh its producer",
        rules.FENCE_COORDINATOR_EPOCH,
        (Patch(ProducerAppend, "adopt_marker", keep_time_of_data),),
    ),
    "KAFKA-14055": Planted(
        "the key of a marker is compared",
        rules.LSO_DECIDED_BELOW,
        (Patch(BatchCleaner, "clean", take_markers_for_data),),
    ),
    "KAFKA-14920": Planted(
        "a waiting sequence is not remembered",
        rules.SEQ_ORDER,
        (Patch(ProducerAppend, "check_lowest_waiting", let_overtake),),
    ),
}
"""By the bug."""
