"""Zigzag varints at many places of some bytes at once."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from model_tests.logs.kafka_log_batches import Facts, Integers

Bytes = npt.NDArray[np.uint8]

INT_BYTES: Final = 5
"""Most bytes of an int of 32 bits (ByteUtils.readVarint)."""

LONG_BYTES: Final = 10
"""Most bytes of a long of 64 bits (ByteUtils.readVarlong)."""

_INT_BITS: Final = 32
_MORE: Final = 0x80
_BITS: Final = 0x7F
"""A varint of an int has 32 bits, seven in each byte, whose highest bit says that more bytes follow."""


class Varints(NamedTuple):
    """The values at some places.

    Attributes:
        after: where each ends; beyond the bytes where these end before it does.
        endless: has more bytes, or more bits, than its type may have.
        padded: could have been written in fewer bytes.
    """

    value: Integers
    after: Integers
    endless: Facts
    padded: Facts


def varints(data: Bytes, at: Integers, most: int) -> Varints:
    """The varints at these places, of as many bytes at most."""
    raw = np.zeros(len(at), np.uint64)
    after = at.astype(np.int64)
    endless, padded = np.zeros((2, len(at)), np.bool_)
    rows = np.arange(len(at))
    for number in range(most):
        inside = after[rows] < len(data)
        after[rows[~inside]] = len(data) + 1
        rows = rows[inside]
        byte = data[after[rows]]
        raw[rows] |= (byte & np.uint8(_BITS)).astype(np.uint64) << np.uint64(7 * number)
        after[rows] += 1
        padded[rows] = (byte == 0) & (number > 0)
        rows = rows[byte >= _MORE]
        if not len(rows):
            break
    endless[rows] = True
    if most == INT_BYTES:
        endless |= raw >> np.uint64(_INT_BITS) != 0
    value = (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64)
    return Varints(value, after, endless, padded & ~endless)
