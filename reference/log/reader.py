"""Reading batches out of bytes or a segment's file: damage is a value with its position.

Behind damage, reading continues where it can. A file is read in chunks, so that memory stays bounded.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

import crc32c

from reference.log.batch import CHECKED_FROM, HEADER, HEADER_SIZE, MAGIC, PREFIX_SIZE, RecordBatch, decode_header

# --- bytes ------------------------------------------------------------------------------------------------------------


SMALLEST_LENGTH: Final = HEADER_SIZE - PREFIX_SIZE
MAGIC_AT: Final = 16  # the place of the magic byte is the same in every format


@unique
class DamageKind(StrEnum):
    """What is wrong with the bytes at a position."""

    TRUNCATED = "truncated"  # the data ends inside a batch
    CHECKSUM = "checksum"  # the bytes are not those that were written
    MAGIC = "magic"  # a format other than version 2
    LENGTH = "length"  # a length that no batch can have
    ZEROES = "zeroes"  # a preallocated or lost region


@dataclass(frozen=True, slots=True)
class BatchDamage:
    """Bytes that are not a readable batch.

    Attributes:
        kind: what is wrong.
        position: first byte of the damaged batch.
        size: bytes that are skipped because of it.
        base_offset: the offset that the damaged header claims, -1 if there is none.
        detail: the values found.
    """

    kind: DamageKind
    position: int
    size: int
    base_offset: int
    detail: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A readable batch and the position of its first byte."""

    position: int
    batch: RecordBatch


def read_batches(data: bytes, position: int = 0) -> Iterator[Placed | BatchDamage]:
    """Every batch from `position` on; a damaged batch is skipped if its length can be trusted, else reading ends."""
    while position < len(data):
        found = _read_one(data, position)
        yield found
        position += found.size if isinstance(found, BatchDamage) else found.batch.size


def intact_batches(data: bytes) -> Iterator[RecordBatch]:
    """The readable batches alone."""
    return (found.batch for found in read_batches(data) if isinstance(found, Placed))


def _read_one(data: bytes, position: int) -> Placed | BatchDamage:
    head = data[position : position + HEADER_SIZE]
    damage = damaged_head(head, position, len(data) - position)
    return damage if damage is not None else _read_whole(data, position, declared_size(head))


def declared_size(head: bytes) -> int:
    """Size of a batch as its header declares it, from its first twelve bytes or more."""
    return PREFIX_SIZE + int.from_bytes(head[8:PREFIX_SIZE], "big", signed=True)


def claimed_offset(head: bytes) -> int:
    """Base offset of a batch as its header declares it, from its first eight bytes or more."""
    return int.from_bytes(head[:8], "big", signed=True)


def damaged_head(head: bytes, position: int, left: int) -> BatchDamage | None:
    """Why the length in a batch's first 61 bytes cannot be right, with `left` bytes to the end."""
    if left < PREFIX_SIZE:
        return BatchDamage(DamageKind.TRUNCATED, position, left, -1, f"{left} bytes are no batch")
    if not any(head):
        return BatchDamage(DamageKind.ZEROES, position, left, -1, "zeroes instead of a batch")
    base_offset, size = claimed_offset(head), declared_size(head)
    if size < HEADER_SIZE and not _old_format(head, size - PREFIX_SIZE):
        return BatchDamage(DamageKind.LENGTH, position, left, base_offset, f"batch length {size - PREFIX_SIZE}")
    if size > left:
        return BatchDamage(
            DamageKind.TRUNCATED, position, left, base_offset, f"the batch has {size} bytes, the data {left}"
        )
    return None


def _old_format(head: bytes, length: int) -> bool:
    """Whether a message of version 0 or 1 fits the length: those may be as short as 14 bytes."""
    return length >= 14 and len(head) > MAGIC_AT and head[MAGIC_AT] in (0, 1)


def damaged_batch(head: bytes, position: int, size: int, computed: int) -> BatchDamage | None:
    """Why `size` bytes that begin with `head` and have this checksum are not a batch.

    Args:
        head: the first bytes, up to the checksum's end at least.
        position: where in the file they begin.
        size: the size of the batch that the header declares.
        computed: CRC-32C of the bytes that the checksum is of.
    """
    base_offset = claimed_offset(head)
    if head[MAGIC_AT] != MAGIC:
        return BatchDamage(DamageKind.MAGIC, position, size, base_offset, f"magic {head[MAGIC_AT]}")
    checksum = int.from_bytes(head[CHECKED_FROM - 4 : CHECKED_FROM], "big")
    if computed != checksum:
        detail = f"checksum {checksum:#010x} in the header, {computed:#010x} of the bytes"
        return BatchDamage(DamageKind.CHECKSUM, position, size, base_offset, detail)
    return None


def _read_whole(data: bytes, position: int, size: int) -> Placed | BatchDamage:
    computed = crc32c.crc32c(memoryview(data)[position + CHECKED_FROM : position + size])
    damage = damaged_batch(data[position : position + HEADER_SIZE], position, size, computed)
    if damage is not None:
        return damage
    header, _, _, _ = decode_header(data, position)
    return Placed(position, header._replace(body=data[position + HEADER_SIZE : position + size]))


# --- files, in chunks -------------------------------------------------------------------------------------------------


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
