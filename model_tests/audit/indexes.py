"""Sparse indexes and leader epochs compared with the batches that they lead to; what is wrong there is damage.

Arguments:
    segments: with their index files.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from model_tests.logs.kafka_log_derived import DerivedFile, DerivedFiles, LeaderEpochFile, Rows
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange
from spec.vocabulary import ABSENT


@dataclass(frozen=True, slots=True)
class Misled:
    """Batches whose leader epoch differs from that in the checkpoint.

    Attributes:
        batches: number of batches.
        position: of the line in the checkpoint that the first of them is compared with.
        message: about the first.
    """

    batches: int = 0
    position: int = 0
    message: str = ""

    def then(self, later: "Misled") -> "Misled":
        """These, and others after them."""
        return replace(self if self.batches else later, batches=self.batches + later.batches)

    def damage(self, path: str) -> Iterator[SegmentDamage]:
        """What is wrong with the file, if anything is."""
        if self.batches:
            more = f"; and so {self.batches - 1} more batches" if self.batches > 1 else ""
            yield SegmentDamage(path, self.position, f"{self.message}{more}")


def judge_segments(
    batches: Batches, segments: tuple[SegmentRange, ...], derived: DerivedFiles, damage: list[SegmentDamage]
) -> Iterator[SegmentDamage]:
    """What is wrong with the sparse indexes of segments, of which `damage` could not be read."""
    damaged = {bad.path for bad in damage}
    for segment in segments:
        own = _of_segment(batches, segment.base)
        yield from judge_segment(own, segment, derived, whole=segment.path not in damaged)


def judge_segment(
    own: Batches, segment: SegmentRange, derived: DerivedFiles, *, whole: bool
) -> Iterator[SegmentDamage]:
    """What is wrong with the sparse indexes of one segment; `whole` where all of it could be read.

    Args:
        own: batches of the segment.
        segment: with its index files.
        derived: the files that are derived from batches: snapshots and indexes.
        whole: whether nothing of it is missing.
    """
    offsets, times = derived.offsets.get(segment.base), derived.times.get(segment.base)
    if offsets is not None:
        yield from _judge_offsets(own, segment, offsets, whole=whole)
    if times is not None:
        yield from _judge_times(own, segment, times, whole=whole)


def judge_versions(derived: DerivedFiles) -> Iterator[SegmentDamage]:
    """Entries of aborted indexes of a version that is not known."""
    for base, file in derived.aborted.items():
        odd = np.flatnonzero(file.rows["version"] != 0)
        if odd.size:
            size, version = file.rows.itemsize, file.rows["version"][odd[0]]
            yield SegmentDamage(
                file.path, int(odd[0]) * size, f"version {version} of an entry, expected 0 (segment {base})"
            )


def _of_segment(batches: Batches, base: int) -> Batches:
    first, after = np.searchsorted(batches.segment, [base, base + 1])
    return batches.between(int(first), int(after))


def _judge_offsets(own: Batches, segment: SegmentRange, file: DerivedFile, *, whole: bool) -> Iterator[SegmentDamage]:
    """An entry gives the last offset of a batch, and where that batch, or one before it, begins."""
    rows, zeros = _written(file.rows, "relative", "position")
    offset, position = segment.base + rows["relative"].astype(np.int64), rows["position"].astype(np.int64)
    falls = np.zeros(len(rows), np.bool_)
    falls[1:] = (np.diff(offset) <= 0) | (np.diff(position) <= 0)
    yield from _first_wrong(file, falls, "offsets and positions rise from entry to entry")
    yield from _zeros(file, segment, len(rows), zeros)
    if not whole or falls.any():
        return
    mine = _of_range(position, *(cut.position if cut is not None else None for cut in (segment.since, segment.until)))
    offset, position = offset[mine], position[mine]
    at, begins = _places(own.position, position)
    ends, exact = _places(own.last_offset, offset)
    following = np.append(at[1:], len(own))[: len(position)]
    exact &= (at <= ends) & (ends < following)
    beyond = (position >= _size(own)) & np.bool_(segment.active)
    wrong = ~(begins & exact) & ~beyond
    yield from _first_wrong(file, wrong, _no_batch("offset", "position", (offset, position), wrong))


def _places(rising: Integers, values: Integers) -> tuple[Integers, Facts]:
    """Where each value belongs in a column that rises, and whether it is there."""
    place = np.searchsorted(rising, values)
    there = place < len(rising)
    there[there] = rising[place[there]] == values[there]
    return place, there


def _judge_times(own: Batches, segment: SegmentRange, file: DerivedFile, *, whole: bool) -> Iterator[SegmentDamage]:
    """An entry gives the largest timestamp so far, and the offset of a batch that has it."""
    rows, zeros = _written(file.rows, "timestamp", "relative")
    offset, timestamp = segment.base + rows["relative"].astype(np.int64), rows["timestamp"].astype(np.int64)
    falls = np.zeros(len(rows), np.bool_)
    falls[1:] = (np.diff(timestamp) <= 0) | (np.diff(offset) < 0)
    yield from _first_wrong(file, falls, "timestamps and offsets rise from entry to entry")
    yield from _zeros(file, segment, len(rows), zeros)
    if not whole or falls.any():
        return
    mine = _of_range(offset, *(cut.offset if cut is not None else None for cut in (segment.since, segment.until)))
    offset, timestamp = offset[mine], timestamp[mine]
    place = np.searchsorted(own.last_offset, offset)
    inside = place < len(own)
    beyond = ~inside & np.bool_(segment.active and segment.until is None)
    agrees = inside.copy()
    row = place[inside]
    same = (own.max_timestamp[row] == timestamp[inside]) | own.cleaned[row]
    agrees[inside] = (own.base_offset[row] <= offset[inside]) & same
    wrong = ~agrees & ~beyond
    yield from _first_wrong(file, wrong, _no_batch("timestamp", "offset", (timestamp, offset), wrong))


def _of_range(values: Integers, since: int | None, until: int | None) -> Facts:
    """Which of the values lie in a range of a segment; all do where nothing bounds it."""
    mine = np.ones(len(values), np.bool_)
    if since is not None:
        mine &= values >= since
    if until is not None:
        mine &= values < until
    return mine


def _written(rows: Rows, *names: str) -> tuple[Rows, int]:
    """The entries without the zeros of the preallocated rest, and the number of those."""
    used = np.zeros(len(rows), np.bool_)
    for name in names:
        used |= rows[name] != 0
    count = int(np.flatnonzero(used)[-1]) + 1 if used.any() else 0
    return rows[:count], len(rows) - count


def _zeros(file: DerivedFile, segment: SegmentRange, used: int, zeros: int) -> Iterator[SegmentDamage]:
    """A broker cuts the preallocated rest off when it rolls the segment."""
    if zeros and not segment.active:
        yield SegmentDamage(
            file.path, used * file.rows.itemsize, f"{zeros} entries of zeros, though it is not the last segment"
        )


def _first_wrong(file: DerivedFile, wrong: Facts, message: str) -> Iterator[SegmentDamage]:
    """One damage for a file: its first wrong entry, and the number of further ones."""
    if wrong.any():
        first, more = int(np.argmax(wrong)), int(wrong.sum()) - 1
        counted = f"; and so {more} more entries" if more else ""
        yield SegmentDamage(file.path, first * file.rows.itemsize, f"entry {first}: {message}{counted}")


def _no_batch(left: str, right: str, values: tuple[Integers, Integers], wrong: Facts) -> str:
    first = int(np.argmax(wrong)) if wrong.any() else ABSENT
    says = f"{left} {values[0][first]} and {right} {values[1][first]}" if wrong.any() else ""
    return f"no batch of the segment has {says}"


def _size(own: Batches) -> int:
    """Bytes of a segment up to the end of its last batch."""
    return int(own.position[-1] + own.size[-1]) if len(own) else 0


def misled(batches: Batches, file: LeaderEpochFile, log_start: int) -> Misled:
    """Every batch has the epoch of the last line that begins at or before it.

    A broker drops the leader epochs below its log start, though the segment still has batches of them.
    """
    epochs, starts = np.array(file.epochs), np.array(file.starts)
    line = np.searchsorted(starts, batches.base_offset, side="right") - 1
    says = np.where(line >= 0, epochs[np.maximum(line, 0)], ABSENT)
    wrong = (says != batches.leader_epoch) & (batches.leader_epoch >= 0)
    wrong &= (line >= 0) | (batches.base_offset >= log_start)
    if not wrong.any():
        return Misled()
    row = int(np.argmax(wrong))
    own = max(int(line[row]), 0)
    entry = f"says epoch {epochs[own]} from offset {starts[own]}"
    has = f"the batch at offset {batches.base_offset[row]} has leader epoch {batches.leader_epoch[row]}"
    return Misled(int(wrong.sum()), file.positions[own], f"{entry}, but {has}")
