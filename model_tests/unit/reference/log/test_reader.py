from hypothesis import given
from hypothesis import strategies as st

from reference.log.batch import value_batch
from reference.log.reader import BatchDamage, DamageKind, Placed, read_batches

FIRST = value_batch([b"first"], producer_id=1, epoch=0, base_sequence=0).encode()
SECOND = value_batch([b"second"], producer_id=1, epoch=0, base_sequence=1).encode()


def kinds(data: bytes) -> list[DamageKind | None]:
    return [found.kind if isinstance(found, BatchDamage) else None for found in read_batches(data)]


def test_batches_follow_each_other() -> None:
    """Each batch is found at its position."""
    assert [0, len(FIRST)] == [found.position for found in read_batches(FIRST + SECOND)]


def test_a_changed_byte_costs_one_batch() -> None:
    """A batch with a wrong checksum is skipped by its length, and the next one is read."""
    damaged = bytearray(FIRST)
    damaged[-1] ^= 1

    assert [DamageKind.CHECKSUM, None] == kinds(bytes(damaged) + SECOND)


def test_a_cut_batch_ends_the_reading() -> None:
    """The data ends inside the second batch: the first is read, the rest is truncated."""
    assert [None, DamageKind.TRUNCATED] == kinds(FIRST + SECOND[:-1])
    assert [None, DamageKind.TRUNCATED] == kinds(FIRST + SECOND[:5])


def test_an_impossible_length_ends_the_reading() -> None:
    """Behind a length that no batch can have nothing can be trusted."""
    assert [None, DamageKind.LENGTH] == kinds(FIRST + FIRST[:8] + b"\x00\x00\x00\x05" + FIRST[12:] + SECOND)
    assert [DamageKind.LENGTH] == kinds(FIRST[:8] + b"\xff\xff\xff\xff" + FIRST[12:])


def test_another_format_is_skipped() -> None:
    """A message of an old format is named by its magic, and skipped by its length."""
    old = FIRST[:16] + b"\x01" + FIRST[17:]

    assert [DamageKind.MAGIC, None] == kinds(old + SECOND)


def test_zeroes_are_named() -> None:
    """A region of zeroes is no batch with a wrong length."""
    assert [None, DamageKind.ZEROES] == kinds(FIRST + bytes(200))


@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_break_the_reading(noise: bytes, after_a_batch: bool) -> None:
    """Whatever the bytes are, everything is accounted for: batches and damage cover them all."""
    data = FIRST + noise if after_a_batch else noise

    covered = sum(f.batch.size if isinstance(f, Placed) else f.size for f in read_batches(data))

    assert len(data) == covered
