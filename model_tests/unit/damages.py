"""Damaged files: what a disk, a crash or a stranger does to bytes, as data that Hypothesis makes and shrinks."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum, unique
from typing import Final, NamedTuple

from hypothesis import seed, settings
from hypothesis import strategies as st

from model_tests.verify.effort import effort_from_environment
from model_tests.verify.results import RunEffort

SEED: Final = 20261121
EXAMPLES: Final = 100_000 if effort_from_environment() is RunEffort.DEEP else 300

LONGEST: Final = 300
"""Bytes that one damage changes at most; it may shift all that follow."""

NUMBERS: Final = (-(2**31), -1, 0, 1, 11, 48, 49, 50, 2**16, 2**24, 2**31 - 1)
"""Lengths and counts that a reader must not believe: those around a batch's header, and very large ones."""


@unique
class ByteDamageKind(StrEnum):
    """What happens to the bytes."""

    FLIP = "flip"  # one bit
    ZERO = "zero"  # a lost region
    WRITE = "write"  # other bytes in the place of these
    NUMBER = "number"  # the same with a length, count or offset
    COPY = "copy"  # a write that went to the wrong place
    CUT = "cut"  # the tail is missing
    APPEND = "append"  # garbage behind the end
    REMOVE = "remove"  # bytes are missing, what follows moves up
    INSERT = "insert"  # bytes too many
    REPEAT = "repeat"  # a chunk comes twice
    SWAP = "swap"  # two neighbouring chunks have changed places


class PlantedDamage(NamedTuple):
    """One thing wrong.

    Attributes:
        at: where, taken modulo the length of the content.
        size: of the region, in bytes; the bit of a flip.
        content: what is written; a copy is written at the position that these bytes are taken for.
    """

    kind: ByteDamageKind
    at: int
    size: int = 1
    content: bytes = b""

    def of(self, data: bytes) -> bytes:
        """The bytes with this wrong."""
        at = self.at % (len(data) + 1)
        return _EFFECTS[self.kind](self, data[:at], data[at : at + self.size], data[at + self.size :])


def damaged(data: bytes, damages: Iterable[PlantedDamage]) -> bytes:
    """The bytes with all of that wrong, one after the other."""
    for damage in damages:
        data = damage.of(data)
    return data


def first_changed(data: bytes, other: bytes) -> int:
    """Position of the first byte that is not the same in both; the shorter length if one begins with the other."""
    pairs = enumerate(zip(data, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(data), len(other)))


def damages(length: int, fields: Sequence[int] = (), most: int = 3) -> st.SearchStrategy[list[PlantedDamage]]:
    """One to `most` damages of a file of that length; numbers hit those fields (positions of lengths and counts)."""
    anywhere = st.integers(0, length)
    aimed = st.sampled_from(fields) if fields else anywhere
    size = st.integers(1, LONGEST)
    garbage = st.binary(min_size=1, max_size=64)
    number = st.one_of(st.sampled_from(NUMBERS), st.integers(-(2**31), 2**31 - 1)).map(_in_four_bytes)
    position = anywhere.map(_in_four_bytes)
    shifts = st.sampled_from((ByteDamageKind.ZERO, ByteDamageKind.REMOVE, ByteDamageKind.REPEAT, ByteDamageKind.SWAP))
    return st.lists(
        st.one_of(
            st.builds(PlantedDamage, st.just(ByteDamageKind.FLIP), anywhere, st.integers(0, 7)),
            st.builds(
                PlantedDamage,
                st.sampled_from((ByteDamageKind.WRITE, ByteDamageKind.APPEND, ByteDamageKind.INSERT)),
                anywhere,
                size,
                garbage,
            ),
            st.builds(PlantedDamage, st.just(ByteDamageKind.NUMBER), st.one_of(aimed, anywhere), st.just(4), number),
            st.builds(PlantedDamage, st.just(ByteDamageKind.COPY), anywhere, size, position),
            st.builds(PlantedDamage, st.just(ByteDamageKind.CUT), anywhere),
            st.builds(PlantedDamage, shifts, anywhere, size),
        ),
        min_size=1,
        max_size=most,
    )


def fuzzed(share: float = 1) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test's examples: three hundred from a seed, in the deep profile a hundred thousand that are new each time.

    Args:
        share: of these, for a test whose examples take long.
    """
    deep = effort_from_environment() is RunEffort.DEEP
    limits = settings(max_examples=round(share * EXAMPLES), database=None)
    return lambda test: limits(test) if deep else seed(SEED)(limits(test))


def _in_four_bytes(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def _flip(damage: PlantedDamage, before: bytes, hit: bytes, after: bytes) -> bytes:
    data = bytearray(before + hit + after)
    if data:
        data[len(before) % len(data)] ^= 1 << damage.size
    return bytes(data)


def _write(damage: PlantedDamage, before: bytes, hit: bytes, after: bytes) -> bytes:
    rest = hit + after
    return before + damage.content + rest[len(damage.content) :]


def _copy(damage: PlantedDamage, before: bytes, hit: bytes, after: bytes) -> bytes:
    data = before + hit + after
    to = int.from_bytes(damage.content, "big") % (len(data) + 1)
    return data[:to] + hit + data[to + len(hit) :]


def _swap(damage: PlantedDamage, before: bytes, hit: bytes, after: bytes) -> bytes:
    return before + after[: damage.size] + hit + after[damage.size :]


_EFFECTS: Final[dict[ByteDamageKind, Callable[[PlantedDamage, bytes, bytes, bytes], bytes]]] = {
    ByteDamageKind.FLIP: _flip,
    ByteDamageKind.ZERO: lambda damage, before, hit, after: before + bytes(len(hit)) + after,
    ByteDamageKind.WRITE: _write,
    ByteDamageKind.NUMBER: _write,
    ByteDamageKind.COPY: _copy,
    ByteDamageKind.CUT: lambda damage, before, hit, after: before,
    ByteDamageKind.APPEND: lambda damage, before, hit, after: (
        before + hit + after + damage.content * (damage.size // 8 + 1)
    ),
    ByteDamageKind.REMOVE: lambda damage, before, hit, after: before + after,
    ByteDamageKind.INSERT: lambda damage, before, hit, after: before + damage.content + hit + after,
    ByteDamageKind.REPEAT: lambda damage, before, hit, after: before + hit + hit + after,
    ByteDamageKind.SWAP: _swap,
}
