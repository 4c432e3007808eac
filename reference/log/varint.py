"""Zigzag varints, as in record batches of version 2 (ByteUtils)."""

from functools import lru_cache

MAX_BYTES = 10
"""Bytes of the longest varlong."""


class MalformedVarint(ValueError):
    """The bytes end inside a varint, or it has more than ten bytes."""


@lru_cache(maxsize=1024)  # lengths and deltas are small numbers
def encoded(value: int) -> bytes:
    """The bytes of `value` (int64)."""
    zigzag, written = (value << 1) ^ (value >> 63), bytearray()
    while zigzag > 0x7F:
        written.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    written.append(zigzag)
    return bytes(written)


def read(data: bytes, position: int) -> tuple[int, int]:
    """The value at `position`, and the position after it.

    Raises:
        MalformedVarint: the varint does not end within the data or within ten bytes.
    """
    zigzag = shift = 0
    for index in range(position, min(position + MAX_BYTES, len(data))):
        byte = data[index]
        zigzag |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (zigzag >> 1) ^ -(zigzag & 1), index + 1
        shift += 7
    raise MalformedVarint(f"varint at byte {position} has no end")
