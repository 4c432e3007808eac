"""Both sparse indexes of one segment as they grow: when an entry is due, and what it says (LogSegment).

An entry is due before a batch if more than the interval was appended since the last one; the last timestamp entry
comes when the segment is closed. This is what recovery rebuilds from the log alone. A running broker's files may
differ in three ways that the log does not show: it counts bytes anew after each start, it adds one entry at most for
one append of several batches (a follower's fetch, the cleaner's chunk), and each clean stop leaves a timestamp entry.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar, overload

from reference.log import sparse_index
from reference.log.sparse_index import OffsetPosition, TimestampOffset
from spec.vocabulary import NO_TIMESTAMP, Timestamp

Entry = TypeVar("Entry", bound=tuple[int, int])


class IndexEntries(Sequence[Entry]):
    """Entries in their order; a log of many gigabytes has millions, so that none is an object of its own."""

    __slots__ = ("_make", "_numbers")

    def __init__(self, make: Callable[[Iterable[int]], Entry], entries: Iterable[Entry] = ()) -> None:
        """These entries; `make` makes one of two numbers."""
        self._make = make
        self._numbers = array("q", (number for entry in entries for number in entry))

    def append(self, entry: Entry) -> None:
        """One more."""
        self._numbers.extend(entry)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._numbers) // 2

    @overload
    def __getitem__(self, place: int) -> Entry: ...

    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...

    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        """One entry, or several.

        Raises:
            IndexError: there is none.
        """
        if isinstance(place, slice):
            return [self._at(each) for each in range(*place.indices(len(self)))]
        return self._at(range(len(self))[place])

    def _at(self, place: int) -> Entry:
        return self._make(self._numbers[2 * place : 2 * place + 2])


FIELD_LIMIT: Final = 2**31
"""Relative offsets and positions are below this."""


class SegmentIndex:
    """The entries of one segment's indexes.

    Attributes:
        base_offset: of the segment.
        interval: bytes after which an entry is due.
        positions: entries of the offset index.
        times: entries of the time index.
        max_timestamp: latest in the segment, -1 none.
    """

    __slots__ = ("_entry_position", "_latest_at", "base_offset", "interval", "max_timestamp", "positions", "times")

    def __init__(self, base_offset: int, interval: int = sparse_index.INTERVAL) -> None:
        """Indexes without entries."""
        self.base_offset = base_offset
        self.interval = interval
        self.positions = IndexEntries(OffsetPosition._make)
        self.times = IndexEntries(TimestampOffset._make)
        self.max_timestamp = NO_TIMESTAMP
        self._latest_at = 0
        self._entry_position = 0

    def add(self, position: int, last_offset: int, max_timestamp: Timestamp) -> None:
        """Take notice of a batch at a position."""
        if max_timestamp > self.max_timestamp:
            self.raise_latest(last_offset, max_timestamp)
        if position - self._entry_position > self.interval:
            self.positions.append(OffsetPosition(last_offset - self.base_offset, position))
            self.note_time()
            self._entry_position = position

    def note_time(self) -> bool:
        """Add the latest timestamp if it is later than the last entry's; whether it was."""
        if self.max_timestamp <= (self.times[-1].timestamp if self.times else NO_TIMESTAMP):
            return False
        self.times.append(TimestampOffset(self.max_timestamp, self._latest_at))
        return True

    def load(self, positions: tuple[OffsetPosition, ...], times: tuple[TimestampOffset, ...], size: int) -> None:
        """Take over the entries of files; bytes are counted anew from the segment's `size` on."""
        self.positions = IndexEntries(OffsetPosition._make, positions)
        self.times = IndexEntries(TimestampOffset._make, times)
        self._entry_position = size
        if times:
            self.max_timestamp, self._latest_at = times[-1]

    def raise_latest(self, last_offset: int, max_timestamp: Timestamp) -> None:
        """Take notice of the timestamps of a batch behind the last entry."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp, self._latest_at = max_timestamp, last_offset - self.base_offset

    def truncate(self, offset: int, size: int) -> None:
        """Drop the entries at `offset` or beyond; the latest timestamp is then the last entry's."""
        kept = [entry for entry in self.positions if self.base_offset + entry.relative_offset < offset]
        times = [entry for entry in self.times if self.base_offset + entry.relative_offset < offset]
        self.max_timestamp, self._latest_at = NO_TIMESTAMP, 0
        self.load(tuple(kept), tuple(times), size)

    def entry_before(self, offset: int) -> OffsetPosition | None:
        """The last entry at or below the offset, None if there is none."""
        return sparse_index.lookup_offset(self.positions, offset - self.base_offset)

    def offset_before(self, timestamp: int) -> int:
        """The offset from which a scan for the time begins."""
        return self.base_offset + sparse_index.lookup_time(self.times, timestamp)
