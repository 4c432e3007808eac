"""Ranges of one large segment, each to be read by itself, cut where a batch begins by the segment's index.

The index is trusted only as long as the ranges agree: a range whose batches do not end exactly where the
next one begins has damage at its end.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from model_tests.logs.kafka_log_batches import Integers
from model_tests.logs.kafka_log_derived import OFFSET_ENTRY, Rows
from model_tests.logs.kafka_log_folders import size_of
from model_tests.logs.kafka_log_segment import Cut, SegmentRange
from model_tests.logs.locations import Location, located, read_range
from spec.vocabulary import ABSENT

_OFFSET_BYTES: Final = 8
_NO_ENTRIES: Final = np.empty(0, OFFSET_ENTRY)
_LARGER: Final = 1.5
"""A segment is cut if it is at least this many times as large as a range."""


def ranges_of(segment: SegmentRange, enough: int) -> tuple[SegmentRange, ...]:
    """The segment in ranges of so many bytes or a little more; whole if it is small, or nothing shows where to cut."""
    size = size_of(segment)
    if size < _LARGER * enough:
        return (segment,)
    try:
        cuts = list(_cuts(located(segment.path), size, enough))
    except OSError:
        return (segment,)  # the reader will say why
    edges = [None, *cuts, None]
    return tuple(SegmentRange(segment.path, segment.base, segment.end, *edge) for edge in pairwise(edges))


def ranges_around(segment: SegmentRange, offsets: Integers) -> list[tuple[SegmentRange, Integers]]:
    """A range for each of the offsets that has the batch with it, as far as the index is right; rising offsets.

    Offsets of the same range come together.
    """
    try:
        entries = _entries(located(segment.path))
    except OSError:
        entries = _NO_ENTRIES
    last = segment.base + entries["relative"].astype(np.int64)
    place = np.searchsorted(last, offsets)
    groups = np.split(offsets, np.flatnonzero(np.diff(place)) + 1) if len(offsets) else []
    return [(_between(segment, entries, int(np.searchsorted(last, own[0]))), own) for own in groups]


def _between(segment: SegmentRange, entries: Rows, place: int) -> SegmentRange:
    """The range from the entry before a place up to the one after it."""
    since, until = (
        Cut(int(entries["position"][number]), ABSENT) if 0 <= number < len(entries) else None
        for number in (place - 1, place + 1)
    )
    return SegmentRange(segment.path, segment.base, segment.end, since, until)


def _entries(location: Location) -> Rows:
    """The entries of the segment's index, without the zeros of its preallocated rest; nothing where there is none."""
    index = location.parent / f"{location.stem}.index"
    content = index.read_bytes() if index.exists() else b""
    entries = np.frombuffer(content, OFFSET_ENTRY, len(content) // OFFSET_ENTRY.itemsize)
    return entries[entries["position"] > 0]


def _cuts(location: Location, size: int, enough: int) -> Iterator[Cut]:
    """Places at least so far from each other and from both ends of the file."""
    rising = np.unique(_entries(location)["position"].astype(np.int64))
    wanted = enough
    while wanted <= size - enough / 2:
        place = int(np.searchsorted(rising, wanted))
        if place == len(rising) or rising[place] > size - enough / 2:
            return
        position = int(rising[place])
        offset = read_range(location, position, position + _OFFSET_BYTES)
        yield Cut(position, int.from_bytes(offset, "big", signed=True))
        wanted = position + enough
