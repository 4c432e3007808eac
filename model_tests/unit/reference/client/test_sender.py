"""When batches are sent, when they are not, and what becomes of their records: each drain rule by its name."""

from collections.abc import Callable

import pytest

from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorAnswer
from reference.client.drain_rules import Hold
from reference.client.partitioners import ByKey, RoundRobin
from reference.client.plain_producer import PlainProducer
from reference.client.producer import IdempotentProducer, Reply
from reference.client.producer_settings import ProducerSettings
from reference.client.record_producer import RecordProducer
from reference.client.request_versions import GENERIC_ERRORS
from reference.client.sender import ProduceCall
from reference.client.sent_record import DROPPED, NO_MEMORY, TOO_LARGE, SentRecord
from reference.client.transactional_producer import TransactionalProducer
from spec.vocabulary import MAX_EPOCH, NO_OFFSET, Epoch, ErrorCode, Offset, ProducerId, Timestamp

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
    replies = {attempt.partition: Reply(ErrorCode.NONE, Offset(offset)) for attempt in call.attempts}
    producer.sender.receive(call, replies, NOW)


def refuse(producer: RecordProducer, call: ProduceCall, error: ErrorCode, now: int = 0) -> None:
    replies = {attempt.partition: Reply(error) for attempt in call.attempts}
    producer.sender.receive(call, replies, Timestamp(now))


def sequences(call: ProduceCall) -> list[tuple[int, int]]:
    """Base sequence and records of each batch."""
    return [(attempt.records.base_sequence, attempt.records.record_count) for attempt in call.attempts]


# --- the drain rules ------------------------------------------------------------------------------------------


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


def lingering() -> RecordProducer:
    producer = producer_with(ProducerSettings(batch_bytes=100, linger_ms=5))
    send(producer)
    return producer


