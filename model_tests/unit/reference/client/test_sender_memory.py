"""Records wait for the memory of their producer, in turn and not for ever."""

from model_tests.unit.reference.client.senders import NOW, ack, producer_with, run, send
from reference.client.accumulator import NO_MEMORY, TOO_LARGE
from reference.client.partition_queue import Hold
from reference.client.producer_settings import ProducerSettings
from reference.client.record_producer import RecordProducer


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
