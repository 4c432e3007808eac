"""When batches are sent and when they are not: each drain rule by its name."""

from collections.abc import Callable

import pytest

from model_tests.unit.reference.client.senders import (
    ack,
    add_partition,
    identity_of,
    in_transaction,
    lingering,
    nothing,
    producer_with,
    refuse,
    run,
    send,
)
from reference.broker.ids import ProducerIdentity
from reference.client.partition_queue import Hold
from reference.client.producer import IdempotentProducer
from reference.client.producer_settings import ProducerSettings
from reference.client.record_producer import RecordProducer
from spec.vocabulary import Epoch, ErrorCode, ProducerId, Timestamp


def leader_unknown() -> RecordProducer:
    producer = producer_with(leaders=(None, 0))
    send(producer)
    return producer


def connection_busy() -> RecordProducer:
    producer = producer_with()
    for _ in range(5):
        send(producer, partition=1)
        run(producer)
    send(producer)
    return producer


def muted() -> RecordProducer:
    """One batch of a partition at a time: the second must not go to the new leader before the first is answered."""
    producer = producer_with(ProducerSettings(batch_bytes=100, linger_ms=0, max_in_flight=1))
    send(producer, 4)
    run(producer)
    producer.sender.learn((1, 0))
    return producer


def backing_off() -> RecordProducer:
    producer = producer_with()
    send(producer)
    refuse(producer, run(producer)[0], ErrorCode.NOT_ENOUGH_REPLICAS)
    return producer


def failed() -> RecordProducer:
    producer = producer_with()
    send(producer)
    refuse(producer, run(producer)[0], ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    send(producer)
    return producer


def no_producer_id() -> RecordProducer:
    producer = producer_with(batches=IdempotentProducer(2))
    send(producer)
    return producer


def stale_in_flight() -> RecordProducer:
    """The epoch went up because of partition 1; at partition 0 a batch of the old one is not answered."""
    producer = producer_with()
    send(producer, 2)
    (first,) = run(producer)
    send(producer, partition=1)
    (second,) = run(producer)
    refuse(producer, second, ErrorCode.INVALID_RECORD)
    run(producer)
    send(producer)
    assert (1, first.attempts[0].records.producer_epoch) == (identity_of(producer).epoch, 0)
    return producer


def unresolved() -> RecordProducer:
    """Of two batches in flight the first has expired."""
    producer = producer_with(ProducerSettings(batch_bytes=100, linger_ms=0))
    send(producer, now=0)
    run(producer, 0)
    send(producer, now=990)
    run(producer, 990)
    producer.batches.tick(Timestamp(1000))
    send(producer, now=1000)
    return producer


def window_full() -> RecordProducer:
    """Five batches are in flight to a former leader, of which the producer has heard that it is none any more."""
    producer = producer_with()
    for _ in range(5):
        send(producer)
        run(producer)
    producer.sender.learn((1, 0))
    send(producer)
    return producer


def not_first_in_flight() -> RecordProducer:
    """The second batch has failed, the first one is not answered."""
    producer = producer_with(ProducerSettings(batch_bytes=100, linger_ms=0, retry_backoff_ms=0))
    send(producer)
    run(producer)
    send(producer)
    (second,) = run(producer)
    refuse(producer, second, ErrorCode.NOT_ENOUGH_REPLICAS)
    return producer


HELD: dict[Hold, tuple[Callable[[], RecordProducer], int]] = {
    Hold.LEADER_UNKNOWN: (leader_unknown, 0),
    Hold.CONNECTION_BUSY: (connection_busy, 0),
    Hold.NOTHING_WAITS: (producer_with, 0),
    Hold.MUTED: (muted, 0),
    Hold.BACKING_OFF: (backing_off, 9),
    Hold.LINGERING: (lingering, 4),
    Hold.FAILED: (failed, 0),
    Hold.NOT_IN_TRANSACTION: (in_transaction, 0),
    Hold.NO_PRODUCER_ID: (no_producer_id, 0),
    Hold.STALE_IN_FLIGHT: (stale_in_flight, 0),
    Hold.UNRESOLVED: (unresolved, 1000),
    Hold.WINDOW_FULL: (window_full, 0),
    Hold.NOT_FIRST_IN_FLIGHT: (not_first_in_flight, 0),
}


@pytest.mark.parametrize("hold", Hold)
def test_a_drain_rule(hold: Hold) -> None:
    """Each rule keeps the batch of partition 0 back, and is the one that is reported."""
    arranged, now = HELD[hold]
    producer = arranged()

    assert hold is producer.sender.hold(0, Timestamp(now))


def learn_leader(producer: RecordProducer) -> None:
    producer.sender.learn((0, 0))


def answer_everything(producer: RecordProducer) -> None:
    for call in tuple(producer.sender.calls.values()):
        ack(producer, call)


def identify(producer: RecordProducer) -> None:
    producer.batches.identified(ProducerIdentity(ProducerId(7), Epoch(0)))


RELEASED: dict[Hold, tuple[Callable[[RecordProducer], None], int]] = {
    Hold.LEADER_UNKNOWN: (learn_leader, 0),
    Hold.CONNECTION_BUSY: (answer_everything, 0),
    Hold.MUTED: (answer_everything, 0),
    Hold.BACKING_OFF: (nothing, 10),
    Hold.LINGERING: (nothing, 5),
    Hold.NOT_IN_TRANSACTION: (add_partition, 0),
    Hold.NO_PRODUCER_ID: (identify, 0),
    Hold.STALE_IN_FLIGHT: (answer_everything, 0),
    Hold.WINDOW_FULL: (answer_everything, 0),
}


@pytest.mark.parametrize("hold", RELEASED)
def test_the_end_of_a_drain_rule(hold: Hold) -> None:
    """What the rule waits for lets the batch go."""
    producer = HELD[hold][0]()
    happens, now = RELEASED[hold]

    happens(producer)

    assert producer.sender.hold(0, Timestamp(now)) is None


def test_an_unresolved_batch_is_settled_by_the_next_answer() -> None:
    """When the last batch in flight is acknowledged, the expired one must have been in the log before it."""
    producer = unresolved()

    ack(producer, tuple(producer.sender.calls.values())[-1], offset=1)
    producer.batches.tick(Timestamp(1000))

    assert producer.sender.hold(0, Timestamp(1000)) is None
    assert 0 == identity_of(producer).epoch
