"""Zigzag varints, as in record batches of version 2 (ByteUtils)."""

MAX_BYTES = 10
"""Bytes of the longest varlong."""


class MalformedVarint(ValueError):
    """The bytes end inside a varint, or it has more than ten bytes."""


def write(value: int, into: bytearray) -> None:
    """Append `value` (int64) to `into`."""
    zigzag = (value << 1) ^ (value >> 63)
    while zigzag > 0x7F:
        into.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    into.append(zigzag)


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
