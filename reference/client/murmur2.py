"""MurmurHash2 as Kafka's producers use it to place keys (Utils.murmur2, Utils.toPositive)."""

from typing import Final

SEED: Final = 0x9747B28C
MULTIPLIER: Final = 0x5BD1E995
SHIFT: Final = 24

_MASK: Final = 2**32 - 1


def murmur2(data: bytes) -> int:
    """The hash, as the signed 32-bit number that Java makes of it."""
    mixed = SEED ^ len(data)
    whole = len(data) - len(data) % 4
    for at in range(0, whole, 4):
        mixed = _times(mixed) ^ _times(_shifted(_times(int.from_bytes(data[at : at + 4], "little")), SHIFT))
    if whole < len(data):
        mixed = _times(mixed ^ int.from_bytes(data[whole:], "little"))
    mixed = _shifted(_times(_shifted(mixed, 13)), 15)
    return mixed - 2**32 if mixed >= 2**31 else mixed


def to_positive(number: int) -> int:
    """The number without its sign bit: not its absolute value, which the least of all has none of."""
    return number & 0x7FFFFFFF


def _times(number: int) -> int:
    return number * MULTIPLIER & _MASK


def _shifted(number: int, bits: int) -> int:
    return number ^ (number >> bits)
