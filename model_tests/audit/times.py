"""The times of single batches, looked up by the indexes of their segments, without reading a log again."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from model_tests.logs.kafka_log_batches import Batches, Integers
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.logs.kafka_log_ranges import ranges_around
from model_tests.logs.kafka_log_segment import SegmentRange, read_segment
from spec.vocabulary import ABSENT


def times_at(log: LogFolder, offsets: Sequence[int]) -> list[int]:
    """The largest timestamp of the batch at each offset, of a neighbour where none has it; -1 where there is none."""
    wanted = np.unique(np.array(offsets, np.int64))
    of_segment = np.maximum(np.searchsorted([one.base for one in log.segments], wanted, side="right") - 1, 0)
    times = np.full(len(wanted), ABSENT, np.int64)
    for number in np.unique(of_segment).tolist():
        times[of_segment == number] = _in_segment(log.segments[number], wanted[of_segment == number])
    return [int(times[place]) for place in np.searchsorted(wanted, offsets)]


def _in_segment(segment: SegmentRange, offsets: Integers) -> Integers:
    found = [_in_range(one, own) for one, own in ranges_around(segment, offsets)]
    if any(times is None for times in found):
        batches, _ = read_segment(segment, crc=False)
        return _of(batches, offsets)
    return np.concatenate([times for times in found if times is not None])


def _in_range(some: SegmentRange, offsets: Integers) -> Integers | None:
    """The times in a range; none where its ends are no ends of batches, as where an index is wrong."""
    batches, damage = read_segment(some, crc=False)
    misplaced = not len(batches) or batches.base_offset[0] > offsets[0] or batches.last_offset[-1] < offsets[-1]
    return None if some.is_range and (damage or misplaced) else _of(batches, offsets)


def _of(batches: Batches, offsets: Integers) -> Integers:
    if not len(batches):
        return np.full(len(offsets), ABSENT, np.int64)
    rows = np.searchsorted(batches.base_offset, offsets, side="right") - 1
    times: Integers = batches.max_timestamp[np.maximum(rows, 0)]
    return times


_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
_LATEST: Final = 253_402_300_799_999
"""The end of the year 9999."""


def clock(milliseconds: int) -> str:
    """A time in milliseconds since 1970 as UTC; empty where it is none, or no calendar has it."""
    if not 0 <= milliseconds <= _LATEST:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def span(milliseconds: int) -> str:
    """A time of so many milliseconds, in its largest unit and at most one decimal: 60000 is `1 min`."""
    size, unit = next((one for one in _UNITS if abs(milliseconds) >= one[0]), _UNITS[-1])
    return f"{round(milliseconds / size, 1):g} {unit}"
