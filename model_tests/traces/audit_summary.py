"""What a partition's log holds: open transactions, the last stable offset, and what a reader is given."""

from dataclasses import dataclass

import numpy as np

import model_tests.traces.reading_numpy  # noqa: F401  # arrays are operands of the decisions from here on
from model_tests.traces.audit_findings import OpenTransaction
from model_tests.traces.kafka_log_batches import Batches, Facts, Integers
from spec.protocol.lso import is_delivered
from spec.vocabulary import ABSENT, ControlType


@dataclass(frozen=True, slots=True)
class Transactions:
    """For each batch of a log, the marker that ends its transaction.

    Attributes:
        joins: whether the batch is data of a transaction.
        marker: its marker's place in the log, -1 where there is none.
    """

    joins: Facts
    marker: Integers


def transactions(batches: Batches) -> Transactions:
    """Pair each transactional batch with its producer's next marker, of whatever epoch."""
    identified = batches.producer_id >= 0
    joins = identified & batches.transactional & ~batches.control
    ends = identified & batches.control & (batches.control_type >= ControlType.ABORT.value)
    ends &= batches.control_type <= ControlType.COMMIT.value
    order = np.argsort(batches.producer_id, kind="stable")
    producer = batches.producer_id[order]
    places = np.where(ends[order], np.arange(len(order)), len(order))
    following = np.minimum.accumulate(places[::-1])[::-1]
    inside = np.minimum(following, max(len(order) - 1, 0))
    same = (following < len(order)) & (producer[inside] == producer) if len(order) else np.zeros(0, np.bool_)
    marker = np.full(len(order), ABSENT, np.int64)
    marker[order] = np.where(same, order[inside], ABSENT) if len(order) else ABSENT
    return Transactions(joins, marker)


def open_transactions(batches: Batches, found: Transactions) -> tuple[OpenTransaction, ...]:
    """The transactions without a marker, by their first offset."""
    rows = np.flatnonzero(found.joins & (found.marker == ABSENT))
    _, first = np.unique(batches.producer_id[rows], return_index=True)
    columns = (batches.producer_id, batches.producer_epoch, batches.base_offset)
    opened = [OpenTransaction(*(int(column[row]) for column in columns)) for row in rows[np.sort(first)]]
    return tuple(sorted(opened, key=lambda one: one.first_offset))


def first_unreplicated(batches: Batches, found: Transactions, high_watermark: int) -> int:
    """First offset of the oldest transaction whose marker is not below the high watermark; -1 if none."""
    marker_offset = np.where(found.marker >= 0, batches.base_offset[found.marker], ABSENT)
    waiting = found.joins & (marker_offset >= high_watermark)
    return int(batches.base_offset[waiting].min()) if waiting.any() else ABSENT


def visible_records(batches: Batches, found: Transactions, log_start: int, last_stable: int) -> int:
    """How many records a read_committed reader is given from the log start on."""
    ended = found.joins & (found.marker >= 0)
    aborted = ended & (batches.control_type[found.marker] == ControlType.ABORT.value)
    delivered = is_delivered(control=batches.control, transactional=found.joins, aborted=aborted, read_committed=True)
    return int(_records_within(batches, log_start, last_stable)[delivered].sum())


def _records_within(batches: Batches, first: int, end: int) -> Integers:
    """Records of each batch from `first` up to before `end`; of a cleaned batch across an edge, as if the last ones."""
    below = np.clip(first - batches.base_offset, 0, None)
    above = np.clip(batches.last_offset + 1 - end, 0, None)
    width = batches.last_offset_delta + 1
    inside = np.clip(width - below - above, 0, None)
    return np.where(inside == width, batches.record_count, np.minimum(batches.record_count, inside))
