"""Views of a partition: batches up to a size, where its segments begin, and its active producers."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reference.log.batch import RecordBatch
from reference.log.partition_log import PartitionLog
from spec.vocabulary import CoordinatorEpoch, Epoch, Offset, ProducerId, Sequence, Timestamp

DEFAULT_SEGMENT_BYTES: Final = 2**30
"""Default of segment.bytes."""


class SegmentBases:
    """Base offsets of a log's segments, oldest first; the last segment grows until it has `limit` bytes."""

    __slots__ = ("_bases", "_limit", "_size")

    def __init__(self, limit: int = DEFAULT_SEGMENT_BYTES) -> None:
        """One empty segment."""
        self._limit = limit
        self._bases = [Offset(0)]
        self._size = 0

    def roll(self, size: int, log_end: Offset) -> None:
        """Begin a segment at the log end if the last one cannot take `size` more bytes."""
        if self._size > self._limit - size and log_end > self._bases[-1]:
            self._bases.append(log_end)
            self._size = 0

    def grow(self, size: int) -> None:
        """The last segment has `size` more bytes."""
        self._size += size

    def truncate(self, log: PartitionLog) -> None:
        """Drop the segments that begin above the end of a truncated log."""
        self._bases = self._bases[: max(1, bisect_right(self._bases, log.log_end))]
        self._size = sum(batch.size for batch in log.walk(self._bases[-1], log.log_end))

    def after(self, offset: int) -> Offset | None:
        """Base offset of the segment after the one with `offset`, None if that is the last."""
        place = bisect_right(self._bases, offset)
        return self._bases[place] if place < len(self._bases) else None


WITHOUT_LIMIT: Final = 2**31 - 1
"""The largest size of a fetch, in bytes."""


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """One producer in DescribeProducers; -1 is none."""

    producer_id: ProducerId
    epoch: Epoch
    last_sequence: Sequence
    coordinator_epoch: CoordinatorEpoch
    txn_first_offset: Offset
    last_timestamp: Timestamp


def within(batches: Iterable[RecordBatch], max_bytes: int) -> Iterator[RecordBatch]:
    """The first batch, and those after it as long as all together have at most `max_bytes` bytes."""
    size = 0
    for batch in batches:
        size += batch.size
        if size > max_bytes and size > batch.size:
            return
        yield batch
