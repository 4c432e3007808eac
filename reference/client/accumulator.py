"""The buffer of records to send: batches that fill up, and their memory (RecordAccumulator).

It keeps the records of an application, the result of each, and their counts.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reference.client.partition_queue import ProducerBatch
from reference.client.producer import Attempt, IdempotentProducer
from reference.client.producer_settings import ProducerSettings
from reference.log.batch import HEADER_SIZE
from reference.log.record import Record, encode_records
from spec.vocabulary import NO_OFFSET, ErrorCode, Offset, Timestamp

NO_MEMORY: Final = "BUFFER_EXHAUSTED"
"""The failure of a record that got no memory within max.block.ms."""

DROPPED: Final = "TRANSACTION_ABORTED"
"""The failure of a record that was never sent, because its transaction ended without it."""

TOO_LARGE: Final = "RECORD_TOO_LARGE"
"""The failure of a record that is too large for a request or for the buffer."""


# --- records and their results ----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class SentRecord:
    """One record, from the call of `send` on.

    Attributes:
        partition: to which it goes, by the number of the queue.
        sent_ms: when `send` was called.
        accepted: whether it is in a batch; else the application waits for memory.
        outcome: None while undecided, else whether the application got a success.
        offset: of the record, -1 where it is not known.
        failure: why it has failed, by the error's name.
    """

    key: bytes | None
    value: bytes
    partition: int
    sent_ms: Timestamp
    accepted: bool = False
    outcome: bool | None = None
    offset: Offset = NO_OFFSET
    failure: str = ""

    def size_at(self, delta: int) -> int:
        """Bytes of the record at this place of its batch."""
        return len(encode_records((Record(delta, 0, self.key, self.value),)))

    @property
    def size_alone(self) -> int:
        """Bytes of a batch that has this record alone."""
        return HEADER_SIZE + self.size_at(0)

    def fail(self, failure: str) -> None:
        """The application gets a failure."""
        self.outcome, self.failure = False, failure

    def settle(self, batch: ProducerBatch, delta: int) -> None:
        """Its batch is decided; the record was at this place of the batch."""
        if batch.outcome:
            self.outcome = True
            self.offset = Offset(batch.offset + delta) if batch.offset != NO_OFFSET else batch.offset
        else:
            self.fail(failure_of(batch))


def failure_of(batch: ProducerBatch) -> str:
    """Why a batch has failed, by name."""
    return DROPPED if batch.error is None else batch.error.name


@dataclass(slots=True)
class ProducerCounts:
    """What a producer has counted.

    Attributes:
        sent: records that were acknowledged.
        failed: records that were not, by why.
        retried: batches that were put back to be sent again, by the error that they were answered with.
        errors: answers that were errors, counted for each batch; lost answers count as NETWORK_EXCEPTION.
        split: batches that were too large as a whole.
    """

    sent: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    retried: Counter[ErrorCode] = field(default_factory=Counter)
    errors: Counter[ErrorCode] = field(default_factory=Counter)
    split: int = 0

    def settled(self, record: SentRecord) -> None:
        """A record has come to an end."""
        if record.outcome:
            self.sent += 1
        else:
            self.failed[record.failure] += 1


# --- batches ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class AccumulatedBatch:
    """A batch that the accumulator knows: its records and the memory for it.

    Attributes:
        allocated: bytes taken from the buffer; a split batch has returned them already.
        written: bytes of the batch so far.
        closed: it takes no more records.
        is_part: it is part of a batch that was too large.
        node: to which it was last sent, None before.
    """

    allocated: int
    written: int = HEADER_SIZE
    records: list[SentRecord] = field(default_factory=list)
    closed: bool = False
    is_part: bool = False
    node: int | None = None

    def add(self, record: SentRecord) -> None:
        """The record is in the batch."""
        self.written += record.size_at(len(self.records))
        self.records.append(record)


class AccumulatorAppend(NamedTuple):
    """The effect of adding a record: whether it opened a batch, and whether the batch is now full."""

    opened: bool
    filled: bool


class RecordAccumulator:
    """The undecided batches of one producer, on top of the producer's queues, which number and retry them.

    Attributes:
        producer: numbers, retries and drops the batches.
        settings: sizes and times.
        free: bytes of buffer.memory that no batch takes.
        held: the undecided batches.
        blocked: records whose application waits for memory, in the order of their calls.
        flushing: the batches that the application waits for.
        counts: of records.
    """

    __slots__ = ("blocked", "counts", "flushing", "free", "held", "producer", "settings")

    def __init__(self, producer: IdempotentProducer, settings: ProducerSettings | None = None) -> None:
        """Nothing waits."""
        self.producer = producer
        self.settings = settings or ProducerSettings()
        self.free = self.settings.buffer_bytes
        self.held: dict[ProducerBatch, AccumulatedBatch] = {}
        self.blocked: deque[SentRecord] = deque()
        self.flushing: set[ProducerBatch] = set()
        self.counts = ProducerCounts()

    # --- records come in --------------------------------------------------------------------------------------

    def take(self, record: SentRecord, now: Timestamp) -> AccumulatorAppend | None:
        """Put a record into the newest batch of its partition, or into a new one.

        Returns:
            None if the application must wait for memory, or if the record is too large for any batch.
        """
        self.producer.admit(record.partition)
        if record.size_alone > min(self.settings.max_request_bytes, self.settings.buffer_bytes):
            self._fail(record, TOO_LARGE)
            return None
        appended = self._append(record, now, may_allocate=not self.blocked)
        if appended is None:
            self.blocked.append(record)
        return appended

    def has_room(self, record: SentRecord) -> bool:
        """Whether a batch is open that can take the record."""
        batch = self._open_batch(record.partition)
        return batch is not None and self._fits(self.held[batch], record)

    def _append(self, record: SentRecord, now: Timestamp, *, may_allocate: bool) -> AccumulatorAppend | None:
        batch = self._open_batch(record.partition)
        if batch is not None and self._fits(self.held[batch], record):
            batch.values += (record.value,)
            batch.keys += (record.key,)
            batch.record_count += 1
            return self._taken(self.held[batch], record, opened=False)
        if batch is not None:
            self.held[batch].closed = True
        size = max(self.settings.batch_bytes, record.size_alone)
        if not may_allocate or size > self.free:
            return None
        return self._open(record, now, size)

    def _open(self, record: SentRecord, now: Timestamp, size: int) -> AccumulatorAppend:
        batch = self.producer.send(record.partition, 1, now, (record.value,))
        batch.keys = (record.key,)
        self.free -= size
        self.held[batch] = AccumulatedBatch(size)
        return self._taken(self.held[batch], record, opened=True)

    def _taken(self, held: AccumulatedBatch, record: SentRecord, *, opened: bool) -> AccumulatorAppend:
        held.add(record)
        record.accepted = True
        return AccumulatorAppend(opened, self._is_full(held))

    def _open_batch(self, partition: int) -> ProducerBatch | None:
        """The newest batch of a partition, unless it was sent or takes no more."""
        waiting = self.producer.queues[partition].waiting
        newest = waiting[-1] if waiting else None
        if newest is None or newest.attempts or newest.has_sequence:
            return None
        held = self.held.get(newest)
        return None if held is None or held.closed else newest

    def _fits(self, held: AccumulatedBatch, record: SentRecord) -> bool:
        return held.written + record.size_at(len(held.records)) <= self.settings.batch_bytes

    def _is_full(self, held: AccumulatedBatch) -> bool:
        return held.closed or held.written >= self.settings.batch_bytes

    # --- batches go out ---------------------------------------------------------------------------------------

    def is_ready(self, partition: int, now: Timestamp) -> bool:
        """Whether the next batch of a partition need not wait for more records.

        It is full, or closed because a record did not fit, or it has lingered; or a caller waits: for memory, for a
        flush, or for the end of a transaction.
        """
        head = self.producer.queues[partition].waiting[0]
        held = self.held.get(head)
        if held is None or head.attempts or self._is_full(held):
            return True
        nobody_can_wait = self.blocked or self.flushing or self.producer.completes_transaction
        return bool(nobody_can_wait) or now - head.created_ms >= self.settings.linger_ms

    def is_backing_off(self, batch: ProducerBatch, leader: int, now: Timestamp) -> bool:
        """Whether a batch was sent so shortly before that it must not be sent again yet."""
        if not batch.attempts:
            return False
        held = self.held.get(batch)
        if held is not None and held.node != leader and self.settings.new_leader_ends_backoff:
            return False
        return now - batch.requeued_ms < self.settings.backoff_ms(batch.attempts)

    def drained(self, batch: ProducerBatch, node: int) -> None:
        """A batch is sent to a node, and takes no more records."""
        held = self.held.get(batch)
        if held is not None:
            held.closed, held.node = True, node

    def flush(self) -> None:
        """The application waits for all that it has handed over so far; nothing lingers until then."""
        self.flushing.update(self.held)

    def split(self, attempt: Attempt) -> None:
        """Send a batch again in parts: of batch.size, or, if it is itself a part, of half its size (KAFKA-8350)."""
        held = self.held.pop(attempt.batch)
        self.free += held.allocated
        largest = max(HEADER_SIZE + record.size_at(0) for record in held.records)
        limit = max(largest, held.written // 2) if held.is_part else self.settings.batch_bytes
        parts = [(part_of(attempt.batch, listed), listed) for listed in parts_of(held.records, limit)]
        self.producer.split(attempt, [batch for batch, _ in parts])
        was_flushing = attempt.batch in self.flushing
        for batch, records in parts:
            self.held[batch] = AccumulatedBatch(0, closed=True, is_part=True)
            for record in records:
                self.held[batch].add(record)
            if was_flushing:
                self.flushing.add(batch)
        self.flushing.discard(attempt.batch)
        self.counts.split += 1

    # --- batches come to an end -------------------------------------------------------------------------------

    def settle(self, now: Timestamp) -> None:
        """Report the decided batches to applications; give memory to waiting sends, or fail those that timed out."""
        for batch in [batch for batch in self.held if batch.outcome is not None]:
            held = self.held.pop(batch)
            self.free += held.allocated
            self.flushing.discard(batch)
            for delta, record in enumerate(held.records):
                record.settle(batch, delta)
                self.counts.settled(record)
        while self.blocked and self._append(self.blocked[0], now, may_allocate=True) is not None:
            self.blocked.popleft()
        for record in [each for each in self.blocked if now - each.sent_ms >= self.settings.max_block_ms]:
            self.blocked.remove(record)
            self._fail(record, NO_MEMORY)

    def _fail(self, record: SentRecord, failure: str) -> None:
        record.fail(failure)
        self.counts.settled(record)


def parts_of(records: list[SentRecord], limit: int) -> Iterator[list[SentRecord]]:
    """The records in the same order, in runs whose batches are at most so large; a record is never divided."""
    part: list[SentRecord] = []
    written = HEADER_SIZE
    for record in records:
        if part and written + record.size_at(len(part)) > limit:
            yield part
            part, written = [], HEADER_SIZE
        written += record.size_at(len(part))
        part.append(record)
    yield part


def part_of(batch: ProducerBatch, records: list[SentRecord]) -> ProducerBatch:
    """A batch of some of the records of another; it is as old."""
    values, keys = tuple(record.value for record in records), tuple(record.key for record in records)
    part = ProducerBatch(batch.ordinal, len(records), batch.created_ms, values)
    part.keys = keys
    return part
