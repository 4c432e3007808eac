"""Sequence numbers: 0 .. 2^31-1, after which the next one is 0 (DefaultRecordBatch, ProducerAppendInfo)."""

from spec.vocabulary import MAX_SEQUENCE, NO_SEQUENCE, Sequence


def increment(sequence: Sequence, by: int) -> Sequence:
    """The sequence `by` records later."""
    return Sequence((sequence + by) % (MAX_SEQUENCE + 1))


def decrement(sequence: Sequence, by: int) -> Sequence:
    """The sequence `by` records earlier."""
    return Sequence((sequence - by) % (MAX_SEQUENCE + 1))


def last_of(base: Sequence, last_offset_delta: int) -> Sequence:
    """The last sequence of a batch; none if the batch has no sequence."""
    return NO_SEQUENCE if base == NO_SEQUENCE else increment(base, last_offset_delta)


def succeeds(last: Sequence, following: Sequence) -> bool:
    """Whether `following` comes right after `last`; after none (-1) comes 0."""
    return following == increment(last, 1)


def is_later(one: Sequence, other: Sequence) -> bool:
    """Whether `one` comes after `other`, both less than half the range apart; everything comes after none."""
    return other == NO_SEQUENCE or 0 < (one - other) % (MAX_SEQUENCE + 1) <= MAX_SEQUENCE // 2


def is_past(expected: Sequence, got: Sequence) -> bool:
    """Whether `got` is one of the half turn of sequences before the expected one."""
    return 0 < (expected - got) % (MAX_SEQUENCE + 1) <= (MAX_SEQUENCE + 1) // 2
