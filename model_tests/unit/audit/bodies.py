"""Batches whose bodies are not what their headers say, each with the check that sees it."""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from model_tests.logs.kafka_log_checks import BodyCheck
from reference.log import varint
from reference.log.batch import APPEND_TIME, DELETE_HORIZON, RecordBatch, data_batch, emptied
from reference.log.codecs import Codec, compress
from reference.log.record import Record, encode_records
from spec.vocabulary import NO_TIMESTAMP, Timestamp

BODIES: Final = 8
"""Records of a batch here."""


class BrokenBody(NamedTuple):
    """A batch of the producer 7 at some sequence, its check, and a part of the message."""

    name: str
    of: Callable[[int], RecordBatch]
    check: BodyCheck
    message: str


def full(sequence: int = 0, records: Iterable[Record] | None = None) -> RecordBatch:
    """A sound batch of records of every form."""
    listed = tuple(records if records is not None else records_of_every_form())
    return data_batch(listed, producer_id=7, epoch=0, base_sequence=sequence, timestamp=1_700_000_000_000)


def records_of_every_form() -> tuple[Record, ...]:
    """Keys, values and headers that are there, empty, nothing, or long; times that go forth and back."""
    headers = ((b"h", b"1"), (b"", None), (b"k" * 200, b"v" * 300))
    forms = (
        Record(0, 0, b"key", b"value"),
        Record(1, 5, None, b"v" * 70),
        Record(2, -90_000, b"", None),
        Record(3, 1 << 40, b"k" * 9000, b"", headers),
        Record(4, 0, None, None, tuple((b"n", b"") for _ in range(40))),
        Record(5, 1, b"k", b"v" * 70_000),
        Record(6, 2, b"k", b"v", ((b"h", None),)),
        Record(7, 2, b"k", b"v"),
    )
    assert len(forms) == BODIES
    return forms


def sound() -> dict[str, RecordBatch]:
    """Batches of which nothing is wrong."""
    every = full()
    kept = [one._replace(timestamp_delta=one.timestamp_delta + 90_000) for one in records_of_every_form()[2:5]]
    return {
        "plain": every,
        **{codec.name: every.compressed(codec) for codec in Codec},
        "the leader's time": every._replace(attributes=APPEND_TIME, max_timestamp=Timestamp(every.max_timestamp + 7)),
        "cleaned": every._replace(
            record_count=3, body=encode_records(kept), base_timestamp=Timestamp(every.base_timestamp - 90_000)
        ),
        "a delete horizon": every._replace(
            attributes=DELETE_HORIZON,
            base_timestamp=Timestamp(every.base_timestamp - 50),
            body=encode_records(
                one._replace(timestamp_delta=one.timestamp_delta + 50) for one in records_of_every_form()
            ),
        ),
        "emptied": emptied(every),
        "emptied under zstd": emptied(every.compressed(Codec.ZSTD)),
        "no timestamps": full(records=[one._replace(timestamp_delta=0) for one in records_of_every_form()])._replace(
            base_timestamp=NO_TIMESTAMP, max_timestamp=NO_TIMESTAMP
        ),
    }


def _with(sequence: int, **fields: Any) -> RecordBatch:
    return full(sequence)._replace(**fields)


def _instead(sequence: int, number: int, record: Record) -> RecordBatch:
    records = list(records_of_every_form())
    records[number] = record
    return full(sequence)._replace(body=encode_records(records))


def _raw(sequence: int, record: bytes, *, count: int = 1) -> RecordBatch:
    """A batch of one record of these bytes."""
    one = full(sequence, [Record(0, 0, None, None)])
    return one._replace(body=varint.encoded(len(record)) + record, record_count=count)


