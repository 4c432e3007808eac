"""The sparse index from timestamp to offset of one segment (TimeIndex): entries of 12 bytes.

An entry says: up to this offset no record of the segment has a later timestamp.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from reference.log.damage import DamagedFile, FileDamage, check_whole_entries
from spec.vocabulary import Timestamp

ENTRY: Final = struct.Struct(">qi")
ENTRY_SIZE: Final = ENTRY.size  # 12


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
        return encode_entries(self.entries) + bytes(ENTRY_SIZE * self.unused)


def encode_entries(entries: Iterable[TimestampOffset]) -> bytes:
    """Entries in bytes."""
    return b"".join(ENTRY.pack(*entry) for entry in entries)


def decode(data: bytes) -> TimeIndexFile:
    """The index in the bytes of a file; zeroes at the end are taken as preallocated.

    Raises:
        DamagedFile: the file ends inside an entry, or its entries do not ascend.
    """
    check_whole_entries(data, ENTRY_SIZE)
    used = -(-len(data.rstrip(b"\0")) // ENTRY_SIZE)
    entries = tuple(
        TimestampOffset(Timestamp(timestamp), relative)
        for timestamp, relative in ENTRY.iter_unpack(data[: used * ENTRY_SIZE])
    )
    _check_order(entries)
    return TimeIndexFile(entries, len(data) // ENTRY_SIZE - used)


def _check_order(entries: tuple[TimestampOffset, ...]) -> None:
    if entries and entries[0].relative_offset < 0:
        raise DamagedFile(FileDamage.RANGE, 0, f"first entry {tuple(entries[0])}")
    for number, (before, after) in enumerate(pairwise(entries), 1):
        if after.timestamp <= before.timestamp or after.relative_offset < before.relative_offset:
            raise DamagedFile(FileDamage.ORDER, number * ENTRY_SIZE, f"{tuple(after)} after {tuple(before)}")


def lookup(entries: Sequence[TimestampOffset], timestamp: int) -> int:
    """The relative offset from which a scan meets the first record of that time or later: 0 if no entry is below."""
    found = bisect_right(entries, timestamp, key=_timestamp)
    return entries[found - 1].relative_offset if found else 0


def _timestamp(entry: TimestampOffset) -> int:
    return entry.timestamp
