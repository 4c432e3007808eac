"""Reading a segment's batches from its file in chunks: damage is named as in `reader`, memory stays bounded."""

import os
from collections.abc import Iterator
from typing import Final

import crc32c

from reference.log.batch import CHECKED_FROM, HEADER, HEADER_SIZE, MAGIC, PREFIX_SIZE, RecordBatch, decode_header
from reference.log.reader import SMALLEST_LENGTH, BatchDamage, Placed, damaged_batch, damaged_head, declared_size

CHUNK: Final = 4 * 1024 * 1024
"""Bytes read at once, unless one batch is larger."""


def scan(descriptor: int, position: int, end: int, chunk_size: int = CHUNK) -> Iterator[Placed | BatchDamage]:
    """Every batch of the open file in the bytes position .. end-1, whole and checked, or what is damaged there.

    A reader of a few batches begins with a small chunk; chunks double up to 4 MiB.

    Args:
        descriptor: of the file, open for reading.
        position: where a batch begins, in bytes.
        end: where to stop, in bytes.
        chunk_size: bytes read at first.
    """
    while position < end:
        chunk = os.pread(descriptor, min(chunk_size, end - position), position)
        if not chunk:
            return
        used = 0
        for placed in _leading_intact(chunk, position):
            yield placed
            used = placed.position + placed.batch.size - position
        if not used:
            found = _read_alone(descriptor, position, end)
            yield found
            used = found.size if isinstance(found, BatchDamage) else found.batch.size
        position += used
        chunk_size = max(chunk_size, min(2 * chunk_size, CHUNK))


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


def _read_alone(descriptor: int, position: int, end: int) -> Placed | BatchDamage:
    """One batch that is damaged or larger than a chunk: no more is held at once until its checksum agrees."""
    head = os.pread(descriptor, min(HEADER_SIZE, end - position), position)
    damage = damaged_head(head, position, end - position)
    if damage is not None:
        return damage
    size = declared_size(head)
    damage = damaged_batch(head, position, size, _checksum(descriptor, position + CHECKED_FROM, position + size))
    if damage is not None:
        return damage
    header, _, _, _ = decode_header(head, 0)
    body = os.pread(descriptor, size - HEADER_SIZE, position + HEADER_SIZE)
    return Placed(position, header._replace(body=body))


def _checksum(descriptor: int, position: int, end: int) -> int:
    computed = 0
    for start in range(position, end, CHUNK):
        computed = crc32c.crc32c(os.pread(descriptor, min(CHUNK, end - start), start), computed)
    return computed
