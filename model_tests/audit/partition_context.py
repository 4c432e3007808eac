"""One partition's log: its transactions, and what the audit compares with its derived files."""

from dataclasses import dataclass, field

import numpy as np

from model_tests.audit.findings import LogBounds, OpenTransaction
from model_tests.audit.holes import Holes, Surroundings
from model_tests.audit.links import Links
from model_tests.audit.partial_log import Condensed, RereadRequest
from model_tests.audit.pieces import is_marker
from model_tests.logs.kafka_log_batches import Batches, Facts, Integers
from spec.versions import Profile
from spec.vocabulary import ABSENT


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
    joins = (batches.producer_id >= 0) & batches.transactional & ~batches.control
    ends = is_marker(batches)
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
    columns = (batches.producer_id, batches.producer_epoch, batches.base_offset, batches.max_timestamp)
    opened = [OpenTransaction(*(int(column[row]) for column in columns)) for row in rows[np.sort(first)]]
    return tuple(sorted(opened, key=lambda one: one.first_offset))


def first_unreplicated(batches: Batches, found: Transactions, high_watermark: int) -> int:
    """First offset of the oldest transaction whose marker is not below the high watermark; -1 if none."""
    marker_offset = np.where(found.marker >= 0, batches.base_offset[found.marker], ABSENT)
    waiting = found.joins & (marker_offset >= high_watermark)
    return int(batches.base_offset[waiting].min()) if waiting.any() else ABSENT


# --- the log and its derived files ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """One partition's log, and what the audit derived from it.

    Attributes:
        batches: the batches of the log that the audit keeps.
        asked: what else of the log must be read, so that a finding can be explained.
    """

    log: Condensed
    batches: Batches
    found: Transactions
    links: Links
    missing: Holes
    around: Surroundings
    profile: Profile
    offsets: LogBounds
    reread: RereadRequest = field(default_factory=RereadRequest)

    @property
    def begin(self) -> int:
        """First offset that can be in the log."""
        return self.around.first_base

    @property
    def end(self) -> int:
        """The offset after the last one of the log."""
        return self.offsets.log_end
