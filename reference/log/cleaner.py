"""The part of a batch that compaction keeps (Cleaner, MemoryRecords.filterTo).

The newest record of each key stays; aborted data goes; a tombstone, and a marker without data before it, goes once
its delete horizon has passed, which the first pass that could remove it writes into the batch. Keys of markers are
never compared with those of data (KAFKA-14055). Of a producer that is still known, the batch with its last sequence
stays, or the marker with its epoch, emptied if need be: cleaning does not undo fencing or duplicate detection.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reference.log import codecs
from reference.log.batch import APPEND_TIME, COMPRESSION, CONTROL, DELETE_HORIZON, TRANSACTIONAL, RecordBatch
from reference.log.producer_entry import ProducerEntry
from reference.log.record import Record, encode_records
from reference.log.txn_index import AbortedTxn
from spec.vocabulary import NO_OFFSET, NO_PRODUCER_ID, NO_TIMESTAMP, ControlType, Epoch, Offset, ProducerId, Timestamp


class CleanedTransactions:
    """Which data is of aborted transactions, and which markers have no data left before them.

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
        delete_retention_ms: how long what could go stays.
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
        """Whether the batch stays though all its records go: a producer's last one, or the one at `kept_end`."""
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
