"""The index of aborted transactions (TransactionIndex): in memory, and as a file of 34 bytes for each entry."""

import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from reference.log.damage import DamagedFile, FileDamage, check_whole_entries
from spec.vocabulary import Offset, ProducerId


class AbortedTxn(NamedTuple):
    """One aborted range: from the first data offset to the marker; the last stable offset at the time of the marker."""

    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset


class TransactionIndex:
    """Aborted transactions in the order of their markers."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        """An empty index."""
        self._entries: list[AbortedTxn] = []

    def __iter__(self) -> Iterator[AbortedTxn]:
        """Every entry, by offset of its marker."""
        return iter(self._entries)

    def append(self, entry: AbortedTxn) -> None:
        """Add an aborted transaction; its marker is behind those of all entries."""
        self._entries.append(entry)

    def truncate(self, offset: int) -> None:
        """Drop the transactions whose marker is at `offset` or beyond."""
        self._entries = [entry for entry in self._entries if entry.last_offset < offset]

    def between(self, fetch_offset: int, upper_bound: int) -> tuple[AbortedTxn, ...]:
        """The aborted transactions that overlap a fetch of fetch_offset .. upper_bound-1."""
        found = []
        for entry in self._entries:
            if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound:
                break
        return tuple(found)


# The index of aborted transactions of one segment (TransactionIndex): entries of 34 bytes, by their markers.


ENTRY: Final = struct.Struct(">hqqqq")  # version, then by the names of AbortedTxn
ENTRY_SIZE: Final = ENTRY.size  # 34
VERSION: Final = 0  # the only version of an entry (AbortedTxn)


def encode(entries: Iterable[AbortedTxn]) -> bytes:
    """The file's bytes; a file without entries is not written at all."""
    return b"".join(ENTRY.pack(VERSION, *entry) for entry in entries)


def decode(data: bytes, base_offset: int = 0) -> tuple[AbortedTxn, ...]:
    """The aborted transactions in the bytes of the segment's file.

    Raises:
        DamagedFile: the file ends inside an entry, a version is not known, markers do not ascend or lie before the
            segment.
    """
    check_whole_entries(data, ENTRY_SIZE)
    entries = []
    for number, (version, *fields) in enumerate(ENTRY.iter_unpack(data)):
        if version != VERSION:
            raise DamagedFile(FileDamage.VERSION, number * ENTRY_SIZE, f"version {version}")
        entries.append(AbortedTxn(*fields))
    _check_range(entries, base_offset)
    return tuple(entries)


def _check_range(entries: list[AbortedTxn], base_offset: int) -> None:
    for number, entry in enumerate(entries):
        if entry.last_offset < max(base_offset, entry.first_offset):
            detail = f"{tuple(entry)} in a segment from {base_offset} on"
            raise DamagedFile(FileDamage.RANGE, number * ENTRY_SIZE, detail)
    for number, (before, after) in enumerate(pairwise(entries), 1):
        if after.last_offset <= before.last_offset:
            raise DamagedFile(FileDamage.ORDER, number * ENTRY_SIZE, f"{tuple(after)} after {tuple(before)}")
