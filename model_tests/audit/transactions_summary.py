"""The transactions of one partition, small enough to be sent: data by producer, epoch and marker, and the markers."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from model_tests.audit.coordinator_log_history import CoordinatorHistory
from model_tests.audit.findings import OpenTransaction
from model_tests.audit.holes import Holes, Surroundings
from model_tests.audit.partial_log import Condensed
from model_tests.audit.pieces import Pieces, is_marker, runs_of
from model_tests.logs.kafka_log_batches import Batches, Integers
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec.protocol.ids import LARGEST_TIMEOUT
from spec.vocabulary import ABSENT

_NEVER: Final = 2**62
"""A time, in milliseconds, that is later than any."""

_MOST_PLACES: Final = 256
"""Changes of leader and unreadable places that are kept apart; beyond, one place stands for all that follow."""


@dataclass(frozen=True, slots=True)
class DataRun:
    """Data of one producer and epoch up to a marker, or up to the end of the log.

    Attributes:
        first_ms: the time of its first batch, which clients set; `last_ms` that of the last.
        marker: number of the marker that ends it, -1 where there is none.
        appended_ms: when it was appended: its first time, within those of the markers around it.
    """

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    records: int
    first_ms: int
    last_ms: int
    marker: int
    appended_ms: int


@dataclass(frozen=True, slots=True)
class AuditedMarker:
    """One marker of the log."""

    producer_id: int
    producer_epoch: int
    offset: int
    outcome: int
    coordinator_epoch: int
    leader_epoch: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class PartitionTransactions:
    """A partition log's evidence of its transactions.

    Attributes:
        begin: first offset that is in the log.
        end: the offset after its last.
        cleaned_to: offset up to which the log cleaner may have removed batches; 0 where it removed none.
        unreadable: offsets of the batches that follow unreadable bytes.
        gone: offsets of the batches before which batches are missing that nothing can have removed.
        tail_lost: the end of the log is known to be missing.
        leader_changes: offsets of the first batch of each leader after the first one.
        last_leader_epoch: of the newest batch.
        earliest_ms: since when the log continues, by its first batch and its first marker; -1 where they do not say.
        latest_ms: until when the log continues, by its last batch and its last marker; -1 where they do not say.
        closed: everything up to the end was flushed, so that the log was closed when it was copied.
    """

    runs: tuple[DataRun, ...] = ()
    markers: tuple[AuditedMarker, ...] = ()
    begin: int = 0
    end: int = 0
    cleaned_to: int = 0
    unreadable: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    tail_lost: bool = False
    leader_changes: tuple[int, ...] = ()
    last_leader_epoch: int = ABSENT
    earliest_ms: int = ABSENT
    latest_ms: int = ABSENT
    closed: bool = False

    def __bool__(self) -> bool:
        return bool(self.runs or self.markers)


@dataclass(frozen=True, slots=True)
class TransactionEvidence:
    """One log's evidence of transactions: a partition's of its own, a coordinator's of all partitions."""

    here: PartitionTransactions = field(default_factory=PartitionTransactions)
    coordinated: CoordinatorHistory | None = None


def summarized(log: Condensed, missing: Holes, around: Surroundings, log_end: int) -> PartitionTransactions:
    """The summary of a whole log.

    Args:
        log: of one partition on one broker.
        missing: holes in the log.
        around: what is known of the log beside its batches: checkpoints, where segments begin.
        log_end: offset behind the last record.
    """
    batches = log.rows
    ranks = batches.leader_epoch[1:] != batches.leader_epoch[:-1]
    markers = _markers(batches, np.flatnonzero(is_marker(batches)))
    runs, ended_by = _runs(log)
    late_ms = _late_ms(runs, ended_by, markers)
    ahead_ms = int(_ahead_ms(late_ms, np.zeros_like(late_ms))[0])
    return PartitionTransactions(
        runs=_with_times(runs, ended_by, late_ms, markers),
        markers=markers,
        begin=max(around.first_base, around.log_start, 0),
        end=log_end,
        cleaned_to=_cleaned_to(batches, missing),
        unreadable=_places(batches, np.flatnonzero(batches.follows_damage)),
        gone=_places(batches, np.flatnonzero(missing.unexplained)),
        tail_lost=around.recovery_point > log_end,
        leader_changes=_places(batches, np.flatnonzero(ranks) + 1),
        last_leader_epoch=int(batches.leader_epoch[-1]) if len(batches) else ABSENT,
        earliest_ms=min(_times_at(batches, 0, ahead_ms), default=ABSENT),
        latest_ms=max(_times_at(batches, -1, ahead_ms), default=ABSENT),
        closed=around.recovery_point == log_end,
    )


def _times_at(batches: Batches, end: int, ahead_ms: int) -> list[int]:
    """The times of the first or last batch and marker; one that is yet to come is no time of an append."""
    ends = [at[end] for at in (np.arange(len(batches)), np.flatnonzero(is_marker(batches))) if len(at)]
    timed = [(int(batches.max_timestamp[at]), 0 if batches.control[at] else ahead_ms) for at in ends]
    now_ms = time.time_ns() // 1_000_000
    return [at_ms - ahead for at_ms, ahead in timed if at_ms >= 0 and at_ms - ahead <= now_ms]


