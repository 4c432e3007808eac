"""The index of aborted transactions of one partition (TransactionIndex)."""

from collections.abc import Iterator
from typing import NamedTuple

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
