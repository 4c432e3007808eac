"""Segments that are gone: offsets that no segment has, of a log that the cleaner never touched.

A broker names a segment after the end of the one before it, and its first batch has that offset. Only the cleaner
leaves less between two segments. Retention raises where a log begins, and its leader-epoch checkpoint with it, before
it deletes a segment; the broker's checkpoint of log starts has only those that lie above their first segment's base, or
all of a topic with remote storage.
"""

from dataclasses import replace
from pathlib import PurePath
from typing import Final

import numpy as np

from model_tests.audit.holes import Surroundings, begins_segment, never_cleaned
from model_tests.audit.partial_log import Condensed
from model_tests.logs.kafka_log_batches import Facts
from model_tests.logs.kafka_log_derived import EPOCHS, LeaderEpochFile
from model_tests.logs.kafka_log_folders import CLEANED, LogFolder
from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.logs.locations import located, names_in


def without_lost(log: Condensed, around: Surroundings) -> Condensed:
    """The log, what follows a segment that is gone, or may be, as what follows bytes that cannot be read."""
    after = _after_lost(log, around) | _perhaps_lost(log, around)
    if not after.any():
        return log
    rows = replace(log.rows, follows_damage=log.rows.follows_damage | after)
    return replace(log, rows=rows, marks=replace(log.marks, unreadable=log.marks.unreadable + np.cumsum(after)))


def lost_segments(
    folder: LogFolder, log: Condensed, around: Surroundings, epochs: LeaderEpochFile | None = None
) -> list[SegmentDamage]:
    """Each gap between two segments, and before the first, at the segment that follows it.

    Args:
        folder: the partition's directory.
        log: what was read of it, before `without_lost`.
        around: what is known of it besides.
        epochs: its leader-epoch checkpoint.
    """
    gaps = [(since, until, _BEFORE_FIRST) for since, until in _before_first(around, epochs)]
    gaps += [(since, until, _BETWEEN) for since, until in _gaps(log, _after_lost(log, around))]
    if len(log.rows) and _never(log, around) and not log.totals.tail_damaged:
        end = int(log.rows.last_offset.max()) + 1
        gaps += [(end, around.active_base, _BETWEEN)] if end < around.active_base else []
    missing = [_damage(folder, *gap, "missing") for gap in gaps if not _is_there(folder, *gap[:2])]
    doubtful = [gap for gap in _gaps(log, _perhaps_lost(log, around)) if not _is_there(folder, *gap)]
    if doubtful:
        others = f"; {len(doubtful) - 1} more like it" if len(doubtful) > 1 else ""
        missing.append(_damage(folder, *doubtful[0], f"{_PERHAPS}{others}", "perhaps missing"))
    return missing


_BETWEEN: Final = "or the end of the one before it"
_BEFORE_FIRST: Final = (
    f"where {EPOCHS} still begins, unless remote storage has it or the directory was copied while it was deleted"
)
_PERHAPS: Final = f"unless the log cleaner was here, which {CLEANED} would show and is not there"


def _gaps(log: Condensed, after: Facts) -> list[tuple[int, int]]:
    """The offsets that are missing directly before these batches."""
    rows = log.rows
    return [(int(rows.last_offset[row - 1]) + 1, int(rows.base_offset[row])) for row in np.flatnonzero(after).tolist()]


def _is_there(folder: LogFolder, since: int, until: int) -> bool:
    """Whether the directory has a segment of these offsets.

    It is not among the selected ones, is named as no file, or the broker is about to delete it.
    """
    names = [name.removesuffix(".deleted") for name in names_in(located(folder.path))]
    return any(f"{since:020}.log" <= name < f"{until:020}.log" for name in names if name.endswith(".log"))


def _damage(folder: LogFolder, since: int, until: int, unless: str, missing: str) -> SegmentDamage:
    path = next(segment.path for segment in folder.segments if segment.base == until)
    name = PurePath(path).name
    return SegmentDamage(path, 0, f"the segment of offsets {since}..{until - 1} is {missing} before {name}, {unless}")


def _before_first(around: Surroundings, epochs: LeaderEpochFile | None) -> list[tuple[int, int]]:
    """What the checkpoint of leader epochs still has before the first segment.

    A log that is said to start at offset 0 is one with remote storage: of others such a start is not written.
    """
    begin = epochs.starts[0] if epochs is not None and epochs.starts else around.first_base
    since = max(begin, around.log_start)
    return [(since, around.first_base)] if since < around.first_base and around.log_start != 0 else []


def _perhaps_lost(log: Condensed, around: Surroundings) -> Facts:
    """The first batches of segments behind missing offsets, where no checkpoint shows whether the cleaner ran.

    Where it was, it leaves holes inside segments, too, or batches without some of their records.
    """
    rows = log.rows
    none = np.zeros(len(rows), np.bool_)
    if not len(rows) or around.cleaner_known or around.by_coordinator or log.totals.rewritten:
        return none
    between = log.marks.hole & begins_segment(rows) & ~rows.follows_damage
    only = int(between.sum()) == int(log.marks.cleaned[-1]) and int(rows.base_offset[0]) == around.first_base
    return between if only else none


def _after_lost(log: Condensed, around: Surroundings) -> Facts:
    """The first batches of segments before which offsets are missing."""
    if not _never(log, around):
        return np.zeros(len(log.rows), np.bool_)
    return log.marks.hole & begins_segment(log.rows) & ~log.rows.follows_damage


def _never(log: Condensed, around: Surroundings) -> bool:
    return not around.by_coordinator and never_cleaned(around, rewritten=log.totals.rewritten > 0)
