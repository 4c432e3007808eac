"""The checksums of many batches at once.

A CRC is linear: what the checksum of a stretch of bytes must be follows from those of its parts. So one checksum is
computed for some batches together, and compared with the one that follows from their headers. If one of the batches
does not match its header, the two differ, wherever it lies; that several hide each other is as likely as that a CRC is
right by chance. Where they differ, every batch is computed by itself.

A *register* is what a CRC is without its first and last inversion; bytes of zeros after it `shift` it.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from model_tests.logs.kafka_log_batches import Facts, Integers

COVERED_FROM: Final = 21
"""The first byte of a batch that its checksum covers."""

_TOGETHER: Final = 1 << 15
"""Batches that begin in so many bytes are checked together, if they end in twice as many."""

_FEWEST: Final = 256
"""With fewer batches it costs more to lay them out together than to check one after the other."""

_ALL_ONES: Final = 0xFFFFFFFF  # initial value and final XOR of CRC-32C

Registers = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]


def sound(content: bytes, starts: Integers, headers: npt.NDArray[Any]) -> int:
    """The number of first batches that have the CRC of their headers; `starts` has one more, where the last ends."""
    stored = headers["crc"].astype(np.uint32)
    if len(stored) < _FEWEST:
        return _sound_alone(content, starts, stored)
    group = (starts[:-1] - starts[0]) // _TOGETHER
    first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    edges = np.append(first, len(stored))
    for number in np.flatnonzero(_doubtful(content, starts, headers, edges)).tolist():
        begin, end = edges[number], edges[number + 1]
        own = _sound_alone(content, starts[begin : end + 1], stored[begin:end])
        if own < end - begin:
            return int(begin) + own
    return len(stored)


def _sound_alone(content: bytes, starts: Integers, stored: Registers) -> int:
    view, places = memoryview(content), starts.tolist()
    computed = [crc32c(view[at + COVERED_FROM : after]) for at, after in pairwise(places)]
    wrong = np.array(computed, np.int64) != stored
    return int(np.argmax(wrong)) if wrong.any() else len(stored)


def _doubtful(content: bytes, starts: Integers, headers: npt.NDArray[Any], edges: Integers) -> Facts:
    """The groups of batches, from one edge to the next, whose bytes do not have the checksum that follows."""
    tables = _tables()
    view, bounds = memoryview(content), starts[edges]
    sizes = np.diff(bounds)
    wide = sizes >= len(tables.zeros)
    bodies = np.minimum(np.diff(starts) - COVERED_FROM, len(tables.zeros) - 1)
    registers = headers["crc"] ^ tables.zeros[bodies]
    units = _after_headers(headers, _before(registers, edges), tables)
    ends = np.repeat(bounds[1:], np.diff(edges))
    left = np.minimum(ends - starts[:-1] - COVERED_FROM, len(tables.zeros) - 1)
    expected = np.bitwise_xor.reduceat(_shifted(units, left, tables.steps), edges[:-1]) ^ registers[edges[1:] - 1]
    places = bounds.tolist()
    computed = [crc32c(view[at:after]) for at, after in pairwise(places)]
    doubtful: Facts = expected ^ tables.zeros[np.minimum(sizes, len(tables.zeros) - 1)] != np.array(computed, np.uint32)
    return doubtful | wide


def _before(registers: Registers, edges: Integers) -> Registers:
    """For each batch the register of the body before it in its group."""
    before = np.roll(registers, 1)
    before[edges[:-1]] = 0
    return before


def _after_headers(headers: npt.NDArray[Any], registers: Registers, tables: "_Tables") -> Registers:
    """Each register after the bytes of a header that the batch's own checksum does not cover."""
    uncovered: Bytes = headers.view(np.uint8).reshape(len(headers), -1)[:, :COVERED_FROM].T.copy()
    uncovered[: registers.itemsize] ^= _bytes_of(registers)
    after = np.zeros(len(headers), np.uint32)
    for column, table in zip(uncovered, tables.header, strict=True):
        after ^= table[column[0]] if (column == column[0]).all() else table.take(column)
    return after


def _bytes_of(registers: Registers) -> Bytes:
    """The bytes of each register, the lowest first, as rows of a table."""
    return np.moveaxis(registers.astype("<u4").view(np.uint8).reshape(*registers.shape, 4), -1, 0)


@dataclass(frozen=True, slots=True)
class _Tables:
    """What registers become.

    Attributes:
        header: of each value of a byte, by how many bytes of the header come before it.
        steps: up to 255 zeros after a register, and 256 times as many; of each of its bytes, by how many and its value.
        zeros: the checksum of so many zeros.
    """

    header: tuple[Registers, ...]
    steps: tuple[Registers, Registers]
    zeros: Registers


def _shifted(registers: Registers, by: Integers, steps: tuple[Registers, Registers]) -> Registers:
    """Each register after so many zeros, fewer than 2^16."""
    for step, amount in zip(steps, (by & 0xFF, by >> 8), strict=True):
        row = amount << 8
        after = np.zeros(len(registers), np.uint32)
        for table, part in zip(step, _bytes_of(registers), strict=True):
            after ^= table.take(row + part)
        registers = after
    return registers


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    steps = (_repeated(_table_of(1)), _repeated(_table_of(256)))
    ones = np.full(1 << 16, _ALL_ONES, np.uint32)
    zeros = _shifted(ones, np.arange(1 << 16), steps) ^ ones
    header = tuple(_table_of(COVERED_FROM - place)[0] for place in range(COVERED_FROM))
    return _Tables(header, steps, zeros)


def _table_of(zeros: int) -> Registers:
    """What so many zeros make of a register: for each of its bytes a row, by the byte's value."""
    values = (value << (8 * place) for place in range(4) for value in range(256))
    after = (crc32c(bytes(zeros), value ^ _ALL_ONES) ^ _ALL_ONES for value in values)
    return np.fromiter(after, np.uint32, 4 * 256).reshape(4, 256)


def _repeated(table: Registers) -> Registers:
    """The table for 0 to 255 times as many zeros: for each byte a row, by how often and the byte's value."""
    times = [_table_of(0)]
    for _ in range(255):
        times.append(np.bitwise_xor.reduce([row[part] for row, part in zip(table, _bytes_of(times[-1]), strict=True)]))
    return np.stack(times, axis=1).reshape(4, -1)
