"""The bodies of a segment's batches compared with their headers: records, their offsets and their times."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from model_tests.logs.kafka_log_batches import (
    APPEND_TIME,
    COMPRESSION,
    DELETE_HORIZON,
    HEADER_SIZE,
    Batches,
    Facts,
    Integers,
)
from model_tests.logs.kafka_log_checks import BodyCheck, BodyDamage
from model_tests.logs.kafka_log_records import Body, RecordBatchColumns, read_records
from reference.errors import UnsupportedCodec
from reference.log.codecs import Codec, DamagedCompression, TooLarge, decompress

MOST_OF_A_BODY: Final = 64 << 20
"""Bytes of a plain body that are looked at; a batch that holds more is not judged."""

_TOGETHER: Final = 8 << 20
"""Bytes of plain bodies that are looked at together."""

_BASE_TIMESTAMP_AT: Final = 27  # where a batch has its base timestamp, in bytes from its beginning
_NOTHING: Final = np.iinfo(np.int64).min
_PADDED: Final = "a number is written in more bytes than it needs"


def judge_bodies(content: bytes, batches: Batches, most: int = MOST_OF_A_BODY) -> list[BodyDamage]:
    """What is wrong with the bodies of a segment's batches, at most one thing of each, by their numbers.

    Args:
        content: the segment's file.
        batches: its batches.
        most: bytes of a plain body that are looked at.
    """
    found: list[BodyDamage] = []
    comparison = _Comparison(content, batches)
    packed = (batches.attributes & COMPRESSION) != 0
    plain = [_body(batches, row) for row in np.flatnonzero(~packed).tolist()]
    found += comparison.wrong(content, plain)
    for data, bodies in _unpacked(content, batches, np.flatnonzero(packed).tolist(), most, found):
        found += comparison.wrong(data, bodies)
    return _first_of_each(found)


def _body(batches: Batches, row: int) -> Body:
    start = int(batches.position[row])
    end = start + int(batches.size[row])
    return Body(row, start + HEADER_SIZE, end, int(batches.record_count[row]))


def _unpacked(
    content: bytes, batches: Batches, rows: Iterable[int], most: int, found: list[BodyDamage]
) -> Iterator[tuple[bytes, list[Body]]]:
    """The plain bodies of compressed batches, so many bytes at a time; what cannot be decompressed goes to `found`."""
    data, bodies = bytearray(), list[Body]()
    for row in rows:
        body = _body(batches, row)
        plain = _decompressed(content[body.start : body.end], row, int(batches.attributes[row]), most)
        if isinstance(plain, BodyDamage):
            found.append(plain)
            continue
        bodies.append(Body(row, len(data), len(data) + len(plain), body.count))
        data += plain
        if len(data) >= _TOGETHER:
            yield bytes(data), bodies
            data, bodies = bytearray(), []
    if bodies:
        yield bytes(data), bodies


def _decompressed(packed: bytes, row: int, attributes: int, most: int) -> bytes | BodyDamage:
    """A plain body, or why there is none; one that the cleaner emptied has none whatever its codec."""
    codec = attributes & COMPRESSION
    try:
        return decompress(codec, packed, most) if packed else b""
    except UnsupportedCodec:
        known = ", ".join(f"{one.value} {one.name.lower()}" for one in Codec)
        return BodyDamage(row, BodyCheck.CODEC, f"attributes {attributes:#06x} name codec {codec}; known are {known}")
    except TooLarge as bomb:
        return BodyDamage(row, BodyCheck.SIZE, str(bomb))
    except DamagedCompression as damage:
        return BodyDamage(row, BodyCheck.COMPRESSION, f"{len(packed)} bytes cannot be decompressed: {damage}")


def _first_of_each(found: Iterable[BodyDamage]) -> list[BodyDamage]:
    """Of each batch the first thing in the order of the checks."""
    order = list(BodyCheck)
    first: dict[int, BodyDamage] = {}
    for one in sorted(found, key=lambda wrong: (wrong.batch, order.index(wrong.check), wrong.record)):
        first.setdefault(one.batch, one)
    return list(first.values())


class _Comparison:
    """Records compared with the headers of their batches."""

    def __init__(self, content: bytes, batches: Batches) -> None:
        self._batches = batches
        self._base = _base_timestamps(content, batches.position)
        self._latest = np.full(len(batches), _NOTHING, np.int64)
        self._last = (-1, -1)  # batch and offset delta of the last record

    def wrong(self, data: bytes, bodies: list[Body]) -> Iterator[BodyDamage]:
        """What is wrong with the records of some bodies."""
        broken = set[int]()
        for records, wrong in read_records(data, bodies):
            broken.update(one.batch for one in wrong)
            yield from wrong
            if len(records.batch):
                yield from self._offsets(records)
                yield from self._padded(records)
                yield from self._base_timestamps(records)
                np.maximum.at(self._latest, records.batch, records.timestamp_delta)
        whole = np.array([body.batch for body in bodies if body.count > 0 and body.batch not in broken], np.int64)
        yield from self._max_timestamps(whole[~self._has(APPEND_TIME)[whole]])

    def _has(self, attribute: int) -> Facts:
        has: Facts = (self._batches.attributes & attribute) != 0
        return has

    def _offsets(self, records: RecordBatchColumns) -> Iterator[BodyDamage]:
        """Offsets rise, from 0 on at least, and up to the last one at most; and so none is missing of as many."""
        batch, delta = records.batch, records.offset_delta
        before = np.append(self._last[1], delta[:-1])
        before[_begins(batch, self._last[0])] = -1
        self._last = int(batch[-1]), int(delta[-1])
        last = self._batches.last_offset_delta[batch]
        for row in _first_rows(batch, records.readable & ((delta <= before) | (delta > last))):
            expected = f"above {before[row]}" if delta[row] <= before[row] else f"{last[row]}, the header's, at most"
            yield self._of(records, row, BodyCheck.OFFSET_DELTA, f"offset delta {delta[row]}, expected {expected}")

    def _padded(self, records: RecordBatchColumns) -> Iterator[BodyDamage]:
        for row in _first_rows(records.batch, records.readable & records.padded):
            yield self._of(records, row, BodyCheck.PADDED_VARINT, _PADDED)

    def _base_timestamps(self, records: RecordBatchColumns) -> Iterator[BodyDamage]:
        """The base timestamp is the first record's, but for a batch of which the cleaner keeps a time there."""
        elsewhere = (records.number == 0) & records.readable & (records.timestamp_delta != 0)
        elsewhere &= ~self._has(DELETE_HORIZON)[records.batch]
        for row in np.flatnonzero(elsewhere).tolist():
            base, delta = int(self._base[records.batch[row]]), int(records.timestamp_delta[row])
            reported = f"base timestamp {base}, the first record's is {base + delta}"
            yield self._of(records, row, BodyCheck.BASE_TIMESTAMP, reported)

    def _max_timestamps(self, rows: Integers) -> Iterator[BodyDamage]:
        """The largest timestamp of the header is that of its records, where the client's times count."""
        latest, reported = self._base[rows] + self._latest[rows], self._batches.max_timestamp[rows]
        for place in np.flatnonzero(latest != reported).tolist():
            message = f"max timestamp {reported[place]}, the latest record's is {latest[place]}"
            yield BodyDamage(int(rows[place]), BodyCheck.MAX_TIMESTAMP, message)

    def _of(self, records: RecordBatchColumns, row: int, check: BodyCheck, message: str) -> BodyDamage:
        return BodyDamage(int(records.batch[row]), check, message, int(records.number[row]))


def _base_timestamps(content: bytes, positions: Integers) -> Integers:
    """The base timestamp in each batch's header."""
    if not len(positions):
        return np.empty(0, np.int64)
    places = (positions + _BASE_TIMESTAMP_AT)[:, None] + np.arange(8)
    reported: Integers = np.frombuffer(content, np.uint8)[places].view(">i8")[:, 0].astype(np.int64)
    return reported


def _begins(batch: Integers, before: int) -> Facts:
    """Whether each record is the first of its batch here, the record before them being of that batch."""
    begins: Facts = batch != np.append(before, batch[:-1])
    return begins


def _first_rows(batch: Integers, wrong: Facts) -> list[int]:
    """Of each batch the first place where this is true."""
    rows = np.flatnonzero(wrong)
    return [int(row) for row in rows[np.unique(batch[rows], return_index=True)[1]]]
