"""Compaction: the part of a batch that stays (Cleaner, MemoryRecords.filterTo), and a pass over a log on disk.

The newest record of each key stays; aborted data goes; a tombstone, and a marker without data before it, goes once
its delete horizon has passed, which the first pass that could remove it writes into the batch. Keys of markers are
never compared with those of data (KAFKA-14055). Of a producer that is still known, the batch with its last sequence
stays, or the marker with its epoch, emptied if need be: cleaning does not undo fencing or duplicate detection.

A pass goes from the oldest segment to the first that may not be cleaned. The cleaned segment is written beside those
that it replaces, renamed to a swap when it is complete, and takes its final name when they are gone. After a crash,
`recovery.tidy` completes or drops what is left of this.
"""

import heapq
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from reference.log import codecs, file_names
from reference.log.batch import APPEND_TIME, COMPRESSION, CONTROL, DELETE_HORIZON, TRANSACTIONAL, RecordBatch
from reference.log.disk_log import DiskLog
from reference.log.producer_entry import ProducerEntry
from reference.log.reader import Placed
from reference.log.record import Record, encode_records
from reference.log.segment import Segment
from reference.log.segment_index import FIELD_LIMIT
from reference.log.txn_index import AbortedTxn
from spec.versions import NEWEST, Profile
from spec.vocabulary import NO_OFFSET, NO_PRODUCER_ID, NO_TIMESTAMP, ControlType, Epoch, Offset, ProducerId, Timestamp

# --- the part of a batch that stays -----------------------------------------------------------------------------------


class CleanedTransactions:
    """Which data belongs to aborted transactions, and which markers have no data left before them.

    Attributes:
        kept: aborted transactions whose markers stay because data was met: the index of the cleaned segment.
    """

    __slots__ = ("_aborted", "_coming", "_committed", "_met", "kept")

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._coming: list[tuple[int, AbortedTxn]] = []
        self._aborted: dict[ProducerId, AbortedTxn] = {}
        self._met: set[ProducerId] = set()
        self._committed: set[ProducerId] = set()
        self.kept: list[AbortedTxn] = []

    def expect(self, txns: Iterable[AbortedTxn]) -> None:
        """Aborted transactions in the indexes of the segments to come."""
        for txn in txns:
            heapq.heappush(self._coming, (txn.first_offset, txn))

    def is_discarded(self, batch: RecordBatch) -> bool:
        """Whether nothing of the batch is needed: aborted data, or a marker without data before it."""
        while self._coming and self._coming[0][0] <= batch.last_offset:
            txn = heapq.heappop(self._coming)[1]
            self._aborted.setdefault(txn.producer_id, txn)
        return self._is_spent(batch) if batch.is_control else self._is_aborted(batch)

    def _is_aborted(self, batch: RecordBatch) -> bool:
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._aborted:
            self._met.add(batch.producer_id)
            return True
        self._committed.add(batch.producer_id)
        return False

    def _is_spent(self, batch: RecordBatch) -> bool:
        marker = batch.marker()
        if marker is None:  # the cleaner has emptied it before
            return True
        producer_id = batch.producer_id
        if marker.control_type == ControlType.ABORT:
            txn = self._aborted.pop(producer_id, None)
            if txn is None or producer_id not in self._met:
                return True
            self._met.discard(producer_id)
            self.kept.append(txn)
            return False
        if marker.control_type == ControlType.COMMIT:
            spent = producer_id not in self._committed
            self._committed.discard(producer_id)
            return spent
        return False


EMPTY_ATTRIBUTES: Final = APPEND_TIME | TRANSACTIONAL | CONTROL
"""What an emptied batch keeps of its attributes: no codec and no delete horizon."""


class LastRecord(NamedTuple):
    """What must stay of a producer: the batch that ends at its last data offset, or (-1) a marker of its epoch."""

    last_data_offset: Offset
    epoch: Epoch

    def is_in(self, batch: RecordBatch) -> bool:
        """Whether the batch is the one that must stay."""
        if self.last_data_offset == NO_OFFSET:
            return batch.is_control and batch.producer_epoch == self.epoch
        return batch.last_offset == self.last_data_offset


def last_records(producers: Mapping[ProducerId, ProducerEntry]) -> dict[ProducerId, LastRecord]:
    """What must stay of each known producer."""
    return {
        producer_id: LastRecord(entry.batches[-1].last_offset if entry.batches else NO_OFFSET, entry.epoch)
        for producer_id, entry in producers.items()
    }


