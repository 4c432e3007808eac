"""Where the batches of a segment begin: each leads to the next by its length.

One after the other that is a step of Python for every batch. So many places are looked for from which the batches can
be followed at once, as lanes. Such a place is a guess; it counts only if what comes before leads exactly there.
"""

import re
import struct
from collections.abc import Container
from typing import Final

import numpy as np
import numpy.typing as npt

from model_tests.logs.kafka_log_batches import BEFORE_LENGTH_COUNTS, HEADER_SIZE, Facts, Integers
from spec.vocabulary import ABSENT

LENGTH_AT: Final = 8
_LENGTH: Final = struct.Struct(">i")
_BYTES_OF_A_LANE: Final = 1 << 15
_LOOKED_AT: Final = 1 << 11
"""Bytes of a lane in which the beginning of a batch is looked for."""

_FEWEST_LANES: Final = 16
"""With fewer lanes it costs more to begin them than to go from batch to batch."""


def chain(content: bytes, position: int, until: int) -> Integers:
    """Where the batches from `position` on begin, up to one at or after `until`; and where the last of them ends.

    A batch of which the length cannot be, or that the content does not have whole, ends the chain.
    """
    lanes = _lanes(content, position, until)
    if len(lanes) < _FEWEST_LANES:
        return np.array(_one_by_one(content, position, until), np.int64)
    starts, ends = _in_lanes(content, lanes)
    counts, between, end = _joined(content, lanes, ends, until)
    kept = starts[counts[np.searchsorted(lanes, starts, side="right") - 1]]
    return np.append(np.sort(np.append(kept, between)), end)


def _joined(content: bytes, lanes: Integers, ends: Integers, until: int) -> tuple[Facts, Integers, int]:
    """Which lanes count, the batches that are in none of these, and where the last one ends."""
    numbers = {start: number for number, start in enumerate(lanes.tolist())}
    wrong = np.append(np.flatnonzero(ends != lanes[1:]), len(lanes) - 1)
    counts = np.ones(len(lanes), np.bool_)
    between: list[int] = []
    following = 0
    for number in wrong.tolist():
        if number >= following:
            walked = _one_by_one(content, int(lanes[number]), until, numbers)
            between += walked[:-1]
            following = numbers.get(walked[-1], len(lanes)) if len(walked) > 1 else len(lanes)
            counts[number:following] = False
            end = walked[-1]
    return counts, np.array(between, np.int64), end


def _one_by_one(content: bytes, position: int, until: int, stops: Container[int] = ()) -> list[int]:
    """The same, a step at a time; up to one of the places where to stop."""
    starts = [position]
    add, length_at = starts.append, _LENGTH.unpack_from
    end = len(content)
    last = min(until - 1, end - HEADER_SIZE)
    while position <= last:
        after = position + BEFORE_LENGTH_COUNTS + length_at(content, position + LENGTH_AT)[0]
        if after > end or after < position + HEADER_SIZE:
            break
        add(after)
        position = after
        if position in stops:
            break
    return starts


def _lanes(content: bytes, position: int, until: int) -> Integers:
    """Where batches seem to begin, one for so many bytes: the first is sure."""
    most = min(until, len(content) - HEADER_SIZE)
    begins = _like(content[position : position + 4])
    found = [position]
    for first in range(position + _BYTES_OF_A_LANE, most, _BYTES_OF_A_LANE):
        seen = begins.search(content, first, min(first + _LOOKED_AT, most))
        if seen is not None:
            found.append(seen.start())
    return np.array(found, np.int64)


def _like(offset: bytes) -> re.Pattern[bytes]:
    """A header whose offset begins in these four bytes: of a length that can be, in magic 2, of known attributes."""
    return re.compile(re.escape(offset) + rb".{4}[\x00-\x7f].{7}\x02.{4}\x00[\x00-\x7f]", re.DOTALL)


def _in_lanes(content: bytes, lanes: Integers) -> tuple[Integers, Integers]:
    """The batches of all lanes but the last, in order; and where each lane ends, -1 if at a length that cannot be."""
    lengths: npt.NDArray[np.int32] = np.ndarray((len(content) - LENGTH_AT - 3,), ">i4", content, LENGTH_AT, (1,))
    at, limits, numbers = lanes[:-1], lanes[1:], np.arange(len(lanes) - 1)
    ends, starts = np.full(len(numbers), ABSENT), []
    while len(at):
        starts.append(at)
        after = at + lengths[at] + BEFORE_LENGTH_COUNTS
        possible = after >= at + HEADER_SIZE
        continues = possible & (after < limits)
        at = after
        if not continues.all():
            arrives = possible & ~continues
            ends[numbers[arrives]] = after[arrives]
            at, limits, numbers = after[continues], limits[continues], numbers[continues]
    return np.sort(np.concatenate(starts)), ends
