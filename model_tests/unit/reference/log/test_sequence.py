from hypothesis import given
from hypothesis import strategies as st

from reference.log import sequence
from spec.vocabulary import MAX_SEQUENCE, NO_SEQUENCE, Sequence

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
