"""Reading batches out of bytes: damage is a value with its position, and reading goes on where it can."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

import crc32c

from reference.log.batch import CHECKED_FROM, HEADER_SIZE, MAGIC, PREFIX_SIZE, RecordBatch, decode_header

SMALLEST_LENGTH: Final = HEADER_SIZE - PREFIX_SIZE


@unique
class DamageKind(StrEnum):
    """What is wrong with the bytes at a position."""

    TRUNCATED = "truncated"  # the data ends inside a batch
    CHECKSUM = "checksum"  # the bytes are not those that were written
    MAGIC = "magic"  # a format other than version 2
    LENGTH = "length"  # a length that no batch can have
    ZEROES = "zeroes"  # a preallocated or lost region


@dataclass(frozen=True, slots=True)
class Damage:
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


def read_batches(data: bytes, position: int = 0) -> Iterator[Placed | Damage]:
    """Every batch from `position` on; a damaged batch is skipped if its length can be trusted, else reading ends."""
    while position < len(data):
        found = _read_one(data, position)
        yield found
        position += found.size if isinstance(found, Damage) else found.batch.size


def intact_batches(data: bytes) -> Iterator[RecordBatch]:
    """The readable batches alone."""
    return (found.batch for found in read_batches(data) if isinstance(found, Placed))


def _read_one(data: bytes, position: int) -> Placed | Damage:
    left = len(data) - position
    if left < PREFIX_SIZE:
        return Damage(DamageKind.TRUNCATED, position, left, -1, f"{left} bytes are no batch")
    base_offset = int.from_bytes(data[position : position + 8], "big", signed=True)
    length = int.from_bytes(data[position + 8 : position + PREFIX_SIZE], "big", signed=True)
    damage = _damaged_length(data, position, base_offset, length)
    return damage if damage is not None else _read_whole(data, position, base_offset, PREFIX_SIZE + length)


def _damaged_length(data: bytes, position: int, base_offset: int, length: int) -> Damage | None:
    left = len(data) - position
    if length == 0 and base_offset == 0 and not any(data[position : position + HEADER_SIZE]):
        return Damage(DamageKind.ZEROES, position, left, -1, "zeroes instead of a batch")
    if length < SMALLEST_LENGTH and not _old_format(data, position, length):
        return Damage(DamageKind.LENGTH, position, left, base_offset, f"batch length {length}")
    if PREFIX_SIZE + length > left:
        detail = f"the batch has {PREFIX_SIZE + length} bytes, the data {left}"
        return Damage(DamageKind.TRUNCATED, position, left, base_offset, detail)
    return None


def _old_format(data: bytes, position: int, length: int) -> bool:
    """Whether a message of version 0 or 1 fits the length: those may be as short as 14 bytes."""
    return length >= 14 and position + 16 < len(data) and data[position + 16] in (0, 1)


def _read_whole(data: bytes, position: int, base_offset: int, size: int) -> Placed | Damage:
    magic = data[position + 16]
    if magic != MAGIC:
        return Damage(DamageKind.MAGIC, position, size, base_offset, f"magic {magic}")
    header, _, _, checksum = decode_header(data, position)
    computed = crc32c.crc32c(data[position + CHECKED_FROM : position + size])
    if computed != checksum:
        detail = f"checksum {checksum:#010x} in the header, {computed:#010x} of the bytes"
        return Damage(DamageKind.CHECKSUM, position, size, base_offset, detail)
    return Placed(position, header._replace(body=data[position + HEADER_SIZE : position + size]))
