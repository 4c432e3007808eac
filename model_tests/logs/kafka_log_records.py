"""The records in the bodies of batches as columns: found one after the other, and then read many at once.

Keys, values and headers are not kept; that their lengths fit into their record is checked.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from model_tests.logs.kafka_log_batches import Facts, Integers
from model_tests.logs.kafka_log_checks import BodyCheck, BodyDamage
from model_tests.logs.kafka_log_places import AT_ONCE, Body, RecordPositions, endless, places_of
from model_tests.logs.kafka_log_varints import INT_BYTES, LONG_BYTES, Bytes, Varints, varints
from reference.log import varint

__all__ = ["AT_ONCE", "Body", "RecordBatchColumns", "read_records"]

_MANY_HEADERS: Final = 32
"""From so many on, headers are gone over by themselves: one of each record at a time would take too long."""


class RecordBatchColumns(NamedTuple):
    """Records that follow each other; all columns are as long as each other.

    Attributes:
        batch: number of the batch of each.
        number: the how manieth of its batch.
        readable: all of its fields lie within it.
        padded: one of its numbers is written in more bytes than it needs.
    """

    batch: Integers
    number: Integers
    offset_delta: Integers
    timestamp_delta: Integers
    readable: Facts
    padded: Facts


def read_records(data: bytes, bodies: Iterable[Body]) -> Iterator[tuple[RecordBatchColumns, list[BodyDamage]]]:
    """The records of batches whose plain bodies lie in these bytes, and what is wrong with their form, by and by."""
    for places in places_of(data, bodies):
        reading = _RecordColumns(data, places)
        records = reading.records()
        yield records, [*places.wrong, *reading.wrong]


@dataclass(frozen=True, slots=True)
class _Field:
    """A length and as many bytes.

    Attributes:
        required: it cannot be nothing.
    """

    what: str
    required: bool = False


_KEY, _VALUE = _Field("key"), _Field("value")
_HEADER: Final = (_Field("header's key", required=True), _Field("header's value"))


class _RecordColumns:
    """Many records at once, field after field; a record that is wrong is left out of what follows."""

    def __init__(self, data: bytes, places: RecordPositions) -> None:
        self._plain, self._data = data, _as_array(data)
        self._batch, self._number = places.batch, places.number
        self._at, self._end = places.start.copy(), places.end
        self._padded = places.padded.copy()
        self._live = np.arange(len(self._at))
        self.wrong: list[BodyDamage] = []

    def records(self) -> RecordBatchColumns:
        """Read them."""
        self._at += 1  # attributes
        self._drop(self._at > self._end, BodyCheck.FIELD_LENGTH, "it has no bytes")
        timestamp = self._number_at("timestamp delta", LONG_BYTES)
        offset = self._number_at("offset delta", INT_BYTES)
        self._content(_KEY)
        self._content(_VALUE)
        self._headers()
        left = self._end[self._live] - self._at[self._live]
        self._drop(left != 0, BodyCheck.FIELD_LENGTH, "its fields end before it does")
        readable = np.zeros(len(self._at), np.bool_)
        readable[self._live] = True
        return RecordBatchColumns(self._batch, self._number, offset, timestamp, readable, self._padded)

    def _drop(self, wrong: Facts, check: BodyCheck, message: str) -> None:
        """Leave out those of the live records of which this is true."""
        if wrong.any():
            for row in self._live[wrong].tolist():
                self.wrong.append(BodyDamage(int(self._batch[row]), check, message, int(self._number[row])))
            self._live = self._live[~wrong]

    def _read(self, what: str, most: int) -> Integers:
        """The next varint of each live record, of which those are left that have one."""
        read = varints(self._data, self._at[self._live], most)
        self._at[self._live] = read.after
        self._padded[self._live] |= read.padded
        beyond = read.after > self._end[self._live]
        self._drop_either(read, beyond, what)
        return read.value[~(read.endless | beyond)]

    def _drop_either(self, read: Varints, beyond: Facts, what: str) -> None:
        without_end = read.endless & ~beyond
        self._drop(without_end, BodyCheck.VARINT, endless(what))
        self._drop(beyond[~without_end], BodyCheck.FIELD_LENGTH, f"its {what} reaches past its end")

    def _number_at(self, what: str, most: int) -> Integers:
        """The next number of each record; 0 where it has none."""
        read, values = self._read(what, most), np.zeros(len(self._at), np.int64)
        values[self._live] = read
        return values

    def _content(self, field: _Field) -> None:
        """Go over a length and as many bytes; a negative length is that of nothing."""
        length = self._read(f"length of the {field.what}", INT_BYTES)
        if field.required:
            nothing = length < 0
            self._drop(nothing, BodyCheck.FIELD_LENGTH, f"its {field.what} is nothing")
            length = length[~nothing]
        self._at[self._live] += np.maximum(length, 0)
        beyond = self._at[self._live] > self._end[self._live]
        self._drop(beyond, BodyCheck.FIELD_LENGTH, f"its {field.what} reaches past its end")

    def _headers(self) -> None:
        """Go over the headers, one of each record at a time."""
        counts = self._number_at("count of headers", INT_BYTES)
        self._drop(counts[self._live] < 0, BodyCheck.FIELD_LENGTH, "its count of headers is negative")
        self._go_over_many(counts)
        done: list[Integers] = []
        while len(self._live):
            has_more = counts[self._live] > 0
            done.append(self._live[~has_more])
            self._live = self._live[has_more]
            counts[self._live] -= 1
            for field in _HEADER:
                self._content(field)
        self._live = np.sort(np.concatenate(done)) if done else self._live

    def _go_over_many(self, counts: Integers) -> None:
        """Go over the headers of each record that has a lot of them."""
        many = counts[self._live] > _MANY_HEADERS
        wrong = np.zeros(len(many), np.bool_)
        for place in np.flatnonzero(many).tolist():
            row = int(self._live[place])
            after = _after_headers(self._plain, int(self._at[row]), int(self._end[row]), int(counts[row]))
            wrong[place] = after is None
            self._at[row], counts[row] = after or 0, 0
        self._drop(wrong, BodyCheck.FIELD_LENGTH, "its headers reach past its end, or one has no key")


def _after_headers(data: bytes, position: int, end: int, count: int) -> int | None:
    """Where so many headers end; none where they do not, or one has no key."""
    for _ in range(count):
        for field in _HEADER:
            if position >= end:
                return None
            try:
                length, position = varint.read(data, position)
            except varint.MalformedVarint:
                return None
            if length < 0 and field.required:
                return None
            position += max(length, 0)
    return position if position <= end else None


def _as_array(data: bytes) -> Bytes:
    return np.frombuffer(data, np.uint8)
