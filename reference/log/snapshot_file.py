"""Snapshots of producer state (ProducerStateManager): version, checksum, count, and 46 bytes for each producer.

Of a producer's cached batches only the newest is kept. The entries come in the order of Java's hash table, which a
reader of the file need not care for and a writer of the same bytes must keep.
"""

import struct
from collections.abc import Mapping
from typing import Final

import crc32c

from reference.log.damaged_file import DamagedFile, FileDamage
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
