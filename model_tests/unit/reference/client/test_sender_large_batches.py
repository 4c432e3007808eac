"""Batches that are too large for their topic are split, and their parts counted."""

from model_tests.unit.reference.client.senders import NOW, ack, producer_with, refuse, run, send, sequences
from reference.client.accumulator import SentRecord
from reference.client.producer import IdempotentProducer
from reference.client.producer_settings import ProducerSettings
from reference.client.record_producer import PlainProducer, RecordProducer
from reference.client.sender import ProduceCall
from spec.vocabulary import NO_OFFSET, ErrorCode


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
    """An answer about a batch long acknowledged has no offset; the record has succeeded all the same."""
    producer = producer_with()
    (record,) = send(producer)

    refuse(producer, run(producer)[0], ErrorCode.DUPLICATE_SEQUENCE_NUMBER)

    assert (True, NO_OFFSET) == (record.outcome, record.offset)
