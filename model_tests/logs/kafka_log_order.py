"""The order of a segment's batches: offsets rise, and stay between the segment's name and the next one's."""

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from model_tests.logs.kafka_log_batches import Batches, Facts
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange
from spec.vocabulary import ABSENT


def in_order(batches: Batches, segment: SegmentRange) -> tuple[Batches, list[SegmentDamage]]:
    """The batches whose offsets can be, and what is wrong with the others; the header's offset has no CRC."""
    wrong = dict(_misplaced(batches, segment))
    kept = np.ones(len(batches), np.bool_)
    kept[list(wrong)] = False
    wrong |= _falling(batches, kept)
    if not wrong:
        return batches, []
    kept[list(wrong)] = False
    damage = [SegmentDamage(segment.path, int(batches.position[row]), message) for row, message in _in_runs(wrong)]
    return _without(batches, kept), damage


def _in_runs(wrong: dict[int, tuple[str, str]]) -> Iterator[tuple[int, str]]:
    """Neighbours that are wrong in the same way, as one: a file with a wrong name is one damage."""
    rows = sorted(wrong)
    for _, run in groupby(enumerate(rows), lambda item: (wrong[item[1]][0], item[1] - item[0])):
        first, *more = (row for _, row in run)
        yield first, wrong[first][1] + (f"; and so the {len(more)} batches after it" if more else "")


def _misplaced(batches: Batches, segment: SegmentRange) -> Iterator[tuple[int, tuple[str, str]]]:
    """Batches whose own numbers cannot be, or that belong into another segment: in which way, and the message."""
    first, last = batches.base_offset, batches.last_offset
    counts = (batches.last_offset_delta < 0) | (batches.record_count < 0)
    least, end = segment.bounds
    below = first < least
    above = (last >= end) if end != ABSENT else np.zeros(len(batches), np.bool_)
    for row in np.flatnonzero(counts | below | above).tolist():
        offset = f"the batch at offset {first[row]}"
        if counts[row]:
            numbers = f"{batches.record_count[row]} records up to +{batches.last_offset_delta[row]}"
            yield row, ("counts", f"{offset} counts {numbers}")
        elif below[row]:
            yield row, ("below", f"{offset} is below its segment's base offset {segment.base}")
        else:
            yield row, ("above", f"{offset} ends at {last[row]}, but the next segment begins at {segment.end}")


def _falling(batches: Batches, kept: Facts) -> dict[int, tuple[str, str]]:
    """Of two neighbours whose offsets do not rise, the one that does not fit the batch before both."""
    first, last = batches.base_offset, batches.last_offset
    wrong: dict[int, tuple[str, str]] = {}
    rows = np.flatnonzero(kept)
    if not (first[rows][1:] <= last[rows][:-1]).any():
        return wrong
    sound: list[int] = []
    for row in rows.tolist():
        if sound and first[row] <= last[sound[-1]]:
            before = int(last[sound[-2]]) if len(sound) > 1 else int(first[row]) - 1
            blamed = sound.pop() if first[row] > before else row
            other = row if blamed != row else sound[-1]
            message = f"offset {first[blamed]} does not fit its neighbour's offset {first[other]}: offsets rise"
            wrong[blamed] = ("falls", message)
            if blamed == row:
                continue
        sound.append(row)
    return wrong


def _without(batches: Batches, kept: Facts) -> Batches:
    """The kept batches; those directly after a batch left out follow damage."""
    after = batches.follows_damage.copy()
    carried = False
    for row in range(int(np.argmin(kept)), len(batches)):
        if kept[row]:
            after[row] |= carried
            carried = False
        else:
            carried = True
    left = batches.take(kept)
    left.follows_damage[:] = after[kept]
    return left