@dataclass(slots=True)
class KeyMap:
    """The newest offset of each key in the part of a log that is cleaned for the first time.

    Attributes:
        offsets: by key.
        end: the offset behind that part.
    """

    offsets: dict[bytes, int] = field(default_factory=dict)
    end: int = 0

    def add(self, batches: Iterable[RecordBatch], first_dirty: int, transactions: CleanedTransactions) -> None:
        """Note the keys of batches in offset order; aborted data and markers have none."""
        for batch in batches:
            if transactions.is_discarded(batch) or batch.is_control:
                continue
            for record in batch.records():
                offset = batch.base_offset + record.offset_delta
                if record.key is not None and offset >= first_dirty:
                    self.offsets[record.key] = offset


@dataclass(slots=True)
class BatchCleaner:
    """One pass over a log.

    Attributes:
        keys: newest offsets.
        transactions: what the pass has read so far.
        last_records: of the known producers.
        now: milliseconds.
        delete_retention_ms: how long tombstones and spent markers stay.
        kept_end: the batch that ends there stays, so that the last offset is known; None for the end of the pass.
    """

    keys: KeyMap
    transactions: CleanedTransactions
    last_records: Mapping[ProducerId, LastRecord]
    now: int
    delete_retention_ms: int
    kept_end: int | None = None

    def clean(self, batch: RecordBatch) -> RecordBatch | None:
        """What is left of the batch, None if nothing; batches come in offset order."""
        spent = self.transactions.is_discarded(batch)
        discarded = spent and (not batch.is_control or self.is_past_horizon(batch))
        if discarded and not self.must_stay(batch):
            return None
        records = () if discarded else batch.records()
        kept = records if batch.is_control else tuple(record for record in records if self.is_kept(batch, record))
        if not kept:
            return emptied(batch) if self.must_stay(batch) else None
        removable = spent if batch.is_control else any(record.value is None for record in kept)
        sets_horizon = removable and delete_horizon(batch) is None
        if len(kept) == len(records) and not sets_horizon:
            return batch
        horizon = self.now + self.delete_retention_ms if sets_horizon else delete_horizon(batch)
        return rebuilt(batch, kept, horizon)

    def must_stay(self, batch: RecordBatch) -> bool:
        """Whether the batch stays though all its records go: a producer's last batch, or the batch at `kept_end`."""
        last = self.last_records.get(batch.producer_id) if batch.producer_id != NO_PRODUCER_ID else None
        kept_end = self.keys.end if self.kept_end is None else self.kept_end
        return (last is not None and last.is_in(batch)) or batch.last_offset + 1 == kept_end

    def is_kept(self, batch: RecordBatch, record: Record) -> bool:
        """Whether a data record stays."""
        offset = batch.base_offset + record.offset_delta
        if offset >= self.keys.end:
            return True
        if record.key is None or offset < self.keys.offsets.get(record.key, -1):
            return False
        return record.value is not None or not self.is_past_horizon(batch)

    def is_past_horizon(self, batch: RecordBatch) -> bool:
        """Whether the batch has a delete horizon, and it has come."""
        horizon = delete_horizon(batch)
        return horizon is not None and horizon <= self.now


def delete_horizon(batch: RecordBatch) -> int | None:
    """The time at which tombstones and spent markers of the batch may go, milliseconds, None if not yet set."""
    return batch.base_timestamp if batch.attributes & DELETE_HORIZON else None


def emptied(batch: RecordBatch) -> RecordBatch:
    """The header alone: offsets, producer, epoch and sequence are still known."""
    return batch._replace(
        attributes=batch.attributes & EMPTY_ATTRIBUTES, record_count=0, body=b"", base_timestamp=NO_TIMESTAMP
    )


def rebuilt(batch: RecordBatch, kept: tuple[Record, ...], horizon: int | None) -> RecordBatch:
    """The batch with some of its records; offsets and sequences stay, and the base timestamp may be the horizon."""
    appended = batch.max_timestamp if batch.attributes & APPEND_TIME else None
    times = [batch.base_timestamp + record.timestamp_delta if appended is None else appended for record in kept]
    base = times[0] if horizon is None else horizon
    records = (record._replace(timestamp_delta=time - base) for record, time in zip(kept, times, strict=True))
    return batch._replace(
        attributes=batch.attributes & ~DELETE_HORIZON | (0 if horizon is None else DELETE_HORIZON),
        base_timestamp=Timestamp(base),
        max_timestamp=Timestamp(max(times)),
        record_count=len(kept),
        body=codecs.compress(batch.attributes & COMPRESSION, encode_records(records)),
    )


# --- a pass over a log on disk ----------------------------------------------------------------------------------------


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
    """Groups of neighbouring segments, each no larger in all than one segment may be."""
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
    """Write one cleaned segment in place of the group; returns its size in bytes."""
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
