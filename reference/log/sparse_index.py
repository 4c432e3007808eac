"""The sparse indexes of one segment: from offset to position (OffsetIndex), and from timestamp to offset (TimeIndex).

An entry of the offset index holds the last offset of a batch, relative to the segment's base, and the position of the
batch's first byte. While a segment is active, its index is preallocated with zeroes; no entry has position 0, so the
zeroes behind the last entry can be recognised. An entry of the time index says: up to this offset, no record of the
segment has a later timestamp.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from reference.log.damage import DamagedFile, FileDamage, check_whole_entries
from spec.vocabulary import Timestamp

# --- from offset to position ------------------------------------------------------------------------------------------


OFFSET_ENTRY: Final = struct.Struct(">ii")
OFFSET_ENTRY_SIZE: Final = OFFSET_ENTRY.size  # 8
INTERVAL: Final = 4096
"""Default of index.interval.bytes: an entry is due once more than this was appended since the last one."""
PREALLOCATED: Final = 10 * 1024 * 1024
"""Default of segment.index.bytes."""


class OffsetPosition(NamedTuple):
    """One entry.

    Attributes:
        relative_offset: last offset of the batch, from the segment's base offset on.
        position: of the batch's first byte in the segment.
    """

    relative_offset: int
    position: int


class OffsetIndexFile(NamedTuple):
    """An index file: its entries, and how many zero entries are preallocated behind them."""

    entries: tuple[OffsetPosition, ...]
    unused: int = 0

    def encode(self) -> bytes:
        """The file's bytes."""
        return encode_offsets(self.entries) + bytes(OFFSET_ENTRY_SIZE * self.unused)


def encode_offsets(entries: Iterable[OffsetPosition]) -> bytes:
    """Entries in bytes."""
    return b"".join(OFFSET_ENTRY.pack(*entry) for entry in entries)


def decode_offsets(data: bytes) -> OffsetIndexFile:
    """The index in the bytes of a file.

    Raises:
        DamagedFile: the file ends inside an entry, or its entries do not ascend.
    """
    check_whole_entries(data, OFFSET_ENTRY_SIZE)
    used = -(-len(data.rstrip(b"\0")) // OFFSET_ENTRY_SIZE)
    entries = tuple(map(OffsetPosition._make, OFFSET_ENTRY.iter_unpack(data[: used * OFFSET_ENTRY_SIZE])))
    _check_offsets(entries)
    return OffsetIndexFile(entries, len(data) // OFFSET_ENTRY_SIZE - used)


def _check_offsets(entries: tuple[OffsetPosition, ...]) -> None:
    if entries and (entries[0].relative_offset < 0 or entries[0].position <= 0):
        raise DamagedFile(FileDamage.RANGE, 0, f"first entry {tuple(entries[0])}")
    for number, (before, after) in enumerate(pairwise(entries), 1):
        if after.relative_offset <= before.relative_offset or after.position <= before.position:
            raise DamagedFile(FileDamage.ORDER, number * OFFSET_ENTRY_SIZE, f"{tuple(after)} after {tuple(before)}")


def lookup_offset(entries: Sequence[OffsetPosition], relative_offset: int) -> OffsetPosition | None:
    """The last entry at or below the offset: a scan from its position meets the offset. None if all are above."""
    found = bisect_right(entries, relative_offset, key=_relative_offset)
    return entries[found - 1] if found else None


def _relative_offset(entry: OffsetPosition) -> int:
    return entry.relative_offset


# --- from timestamp to offset -----------------------------------------------------------------------------------------


TIME_ENTRY: Final = struct.Struct(">qi")
TIME_ENTRY_SIZE: Final = TIME_ENTRY.size  # 12


class TimestampOffset(NamedTuple):
    """One entry.

    Attributes:
        timestamp: latest so far, milliseconds.
        relative_offset: of the batch that has it, from the segment's base offset on.
    """

    timestamp: Timestamp
    relative_offset: int


class TimeIndexFile(NamedTuple):
    """An index file: its entries, and how many zero entries are preallocated behind them."""

    entries: tuple[TimestampOffset, ...]
    unused: int = 0

    def encode(self) -> bytes:
        """The file's bytes."""
        return encode_times(self.entries) + bytes(TIME_ENTRY_SIZE * self.unused)


def encode_times(entries: Iterable[TimestampOffset]) -> bytes:
    """Entries in bytes."""
    return b"".join(TIME_ENTRY.pack(*entry) for entry in entries)


def decode_times(data: bytes) -> TimeIndexFile:
    """The index in the bytes of a file; zeroes at the end are taken as preallocated.

    Raises:
        DamagedFile: the file ends inside an entry, or its entries do not ascend.
    """
    check_whole_entries(data, TIME_ENTRY_SIZE)
    used = -(-len(data.rstrip(b"\0")) // TIME_ENTRY_SIZE)
    entries = tuple(
        TimestampOffset(Timestamp(timestamp), relative)
        for timestamp, relative in TIME_ENTRY.iter_unpack(data[: used * TIME_ENTRY_SIZE])
    )
    _check_times(entries)
    return TimeIndexFile(entries, len(data) // TIME_ENTRY_SIZE - used)


def _check_times(entries: tuple[TimestampOffset, ...]) -> None:
    if entries and entries[0].relative_offset < 0:
        raise DamagedFile(FileDamage.RANGE, 0, f"first entry {tuple(entries[0])}")
    for number, (before, after) in enumerate(pairwise(entries), 1):
        if after.timestamp <= before.timestamp or after.relative_offset < before.relative_offset:
            raise DamagedFile(FileDamage.ORDER, number * TIME_ENTRY_SIZE, f"{tuple(after)} after {tuple(before)}")


def lookup_time(entries: Sequence[TimestampOffset], timestamp: int) -> int:
    """The relative offset from which a scan meets the first record of that time or later: 0 if no entry is below."""
    found = bisect_right(entries, timestamp, key=_timestamp)
    return entries[found - 1].relative_offset if found else 0


def _timestamp(entry: TimestampOffset) -> int:
    return entry.timestamp
