"""Defects of the append path: epochs, sequences, and the state after a refusal.

Left out, because nothing would differ: the duplicate check after the epoch check (a cached batch has the epoch of
the entry, so that no resend is stale); a check of the successor before that of the epoch with the same answers
(each asks for another relation of the epochs).
"""

from typing import Final

from model_tests.mutants.defects.planted import Patch, Planted
from reference.errors import OutOfOrderSequence, ProducerFenced, Refusal
from reference.log import sequence
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_append import ProducerAppend
from spec import rules
from spec.vocabulary import MAX_SEQUENCE, NO_EPOCH, Origin, ProducerId, Sequence

_check_sequence = ProducerAppend.check_sequence
_check_first_of_epoch = ProducerAppend.check_first_of_epoch
_remember = ProducerAppend.remember
_check_producer = Partition.check_producer


def no_check(part: ProducerAppend, batch: RecordBatch) -> None:
    """Whatever comes is right."""


def check_epoch_but_one(part: ProducerAppend, batch: RecordBatch) -> None:
    """The epoch just before the current one is taken for current."""
    if batch.producer_epoch < part.entry.epoch - 1:
        raise part.stale_epoch(batch)


def check_sequence_unless_stale(part: ProducerAppend, batch: RecordBatch) -> None:
    """A lower epoch may continue at any sequence."""
    if batch.producer_epoch >= part.entry.epoch:
        _check_sequence(part, batch)


def remember_old_epoch(part: ProducerAppend, batch: RecordBatch) -> None:
    """A raised epoch is not noted."""
    known = part.entry.epoch
    _remember(part, batch)
    if known != NO_EPOCH:
        part.entry = part.entry._replace(epoch=known)


def fenced_by_coordinator(part: ProducerAppend, batch: RecordBatch) -> Refusal:
    """The coordinator's word for a stale epoch, which a leader says in no release."""
    return ProducerFenced(rules.FENCE_STALE_EPOCH, current=part.entry.epoch, got=batch.producer_epoch)


def check_unknown_only(part: ProducerAppend, batch: RecordBatch) -> None:
    """A known producer may begin an epoch anywhere."""
    if part.entry.epoch == NO_EPOCH:
        _check_first_of_epoch(part, batch)


def check_epoch_continues(part: ProducerAppend, batch: RecordBatch) -> None:
    """A new epoch continues the sequences of the one before."""
    if part.entry.epoch == NO_EPOCH:
        _check_first_of_epoch(part, batch)
    elif not part.in_sequence(part.entry.last_sequence, batch.base_sequence):
        raise OutOfOrderSequence(last=part.entry.last_sequence, got=batch.base_sequence)


def check_known_only(part: ProducerAppend, batch: RecordBatch) -> None:
    """An unknown producer may begin anywhere, in every version."""
    if part.entry.epoch != NO_EPOCH:
        _check_first_of_epoch(part, batch)


def check_zero_first(part: ProducerAppend, batch: RecordBatch) -> None:
    """An unknown producer must begin at 0, in every version."""
    if batch.base_sequence != 0 and part.entry.epoch == NO_EPOCH:
        raise part.unknown_producer(batch)
    _check_first_of_epoch(part, batch)


def never_unknown_producer(part: ProducerAppend, batch: RecordBatch) -> Refusal:
    """The error before 1.0, in every version."""
    return OutOfOrderSequence(rules.SEQ_FIRST, expected=0, got=batch.base_sequence)


def one_may_be_missing(part: ProducerAppend, last: Sequence, following: Sequence) -> bool:
    """A gap of one record goes unseen."""
    return sequence.succeeds(last, following) or following == last + 2


def last_may_come_again(part: ProducerAppend, last: Sequence, following: Sequence) -> bool:
    """The last sequence itself passes for its successor."""
    return sequence.succeeds(last, following) or following == last


def any_may_follow(part: ProducerAppend, last: Sequence, following: Sequence) -> bool:
    """No sequence is out of order."""
    return True


