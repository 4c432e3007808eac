"""Some segments of a log read one at a time, and what is left of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from model_tests.audit.compaction import condense
from model_tests.audit.indexes import Misled, judge_segment, judge_segments, misled
from model_tests.audit.partial_log import Condensed, Wanted, follow, nothing, uncondensed
from model_tests.audit.record_bodies import NONE_READ, Bodies, bodies_of
from model_tests.common.codec import Codec
from model_tests.logs.kafka_log_batches import Batches, joined
from model_tests.logs.kafka_log_derived import DerivedFiles, read_indexes
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.logs.kafka_log_read import read_checked, read_checked_bytes
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange, content_of

AT_ONCE: Final = 1 << 15
"""Batches that are judged together: so few that their columns stay in a processor's cache."""

NONE_MISLED: Final = Misled()


@dataclass(frozen=True, slots=True)
class PartialLog:
    """What is left of some segments of a log that follow each other.

    Attributes:
        damage: what could not be read of them; `indexes`, what is wrong with their indexes.
        misled: batches whose leader epoch differs from that in the checkpoint.
        bodies: what is wrong with the bodies of batches, where these are looked at.
        miscut: base offsets of segments of which a range was read in which not all is well: only the whole segment
            shows what is wrong.
    """

    log: Condensed
    damage: tuple[SegmentDamage, ...] = ()
    indexes: tuple[SegmentDamage, ...] = ()
    misled: Misled = NONE_MISLED
    bodies: Bodies = NONE_READ
    miscut: frozenset[int] = frozenset()

    def then(self, later: "PartialLog", wanted: Wanted) -> "PartialLog":
        """What is left of these and of those that follow them."""
        return PartialLog(
            condense(follow(self.log, later.log, wanted.around), wanted),
            self.damage + later.damage,
            self.indexes + later.indexes,
            self.misled.then(later.misled),
            self.bodies.then(later.bodies),
            self.miscut | later.miscut,
        )


PART: Final[Codec[PartialLog]] = Codec("part of a log", PartialLog)
"""How a task sends and keeps it."""


def read_part(log: LogFolder, wanted: Wanted, *, crc: bool = True) -> PartialLog:
    """Read the segments of a folder, of which only one is held at a time. A small log is left as it is."""
    indexes = read_indexes(log)
    left, most = nothing(wanted.around), AT_ONCE
    found: list[SegmentDamage] = []
    wrong: list[SegmentDamage] = []
    miscut: list[int] = []
    lines, bodies = NONE_MISLED, NONE_READ
    for segment in log.segments:
        batches, damage, own = _read(segment, crc=crc, deep=wanted.deep)
        bodies = bodies.then(own)
        found += damage
        misleading = list(judge_segment(batches, segment, indexes, whole=not damage))
        wrong += misleading
        miscut += [segment.base] if segment.is_range and (damage or misleading) else []
        lines = lines.then(_misled(batches, indexes, wanted))
        damaged = _tail_damaged(batches, damage) or segment in emptied(log)
        for some in _in_chunks(batches, tail_damaged=damaged, wanted=wanted):
            left = follow(left, some, wanted.around)
            if len(left.rows) >= most:
                left = condense(left, wanted)
                most = max(AT_ONCE, 2 * len(left.rows))
    return PartialLog(left, tuple(found), tuple(wrong), lines, bodies, frozenset(miscut))


def read_whole(log: LogFolder, wanted: Wanted, *, crc: bool = True) -> PartialLog:
    """Read the segments and keep every batch."""
    indexes = read_indexes(log)
    batches, damage, tail_damaged, bodies = _read_all(log, crc=crc, deep=wanted.deep)
    return PartialLog(
        uncondensed(batches, wanted.around, tail_damaged=tail_damaged),
        tuple(damage),
        tuple(judge_segments(batches, log.segments, indexes, damage)),
        _misled(batches, indexes, wanted),
        bodies,
    )


def read_batches(log: LogFolder, *, crc: bool = True) -> tuple[Batches, list[SegmentDamage], bool]:
    """The batches of all segments, what cannot be read of them, and whether the last bytes are among that."""
    return _read_all(log, crc=crc, deep=False)[:3]


def _read_all(log: LogFolder, *, crc: bool, deep: bool) -> tuple[Batches, list[SegmentDamage], bool, Bodies]:
    """The same, and what is wrong with the bodies."""
    parts: list[Batches] = []
    damage: list[SegmentDamage] = []
    carried, bodies = False, NONE_READ
    for segment in log.segments:
        batches, bad, own = _read(segment, crc=crc, deep=deep)
        bodies = bodies.then(own)
        if len(batches):
            batches.follows_damage[0] |= carried
        carried = _tail_damaged(batches, bad) or (carried and not len(batches)) or segment in emptied(log)
        parts.append(batches)
        damage += bad
    return joined(parts), damage, carried, bodies


def _read(segment: SegmentRange, *, crc: bool, deep: bool) -> tuple[Batches, list[SegmentDamage], Bodies]:
    """A segment's batches, what cannot be read of them, and, if `deep`, what is wrong with their bodies."""
    if not deep:
        return *read_checked(segment, crc=crc), NONE_READ
    try:
        content = content_of(segment)
    except OSError:
        return *read_checked(segment, crc=crc), NONE_READ
    batches, damage = read_checked_bytes(content, segment, crc=crc)
    return batches, damage, bodies_of(content, batches, segment.position)


def _misled(batches: Batches, indexes: DerivedFiles, wanted: Wanted) -> Misled:
    return misled(batches, indexes.epochs, wanted.around.log_start) if indexes.epochs is not None else NONE_MISLED


def _tail_damaged(batches: Batches, damage: list[SegmentDamage]) -> bool:
    last = int(batches.position[-1]) if len(batches) else -1
    return any(bad.position > last for bad in damage)


def emptied(log: LogFolder) -> list[SegmentRange]:
    """Segments without a byte that are not the last one, of a log that was never compacted: what they had is lost.

    The logs of coordinators are always compacted, whether a checkpoint of the cleaner was copied with them or not.
    """
    if log.by_coordinator or log.cleaned_to > 0:
        return []
    return [segment for segment in log.segments if segment.base in log.empty and not segment.active]


def _in_chunks(batches: Batches, *, tail_damaged: bool, wanted: Wanted) -> Iterator[Condensed]:
    for first in range(0, max(len(batches), 1), AT_ONCE):
        some = batches.between(first, first + AT_ONCE)
        ends = first + AT_ONCE >= len(batches)
        yield uncondensed(some, wanted.around, tail_damaged=tail_damaged and ends)
