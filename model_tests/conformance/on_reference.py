"""A session on the reference implementation: one broker with real batches, in memory."""

from collections.abc import Sequence

from model_tests.conformance.answers import (
    Answer,
    Appended,
    Fetched,
    Initialized,
    Produced,
    Seen,
    SeenBatch,
    SeenPartition,
    SeenProducer,
    Silence,
)
from model_tests.conformance.requests import Batch, Fetch, InitProducerId, Produce, Request, Restart
from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.broker.partition import READ_COMMITTED, READ_UNCOMMITTED, ActiveProducer, FetchResult, Partition
from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce
from reference.errors import OffsetOutOfRange, UnknownTopicOrPartition
from reference.log import sequence
from reference.log.batch import CONTROL, TRANSACTIONAL, RecordBatch, data_batch
from reference.log.record import EndTransactionMarker, Record, marker_record
from spec.versions import Profile
from spec.vocabulary import ControlType, CoordinatorEpoch, ErrorCode, Timestamp
from spec.vocabulary import Sequence as SequenceNumber

NOW = Timestamp(0)
"""A session is over before anything expires."""

NOWHERE = -1
"""Number of a partition that the broker does not have."""


class OnReference:
    """A broker of the reference, with producer ids from a controller of its own."""

    def __init__(self, profile: Profile, partitions: Sequence[str], _segment_bytes: int = 2**30) -> None:
        """Fresh partitions under a profile."""
        self._numbers = {name: number for number, name in enumerate(partitions)}
        self._partitions = {number: Partition(profile) for number in self._numbers.values()}
        self._producer_ids = ProducerIdManager(BlockAllocator())

    def answer(self, request: Request) -> Answer:
        """Answer a request."""
        match request:
            case Produce():
                return self.produce(request)
            case Fetch():
                return self.fetch(request)
            case InitProducerId() if request.transactional_id is None:
                return self.init_producer_id(request)
            case Restart():
                return self.restart(request)
        raise NotImplementedError(f"{type(request).__name__} is not answered yet")

    def produce(self, request: Produce) -> Produced:
        """Have the broker handle the batches."""
        numbered = {self._number(batch.partition): batch for batch in request.batches}
        batches = {number: _sent(batch, request.sent_at) for number, batch in numbered.items()}
        asked = ProduceRequest(batches, request.transactional_id, request.acks, request.version)
        answers = handle_produce(self._partitions, asked)
        return Produced(
            {numbered[number].partition: _told(answer) for number, answer in answers.items()}, request.several
        )

    def fetch(self, request: Fetch) -> Fetched:
        """Fetch from the partition, and decode what is delivered."""
        isolation = READ_COMMITTED if request.committed_only else READ_UNCOMMITTED
        partition = self._partitions.get(self._number(request.partition))
        if partition is None:
            return Fetched(UnknownTopicOrPartition.code)
        try:
            return _read(partition.fetch(request.offset, isolation), request.offset)
        except OffsetOutOfRange as refusal:
            return Fetched(refusal.code)

    def init_producer_id(self, _request: InitProducerId) -> Initialized:
        """Have an id generated."""
        identity = self._producer_ids.init_producer_id()
        return Initialized(ErrorCode.NONE, identity.producer_id, identity.epoch)

    def restart(self, _request: Restart) -> Silence:
        """Load every partition again; what is left of the block of producer ids is lost."""
        for partition in self._partitions.values():
            partition.restart(NOW)
        self._producer_ids.restart()
        return Silence()

    def seen(self) -> Seen:
        """What is observable of every partition now."""
        return Seen({name: _view(self._partitions[number]) for name, number in self._numbers.items()})

    def _number(self, partition: str) -> int:
        return self._numbers.get(partition, NOWHERE)


def _sent(batch: Batch, sent_at: int) -> tuple[RecordBatch, ...]:
    """The batches in the request, each continuing the sequence of the one before."""
    records = _records(batch)
    first = SequenceNumber(batch.base_sequence)
    sent = []
    for _ in range(batch.batch_count):
        plain = data_batch(
            records,
            producer_id=int(batch.producer_id),
            epoch=batch.producer_epoch,
            base_sequence=first,
            timestamp=sent_at,
        )
        sent.append(plain._replace(attributes=_attributes(batch), last_offset_delta=batch.last_offset_delta))
        first = sequence.increment(first, batch.record_count) if first >= 0 else first
    return tuple(sent)


def _records(batch: Batch) -> tuple[Record, ...]:
    if batch.control:
        marker = EndTransactionMarker(ControlType[batch.control], CoordinatorEpoch(batch.coordinator_epoch))
        return (marker_record(marker),)
    return tuple(Record(delta, 0, None, value.encode()) for delta, value in enumerate(batch.values))


def _attributes(batch: Batch) -> int:
    return (TRANSACTIONAL if batch.transactional else 0) | (CONTROL if batch.control else 0)


def _told(answer: PartitionAnswer) -> Appended:
    return Appended(answer.error, answer.base_offset, answer.log_append_time >= 0, answer.log_start)


def _read(result: FetchResult, offset: int) -> Fetched:
    batches = tuple(_shown(batch) for batch in result.batches)
    records = ((batch.base_offset + delta, value) for batch in batches for delta, value in enumerate(batch.values))
    aborted = result.aborted
    return Fetched(
        ErrorCode.NONE,
        result.high_watermark,
        result.last_stable,
        result.log_start,
        None if aborted is None else tuple((txn.producer_id, txn.first_offset) for txn in aborted),
        batches,
        tuple(record for record in records if record[0] >= offset),
    )


def _shown(batch: RecordBatch) -> SeenBatch:
    return SeenBatch(
        batch.base_offset,
        batch.last_offset,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_transactional,
        batch.is_control,
        tuple((record.value or b"").decode() for record in batch.records()),
    )


def _view(partition: Partition) -> SeenPartition:
    producers = tuple(_described(producer) for producer in partition.describe_producers())
    return SeenPartition(producers, partition.high_watermark, partition.last_stable)


def _described(producer: ActiveProducer) -> SeenProducer:
    return SeenProducer(
        producer.producer_id,
        producer.epoch,
        producer.last_sequence,
        producer.coordinator_epoch,
        producer.txn_first_offset,
    )
