"""Where the segments of a log begin: a fetch reads one segment, and looks for aborted transactions up to the next."""

from bisect import bisect_right
from typing import Final

from reference.log.partition_log import PartitionLog
from spec.vocabulary import Offset

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
