"""The index of aborted transactions of one segment (TransactionIndex): entries of 34 bytes, by their markers."""

import struct
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from reference.log.damaged_file import DamagedFile, FileDamage, check_whole_entries
from reference.log.txn_index import AbortedTxn

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
