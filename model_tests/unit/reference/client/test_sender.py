"""How batches fill up, and what becomes of their records when they are sent again."""

from collections.abc import Callable

import pytest

from model_tests.unit.reference.client.senders import (
    NOW,
    ack,
    add_partition,
    in_transaction,
    lingering,
    nothing,
    producer_with,
    refuse,
    run,
    send,
    sequences,
)
from reference.broker.ids import ProducerIdentity
from reference.client.accumulator import DROPPED
from reference.client.partition_queue import Hold
from reference.client.producer_settings import ProducerSettings
from reference.client.record_producer import RecordProducer
from reference.client.transactional_producer import TransactionalProducer
from spec.vocabulary import MAX_EPOCH, ErrorCode, ProducerId


def test_records_share_a_batch() -> None:
    """What comes while a batch waits is in the same batch, and each record has its own offset."""
    producer = producer_with()
    records = [producer.send(key, value, NOW, 0) for key, value in ((b"k", b"a"), (None, b"b"))]
    (call,) = run(producer)

    ack(producer, call, offset=40)

    assert [(b"k", b"a"), (None, b"b")] == [(each.key, each.value) for each in call.attempts[0].records.records()]
    assert [(True, 40), (True, 41)] == [(record.outcome, record.offset) for record in records]
    assert 2 == producer.counts.sent


@pytest.mark.parametrize(("count", "expected"), [(1, [[1]]), (2, [[2]]), (3, [[2], [1]]), (5, [[2], [2], [1]])])
def test_a_batch_takes_as_much_as_its_size(count: int, expected: list[list[int]]) -> None:
    """A record that does not fit begins another batch; a request has one batch of a partition."""
    producer = producer_with()
    send(producer, count)

    calls = [call for _ in range(4) for call in run(producer)]

    assert expected == [[records for _, records in sequences(call)] for call in calls]


def test_a_batch_that_was_sent_takes_no_more() -> None:
    """A record that comes after its partition's batch was sent is in the next one."""
    producer = producer_with()
    send(producer)
    first = run(producer)
    send(producer)

    second = run(producer)

    assert [[(0, 1)], [(1, 1)]] == [sequences(call) for call in (*first, *second)]


@pytest.mark.parametrize(
    ("act", "expected"),
    [(nothing, 0), (lambda p: p.flush(), 1), (lambda p: send(p, 2), 1)],
    ids=["lingers", "flush", "full"],
)
def test_what_ends_lingering(act: Callable[[RecordProducer], None], expected: int) -> None:
    """A batch goes out before linger.ms if the application flushes, or if it is full."""
    producer = lingering()

    act(producer)

    assert expected == len(run(producer))


def test_a_commit_ends_lingering() -> None:
    """The end of a transaction waits for its batches, which do not wait for more."""
    producer = in_transaction()
    producer.accumulator.settings = ProducerSettings(linger_ms=1000)
    add_partition(producer)
    before = producer.sender.hold(0, NOW)

    batches = producer.batches
    assert isinstance(batches, TransactionalProducer)
    batches.commit()

    assert (Hold.LINGERING, None) == (before, producer.sender.hold(0, NOW))


def test_one_request_for_each_node() -> None:
    """A request carries one batch for each partition that the node leads."""
    producer = producer_with()
    send(producer, 3)
    send(producer, 1, partition=1)

    (call,) = run(producer)

    assert [0, 1] == [attempt.partition for attempt in call.attempts]


def test_a_request_has_its_size() -> None:
    """What does not fit into a request comes first in the next one."""
    producer = producer_with(ProducerSettings(batch_bytes=100, linger_ms=0, max_request_bytes=120))
    send(producer, 3)
    send(producer, 2, partition=1)

    calls = [call for _ in range(3) for call in run(producer)]

    assert [[0], [1], [0]] == [[attempt.partition for attempt in call.attempts] for call in calls]


def test_a_retry_waits_longer_each_time() -> None:
    """The back-off doubles up to retry.backoff.max.ms; with both alike it is constant, as before 3.7."""
    doubling = ProducerSettings(retry_backoff_ms=100, retry_backoff_max_ms=1000)
    constant = ProducerSettings(retry_backoff_ms=100, retry_backoff_max_ms=100)

    assert [100, 200, 400, 800, 1000] == [doubling.backoff_ms(attempts) for attempts in range(1, 6)]
    assert [100, 100] == [constant.backoff_ms(attempts) for attempts in (1, 40)]


