"""Reading a segment's batches from its file in chunks: damage is named as in `reader`, memory stays bounded."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import crc32c

from reference.log.batch import CHECKED_FROM, HEADER, HEADER_SIZE, MAGIC, PREFIX_SIZE, RecordBatch
from reference.log.reader import SMALLEST_LENGTH, Damage, DamageKind, Placed, read_batches

CHUNK: Final = 4 * 1024 * 1024
"""Bytes read at once, unless one batch is larger."""


def scan(descriptor: int, position: int, end: int, chunk_size: int = CHUNK) -> Iterator[Placed | Damage]:
    """Every batch of the open file in the bytes position .. end-1, whole and checked, or what is damaged there.

    A reader of a few batches begins with a small chunk; chunks double up to 4 MiB.
    """
    while position < end:
        chunk = os.pread(descriptor, min(chunk_size, end - position), position)
        if not chunk:
            return
        used = 0
        for placed in _leading_intact(chunk, position):
            yield placed
            used = placed.position + placed.batch.size - position
        if used == len(chunk):
            position += used
            chunk_size = max(chunk_size, min(2 * chunk_size, CHUNK))
            continue

        at_end = position + len(chunk) >= end
        found = next(read_batches(chunk[used:]))
        if used == 0 and not at_end and _is_cut(found):
            chunk_size = max(2 * chunk_size, _declared_size(chunk))
            continue
        if not at_end and _is_cut(found):
            position += used
            chunk_size = max(chunk_size, min(2 * chunk_size, CHUNK))
            continue
        yield _moved(found, position + used)
        position += used + _size_of(found)


def _leading_intact(chunk: bytes, base: int) -> Iterator[Placed]:
    """The batches of the chunk up to the first that is cut or damaged."""
    unpack, view, available, position = HEADER.unpack_from, memoryview(chunk), len(chunk), 0
    while position + HEADER_SIZE <= available:
        offset, length, leader_epoch, magic, checksum, *rest = unpack(chunk, position)
        end = position + PREFIX_SIZE + length
        if magic != MAGIC or length < SMALLEST_LENGTH or end > available:
            return
        if crc32c.crc32c(view[position + CHECKED_FROM : end]) != checksum:
            return
        body = chunk[position + HEADER_SIZE : end]
        yield Placed(base + position, RecordBatch._make((offset, leader_epoch, *rest, body)))
        position = end


def _is_cut(found: Placed | Damage) -> bool:
    return isinstance(found, Damage) and found.kind in (DamageKind.TRUNCATED, DamageKind.ZEROES)


def _declared_size(chunk: bytes) -> int:
    return PREFIX_SIZE + int.from_bytes(chunk[8:PREFIX_SIZE], "big")


def _moved(found: Placed | Damage, by: int) -> Placed | Damage:
    return replace(found, position=found.position + by)


def _size_of(found: Placed | Damage) -> int:
    return found.size if isinstance(found, Damage) else found.batch.size