BROKEN: Final = (
    BrokenBody(
        "a codec that is none", lambda at: _with(at, attributes=6), BodyCheck.CODEC, "name codec 6; known are 0 none"
    ),
    BrokenBody(
        "not what gzip writes", lambda at: _with(at, attributes=Codec.GZIP), BodyCheck.COMPRESSION, "gzip: invalid"
    ),
    BrokenBody(
        "cut off under zstd",
        lambda at: _with(at, attributes=Codec.ZSTD, body=compress(Codec.ZSTD, full().body)[:-9]),
        BodyCheck.COMPRESSION,
        "cannot be decompressed: zstd",
    ),
    BrokenBody(
        "a record too few",
        lambda at: _with(at, body=encode_records(records_of_every_form()[:7])),
        BodyCheck.RECORD_COUNT,
        "counts 8 records, the body ends after 7",
    ),
    BrokenBody(
        "a record too many", lambda at: _with(at, record_count=7), BodyCheck.RECORD_COUNT, "counts 7 records, 9 bytes"
    ),
    BrokenBody(
        "the last record cut off", lambda at: _with(at, body=full().body[:-1]), BodyCheck.RECORD_LENGTH, "is 8, 7 bytes"
    ),
    BrokenBody(
        "a length without end", lambda at: _with(at, body=b"\xff" * 40), BodyCheck.VARINT, "length of the record"
    ),
    BrokenBody(
        "a length of more bits than an int has",
        lambda at: _with(at, body=b"\xfe\xff\xff\xff\x1f" + full().body),
        BodyCheck.VARINT,
        "length of the record",
    ),
    BrokenBody(
        "no room for attributes", lambda at: _with(at, body=b"\0" + full().body), BodyCheck.FIELD_LENGTH, "no bytes"
    ),
    BrokenBody("a time without end", lambda at: _raw(at, b"\0" + b"\xff" * 12), BodyCheck.VARINT, "timestamp delta"),
    BrokenBody("an offset of six bytes", lambda at: _raw(at, b"\0\0" + b"\x80" * 6), BodyCheck.VARINT, "offset delta"),
    BrokenBody(
        "a key past the end", lambda at: _raw(at, b"\0\0\0\x28k"), BodyCheck.FIELD_LENGTH, "its key reaches past"
    ),
    BrokenBody(
        "a value past the end",
        lambda at: _raw(at, b"\0\0\0\1\x28v\0"),
        BodyCheck.FIELD_LENGTH,
        "its value reaches past",
    ),
    BrokenBody(
        "headers of less than none", lambda at: _raw(at, b"\0\0\0\1\1\1"), BodyCheck.FIELD_LENGTH, "is negative"
    ),
    BrokenBody(
        "a header without key", lambda at: _raw(at, b"\0\0\0\1\1\2\1\1"), BodyCheck.FIELD_LENGTH, "key is nothing"
    ),
    BrokenBody("a header too few", lambda at: _raw(at, b"\0\0\0\1\1\4\2h\1"), BodyCheck.FIELD_LENGTH, "header's key"),
    BrokenBody(
        "many headers too few",
        lambda at: _raw(at, b"\0\0\0\1\1\xc8\1\2h\1"),
        BodyCheck.FIELD_LENGTH,
        "its headers reach",
    ),
    BrokenBody(
        "bytes behind the headers", lambda at: _raw(at, b"\0\0\0\1\1\0\0"), BodyCheck.FIELD_LENGTH, "fields end before"
    ),
    BrokenBody(
        "an offset twice",
        lambda at: _instead(at, 4, Record(3, 0, None, b"v")),
        BodyCheck.OFFSET_DELTA,
        "record 4 of the batch of offsets 0 to 7: offset delta 3, expected above 3",
    ),
    BrokenBody(
        "an offset below",
        lambda at: _instead(at, 0, Record(-1, 0, None, b"")),
        BodyCheck.OFFSET_DELTA,
        "expected above -1",
    ),
    BrokenBody(
        "an offset beyond", lambda at: _instead(at, 7, Record(8, 0, None, b"")), BodyCheck.OFFSET_DELTA, "8, expected 7"
    ),
    BrokenBody(
        "an earlier largest time",
        lambda at: _with(at, max_timestamp=full().max_timestamp - 1),
        BodyCheck.MAX_TIMESTAMP,
        f"max timestamp {1_700_000_000_000 + (1 << 40) - 1}, the latest record's is {1_700_000_000_000 + (1 << 40)}",
    ),
)
"""Each is against Kafka's format, or what a leader writes into the header."""

ODD: Final = (
    BrokenBody(
        "zeros in a length",
        lambda at: _raw(at, b"\0\0\0\1\x81\0\0"),
        BodyCheck.PADDED_VARINT,
        "more bytes than it needs",
    ),
    BrokenBody(
        "a base time of no record",
        lambda at: _instead(at, 0, Record(0, -3, b"key", b"value")),
        BodyCheck.BASE_TIMESTAMP,
        "base timestamp 1700000000000, the first record's is 1699999999997",
    ),
)
"""Legal, and not what Kafka's clients write."""