def failed() -> RecordProducer:
    producer = producer_with()
    send(producer)
    refuse(producer, run(producer)[0], ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
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


def identity_of(producer: RecordProducer) -> ProducerIdentity:
    assert producer.batches.identity is not None
    return producer.batches.identity


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
    """Each rule keeps the batch of partition 0 back, and is the one that is told."""
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


def add_partition(producer: RecordProducer) -> None:
    batches = producer.batches
    assert isinstance(batches, TransactionalProducer)
    outgoing = batches.poll()
    assert outgoing is not None
    batches.answer(outgoing.number, CoordinatorAnswer(partitions={T0: ErrorCode.NONE}))


def nothing(producer: RecordProducer) -> None:
    """Time alone."""


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


# --- batches fill up ------------------------------------------------------------------------------------------


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


# --- memory ---------------------------------------------------------------------------------------------------


def crowded() -> RecordProducer:
    """Memory for two batches, of which both are taken."""
    producer = producer_with(ProducerSettings(batch_bytes=100, buffer_bytes=250, linger_ms=1000, max_block_ms=60))
    send(producer, 4)
    return producer


def test_an_application_waits_for_memory() -> None:
    """Where there is none it waits; nothing lingers meanwhile, and the first batch that is done lets it go on."""
    producer = crowded()
    (waits,) = send(producer)
    before = (waits.accepted, waits.outcome, producer.accumulator.free)

    (call,) = run(producer)
    ack(producer, call)

    assert (False, None, 50) == before
    assert (True, 50) == (waits.accepted, producer.accumulator.free)


def test_memory_is_given_in_turn() -> None:
    """Who waits longer comes first, also where a later call would find memory."""
    producer = producer_with(ProducerSettings(batch_bytes=100, buffer_bytes=310, linger_ms=1000))
    send(producer, 4)
    large, small = producer.send(None, b"x" * 200, NOW, 0), send(producer, partition=1)[0]
    before = (large.accepted, small.accepted)

    for offset in (0, 2):
        (call,) = run(producer)
        ack(producer, call, offset)

    assert ((False, False), (True, False)) == (before, (large.accepted, small.accepted))


def test_no_record_overtakes_one_that_waits_for_memory() -> None:
    """A batch into which a record did not fit takes no later one, and is sent at once, as all others are."""
    producer = producer_with(ProducerSettings(batch_bytes=100, buffer_bytes=200, linger_ms=1000))
    send(producer), send(producer, partition=1)
    before = [producer.sender.hold(partition, NOW) for partition in (0, 1)]

    large, small = producer.send(None, b"x" * 90, NOW, 0), producer.send(None, b"", NOW, 0)

    assert (False, False) == (large.accepted, small.accepted)
    assert [Hold.LINGERING, Hold.LINGERING] == before
    assert [None, None] == [producer.sender.hold(partition, NOW) for partition in (0, 1)]


def test_no_memory_in_max_block_ms() -> None:
    """An application does not wait for ever."""
    producer = crowded()
    (waits,) = send(producer)

    run(producer, 59)
    waiting = waits.outcome
    run(producer, 60)

    assert (None, False, NO_MEMORY) == (waiting, waits.outcome, waits.failure)
    assert {NO_MEMORY: 1} == dict(producer.counts.failed)


def test_a_record_that_fits_nowhere() -> None:
    """A record larger than a request fails at once, and its transaction or sequence is not touched."""
    producer = producer_with(ProducerSettings(batch_bytes=100, max_request_bytes=200))

    large = producer.send(None, b"x" * 200, NOW, 0)

    assert (False, TOO_LARGE) == (large.outcome, large.failure)
    assert Hold.NOTHING_WAITS is producer.sender.hold(0, NOW)


def test_a_record_larger_than_a_batch() -> None:
    """A record of more than batch.size has a batch of its own, with the memory that it needs."""
    producer = producer_with()
    free = producer.accumulator.free

    producer.send(None, b"x" * 500, NOW, 0)

    assert 500 < free - producer.accumulator.free < 600


# --- retries --------------------------------------------------------------------------------------------------


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


def test_a_request_that_nobody_answers() -> None:
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


# --- batches that are too large -------------------------------------------------------------------------------


def large_batch(batches: IdempotentProducer | None = None) -> tuple[RecordProducer, list[SentRecord], ProduceCall]:
    """Six records in one batch, three times as large as the batches of its parts."""
    producer = producer_with(ProducerSettings(batch_bytes=200, linger_ms=0, retry_backoff_ms=0), batches)
    records = [producer.send(key.encode(), b"x" * 9, NOW, 0) for key in "abcdef"]
    (call,) = run(producer)
    producer.accumulator.settings = ProducerSettings(batch_bytes=100, linger_ms=0, retry_backoff_ms=0)
    return producer, records, call


def test_a_batch_is_split() -> None:
    """Parts of batch.size have the sequences of the whole, and go before what waits."""
    producer, records, call = large_batch()
    send(producer)

    refuse(producer, call, ErrorCode.MESSAGE_TOO_LARGE)
    again, keys = [], list[bytes | None]()
    for offset in (0, 2, 4, 6):
        (part,) = run(producer)
        again += sequences(part)
        keys += [record.key for record in part.attempts[0].records.records()]
        ack(producer, part, offset)

    assert ([(0, 6)], [(0, 2), (2, 2), (4, 2), (6, 1)]) == (sequences(call), again)
    assert list(range(6)) == [record.offset for record in records]
    assert [*map(str.encode, "abcdef"), None] == keys
    assert (1, {}) == (producer.counts.split, dict(producer.counts.failed))
    assert not producer.batches.busy


def test_a_part_is_split_in_halves() -> None:
    """Where batch.size is still too large, halves follow, down to one record (KAFKA-8350)."""
    producer, records, call = large_batch()
    refuse(producer, call, ErrorCode.MESSAGE_TOO_LARGE)

    refuse(producer, run(producer)[0], ErrorCode.MESSAGE_TOO_LARGE)
    (single,) = run(producer)
    refuse(producer, single, ErrorCode.MESSAGE_TOO_LARGE)

    assert [(0, 1)] == sequences(single)
    assert (False, "MESSAGE_TOO_LARGE") == (records[0].outcome, records[0].failure)
    assert records[1].outcome is None


def test_a_plain_batch_is_split() -> None:
    """Without sequences the parts go before what waits."""
    producer, records, call = large_batch(PlainProducer(2))

    refuse(producer, call, ErrorCode.MESSAGE_TOO_LARGE)
    parts = [part for _ in range(3) for part in run(producer)]
    for number, part in enumerate(parts):
        ack(producer, part, offset=2 * number)

    assert [[(-1, 2)]] * 3 == [sequences(part) for part in parts]
    assert list(range(6)) == [record.offset for record in records]


def test_a_duplicate_has_no_offset() -> None:
    """An answer of a batch long acknowledged tells no offset; the record has succeeded all the same."""
    producer = producer_with()
    (record,) = send(producer)

    refuse(producer, run(producer)[0], ErrorCode.DUPLICATE_SEQUENCE_NUMBER)

    assert (True, NO_OFFSET) == (record.outcome, record.offset)
