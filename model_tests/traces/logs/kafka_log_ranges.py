"""Ranges of one large segment, each to be read by itself, cut where the segment's index says that a batch begins.

What the index says is believed only as long as the ranges agree: a range whose batches do not end exactly where the
next one begins has damage at its end.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from model_tests.traces.logs.kafka_log_derived import OFFSET_ENTRY
from model_tests.traces.logs.kafka_log_folders import size_of
from model_tests.traces.logs.kafka_log_segment import Cut, Segment
from model_tests.traces.logs.locations import Location, located, read_range

_OFFSET_BYTES: Final = 8
_LARGER: Final = 1.5
"""How many times as large as a range a segment is at least that is cut."""


def ranges_of(segment: Segment, enough: int) -> tuple[Segment, ...]:
    """The segment in ranges of so many bytes or a little more; whole if it is small, or nothing says where to cut."""
    size = size_of(segment)
    if size < _LARGER * enough:
        return (segment,)
    try:
        cuts = list(_cuts(located(segment.path), size, enough))
    except OSError:
        return (segment,)  # the reader will say why
    edges = [None, *cuts, None]
    return tuple(Segment(segment.path, segment.base, segment.end, *edge) for edge in pairwise(edges))


def _cuts(location: Location, size: int, enough: int) -> Iterator[Cut]:
    """Places at least so far from each other and from both ends of the file."""
    index = location.parent / f"{location.stem}.index"
    if not index.exists():
        return
    content = index.read_bytes()
    positions = np.frombuffer(content, OFFSET_ENTRY, len(content) // OFFSET_ENTRY.itemsize)["position"]
    rising = np.unique(positions.astype(np.int64))
    wanted = enough
    while wanted <= size - enough / 2:
        place = int(np.searchsorted(rising, wanted))
        if place == len(rising) or rising[place] > size - enough / 2:
            return
        position = int(rising[place])
        offset = read_range(location, position, position + _OFFSET_BYTES)
        yield Cut(position, int.from_bytes(offset, "big", signed=True))
        wanted = position + enough
