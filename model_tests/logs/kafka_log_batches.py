"""Batches of a log as columns: the fields of each header, and of its control record."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Facts: TypeAlias = npt.NDArray[np.bool_]

HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
"""A record batch's header in magic 2, as it lies in the file."""

HEADER_SIZE: Final = HEADER.itemsize

BEFORE_LENGTH_COUNTS: Final = 12
"""Bytes of a batch that its length field does not count."""

COMPRESSION: Final = 0x07
APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
KNOWN_ATTRIBUTES: Final = 0x7F
"""Bits of a batch's attributes (DefaultRecordBatch), and all of them together."""


@dataclass(frozen=True, slots=True)
class Batches:
    """Batches of one partition, in the order of the log; all columns are as long as each other.

    Attributes:
        segment: base offset of the segment that has the batch, by its file's name.
        position: where the batch begins in the segment's file.
        size: its bytes, the header included.
        crc: CRC-32C of everything after it, from the header; offset and leader epoch are not covered.
        control_type: of the first control record; -1 where there is none.
        coordinator_epoch: of a transaction marker; -1 in any other batch.
        follows_damage: unreadable bytes lie directly before the batch.
    """

    segment: Integers
    position: Integers
    size: Integers
    base_offset: Integers
    last_offset_delta: Integers
    record_count: Integers
    attributes: Integers
    leader_epoch: Integers
    crc: Integers
    max_timestamp: Integers
    producer_id: Integers
    producer_epoch: Integers
    base_sequence: Integers
    control_type: Integers
    coordinator_epoch: Integers
    follows_damage: Facts

    def __len__(self) -> int:
        return len(self.base_offset)

    @property
    def last_offset(self) -> Integers:
        """Offset of the last record that each batch was written with."""
        return self.base_offset + self.last_offset_delta

    @property
    def transactional(self) -> Facts:
        """Whether each batch belongs to a transaction."""
        return self._has(TRANSACTIONAL)

    @property
    def control(self) -> Facts:
        """Whether each batch holds a control record instead of data."""
        return self._has(CONTROL)

    @property
    def cleaned(self) -> Facts:
        """Whether the log cleaner has rewritten the batch: records are missing, or it has a delete horizon."""
        emptied: Facts = self.record_count <= self.last_offset_delta
        return emptied | self._has(DELETE_HORIZON)

    def _has(self, attribute: int) -> Facts:
        has: Facts = (self.attributes & attribute) != 0
        return has

    def take(self, rows: npt.NDArray[Any]) -> "Batches":
        """The batches at these positions, or where this mask is true."""
        return Batches(**{name: getattr(self, name)[rows] for name in COLUMNS})

    def between(self, first: int, end: int) -> "Batches":
        """The batches from one place up to before another, which share their memory."""
        return Batches(**{name: getattr(self, name)[first:end] for name in COLUMNS})


COLUMNS: Final = tuple(part.name for part in fields(Batches))


def dtype_of(column: str) -> type[np.generic]:
    """Type of the elements of a column."""
    return np.bool_ if column == "follows_damage" else np.int64


def no_batches() -> Batches:
    """An empty log."""
    return Batches(**{name: np.empty(0, dtype_of(name)) for name in COLUMNS})


def joined(parts: Iterable[Batches]) -> Batches:
    """Batches of several segments in one table."""
    tables = list(parts)
    if not tables:
        return no_batches()
    return Batches(**{name: np.concatenate([getattr(table, name) for table in tables]) for name in COLUMNS})


def from_headers(
    headers: npt.NDArray[Any], segment: int, positions: Integers, control: tuple[Integers, Integers], damaged: Facts
) -> Batches:
    """The columns of raw headers; `control` is the control type and the coordinator epoch of each.

    Args:
        headers: a structured array, one row per batch.
        segment: base offset of the segment.
        positions: of each batch in the file, in bytes.
        control: control type and coordinator epoch of each.
        damaged: whether bytes before it could not be read.
    """

    def column(name: str) -> Integers:
        return headers[name].astype(np.int64)

    return Batches(
        segment=np.full(len(headers), segment, np.int64),
        position=positions,
        size=column("length") + BEFORE_LENGTH_COUNTS,
        base_offset=column("base_offset"),
        last_offset_delta=column("last_offset_delta"),
        record_count=column("record_count"),
        attributes=column("attributes"),
        leader_epoch=column("leader_epoch"),
        crc=column("crc"),
        max_timestamp=column("max_timestamp"),
        producer_id=column("producer_id"),
        producer_epoch=column("producer_epoch"),
        base_sequence=column("base_sequence"),
        control_type=control[0],
        coordinator_epoch=control[1],
        follows_damage=damaged,
    )
