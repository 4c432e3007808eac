"""The sparse index from offset to position of one segment (OffsetIndex): entries of 8 bytes.

An entry holds the last offset of a batch, relative to the segment's base, and the position of the batch's first
byte. While a segment is active its index is preallocated with zeroes; no entry has position 0, so that the zeroes
behind the last entry are known for what they are.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from reference.log.damage import DamagedFile, FileDamage, check_whole_entries

ENTRY: Final = struct.Struct(">ii")
ENTRY_SIZE: Final = ENTRY.size  # 8
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
        return encode_entries(self.entries) + bytes(ENTRY_SIZE * self.unused)


def encode_entries(entries: Iterable[OffsetPosition]) -> bytes:
    """Entries in bytes."""
    return b"".join(ENTRY.pack(*entry) for entry in entries)


def decode(data: bytes) -> OffsetIndexFile:
    """The index in the bytes of a file.

    Raises:
        DamagedFile: the file ends inside an entry, or its entries do not ascend.
    """
    check_whole_entries(data, ENTRY_SIZE)
    used = -(-len(data.rstrip(b"\0")) // ENTRY_SIZE)
    entries = tuple(map(OffsetPosition._make, ENTRY.iter_unpack(data[: used * ENTRY_SIZE])))
    _check_order(entries)
    return OffsetIndexFile(entries, len(data) // ENTRY_SIZE - used)


def _check_order(entries: tuple[OffsetPosition, ...]) -> None:
    if entries and (entries[0].relative_offset < 0 or entries[0].position <= 0):
        raise DamagedFile(FileDamage.RANGE, 0, f"first entry {tuple(entries[0])}")
    for number, (before, after) in enumerate(pairwise(entries), 1):
        if after.relative_offset <= before.relative_offset or after.position <= before.position:
            raise DamagedFile(FileDamage.ORDER, number * ENTRY_SIZE, f"{tuple(after)} after {tuple(before)}")


def lookup(entries: Sequence[OffsetPosition], relative_offset: int) -> OffsetPosition | None:
    """The last entry at or below the offset: a scan from its position meets the offset. None if all are above."""
    found = bisect_right(entries, relative_offset, key=_relative_offset)
    return entries[found - 1] if found else None


def _relative_offset(entry: OffsetPosition) -> int:
    return entry.relative_offset
