"""Defects of the append path: epochs, sequences, refusals, duplicates, and the form of a client's request.

Left out, because nothing would differ: the duplicate check after the epoch check (a cached batch has the epoch of
the entry, so that no resend is stale); a check of the successor before that of the epoch with the same answers
(each asks for another relation of the epochs).
"""

from collections.abc import Callable
from typing import Final

from model_tests.mutants.defects.planted import Patch, Planted
from reference.broker import produce
from reference.errors import OutOfOrderSequence, ProducerFenced, Refusal
from reference.log import partition as partition_module
from reference.log import sequence
from reference.log.batch import RecordBatch
from reference.log.partition import AppendResult, Partition
from reference.log.producer_append import ProducerAppend
from reference.log.producer_entry import CachedBatch, ProducerEntry
from reference.log.validation import validate_client_batch
from spec import rules
from spec.versions import Profile
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


Cache = tuple[CachedBatch, ...]

_check_window = ProducerAppend.check_sequence
_find_duplicate = ProducerEntry.find_duplicate


def keep_three_of(part: ProducerAppend, batches: Cache) -> Cache:
    """A window of four."""
    return batches[-min(3, part.profile.cached_batches - 1) :] if part.profile.cached_batches > 1 else ()


def keep_five_of(part: ProducerAppend, batches: Cache) -> Cache:
    """A window of six."""
    return batches[-part.profile.cached_batches :]


def keep_none_of(part: ProducerAppend, batches: Cache) -> Cache:
    """A window of one, in every version."""
    return ()


def keep_the_oldest_of(part: ProducerAppend, batches: Cache) -> Cache:
    """The newest batch is thrown out instead of the oldest."""
    return batches[: part.profile.cached_batches - 1]


def find_nothing(entry: ProducerEntry, batch: RecordBatch) -> CachedBatch | None:
    """No batch is a duplicate."""
    return None


def find_by_last(entry: ProducerEntry, batch: RecordBatch) -> CachedBatch | None:
    """A batch that ends where a cached one ends is a duplicate of it."""
    same_epoch = batch.producer_epoch == entry.epoch
    return next((c for c in entry.batches if same_epoch and c.last_sequence == batch.last_sequence), None)


def find_by_first(entry: ProducerEntry, batch: RecordBatch) -> CachedBatch | None:
    """A batch that begins where a cached one begins is a duplicate of it."""
    same_epoch = batch.producer_epoch == entry.epoch
    return next((c for c in entry.batches if same_epoch and c.first_sequence == batch.base_sequence), None)


def find_in_any_epoch(entry: ProducerEntry, batch: RecordBatch) -> CachedBatch | None:
    """The epoch of the cached batches is not compared."""
    return _find_duplicate(entry._replace(epoch=batch.producer_epoch), batch)


def find_newest_only(entry: ProducerEntry, batch: RecordBatch) -> CachedBatch | None:
    """Only the last batch is looked at."""
    return _find_duplicate(entry._replace(batches=entry.batches[-1:]), batch)


def answer_with_the_last_offset(partition: Partition, cached: CachedBatch) -> AppendResult:
    """The first offset of the answer is the last one of the first copy."""
    return AppendResult(cached.last_offset, cached.last_offset, True, cached.timestamp, partition.log_start)


def answer_with_the_log_end(partition: Partition, cached: CachedBatch) -> AppendResult:
    """The answer says that the copy was appended at the end."""
    return AppendResult(partition.log_end, partition.log_end, True, cached.timestamp, partition.log_start)


def no_duplicate(partition: Partition, batch: RecordBatch, origin: Origin) -> CachedBatch | None:
    """The partition does not ask for duplicates."""
    return None


def check_unless_duplicate(part: ProducerAppend, batch: RecordBatch) -> None:
    """A duplicate is in sequence."""
    if _find_duplicate(part.entry, batch) is None:
        _check_window(part, batch)


def first_without_wrap(cached: CachedBatch) -> int:
    """The first sequence of a cached batch over the wrap is negative, in every version."""
    return cached.last_sequence - cached.offset_delta


def forgiving(fault: Callable[[RecordBatch], bool]) -> Callable[[Profile, RecordBatch], None]:
    """The check of a batch's form that lets batches with this fault pass."""

    def validate(profile: Profile, batch: RecordBatch) -> None:
        if not fault(batch):
            validate_client_batch(profile, batch)

    return validate


def any_number_of(batches: tuple[RecordBatch, ...]) -> None:
    """A request may carry more than one batch."""


def _finding(name: str, instead: object) -> Planted:
    return Planted(name, rules.SEQ_DUPLICATE_WINDOW, (Patch(ProducerEntry, "find_duplicate", instead),))


def _evicting(name: str, instead: object) -> Planted:
    return Planted(name, rules.SEQ_DUPLICATE_WINDOW, (Patch(ProducerAppend, "evict", instead),))


def _answering(name: str, instead: object) -> Planted:
    return Planted(name, rules.SEQ_DUPLICATE_WINDOW, (Patch(Partition, "answer_duplicate", instead),))


def _accepting(name: str, fault: Callable[[RecordBatch], bool]) -> Planted:
    return Planted(name, rules.SEQ_WELL_FORMED, (Patch(partition_module, "validate_client_batch", forgiving(fault)),))


OF_WINDOW: Final = (
    _evicting("window of four", keep_three_of),
    _evicting("window of six", keep_five_of),
    _evicting("window of one", keep_none_of),
    _finding("duplicate check dropped", find_nothing),
    _finding("duplicate by last sequence alone", find_by_last),
    _finding("duplicate by first sequence alone", find_by_first),
    _finding("duplicate of another epoch", find_in_any_epoch),
    _finding("duplicate of the newest batch alone", find_newest_only),
    _answering("duplicate answered with its last offset", answer_with_the_last_offset),
    _answering("duplicate answered with the log end", answer_with_the_log_end),
    Planted(
        "duplicate appended again",
        rules.SEQ_DUPLICATE_WINDOW,
        (
            Patch(Partition, "find_duplicate", no_duplicate),
            Patch(ProducerAppend, "check_sequence", check_unless_duplicate),
        ),
    ),
    Planted(
        "duplicate over the wrap not found",
        rules.SEQ_DUPLICATE_WINDOW,
        (Patch(CachedBatch, "first_sequence", property(first_without_wrap)),),
    ),
    _evicting("window throws out the newest", keep_the_oldest_of),
    _accepting("control batch of a client accepted", lambda batch: batch.is_control),
    _accepting("batch without sequence accepted", lambda batch: batch.base_sequence < 0),
    _accepting("empty batch accepted", lambda batch: batch.record_count == 0),
    _accepting("miscounted batch accepted", lambda batch: batch.last_offset_delta + 1 != batch.record_count),
    Planted("two batches accepted", rules.SEQ_WELL_FORMED, (Patch(produce, "check_one_batch", any_number_of),)),
)