def none_follows_the_largest(part: ProducerAppend, last: Sequence, following: Sequence) -> bool:
    """After 2^31-1 comes 2^31."""
    return following == last + 1


def one_follows_the_largest(part: ProducerAppend, last: Sequence, following: Sequence) -> bool:
    """After 2^31-1 comes 1, as after wrapping an unsigned number."""
    return following == (1 if last == MAX_SEQUENCE else last + 1)


def last_without_wrap(base: Sequence, last_offset_delta: int) -> Sequence:
    """The last sequence grows past the largest."""
    return Sequence(base + last_offset_delta)


def remember_what_is_refused(
    partition: Partition,
    batch: RecordBatch,
    origin: Origin,
    marker_version: int,
    parts: dict[ProducerId, ProducerAppend],
) -> None:
    """The batch is in the window before it is checked."""
    try:
        _check_producer(partition, batch, origin, marker_version, parts)
    except Refusal:
        part = partition.state.prepare(batch.producer_id, origin)
        _remember(part, batch)
        partition.state.update(part)
        raise


def write_what_is_refused(
    partition: Partition,
    batch: RecordBatch,
    origin: Origin,
    marker_version: int,
    parts: dict[ProducerId, ProducerAppend],
) -> None:
    """The batch is in the log before it is checked."""
    try:
        _check_producer(partition, batch, origin, marker_version, parts)
    except Refusal:
        partition.log.append(batch)
        raise


def _of(name: str, rule: rules.Rule, method: str, instead: object) -> Planted:
    return Planted(name, rule, (Patch(ProducerAppend, method, instead),))


OF_APPEND: Final = (
    _of("epoch check dropped", rules.FENCE_STALE_EPOCH, "check_epoch", no_check),
    _of("epoch check off by one", rules.FENCE_STALE_EPOCH, "check_epoch", check_epoch_but_one),
    _of("raised epoch not noted", rules.FENCE_STALE_EPOCH, "remember", remember_old_epoch),
    _of("wrong error for a stale epoch", rules.FENCE_STALE_EPOCH, "stale_epoch", fenced_by_coordinator),
    Planted(
        "epoch lowered",
        rules.FENCE_EPOCH_MONOTONE,
        (
            Patch(ProducerAppend, "check_epoch", no_check),
            Patch(ProducerAppend, "check_sequence", check_sequence_unless_stale),
        ),
    ),
    _of("epoch reset not demanded", rules.SEQ_EPOCH_RESET, "check_first_of_epoch", check_unknown_only),
    _of("new epoch must continue", rules.SEQ_EPOCH_RESET, "check_first_of_epoch", check_epoch_continues),
    _of("any first sequence in every version", rules.SEQ_FIRST, "check_first_of_epoch", check_known_only),
    _of("first sequence 0 in every version", rules.SEQ_FIRST, "check_first_of_epoch", check_zero_first),
    _of("unknown producer not named", rules.SEQ_FIRST, "unknown_producer", never_unknown_producer),
    _of("gap of one accepted", rules.SEQ_SUCCESSOR, "in_sequence", one_may_be_missing),
    _of("last sequence accepted again", rules.SEQ_SUCCESSOR, "in_sequence", last_may_come_again),
    _of("successor check dropped", rules.SEQ_SUCCESSOR, "in_sequence", any_may_follow),
    _of("wrap forgotten", rules.SEQ_SUCCESSOR, "in_sequence", none_follows_the_largest),
    _of("wrap to one", rules.SEQ_SUCCESSOR, "in_sequence", one_follows_the_largest),
    Planted(
        "batch over the wrap ends past it", rules.SEQ_DUPLICATE_WINDOW, (Patch(sequence, "last_of", last_without_wrap),)
    ),
    Planted(
        "refused batch remembered",
        rules.SEQ_REFUSAL_IS_PURE,
        (Patch(Partition, "check_producer", remember_what_is_refused),),
    ),
    Planted(
        "refused batch written", rules.SEQ_REFUSAL_IS_PURE, (Patch(Partition, "check_producer", write_what_is_refused),)
    ),
)
