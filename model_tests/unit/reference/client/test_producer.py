import pytest

from reference.broker.ids import ProducerIdentity
from reference.client.producer import Attempt, AttemptReply, IdempotentProducer
from reference.errors import Impossible
from spec.vocabulary import MAX_EPOCH, Epoch, ErrorCode, Offset, ProducerId, Timestamp

NOW = Timestamp(0)
OUT_OF_ORDER = AttemptReply(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


@pytest.fixture
def producer() -> IdempotentProducer:
    producer = IdempotentProducer(1, delivery_timeout_ms=100)
    producer.identified(ProducerIdentity(ProducerId(7), Epoch(0)))
    for _ in range(7):
        producer.send(0, 2, NOW)
    return producer


def drain_all(producer: IdempotentProducer) -> list[Attempt]:
    attempts = []
    while producer.may_drain(0):
        attempts.append(producer.drain(0))
    return attempts


def sent(attempt: Attempt) -> tuple[int, int]:
    return attempt.records.producer_epoch, attempt.records.base_sequence


def ack(producer: IdempotentProducer, attempt: Attempt) -> None:
    producer.receive(attempt, AttemptReply(ErrorCode.NONE, Offset(attempt.records.base_sequence)))


def test_five_batches_are_under_way_at_most(producer: IdempotentProducer) -> None:
    """Sequences are given when a batch is sent, and the sixth waits for an answer."""
    attempts = drain_all(producer)

    assert [(0, 0), (0, 2), (0, 4), (0, 6), (0, 8)] == [sent(attempt) for attempt in attempts]

    ack(producer, attempts[0])

    assert (0, 10) == sent(producer.drain(0))


def test_a_retry_is_the_same_batch(producer: IdempotentProducer) -> None:
    """What is sent again has the identity, sequence and bytes that it had."""
    attempt = producer.drain(0)

    producer.lose(attempt)

    assert attempt.records == producer.drain(0).records


def test_retries_go_one_at_a_time_from_the_lowest(producer: IdempotentProducer) -> None:
    """After a break of the connection the first batch alone is sent, whatever order the losses came in."""
    attempts = drain_all(producer)
    for attempt in reversed(attempts):
        producer.lose(attempt)

    first = producer.drain(0)

    assert (0, 0) == sent(first)
    assert not producer.may_drain(0)

    ack(producer, first)

    assert (0, 2) == sent(producer.drain(0))


def test_a_gap_before_a_later_batch_is_waited_for(producer: IdempotentProducer) -> None:
    """Out of order for a batch that is not the next one means that an earlier one is missing: no new epoch."""
    first, second = producer.drain(0), producer.drain(0)
    producer.lose(first)

    producer.receive(second, OUT_OF_ORDER)
    producer.tick(NOW)

    assert (0, 0) == sent(producer.drain(0))


def test_a_gap_before_the_next_batch_bumps_the_epoch(producer: IdempotentProducer) -> None:
    """Out of order for the next batch means that the broker lost its state: all in flight is renumbered."""
    first, second = producer.drain(0), producer.drain(0)
    ack(producer, first)

    producer.receive(second, OUT_OF_ORDER)
    producer.tick(NOW)

    assert (1, 0) == sent(producer.drain(0))


def test_past_the_last_epoch_a_new_producer_id_is_needed(producer: IdempotentProducer) -> None:
    """The epoch after 32767 is epoch 0 of another producer id."""
    producer.identified(ProducerIdentity(ProducerId(7), MAX_EPOCH))
    attempt = producer.drain(0)

    producer.receive(attempt, OUT_OF_ORDER)
    producer.tick(NOW)

    assert producer.needs_producer_id
    assert not producer.may_drain(0)

    producer.identified(ProducerIdentity(ProducerId(8), Epoch(0)))

    assert (8, 0, 0) == producer.drain(0).records[6:9]


def test_an_expired_batch_blocks_until_it_is_settled(producer: IdempotentProducer) -> None:
    """Nothing new is numbered behind a batch of unknown fate; with nothing in flight the epoch goes up."""
    attempt = producer.drain(0)
    producer.lose(attempt)
    late = Timestamp(100)
    fresh = producer.send(0, 2, late)

    producer.tick(late)
    producer.tick(late)

    assert attempt.batch.outcome is False
    assert fresh.outcome is None
    assert (1, 0) == sent(producer.drain(0))


def test_a_batch_that_was_never_sent_expires_without_consequence(producer: IdempotentProducer) -> None:
    """Its sequence was never given, so none is missing."""
    producer.tick(Timestamp(100))
    producer.send(0, 1, Timestamp(100))

    assert (0, 0) == sent(producer.drain(0))


def test_a_late_acknowledgement_settles_an_expired_batch(producer: IdempotentProducer) -> None:
    """The application got a failure, but the sequence is accounted for: no new epoch."""
    attempt = producer.drain(0)
    late = Timestamp(100)
    producer.send(0, 2, late)
    producer.expire(producer.queues[0], late)

    ack(producer, attempt)
    producer.tick(late)

    assert attempt.batch.outcome is False
    assert (0, 2) == sent(producer.drain(0))


def test_a_refused_batch_fails_and_the_rest_is_renumbered(producer: IdempotentProducer) -> None:
    """A batch that the broker cannot accept is not in the log: what follows starts a new epoch."""
    first, second = producer.drain(0), producer.drain(0)

    producer.receive(first, AttemptReply(ErrorCode.INVALID_RECORD))
    producer.lose(second)
    producer.tick(NOW)

    assert first.batch.outcome is False
    assert (1, 0) == sent(producer.drain(0))


def test_a_fenced_producer_sends_no_more(producer: IdempotentProducer) -> None:
    """PRODUCER_FENCED ends the producer."""
    producer.receive(producer.drain(0), AttemptReply(ErrorCode.PRODUCER_FENCED))

    assert not producer.may_drain(0)
    with pytest.raises(Impossible):
        producer.drain(0)


def test_an_unknown_producer_id_bumps_the_epoch(producer: IdempotentProducer) -> None:
    """Before 2.5 a broker without state answers so, and the producer starts over."""
    attempt = producer.drain(0)

    producer.receive(attempt, AttemptReply(ErrorCode.UNKNOWN_PRODUCER_ID, log_start=Offset(0)))
    producer.tick(NOW)

    assert (1, 0) == sent(producer.drain(0))


def test_a_second_answer_is_ignored(producer: IdempotentProducer) -> None:
    """A copy of an answer changes nothing."""
    attempt = producer.drain(0)
    ack(producer, attempt)

    producer.receive(attempt, OUT_OF_ORDER)
    producer.tick(NOW)

    assert (0, 2) == sent(producer.drain(0))