def _late_ms(runs: Pieces, ended_by: Integers, markers: Sequence[AuditedMarker]) -> Integers:
    """By how much the last time of each run is later than that of its marker; far below 0 where it has none."""
    time_ms = np.array([one.timestamp for one in markers], np.int64)
    late_ms = np.full(len(runs), -_NEVER, np.int64)
    ended = np.flatnonzero((ended_by != ABSENT) & (runs.last_ms >= 0))
    late_ms[ended] = runs.last_ms[ended] - time_ms[ended_by[ended]]
    return late_ms


def _ahead_ms(late_ms: Integers, whose: Integers) -> Integers:
    """By how much the clock of each client is ahead of those of brokers at least; below 0 where it is behind.

    Data is appended before the marker that ends it, and no longer before it than a transaction may take.

    Args:
        late_ms: of each run.
        whose: number of the client of each.
    """
    most = np.full(int(whose.max(initial=0)) + 1, -_NEVER, np.int64)
    np.maximum.at(most, whose, late_ms)
    unknown = (most == -_NEVER) | ((most >= -LARGEST_TIMEOUT) & (most <= 0))
    ahead: Integers = np.where(unknown, 0, most)
    return ahead


def begun_by_brokers(opened: Sequence[OpenTransaction], summary: PartitionTransactions) -> tuple[OpenTransaction, ...]:
    """The open transactions with the time at which their first data was appended."""
    at = {run.first_offset: run.appended_ms for run in summary.runs if run.marker == ABSENT}
    return tuple(replace(one, first_ms=at.get(one.first_offset, one.first_ms)) for one in opened)


def with_damage(
    summary: PartitionTransactions, damage: Sequence[SegmentDamage], batches: Batches
) -> PartitionTransactions:
    """The same where bytes after the last batch cannot be read."""
    if not damage or not len(batches):
        return replace(summary, tail_lost=summary.tail_lost or bool(damage))
    last, position = int(batches.segment[-1]), int(batches.position[-1])
    lost = any(_segment_of(bad) > last or (_segment_of(bad) == last and bad.position > position) for bad in damage)
    return replace(summary, tail_lost=summary.tail_lost or lost)


def cut_at(summary: PartitionTransactions, offset: int) -> PartitionTransactions:
    """The same where nothing is known from an offset on."""
    markers = tuple(one for one in summary.markers if one.offset < offset)
    runs = tuple(
        replace(
            run,
            last_offset=min(run.last_offset, offset - 1),
            marker=run.marker if run.marker < len(markers) else ABSENT,
        )
        for run in summary.runs
        if run.first_offset < offset
    )
    return replace(summary, runs=runs, markers=markers, end=min(summary.end, offset), tail_lost=True, closed=False)


def _segment_of(bad: SegmentDamage) -> int:
    name = bad.path.rpartition("/")[2]
    return int(name[:20]) if name.endswith(".log") and name[:20].isdigit() else ABSENT


def _markers(batches: Batches, rows: Integers) -> tuple[AuditedMarker, ...]:
    columns = (
        batches.producer_id,
        batches.producer_epoch,
        batches.base_offset,
        batches.control_type,
        batches.coordinator_epoch,
        batches.leader_epoch,
        batches.max_timestamp,
    )
    return tuple(AuditedMarker(*row) for row in zip(*(column[rows].tolist() for column in columns), strict=True))


def _runs(log: Condensed) -> tuple[Pieces, Integers]:
    """Data that shares producer, epoch and marker, and follows each other, by its first offset; and its marker."""
    runs, ending = runs_of(log.pieces, log.ends)
    order = np.argsort(log.ends.offset, kind="stable")
    place = np.full(len(order) + 1, ABSENT, np.int64)
    place[order] = np.arange(len(order))
    return runs, place[ending]


def _with_times(
    runs: Pieces, ended_by: Integers, late_ms: Integers, markers: Sequence[AuditedMarker]
) -> tuple[DataRun, ...]:
    """The runs, each with the time at which it was appended."""
    offset = np.array([one.offset for one in markers], np.int64)
    time_ms = np.array([one.timestamp for one in markers], np.int64)
    before = np.append(ABSENT, np.maximum.accumulate(time_ms))[np.searchsorted(offset, runs.first)]
    behind = np.append(np.minimum.accumulate(time_ms[::-1])[::-1], _NEVER)[np.searchsorted(offset, runs.last, "right")]
    _, whose = np.unique(runs.producer_id, return_inverse=True)
    own_ms = np.where(runs.first_ms >= 0, runs.first_ms - _ahead_ms(late_ms, whose)[whose], ABSENT)
    appended_ms = np.minimum(np.maximum(own_ms, before), np.maximum(behind, before))
    columns = (
        runs.producer_id,
        runs.producer_epoch,
        runs.first,
        runs.last,
        runs.records,
        runs.first_ms,
        runs.last_ms,
        ended_by,
        appended_ms,
    )
    return tuple(DataRun(*row) for row in zip(*(column.tolist() for column in columns), strict=True))


def _cleaned_to(batches: Batches, missing: Holes) -> int:
    grows = np.flatnonzero(np.diff(missing.cleaned, prepend=0) > 0)
    emptied = np.flatnonzero(batches.cleaned)
    last = max(int(grows[-1]) if len(grows) else ABSENT, int(emptied[-1]) if len(emptied) else ABSENT)
    return int(batches.base_offset[last]) if last >= 0 else 0


def _places(batches: Batches, rows: Integers) -> tuple[int, ...]:
    offsets = [int(offset) for offset in batches.base_offset[rows]]
    return tuple([*offsets[: _MOST_PLACES - 1], *offsets[-1:]] if len(offsets) > _MOST_PLACES else offsets)
