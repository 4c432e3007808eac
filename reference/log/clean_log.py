"""A pass of the cleaner over a log on disk: from the oldest segment up to the first that may not be cleaned.

The cleaned segment is written beside those that it replaces, renamed to a swap when it is complete, and takes its
name when they are gone; `left_files` ends or drops what a crash leaves of this.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from reference.log import file_names
from reference.log.batch import RecordBatch
from reference.log.cleaner import BatchCleaner, CleanedTransactions, KeyMap, last_records
from reference.log.disk_log import DiskLog
from reference.log.producer_entry import ProducerEntry
from reference.log.reader import Placed
from reference.log.segment import Segment
from reference.log.segment_index import FIELD_LIMIT
from spec.versions import NEWEST, Profile
from spec.vocabulary import Offset, ProducerId

BATCHES_AT_ONCE: Final = 1000
"""Batches of one write to the cleaned segment, so that a large segment is never in memory as a whole."""


class Cleaning(NamedTuple):
    """What a pass did.

    Attributes:
        end: offset behind the last cleaned batch: the first dirty one of the next pass (`cleaner-offset-checkpoint`).
        before: bytes of the cleaned segments before.
        after: bytes after.
    """

    end: Offset
    before: int
    after: int


def clean_log(
    log: DiskLog,
    producers: Mapping[ProducerId, ProducerEntry],
    *,
    first_dirty: int = 0,
    last_stable: int | None = None,
    now: int = 0,
    profile: Profile = NEWEST,
    high_watermark: int | None = None,
) -> Cleaning:
    """Clean every segment but the active one, as far as it lies below the last stable offset.

    Args:
        log: with no damage below; only whole batches are kept.
        producers: those that are known at the log end.
        first_dirty: where the last pass ended.
        last_stable: last stable offset, the log end if it is None.
        now: milliseconds.
        profile: says which batch stays for the sake of its offset: the last of the pass, or the last below the high
            watermark (KAFKA-20452).
        high_watermark: the log end if it is None.
    """
    cleanable = _cleanable(log, log.log_end if last_stable is None else last_stable)
    if not cleanable or log.segments[len(cleanable)].base_offset <= first_dirty:
        return Cleaning(Offset(first_dirty), 0, 0)
    keys = _map_keys(log, cleanable, first_dirty)
    retention = log.config.delete_retention_ms
    kept_end = (
        (log.log_end if high_watermark is None else high_watermark) if profile.cleaner_keeps_below_watermark else None
    )
    transactions = _transactions(log, log.log_start)
    cleaner = BatchCleaner(keys, transactions, last_records(producers), now, retention, kept_end)
    before = sum(segment.size for segment in cleanable)
    after = sum(_clean_group(log, group, cleaner) for group in _grouped(cleanable, log))
    return Cleaning(Offset(keys.end), before, after)


def _cleanable(log: DiskLog, last_stable: int) -> list[Segment]:
    ends = [segment.base_offset for segment in log.segments[1:]]
    return [segment for segment, end in zip(log.segments, ends, strict=False) if end <= last_stable]


def _map_keys(log: DiskLog, cleanable: Sequence[Segment], first_dirty: int) -> KeyMap:
    start = max(first_dirty, log.log_start)
    keys, transactions = KeyMap(end=log.segments[len(cleanable)].base_offset), _transactions(log, start)
    ends = (segment.base_offset for segment in log.segments[1:])
    for segment, end in zip(cleanable, ends, strict=False):
        if end > first_dirty:
            keys.add(_batches(segment, start), first_dirty, transactions)
    return keys


def _transactions(log: DiskLog, start: int) -> CleanedTransactions:
    """The aborted transactions that a pass from `start` on meets: a marker may be in a later segment than its data."""
    transactions = CleanedTransactions()
    transactions.expect(txn for txn in log.aborted_from(start) if txn.last_offset >= start)
    return transactions


def _grouped(segments: Sequence[Segment], log: DiskLog) -> Iterator[list[Segment]]:
    """Neighbours that together are no larger than one segment may be."""
    ends = {
        segment.base_offset: after.base_offset for segment, after in zip(log.segments, log.segments[1:], strict=False)
    }
    group: list[Segment] = []
    for segment in segments:
        size = sum(earlier.size for earlier in group) + segment.size
        fits = group and ends[segment.base_offset] - 1 - group[0].base_offset < FIELD_LIMIT
        if group and not (fits and size <= log.config.segment_bytes):
            yield group
            group = []
        group.append(segment)
    if group:
        yield group


def _clean_group(log: DiskLog, group: Sequence[Segment], cleaner: BatchCleaner) -> int:
    """Write one cleaned segment in place of the group; its bytes."""
    cleaned = Segment(log.directory, group[0].base_offset, log.config, file_names.CLEANED)
    cleaned.cut(0)
    for segment in group:
        kept = (left for batch in _batches(segment, log.log_start) if (left := cleaner.clean(batch)) is not None)
        for chunk in _chunks(kept):
            cleaned.append(chunk, [batch.encode() for batch in chunk])
    cleaned.replace_aborted(cleaner.transactions.kept)
    cleaner.transactions.kept = []
    cleaned.seal()
    cleaned.flush()
    modified = group[-1].path(file_names.LOG).stat().st_mtime_ns
    os.utime(cleaned.path(file_names.LOG), ns=(modified, modified))
    cleaned.rename(file_names.SWAP)
    log.replace(group, cleaned)
    cleaned.rename("")
    return cleaned.size


def _batches(segment: Segment, from_offset: int) -> Iterator[RecordBatch]:
    found = segment.found_from()
    return (p.batch for p in found if isinstance(p, Placed) and p.batch.last_offset >= from_offset)


def _chunks(batches: Iterable[RecordBatch]) -> Iterator[list[RecordBatch]]:
    remaining = iter(batches)
    while chunk := list(islice(remaining, BATCHES_AT_ONCE)):
        yield chunk
