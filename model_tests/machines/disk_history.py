"""The machine's own history of the disk log: every accepted batch, and the producer state that batches imply."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reference.log.batch import RecordBatch
from reference.log.producer_entry import ProducerEntry
from spec.vocabulary import ControlType, ProducerId

NOTHING: Final = -1  # of an epoch: there is none
WINDOW: Final = 5  # batches that Kafka caches for each producer (ProducerStateEntry.NUM_BATCHES_TO_RETAIN)


class LoggedProducer(NamedTuple):
    """The producer state that a log implies for one producer; -1 is none.

    Attributes:
        opened: offset at which its open transaction begins.
        window: last sequence, last offset and offset delta of its newest batches, oldest first.
    """

    epoch: int = NOTHING
    coordinator_epoch: int = NOTHING
    opened: int = NOTHING
    window: tuple[tuple[int, int, int], ...] = ()


Producers = dict[int, LoggedProducer]


class Header(NamedTuple):
    """The producer fields of a batch header, also of an emptied batch; of a marker no sequence or offset."""

    producer_id: int
    epoch: int
    last_sequence: int = NOTHING
    last_offset: int = NOTHING


def header_of(batch: RecordBatch) -> Header:
    """The fields of a producer that are left when the records of its batch are gone."""
    reported = Header(batch.producer_id, batch.producer_epoch)
    return (
        reported
        if batch.is_control
        else reported._replace(last_sequence=batch.last_sequence, last_offset=batch.last_offset)
    )


def last_reported_by(producer_id: int, known: LoggedProducer) -> Header:
    """The header that must stay of an active producer: its newest data, or else a marker with its epoch."""
    reported = Header(producer_id, known.epoch)
    return (
        reported._replace(last_sequence=known.window[-1][0], last_offset=known.window[-1][1])
        if known.window
        else reported
    )


class EndedTransaction(NamedTuple):
    """A transaction and the marker that ended it.

    Attributes:
        first: where it begins, as far as the partition knows when it ends; -1 if it has lost its state.
        began: where it really began.
    """

    producer_id: int
    first: int
    marker: int
    aborted: bool
    began: int


class AcceptedRecord(NamedTuple):
    """One record that was accepted; `value` None is a tombstone."""

    key: bytes | None
    value: bytes | None
    producer_id: int
    transactional: bool


def reported_by(batch: RecordBatch, known: LoggedProducer) -> LoggedProducer:
    """What is known of the batch's producer after the batch."""
    same = batch.producer_epoch == known.epoch
    window = known.window if same else ()
    if batch.is_control:
        marker = batch.marker()
        if marker is None:
            return known
        return LoggedProducer(batch.producer_epoch, marker.coordinator_epoch, NOTHING, window)
    cached = (int(batch.last_sequence), int(batch.last_offset), batch.last_offset_delta)
    opened = batch.base_offset if batch.is_transactional and known.opened == NOTHING else known.opened
    return LoggedProducer(batch.producer_epoch, known.coordinator_epoch, opened, (*window, cached)[-WINDOW:])


def replayed(batches: Iterable[RecordBatch], producers: Producers) -> Producers:
    """What is known after more batches."""
    after = dict(producers)
    for batch in batches:
        known = reported_by(batch, after.get(batch.producer_id, LoggedProducer()))
        if batch.producer_id != NOTHING and known != LoggedProducer():
            after[batch.producer_id] = known
    return after


def knowledge(producers: dict[ProducerId, ProducerEntry]) -> Producers:
    """What a partition, or a snapshot, knows of producers, as the machine remembers it."""
    known = {
        int(pid): LoggedProducer(
            int(entry.epoch),
            int(entry.coordinator_epoch),
            int(entry.txn_first_offset),
            tuple((int(b.last_sequence), int(b.last_offset), b.offset_delta) for b in entry.batches),
        )
        for pid, entry in producers.items()
    }
    return {pid: entry for pid, entry in known.items() if entry != LoggedProducer()}


@dataclass(slots=True)
class AcceptedBatches:
    """Every batch that was accepted and not truncated, whatever became of it since.

    Attributes:
        batches: in offset order.
        records: by offset, those that no cleaning was seen to remove.
        ended: transactions with their markers.
        seen_by_cleaner: by offset, when a pass of the cleaner first saw a record.
    """

    batches: list[RecordBatch] = field(default_factory=list)
    records: dict[int, AcceptedRecord] = field(default_factory=dict)
    ended: list[EndedTransaction] = field(default_factory=list)
    seen_by_cleaner: dict[int, int] = field(default_factory=dict)

    def accepts(self, batch: RecordBatch, before: LoggedProducer) -> None:
        """A placed batch was accepted, of a producer of which this was known."""
        self.batches.append(batch)
        if not batch.is_control:
            for record in batch.records():
                kept = AcceptedRecord(record.key, record.value, batch.producer_id, batch.is_transactional)
                self.records[batch.base_offset + record.offset_delta] = kept
        elif (began := self.began(batch)) < batch.base_offset or before.opened != NOTHING:
            self.ended.append(
                EndedTransaction(batch.producer_id, before.opened, batch.base_offset, is_abort(batch), began)
            )

    def began(self, marker: RecordBatch) -> int:
        """Offset of the first data of the transaction that a marker ends."""
        first = marker.base_offset
        for batch in reversed(self.batches[:-1]):
            if batch.producer_id == marker.producer_id:
                if batch.is_control:
                    break
                first = batch.base_offset if batch.is_transactional else first
        return first

    def is_open(self, producer_id: int) -> bool:
        """Whether the newest batch of the producer is data of a transaction."""
        newest = next((batch for batch in reversed(self.batches) if batch.producer_id == producer_id), None)
        return newest is not None and newest.is_transactional and not newest.is_control

    def loses(self, end: int) -> None:
        """Everything from an offset on is gone."""
        self.batches = [batch for batch in self.batches if batch.last_offset < end]
        self.records = {offset: record for offset, record in self.records.items() if offset < end}
        self.ended = [txn for txn in self.ended if txn.marker < end]
        self.seen_by_cleaner = {offset: when for offset, when in self.seen_by_cleaner.items() if offset < end}

    def outcome(self, offset: int, producer_id: int) -> RecordBatch | None:
        """The marker that decides what the producer wrote at an offset: the next one of the producer."""
        return next(
            (b for b in self.batches if b.is_control and b.producer_id == producer_id and b.base_offset > offset), None
        )

    def is_visible(self, offset: int) -> bool:
        """Whether a read_committed reader may see the record: it is in no transaction, or in a committed one."""
        record = self.records[offset]
        if not record.transactional:
            return True
        marker = self.outcome(offset, record.producer_id)
        return marker is not None and not is_abort(marker)

    def visible(self, start: int, end: int) -> Iterator[tuple[int, AcceptedRecord]]:
        """What a read_committed reader of start .. end-1 must get, in offset order."""
        for offset in sorted(self.records):
            if start <= offset < end and self.is_visible(offset):
                yield offset, self.records[offset]


def is_abort(batch: RecordBatch) -> bool:
    """Whether a control batch is an ABORT marker."""
    marker = batch.marker()
    return marker is not None and marker.control_type == ControlType.ABORT