@pytest.mark.parametrize(("since_3_7", "expected"), [(True, None), (False, Hold.BACKING_OFF)])
def test_a_new_leader_ends_the_back_off(since_3_7: bool, expected: Hold | None) -> None:
    """A batch whose partition has another leader by now need not wait (KIP-951)."""
    producer = producer_with(ProducerSettings(linger_ms=0, new_leader_ends_backoff=since_3_7))
    send(producer)
    refuse(producer, run(producer)[0], ErrorCode.NOT_LEADER_OR_FOLLOWER)

    wanted = producer.sender.wants_metadata
    producer.sender.learn((1, 0))

    assert (True, expected) == (wanted, producer.sender.hold(0, NOW))


def test_retries_are_sent_in_the_order_of_their_sequences() -> None:
    """Batches that fail in any order are sent again one at a time, from the lowest sequence."""
    producer = producer_with(ProducerSettings(batch_bytes=100, linger_ms=0, retry_backoff_ms=0))
    calls = []
    for _ in range(3):
        send(producer)
        calls += run(producer)
    for call in reversed(calls):
        refuse(producer, call, ErrorCode.NOT_ENOUGH_REPLICAS)

    again = []
    for _ in range(3):
        (call,) = run(producer)
        again += sequences(call)
        ack(producer, call)

    assert [(0, 1), (1, 1), (2, 1)] == again
    assert {ErrorCode.NOT_ENOUGH_REPLICAS: 3} == dict(producer.counts.retried)


def test_a_request_without_an_answer() -> None:
    """After request.timeout.ms the batch is sent again as it was; the late answer changes nothing."""
    producer = producer_with()
    (record,) = send(producer)
    (first,) = run(producer)

    run(producer, 50)
    (second,) = run(producer, 60)
    ack(producer, first, offset=7)

    assert sequences(first) == sequences(second)
    assert record.outcome is None
    assert {ErrorCode.NETWORK_EXCEPTION: 1} == dict(producer.counts.errors)


def test_delivery_timeout() -> None:
    """A record that was not acknowledged in delivery.timeout.ms has failed for the application, sent or not."""
    producer = producer_with(leaders=(0, None))
    sent, waiting = *send(producer), *send(producer, partition=1)
    run(producer)

    run(producer, 1000)

    assert [False, False] == [sent.outcome, waiting.outcome]
    assert {"REQUEST_TIMED_OUT": 2} == dict(producer.counts.failed)
    assert producer.accumulator.settings.buffer_bytes == producer.accumulator.free


@pytest.mark.parametrize(
    "error", [ErrorCode.INVALID_RECORD, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_PRODUCER_EPOCH]
)
def test_failures_are_counted_by_error(error: ErrorCode) -> None:
    """A batch that cannot be sent again fails with all its records."""
    producer = producer_with()
    records = send(producer, 2)

    refuse(producer, run(producer)[0], error)

    assert [error.name] * 2 == [record.failure for record in records]
    assert {error.name: 2} == dict(producer.counts.failed)
    assert {error: 1} == dict(producer.counts.errors)


def test_an_aborted_transaction_drops_what_was_not_sent() -> None:
    """Records that never left fail without an error of any broker."""
    producer = in_transaction()
    batches = producer.batches
    assert isinstance(batches, TransactionalProducer)
    held = tuple(producer.accumulator.held.values())

    batches.abort()
    run(producer)

    assert [DROPPED] == [record.failure for each in held for record in each.records]


def test_past_the_last_epoch_nothing_is_sent() -> None:
    """A bump of the last epoch asks for a producer id."""
    producer = producer_with()
    producer.batches.identified(ProducerIdentity(ProducerId(7), MAX_EPOCH))
    send(producer)
    refuse(producer, run(producer)[0], ErrorCode.INVALID_RECORD)
    send(producer)

    run(producer)

    assert (Hold.NO_PRODUCER_ID, True) == (producer.sender.hold(0, NOW), producer.batches.needs_producer_id)
