"""Defects of duplicate detection and of the form that a client's request must have."""

from collections.abc import Callable
from typing import Final

from model_tests.mutants.defects.planted import Patch, Planted
from reference.broker import produce
from reference.log import partition as partition_module
from reference.log.batch import RecordBatch
from reference.log.partition import AppendResult, Partition
from reference.log.producer_append import ProducerAppend
from reference.log.producer_entry import CachedBatch, ProducerEntry
from reference.log.validation import validate_client_batch
from spec import rules
from spec.versions import Profile
from spec.vocabulary import Origin

Cache = tuple[CachedBatch, ...]

_check_sequence = ProducerAppend.check_sequence
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
        _check_sequence(part, batch)


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
