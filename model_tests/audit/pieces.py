"""Data of a log in pieces: parts of a transaction, or of non-transactional data, that no offset of interest divides."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

import spec.readings.reading_numpy  # noqa: F401  # arrays are operands of the decisions from here on
from model_tests.audit.holes import Surroundings
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from spec.protocol.lso import is_delivered
from spec.vocabulary import ABSENT, ControlType

Table = TypeVar("Table")


def taken(table: Table, rows: npt.NDArray[Any]) -> Table:
    """The rows at these places, or where this mask is true."""
    return type(table)(**{name: getattr(table, name)[rows] for name in columns_of(table)})


def stacked(tables: Sequence[Table]) -> Table:
    """One table after the other; at least one."""
    first = tables[0]
    if len(tables) == 1:
        return first
    return type(first)(
        **{name: np.concatenate([getattr(table, name) for table in tables]) for name in columns_of(first)}
    )


def columns_of(table: object) -> tuple[str, ...]:
    """The names of its columns."""
    return tuple(part.name for part in fields(table))  # type: ignore[arg-type]  # tables are dataclasses


_BEYOND: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Pieces:
    """Batches of data that follow each other, added up; those of transactions by producer, the others together.

    Attributes:
        producer_id: -1 for data that is in no transaction.
        producer_epoch: likewise.
        first: offset of the first batch.
        last: last offset of the last batch.
        batches: number of batches.
        records: number of records.
        seen: those of them between the log's start and the high watermark.
    """

    producer_id: Integers
    producer_epoch: Integers
    first: Integers
    last: Integers
    batches: Integers
    records: Integers
    seen: Integers
    first_ms: Integers
    last_ms: Integers

    def __len__(self) -> int:
        return len(self.first)

    @property
    def joins(self) -> Facts:
        """Whether each is data of a transaction."""
        joins: Facts = self.producer_id >= 0
        return joins


@dataclass(frozen=True, slots=True)
class MarkersByOffset:
    """The markers of a log, by producer and offset.

    Attributes:
        outcome: type of the control record.
        segment: base offset of the segment that has it.
    """

    producer_id: Integers
    offset: Integers
    outcome: Integers
    segment: Integers


@dataclass(frozen=True, slots=True)
class ReaderTally:
    """What readers and rules have to do with of a log's data.

    Attributes:
        visible: records that a read_committed reader is given.
        waiting: records that it is not given yet: decided, or in no transaction, behind one that is open.
        bounded: transactional batches below the last stable offset.
        listed: those of them that have ended, from the log's start on, where the segment of the marker has an index.
    """

    visible: int
    waiting: int
    bounded: int
    listed: int


def tally(pieces: Pieces, ends: MarkersByOffset, bounds: tuple[int, int], indexed: Collection[int]) -> ReaderTally:
    """Add up the data of a whole log.

    Args:
        pieces: its data.
        ends: its markers.
        bounds: the log's start, and the last stable offset.
        indexed: base offsets of the segments that have an aborted index.
    """
    start, stable = bounds
    number = endings(pieces, ends)
    ended = number >= 0
    aborted = ended & (ends.outcome[number] == ControlType.ABORT.value) if len(ends.offset) else ended
    has_index = np.isin(ends.segment[number], list(indexed)) if len(ends.offset) else ended
    delivered = is_delivered(
        control=np.zeros(len(pieces), np.bool_), transactional=pieces.joins, aborted=aborted, read_committed=True
    )
    below = pieces.first < stable
    listed = ended & has_index & below & (pieces.first >= start)
    return ReaderTally(
        visible=int(pieces.seen[delivered & below].sum()) if stable > start else 0,
        waiting=int(pieces.seen[delivered & (ended | ~pieces.joins) & ~below].sum()),
        bounded=int(pieces.batches[pieces.joins & below].sum()),
        listed=int(pieces.batches[listed].sum()),
    )


def pieces_of(batches: Batches, around: Surroundings) -> Pieces:
    """Each batch of data as a piece of its own."""
    control = batches.control
    own = batches.take(~control) if control.any() else batches
    joins = (own.producer_id >= 0) & own.transactional
    end = around.high_watermark if around.high_watermark != ABSENT else _BEYOND
    return Pieces(
        producer_id=np.where(joins, own.producer_id, ABSENT),
        producer_epoch=np.where(joins, own.producer_epoch, ABSENT),
        first=own.base_offset,
        last=own.last_offset,
        batches=np.ones(len(own), np.int64),
        records=own.record_count,
        seen=_records_within(own, start_of(around), end),
        first_ms=own.max_timestamp,
        last_ms=own.max_timestamp,
    )


def start_of(around: Surroundings) -> int:
    """The first offset that a reader is given."""
    return max(around.first_base, around.log_start)


def _records_within(batches: Batches, first: int, end: int) -> Integers:
    """Records of each batch from `first` up to before `end`; of a cleaned batch across an edge, as if the last ones."""
    if not len(batches) or (batches.base_offset[0] >= first and batches.last_offset[-1] < end):
        return batches.record_count
    below = np.clip(first - batches.base_offset, 0, None)
    above = np.clip(batches.last_offset + 1 - end, 0, None)
    width = batches.last_offset_delta + 1
    inside = np.clip(width - below - above, 0, None)
    return np.where(inside == width, batches.record_count, np.minimum(batches.record_count, inside))


def ends_of(batches: Batches) -> MarkersByOffset:
    """The markers of a log."""
    rows = np.flatnonzero(is_marker(batches))
    rows = rows[np.argsort(batches.producer_id[rows], kind="stable")]
    return MarkersByOffset(
        batches.producer_id[rows], batches.base_offset[rows], batches.control_type[rows], batches.segment[rows]
    )


def is_marker(batches: Batches) -> Facts:
    """Whether each batch ends a transaction."""
    ends: Facts = (batches.producer_id >= 0) & batches.control & (batches.control_type >= ControlType.ABORT.value)
    ends &= batches.control_type <= ControlType.COMMIT.value
    return ends


def merged(pieces: Pieces, ends: MarkersByOffset, around: Surroundings) -> Pieces:
    """The fewest pieces that say the same.

    They are divided where the last stable offset may come to lie: at the log's start, at the high watermark, and
    where a transaction begins that is not decided here. So none is divided where two logs become one.
    """
    if not len(pieces):
        return pieces
    pieces = _ordered(pieces)
    ending = endings(pieces, ends)
    opens = _changes(pieces.producer_id, ending)
    waiting = ending == ABSENT
    if around.high_watermark != ABSENT and len(ends.offset):
        waiting |= ends.offset[ending] >= around.high_watermark
    undecided = pieces.first[opens & pieces.joins & waiting]
    edges = np.unique(np.append(undecided, [start_of(around), around.high_watermark]))
    section = np.searchsorted(edges, pieces.first, side="right")
    starts = np.flatnonzero(opens | _changes(pieces.producer_epoch, section))
    return _added(pieces, starts)


def runs_of(pieces: Pieces, ends: MarkersByOffset) -> tuple[Pieces, Integers]:
    """Transactional data by producer, epoch and marker, by offset; and the number of each one's marker."""
    pieces = _ordered(taken(pieces, pieces.joins))
    if not len(pieces):
        return pieces, np.empty(0, np.int64)
    ending = endings(pieces, ends)
    starts = np.flatnonzero(_changes(pieces.producer_id, pieces.producer_epoch, ending))
    runs = _added(pieces, starts)
    order = np.argsort(runs.first, kind="stable")
    return taken(runs, order), ending[starts][order]


