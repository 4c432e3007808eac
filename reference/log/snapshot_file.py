"""Snapshots of producer state (ProducerStateManager): the files, and those of one partition's directory.

A file has its version, a checksum, a count, and 46 bytes for each producer. Of a producer's cached
batches only the newest is kept. The entries come in the order of Java's hash table, which a reader of the file need not
care for and a writer of the same bytes must keep.
"""

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import crc32c

from reference.log import file_names
from reference.log.checkpoint_file import replace_file
from reference.log.damage import DamagedFile, FileDamage
from reference.log.producer_entry import CachedBatch, ProducerEntry
from spec.vocabulary import (
    NO_OFFSET,
    NO_SEQUENCE,
    CoordinatorEpoch,
    Epoch,
    Offset,
    ProducerId,
    Sequence,
    Timestamp,
)

HEADER: Final = struct.Struct(">hIi")  # version, checksum, count
ENTRY: Final = struct.Struct(">qhiqiqiq")
ENTRY_SIZE: Final = ENTRY.size  # 46

CHECKED_FROM: Final = 6
VERSION: Final = 1
"""The checksum covers what follows version and checksum (ProducerStateManager); there is only this version."""

SMALLEST_TABLE: Final = 16
LOAD: Final = 0.75
"""A Java hash table doubles when it is filled beyond this."""

Producers = Mapping[ProducerId, ProducerEntry]


def encode(producers: Producers) -> bytes:
    """The file's bytes; `producers` in the order in which they became known."""
    entries = b"".join(_encode_entry(pid, producers[pid]) for pid in in_hash_order(producers))
    checked = len(producers).to_bytes(4, "big") + entries
    return VERSION.to_bytes(2, "big") + crc32c.crc32c(checked).to_bytes(4, "big") + checked


def decode(data: bytes) -> dict[ProducerId, ProducerEntry]:
    """The producers in the bytes of a file, in its order.

    Raises:
        DamagedFile: length, version or checksum is wrong.
    """
    if len(data) < HEADER.size:
        raise DamagedFile(FileDamage.LENGTH, len(data), f"{len(data)} bytes are no snapshot")
    version, checksum, count = HEADER.unpack_from(data)
    if version != VERSION:
        raise DamagedFile(FileDamage.VERSION, 0, f"version {version}")
    computed = crc32c.crc32c(data[CHECKED_FROM:])
    if computed != checksum:
        detail = f"checksum {checksum:#010x} in the header, {computed:#010x} of the bytes"
        raise DamagedFile(FileDamage.CHECKSUM, 2, detail)
    if len(data) != HEADER.size + count * ENTRY_SIZE:
        raise DamagedFile(FileDamage.LENGTH, len(data), f"{len(data)} bytes for {count} producers")
    return dict(_decode_entry(*fields) for fields in ENTRY.iter_unpack(data[HEADER.size :]))


def in_hash_order(producers: Producers) -> list[ProducerId]:
    """The producer ids as a Java hash table lists them: by bucket, within one in the order of their coming."""
    size = SMALLEST_TABLE
    while len(producers) > size * LOAD:
        size *= 2
    return sorted(producers, key=lambda producer_id: _hash(producer_id) & (size - 1))


def _hash(producer_id: int) -> int:
    folded = (producer_id ^ producer_id >> 32) & 0xFFFFFFFF
    return folded ^ folded >> 16


def _encode_entry(producer_id: ProducerId, entry: ProducerEntry) -> bytes:
    newest = entry.batches[-1] if entry.batches else None
    return ENTRY.pack(
        producer_id,
        entry.epoch,
        newest.last_sequence if newest else NO_SEQUENCE,
        newest.last_offset if newest else NO_OFFSET,
        newest.offset_delta if newest else 0,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.txn_first_offset,
    )


def _decode_entry(
    producer_id: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    txn_first_offset: int,
) -> tuple[ProducerId, ProducerEntry]:
    cached = CachedBatch(Sequence(last_sequence), Offset(last_offset), offset_delta, Timestamp(timestamp))
    entry = ProducerEntry(
        Epoch(epoch),
        CoordinatorEpoch(coordinator_epoch),
        Timestamp(timestamp),
        Offset(txn_first_offset),
        (cached,) if last_offset >= 0 else (),
    )
    return ProducerId(producer_id), entry


# The snapshots of producer state in one partition's directory, each named after the first offset not in it.


class Snapshots:
    """Files of snapshots; the directory alone says which there are."""

    __slots__ = ("directory",)

    def __init__(self, directory: Path) -> None:
        """The snapshots in that directory."""
        self.directory = directory

    def offsets(self) -> list[Offset]:
        """The offset of each snapshot, ascending."""
        return list(file_names.files_of(self.directory, file_names.SNAPSHOT))

    def path(self, offset: int) -> Path:
        """The snapshot of that offset."""
        return file_names.path_of(self.directory, offset, file_names.SNAPSHOT)

    def take(self, offset: int, producers: Producers) -> None:
        """Write a snapshot of what the batches below `offset` leave."""
        replace_file(self.path(offset), encode(producers))

    def read(self, offset: int) -> Producers:
        """The producers in a snapshot.

        Raises:
            DamagedFile: the file cannot be trusted.
        """
        return decode(self.path(offset).read_bytes())

    def delete(self, offset: int) -> None:
        """Remove a snapshot, if there is one."""
        self.path(offset).unlink(missing_ok=True)

    def keep_between(self, log_start: int, log_end: int) -> None:
        """Remove the snapshots that are at the log start or below, or beyond the log end."""
        for offset in self.offsets():
            if not log_start < offset <= log_end:
                self.delete(offset)

    def remove_strays(self, base_offsets: Iterable[int]) -> None:
        """Remove the snapshots that belong to no segment, except the newest if it is beyond all segments."""
        bases = set(base_offsets)
        strays = [offset for offset in self.offsets() if offset not in bases]
        if strays and strays[-1] > max(bases, default=-1):
            strays.pop()
        for offset in strays:
            self.delete(offset)
