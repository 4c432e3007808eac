"""The state of the reference's broker, as the observable fields of a session; and a session's batches as bytes."""

from collections.abc import Iterable
from typing import Final

from model_tests.conform.answers import (
    AppendAnswer,
    ListedTransaction,
    RecordedFetchAnswer,
    SeenBatch,
    SeenPartition,
    SeenProducer,
    SeenTransaction,
)
from model_tests.conform.requests import RecordedBatch
from reference.broker import transaction_api
from reference.broker.produce import PartitionAnswer
from reference.broker.transaction_metadata import TopicPartition, TransactionMetadata
from reference.client.consumer import delivered
from reference.log import sequence
from reference.log.batch import CONTROL, TRANSACTIONAL, RecordBatch, data_batch
from reference.log.partition import FetchResult, Partition
from reference.log.reading import ActiveProducer
from reference.log.record import EndTransactionMarker, Record, marker_record
from spec.vocabulary import ControlType, CoordinatorEpoch, ErrorCode, Sequence, Timestamp, TransactionState

STATE_NAMES: Final = {state: name for name, state in transaction_api.STATE_NAMES.items()}


def sent(batch: RecordedBatch, now: Timestamp) -> tuple[RecordBatch, ...]:
    """The batches in a request, each continuing the sequence of the one before."""
    records = _records(batch)
    first = Sequence(batch.base_sequence)
    made = []
    for _ in range(batch.batch_count):
        plain = data_batch(
            records,
            producer_id=int(batch.producer_id),
            epoch=batch.producer_epoch,
            base_sequence=first,
            timestamp=now,
        )
        made.append(plain._replace(attributes=_attributes(batch), last_offset_delta=batch.last_offset_delta))
        first = sequence.increment(first, batch.record_count) if first >= 0 else first
    return tuple(made)


def _records(batch: RecordedBatch) -> tuple[Record, ...]:
    if batch.control:
        marker = EndTransactionMarker(ControlType[batch.control], CoordinatorEpoch(batch.coordinator_epoch))
        return (marker_record(marker),)
    return tuple(Record(delta, 0, None, value.encode()) for delta, value in enumerate(batch.values))


def _attributes(batch: RecordedBatch) -> int:
    return (TRANSACTIONAL if batch.transactional else 0) | (CONTROL if batch.control else 0)


def appended(answer: PartitionAnswer) -> AppendAnswer:
    """The answer about one partition of a Produce."""
    return AppendAnswer(answer.error, answer.base_offset, answer.log_append_time >= 0, answer.log_start)


def fetched(result: FetchResult, offset: int) -> RecordedFetchAnswer:
    """The answer to a Fetch, and what a client with its filter hands on."""
    aborted = result.aborted
    return RecordedFetchAnswer(
        ErrorCode.NONE,
        result.high_watermark,
        result.last_stable,
        result.log_start,
        None if aborted is None else tuple((txn.producer_id, txn.first_offset) for txn in aborted),
        tuple(_shown(batch) for batch in result.batches),
        tuple((position, _text(record)) for position, record in delivered(result, offset)),
    )


def _text(record: Record) -> str:
    return (record.value or b"").decode()


def _shown(batch: RecordBatch) -> SeenBatch:
    marker = batch.marker() if batch.is_control else None
    return SeenBatch(
        batch.base_offset,
        batch.last_offset,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_transactional,
        batch.is_control,
        () if marker else tuple(_text(record) for record in batch.records()),
        marker.control_type.name if marker else "",
        marker.coordinator_epoch if marker else -1,
    )


def partition_view(partition: Partition) -> SeenPartition:
    """What is observable of a partition."""
    return SeenPartition(producers_of(partition), partition.high_watermark, partition.last_stable)


def producers_of(partition: Partition) -> tuple[SeenProducer, ...]:
    """The producers that a partition knows."""
    return tuple(_described(producer) for producer in partition.describe_producers())


def _described(producer: ActiveProducer) -> SeenProducer:
    return SeenProducer(
        producer.producer_id,
        producer.epoch,
        producer.last_sequence,
        producer.coordinator_epoch,
        producer.txn_first_offset,
    )


def transaction_view(metadata: TransactionMetadata, partitions: tuple[str, ...]) -> SeenTransaction:
    """What is observable of a transactional id, with its partitions as a session names them."""
    return SeenTransaction(
        state_name(metadata.state),
        metadata.producer_id,
        metadata.epoch,
        metadata.timeout_ms,
        metadata.started_ms >= 0,
        partitions,
    )


def listed(found: Iterable[transaction_api.ListedId]) -> tuple[ListedTransaction, ...]:
    """The ids that ListTransactions shows."""
    return tuple(ListedTransaction(each.transactional_id, each.producer_id, state_name(each.state)) for each in found)


def state_name(state: TransactionState) -> str:
    """A state by Kafka's name."""
    return STATE_NAMES[state]


def names_of(partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
    """Partitions as a session names them."""
    return tuple(f"{topic}-{number}" for topic, number in sorted(partitions))


def named(name: str) -> TopicPartition:
    """The partition that a session names."""
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))