def endings(pieces: Pieces, ends: MarkersByOffset) -> Integers:
    """For each piece the number of the next marker of its producer; -1 where there is none."""
    if not pieces.joins.any() or not len(ends.offset):
        return np.full(len(pieces), ABSENT, np.int64)
    producers = np.concatenate([pieces.producer_id, ends.producer_id])
    offsets = np.concatenate([pieces.first, ends.offset])
    order = np.lexsort((offsets, producers))
    count = len(order)
    places = np.where(order >= len(pieces), np.arange(count), count)
    following = np.minimum.accumulate(places[::-1])[::-1]
    inside = np.minimum(following, count - 1)
    same = (following < count) & (producers[order[inside]] == producers[order])
    ending = np.full(count, ABSENT, np.int64)
    ending[order] = np.where(same, order[inside] - len(pieces), ABSENT)
    return ending[: len(pieces)]


def _ordered(pieces: Pieces) -> Pieces:
    """By producer and offset; the data of a log without transactions is so already."""
    if not pieces.joins.any():
        return pieces
    return taken(pieces, np.lexsort((pieces.first, pieces.producer_id)))


def _changes(*columns: Integers) -> Facts:
    changed = np.ones(len(columns[0]), np.bool_)
    changed[1:] = False
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def _added(pieces: Pieces, starts: Integers) -> Pieces:
    ends = np.append(starts[1:], len(pieces)) - 1
    return Pieces(
        producer_id=pieces.producer_id[starts],
        producer_epoch=pieces.producer_epoch[starts],
        first=pieces.first[starts],
        last=pieces.last[ends],
        batches=np.add.reduceat(pieces.batches, starts),
        records=np.add.reduceat(pieces.records, starts),
        seen=np.add.reduceat(pieces.seen, starts),
        first_ms=np.minimum.reduceat(pieces.first_ms, starts),
        last_ms=np.maximum.reduceat(pieces.last_ms, starts),
    )
