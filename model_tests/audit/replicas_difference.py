"""The first offset at which two replicas of a partition differ: found by digests, then in the files."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from model_tests.audit.log import read_log
from model_tests.audit.replica import ReplicaSummary, coarser, digests
from model_tests.logs.kafka_log_batches import Batches, Facts, no_batches
from model_tests.logs.kafka_log_folders import list_logs
from reference.log.batch import DELETE_HORIZON
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class ReplicaDifference:
    """The first offset at which two replicas differ, and what each has there; an epoch is -1 where that is nothing.

    Attributes:
        as_written: neither batch shows that the cleaner was at it.
    """

    offset: int
    left: str
    right: str
    epochs: tuple[int, int]
    as_written: bool

    @property
    def same_leader(self) -> bool:
        """Both have a batch of the same leader epoch there, as it was written: there is one, committed or not."""
        left, right = self.epochs
        return self.as_written and left == right != ABSENT


def first_difference(
    left: ReplicaSummary, right: ReplicaSummary, paths: tuple[str, str], end: int
) -> ReplicaDifference | None:
    """The first difference below an offset, from where on both are complete; none where there is none.

    What unreadable bytes hide in one of the two is no difference.

    Args:
        left: a replica.
        right: another.
        paths: where they, or the logs, are.
        end: offset below which they must agree.
    """
    begin = max(left.begin, right.begin)
    for first, last in _suspected(left, right, begin, end):
        found = _difference_in(paths, (first, last), end)
        if found is not None:
            return found
    return None


def _suspected(left: ReplicaSummary, right: ReplicaSummary, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of offsets in which the two may differ, in order: blocks of other digests, and parts of blocks."""
    width = max(left.width, right.width)
    ours, theirs = (coarser(one.blocks, one.width, width) for one in (left, right))
    for block in range(begin // width, -(-end // width)):
        first, last = block * width, (block + 1) * width
        starts_alike = first >= begin or left.first == right.first == begin
        ends_alike = last <= end or left.log_end == right.log_end == end
        same = (ours[block] if block < len(ours) else 0) == (theirs[block] if block < len(theirs) else 0)
        if not (same and starts_alike and ends_alike):
            yield max(first, begin), min(last, end)


def _difference_in(paths: tuple[str, str], begins: tuple[int, int], end: int) -> ReplicaDifference | None:
    """The first difference of the batches that begin in a range, and end before an offset."""
    (left, left_hidden), (right, right_hidden) = (_read(path, begins, end) for path in paths)
    left, right = left.take(~_inside(left, right_hidden)), right.take(~_inside(right, left_hidden))
    ours, theirs = digests(left), digests(right)
    count = min(len(ours), len(theirs))
    unlike = np.flatnonzero(ours[:count] != theirs[:count])
    row = int(unlike[0]) if len(unlike) else count
    if row == len(ours) == len(theirs):
        return None
    offsets = [int(one.base_offset[row]) for one in (left, right) if row < len(one)]
    offset = min(offsets)
    epochs = (_epoch(left, row, offset), _epoch(right, row, offset))
    return ReplicaDifference(
        offset,
        _worded(left, row, offset),
        _worded(right, row, offset),
        epochs,
        _as_written(left, row) and _as_written(right, row),
    )


def _read(path: str, begins: tuple[int, int], end: int) -> tuple[Batches, list[tuple[int, int]]]:
    """The batches that begin in a range, and the ranges that unreadable bytes, or a segment that is gone, may have had.

    That segment itself shows a gap before a segment that begins after the range.
    """
    first, last = begins
    log = next(iter(list_logs([path]).logs), None)
    if log is None:
        return no_batches(), [begins]  # it was there when it was read
    after = min((one.base for one in log.segments if one.base >= last), default=last)
    segments = [one for one in log.segments if one.base <= after and (one.active or one.end > first)]
    batches, damage = read_log(replace(log, segments=tuple(segments)))
    hidden = []
    for row in np.flatnonzero(batches.follows_damage).tolist():
        hidden.append((int(batches.last_offset[row - 1]) + 1 if row else 0, int(batches.base_offset[row])))
    if damage:
        hidden.append((int(batches.last_offset[-1]) + 1 if len(batches) else 0, last))
    here = (batches.base_offset >= first) & (batches.base_offset < last) & (batches.last_offset < end)
    return batches.take(here), hidden


def _inside(batches: Batches, ranges: list[tuple[int, int]]) -> Facts:
    """Whether each batch begins in one of the ranges."""
    inside = np.zeros(len(batches), np.bool_)
    for first, last in ranges:
        inside |= (batches.base_offset >= first) & (batches.base_offset < last)
    return inside


def _epoch(batches: Batches, row: int, offset: int) -> int:
    """Leader epoch of the batch that a replica has at an offset."""
    here = row < len(batches) and int(batches.base_offset[row]) == offset
    return int(batches.leader_epoch[row]) if here else ABSENT


def _as_written(batches: Batches, row: int) -> bool:
    """All the records of a batch are there, and it has no time at which the cleaner removes the rest."""
    if row >= len(batches):
        return False
    whole = int(batches.record_count[row]) == int(batches.last_offset_delta[row]) + 1
    return whole and not int(batches.attributes[row]) & DELETE_HORIZON


def _worded(batches: Batches, row: int, offset: int) -> str:
    """The batch that a replica has at an offset."""
    if row >= len(batches) or int(batches.base_offset[row]) != offset:
        return "no batch"
    kind = "a control batch" if batches.control[row] else f"{int(batches.record_count[row])} records"
    producer = int(batches.producer_id[row])
    of = f" of producer {producer} epoch {int(batches.producer_epoch[row])}" if producer != ABSENT else ""
    return f"{kind}{of} in leader epoch {int(batches.leader_epoch[row])}, CRC {int(batches.crc[row]):#010x}"
