"""Where the records of batches lie, by their lengths: the one thing that has to be read record by record."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from model_tests.logs.kafka_log_batches import Facts, Integers
from model_tests.logs.kafka_log_checks import BodyCheck, BodyDamage
from model_tests.logs.kafka_log_varints import INT_BYTES
from reference.log import varint

AT_ONCE: Final = 1 << 17
"""Records that are read together, so that a batch of any length takes no more memory."""

_ONE_BYTE: Final = 0x80  # below this a varint takes one byte
_INT: Final = range(-(1 << 31), 1 << 31)


@dataclass(frozen=True, slots=True)
class Body:
    """Where the records of a batch lie in some bytes, and the number of them by its header."""

    batch: int
    start: int
    end: int
    count: int


@dataclass(frozen=True, slots=True)
class RecordPositions:
    """Where records begin (after their length) and end, of which batch each is and the how manieth.

    Attributes:
        padded: whether its length is written in more bytes than it needs.
        wrong: what kept from finding others.
    """

    batch: Integers
    number: Integers
    start: Integers
    end: Integers
    padded: Facts
    wrong: list[BodyDamage]


def places_of(data: bytes, bodies: Iterable[Body]) -> Iterator[RecordPositions]:
    """The places of all records, a bounded number of them at a time."""
    walk = _Walk(data)
    for body in bodies:
        first = 0
        while first >= 0:
            first = walk.go_over(body, first)
            if walk.full:
                yield walk.taken()
    yield walk.taken()


def endless(what: str) -> str:
    """Of a varint that cannot be read."""
    return f"the {what} is a varint without an end, or of more bits than its type has"


class _Walk:
    """The places that were found and not yet taken."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0  # in the body that is gone over
        self._begin()

    def _begin(self) -> None:
        self._rows: list[tuple[int, int, int]] = []  # batch, number of its first record here, records
        self._start, self._end = array("q"), array("q")
        self._padded: list[int] = []
        self._wrong: list[BodyDamage] = []

    @property
    def full(self) -> bool:
        """Whether so many places were found that they are to be taken."""
        return len(self._start) >= AT_ONCE

    def taken(self) -> RecordPositions:
        """What was found."""
        counts = [count for _, _, count in self._rows]
        batch = np.repeat(np.array([row[0] for row in self._rows], np.int64), counts)
        runs = [np.arange(first, first + count) for _, first, count in self._rows]
        padded = np.zeros(len(batch), np.bool_)
        padded[self._padded] = True
        places = RecordPositions(
            batch,
            np.concatenate(runs) if runs else np.empty(0, np.int64),
            np.array(self._start, np.int64),
            np.array(self._end, np.int64),
            padded,
            self._wrong,
        )
        self._begin()
        return places

    def go_over(self, body: Body, first: int) -> int:
        """Find records from one of a body on; which is to be found next, -1 where there is none."""
        data, end, stop = self._data, body.end, min(body.count, first + AT_ONCE)
        position = self._position if first else body.start
        add_start, add_end, found, length = self._start.append, self._end.append, first, 0
        while found < stop and position < end:
            length = data[position]
            if length < _ONE_BYTE:
                length, position = (length >> 1) ^ -(length & 1), position + 1
            else:
                length, position = self._long(body, position, found)
            after = position + length
            if length < 0 or after > end:
                break
            add_start(position)
            add_end(after)
            position, found, length = after, found + 1, 0
        self._rows.append((body.batch, first, found - first))
        self._position = position
        if self._padded and self._padded[-1] == len(self._start):
            self._padded.pop()  # of a record that is none
        if found == stop and stop < body.count:
            return found
        self._wrong += _wrong(body, position, found, length)
        return -1

    def _long(self, body: Body, position: int, number: int) -> tuple[int, int]:
        """A length of more bytes than one, and what follows it; one that cannot be read is the rest of the body."""
        try:
            length, after = varint.read(self._data, position)
        except varint.MalformedVarint:
            length, after = 0, position + varint.MAX_BYTES
        if after - position > INT_BYTES or after > body.end or length not in _INT:
            self._wrong.append(BodyDamage(body.batch, BodyCheck.VARINT, endless("length of the record"), number))
            return -1, body.end
        if not self._data[after - 1]:
            self._padded.append(len(self._start))
        return length, after


def _wrong(body: Body, position: int, found: int, length: int) -> Iterator[BodyDamage]:
    """What is wrong with a body in which so many records were found, the last length read, and reading got so far."""
    left = body.end - position
    if body.count < 0:
        yield BodyDamage(body.batch, BodyCheck.RECORD_COUNT, f"the header counts {body.count} records")
    elif found < body.count and (length < 0 or length > left):
        reported = f"its length is {length}, {left} bytes are left of the body"
        yield BodyDamage(body.batch, BodyCheck.RECORD_LENGTH, reported, found)
    elif found < body.count:
        counted = f"the header counts {body.count} records, the body ends after {found}"
        yield BodyDamage(body.batch, BodyCheck.RECORD_COUNT, counted)
    elif left > 0:
        yield BodyDamage(
            body.batch, BodyCheck.RECORD_COUNT, f"the header counts {body.count} records, {left} bytes follow them"
        )
