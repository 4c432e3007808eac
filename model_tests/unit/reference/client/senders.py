"""A producer of records with its sender, and what leaders answer, in a few words."""

from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client.accumulator import SentRecord
from reference.client.coordinator_channel import CoordinatorAnswer
from reference.client.partitioners import ByKey, RoundRobin
from reference.client.producer import AttemptReply, IdempotentProducer
from reference.client.producer_settings import GENERIC_ERRORS, ProducerSettings
from reference.client.record_producer import RecordProducer
from reference.client.sender import ProduceCall
from reference.client.transactional_producer import TransactionalProducer
from spec.vocabulary import Epoch, ErrorCode, Offset, ProducerId, Timestamp

IMMEDIATELY = ProducerSettings(batch_bytes=100, linger_ms=0, retry_backoff_ms=10, request_timeout_ms=50)
NOW = Timestamp(0)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def producer_with(
    settings: ProducerSettings = IMMEDIATELY,
    batches: IdempotentProducer | None = None,
    leaders: tuple[int | None, ...] = (0, 0),
) -> RecordProducer:
    """A producer with identity (7, 0) for two partitions, both led by node 0."""
    chosen = batches or IdempotentProducer(2, delivery_timeout_ms=1000)
    if batches is None:
        chosen.identified(ProducerIdentity(ProducerId(7), Epoch(0)))
    return RecordProducer(chosen, ByKey(RoundRobin()), leaders, settings)


def send(producer: RecordProducer, count: int = 1, partition: int = 0, now: int = 0) -> list[SentRecord]:
    """Hand over records of which a batch of 100 bytes holds two."""
    return [producer.send(None, b"x" * 10, Timestamp(now), partition) for _ in range(count)]


def run(producer: RecordProducer, now: int = 0) -> list[ProduceCall]:
    return producer.sender.run(Timestamp(now))


def ack(producer: RecordProducer, call: ProduceCall, offset: int = 0) -> None:
    replies = {attempt.partition: AttemptReply(ErrorCode.NONE, Offset(offset)) for attempt in call.attempts}
    producer.sender.receive(call, replies, NOW)


def refuse(producer: RecordProducer, call: ProduceCall, error: ErrorCode, now: int = 0) -> None:
    replies = {attempt.partition: AttemptReply(error) for attempt in call.attempts}
    producer.sender.receive(call, replies, Timestamp(now))


def sequences(call: ProduceCall) -> list[tuple[int, int]]:
    """Base sequence and records of each batch."""
    return [(attempt.records.base_sequence, attempt.records.record_count) for attempt in call.attempts]


def lingering() -> RecordProducer:
    producer = producer_with(ProducerSettings(batch_bytes=100, linger_ms=5))
    send(producer)
    return producer


def in_transaction() -> RecordProducer:
    """The coordinator has not answered for the partition yet."""
    batches = TransactionalProducer("id", (T0, T1), GENERIC_ERRORS)
    initialized(batches)
    batches.begin()
    producer = producer_with(batches=batches)
    send(producer)
    return producer


def initialized(batches: TransactionalProducer) -> None:
    batches.init_transactions()
    for answer in (CoordinatorAnswer(node=3), CoordinatorAnswer(identity=ProducerIdentity(ProducerId(7), Epoch(0)))):
        outgoing = batches.poll()
        assert outgoing is not None
        batches.answer(outgoing.number, answer)


def identity_of(producer: RecordProducer) -> ProducerIdentity:
    assert producer.batches.identity is not None
    return producer.batches.identity


def add_partition(producer: RecordProducer) -> None:
    batches = producer.batches
    assert isinstance(batches, TransactionalProducer)
    outgoing = batches.poll()
    assert outgoing is not None
    batches.answer(outgoing.number, CoordinatorAnswer(partitions={T0: ErrorCode.NONE}))


def nothing(producer: RecordProducer) -> None:
    """Time alone."""
