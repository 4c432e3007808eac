import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.errors import Impossible
from reference.log import sequence, varint
from reference.log.batch import blank_batch, value_batch
from reference.log.partition_log import PartitionLog
from reference.log.reader import BatchDamage, DamageKind, Placed, read_batches
from spec.vocabulary import MAX_SEQUENCE, NO_SEQUENCE, LeaderEpoch, Offset, Sequence


@pytest.fixture
def log() -> PartitionLog:
    log = PartitionLog()
    for count in (3, 2, 4):
        log.append(blank_batch(count).at(log.log_end, LeaderEpoch(0)))
    return log


def offsets(log: PartitionLog, offset: int, below: int) -> list[int]:
    return [batch.base_offset for batch in log.read(offset, below)]


def test_reading_begins_with_the_batch_that_holds_the_offset(log: PartitionLog) -> None:
    """A read inside a batch returns the whole batch, and ends before the bound."""
    assert [0, 3] == offsets(log, 2, 5)
    assert [3, 5] == offsets(log, 3, 6)
    assert [] == offsets(log, 9, 9)


def test_a_log_that_is_cut_below_its_start_is_empty_and_begins_there(log: PartitionLog) -> None:
    """Its older records were deleted, and the leader that it follows now has others instead."""
    log.advance_start(7)

    log.truncate(4)

    assert (4, 4, ()) == (log.log_start, log.log_end, log.batches)


def test_truncation_drops_whole_batches(log: PartitionLog) -> None:
    """A batch that reaches the offset goes as a whole; what is beyond the end changes nothing."""
    log.truncate(100)
    assert 9 == log.log_end

    log.truncate(4)
    assert (3, 1) == (log.log_end, len(log))

    log.truncate(0)
    assert (0, 0) == (log.log_end, len(log))


def test_the_start_moves_up(log: PartitionLog) -> None:
    """Batches wholly below the new start are gone, one that holds it stays."""
    log.advance_start(4)

    assert (4, [3, 5]) == (log.log_start, offsets(log, 4, 9))


def test_offsets_do_not_go_back(log: PartitionLog) -> None:
    """Appending below the log end or moving the start beyond it is our own bug."""
    with pytest.raises(Impossible):
        log.append(blank_batch(1).at(Offset(8), LeaderEpoch(0)))
    with pytest.raises(Impossible):
        log.advance_start(10)


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


sequences = st.one_of(st.integers(0, 40), st.integers(MAX_SEQUENCE - 40, MAX_SEQUENCE)).map(Sequence)
steps = st.integers(0, 60)


@given(sequences, steps)
def test_arithmetic_is_modulo_two_to_the_31(start: Sequence, by: int) -> None:
    """Going up and down is addition and subtraction modulo 2^31."""
    assert (start + by) % 2**31 == sequence.increment(start, by)
    assert (start - by) % 2**31 == sequence.decrement(start, by)


def test_after_the_last_sequence_comes_zero() -> None:
    """The successor of 2^31-1 is 0, that of no sequence is 0 too, and nothing else is."""
    assert sequence.succeeds(MAX_SEQUENCE, Sequence(0))
    assert sequence.succeeds(NO_SEQUENCE, Sequence(0))
    assert not sequence.succeeds(NO_SEQUENCE, Sequence(1))
    assert not sequence.succeeds(Sequence(4), Sequence(0))


def test_a_batch_without_sequence_has_no_last_one() -> None:
    """The last sequence of a batch wraps; without a base sequence there is none."""
    assert NO_SEQUENCE == sequence.last_of(NO_SEQUENCE, 3)
    assert 1 == sequence.last_of(MAX_SEQUENCE, 2)


@given(sequences, st.integers(1, 60))
def test_later_is_counted_across_the_wrap(start: Sequence, by: int) -> None:
    """A sequence a few steps on is later, and not the other way round."""
    later = sequence.increment(start, by)

    assert sequence.is_later(later, start)
    assert not sequence.is_later(start, later)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long_comes_back(value: int) -> None:
    """What is written is read, and the position is behind it."""
    data = varint.encoded(value)

    assert (value, len(data)) == varint.read(data, 0)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80" * 11], ids=["empty", "cut", "endless"])
def test_a_varint_without_end_is_named(data: bytes) -> None:
    """Bytes that end inside a varint are refused."""
    with pytest.raises(varint.MalformedVarint):
        varint.read(data, 0)
