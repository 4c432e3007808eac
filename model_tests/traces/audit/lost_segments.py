"""Segments that are gone: offsets that no segment has, of a log that the cleaner never touched.

A broker names a segment after the end of the one before it, and its first batch has that offset. Only the cleaner
leaves less between two segments; and only retention raises where a log begins, in its checkpoints, too.
"""

from dataclasses import replace
from pathlib import PurePath

import numpy as np

from model_tests.traces.audit.condensed import Condensed
from model_tests.traces.audit.holes import Surroundings, begins_segment, never_cleaned
from model_tests.traces.logs.kafka_log_batches import Facts
from model_tests.traces.logs.kafka_log_derived import LeaderEpochs
from model_tests.traces.logs.kafka_log_folders import LogFolder
from model_tests.traces.logs.kafka_log_segment import Damage
from model_tests.traces.logs.locations import located, names_in


def without_lost(log: Condensed, around: Surroundings) -> Condensed:
    """The log, what follows a segment that is gone as what follows bytes that cannot be read."""
    after = _after_lost(log, around)
    if not after.any():
        return log
    rows = replace(log.rows, follows_damage=log.rows.follows_damage | after)
    return replace(log, rows=rows, marks=replace(log.marks, unreadable=log.marks.unreadable + np.cumsum(after)))


def lost_segments(
    folder: LogFolder, log: Condensed, around: Surroundings, epochs: LeaderEpochs | None = None
) -> list[Damage]:
    """Each gap between two segments, and before the first, at the segment that follows it.

    Args:
        folder: the partition's directory.
        log: what was read of it, before `without_lost`.
        around: what is known of it besides.
        epochs: its leader-epoch checkpoint.
    """
    after = np.flatnonzero(_after_lost(log, around))
    rows = log.rows
    gaps = [(int(rows.last_offset[row - 1]) + 1, int(rows.base_offset[row])) for row in after.tolist()]
    gaps += _before_first(around, epochs)
    if len(rows) and _never(log, around) and not log.totals.tail_damaged:
        end = int(rows.last_offset.max()) + 1
        gaps += [(end, around.active_base)] if end < around.active_base else []
    paths = {segment.base: segment.path for segment in folder.segments}
    return [_damage(paths[until], since, until) for since, until in sorted(gaps) if not _is_there(folder, since, until)]


def _is_there(folder: LogFolder, since: int, until: int) -> bool:
    """Whether the directory has a segment of these offsets: it was not asked for, or is named as no file."""
    names = names_in(located(folder.path))
    return any(f"{since:020}.log" <= name < f"{until:020}.log" for name in names if name.endswith(".log"))


def _damage(path: str, since: int, until: int) -> Damage:
    before = "or the end of the one before it" if since else "unless remote storage has it"
    name = PurePath(path).name
    return Damage(path, 0, f"the segment of offsets {since}..{until - 1} is missing before {name}, {before}")


def _before_first(around: Surroundings, epochs: LeaderEpochs | None) -> list[tuple[int, int]]:
    """What the checkpoints of log starts and of leader epochs still have before the first segment.

    Retention takes it from the second at once, from the first within a minute; each alone shows nothing.
    """
    started = 0 <= around.log_start < around.first_base
    if not started or epochs is None or not epochs.starts or epochs.starts[0] >= around.first_base:
        return []
    return [(max(epochs.starts[0], around.log_start), around.first_base)]


def _after_lost(log: Condensed, around: Surroundings) -> Facts:
    """The first batches of segments before which offsets are missing."""
    if not _never(log, around):
        return np.zeros(len(log.rows), np.bool_)
    return log.marks.hole & begins_segment(log.rows) & ~log.rows.follows_damage


def _never(log: Condensed, around: Surroundings) -> bool:
    return not around.by_coordinator and never_cleaned(around, rewritten=log.totals.rewritten > 0)
