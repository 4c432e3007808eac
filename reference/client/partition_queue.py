"""The batches of one producer for one partition: waiting, in flight, acknowledged.

In Kafka: RecordAccumulator and TxnPartitionEntry.
"""

from collections import deque
from collections.abc import Sequence as Listed
from enum import Enum, auto, unique
from typing import Final

from reference.broker.ids import ProducerIdentity
from reference.log import sequence
from spec.vocabulary import NO_OFFSET, NO_SEQUENCE, ErrorCode, Offset, Sequence, Timestamp


@unique
class Hold(Enum):
    """The first rule that keeps the next batch of a partition where it is."""

    # of the connection
    LEADER_UNKNOWN = auto()  # the partition has no leader, as far as the producer knows
    CONNECTION_BUSY = auto()  # so many requests to the leader are unanswered (max.in.flight.requests.per.connection)

    # of the batch
    NOTHING_WAITS = auto()
    MUTED = auto()  # a batch of the partition is in flight where one at a time keeps the order
    BACKING_OFF = auto()  # it was sent, and retry.backoff.ms is not over
    LINGERING = auto()  # it is not full, and linger.ms is not over

    # of the producer
    FAILED = auto()  # a fatal error has ended it
    NOT_IN_TRANSACTION = auto()  # the coordinator has not said that the partition belongs to the transaction
    NO_PRODUCER_ID = auto()

    # of the sequences
    STALE_IN_FLIGHT = auto()  # batches of another producer id or epoch are in flight
    UNRESOLVED = auto()  # a batch expired whose fate is not known
    WINDOW_FULL = auto()  # as many batches are in flight as the broker remembers
    NOT_FIRST_IN_FLIGHT = auto()  # an earlier batch must be sent again before this one is


MAX_IN_FLIGHT: Final = 5
"""Batches of a partition that may be unacknowledged at once: no more than the broker's window keeps."""


class ProducerBatch:
    """One batch on its way: numbered when it is first drained, and never changed by a retry.

    Attributes:
        ordinal: which of the batches for this partition it is, from 0.
        record_count: records in it.
        created_ms: when the application handed it over, milliseconds.
        values: of its records, none where they carry nothing.
        keys: likewise.
        identity: producer id and epoch, None until drained.
        base_sequence: -1 until drained.
        attempts: how often it was sent.
        sequence_reset: an epoch bump has renumbered it.
        requeued_ms: when it was last put back to be sent again, by a sender that backs off.
        outcome: None while undecided, else whether the application got a success.
        error: the application's error, if it failed; None where the batch was dropped with its transaction.
        offset: offset in the application's result, -1 if none.
    """

    __slots__ = (
        "attempts",
        "base_sequence",
        "created_ms",
        "error",
        "identity",
        "keys",
        "offset",
        "ordinal",
        "outcome",
        "record_count",
        "requeued_ms",
        "sequence_reset",
        "values",
    )

    def __init__(self, ordinal: int, record_count: int, created_ms: Timestamp, values: tuple[bytes, ...] = ()) -> None:
        """A batch that has not been drained."""
        self.ordinal = ordinal
        self.record_count = record_count
        self.created_ms = created_ms
        self.values = values
        self.keys: tuple[bytes | None, ...] = ()
        self.identity: ProducerIdentity | None = None
        self.base_sequence = NO_SEQUENCE
        self.attempts = 0
        self.sequence_reset = False
        self.requeued_ms: Timestamp = created_ms
        self.outcome: bool | None = None
        self.error: ErrorCode | None = None
        self.offset = NO_OFFSET

    @property
    def has_sequence(self) -> bool:
        """Whether it has been numbered."""
        return self.base_sequence != NO_SEQUENCE

    @property
    def last_sequence(self) -> Sequence:
        """Sequence of its last record, -1 if it is not numbered."""
        return sequence.last_of(self.base_sequence, self.record_count - 1)

    def number(self, identity: ProducerIdentity, base_sequence: Sequence) -> None:
        """Give it an identity and a base sequence."""
        self.identity = identity
        self.base_sequence = base_sequence

    def fail(self, error: ErrorCode | None = None) -> None:
        """The application gets a failure."""
        self.outcome = False
        self.error = error


class PartitionQueue:
    """One partition's queue; `in_flight` are the numbered, undecided batches in sequence order.

    Attributes:
        waiting: batches to drain; numbered ones, to be sent again, stand before all others.
        identity: producer id and epoch that the partition's sequences count under.
        next_sequence: of the next batch to be numbered.
        last_acked: highest acknowledged sequence under this identity, -1 none.
        last_acked_offset: offset of the newest acknowledged record, -1 none.
        unresolved_next: the sequence after an expired batch whose fate is unknown, -1 if there is none.
    """

    __slots__ = (
        "identity",
        "in_flight",
        "last_acked",
        "last_acked_offset",
        "max_in_flight",
        "next_sequence",
        "unresolved_next",
        "waiting",
    )

    def __init__(self, max_in_flight: int = MAX_IN_FLIGHT) -> None:
        """An empty queue without identity."""
        self.max_in_flight = max_in_flight
        self.waiting: deque[ProducerBatch] = deque()
        self.in_flight: list[ProducerBatch] = []
        self.identity: ProducerIdentity | None = None
        self.next_sequence = Sequence(0)
        self.last_acked = NO_SEQUENCE
        self.last_acked_offset = NO_OFFSET
        self.unresolved_next = NO_SEQUENCE

    @property
    def is_unresolved(self) -> bool:
        """Whether a batch expired whose fate is unknown."""
        return self.unresolved_next != NO_SEQUENCE

    def is_next(self, base_sequence: Sequence) -> bool:
        """Whether the sequence follows the last acknowledged one."""
        return sequence.succeeds(self.last_acked, base_sequence)

    def hold(self, identity: ProducerIdentity) -> Hold | None:
        """What keeps the head of the queue from being sent now, None if nothing does."""
        if not self.waiting:
            return Hold.NOTHING_WAITS
        head = self.waiting[0]
        if head.has_sequence:
            return None if self.is_first_in_flight(head) else Hold.NOT_FIRST_IN_FLIGHT
        if self.in_flight and self.identity != identity:
            return Hold.STALE_IN_FLIGHT
        if self.is_unresolved:
            return Hold.UNRESOLVED
        return Hold.WINDOW_FULL if len(self.in_flight) >= self.max_in_flight else None

    def is_first_in_flight(self, batch: ProducerBatch) -> bool:
        """Whether a batch to be sent again is the lowest undecided one: retries go one at a time, in order."""
        return bool(self.in_flight) and self.in_flight[0] is batch

    def drain(self, identity: ProducerIdentity) -> ProducerBatch:
        """Take the head of the queue, numbered if it was not."""
        batch = self.waiting.popleft()
        if not batch.has_sequence:
            self.adopt(identity)
            batch.number(identity, self.next_sequence)
            self.next_sequence = sequence.increment(self.next_sequence, batch.record_count)
            self.in_flight.append(batch)
        batch.attempts += 1
        return batch

    def adopt(self, identity: ProducerIdentity) -> None:
        """Count sequences under a new identity, from 0; only while nothing is in flight under the old one."""
        if self.identity != identity:
            self.start_at_beginning(identity)

    def start_at_beginning(self, identity: ProducerIdentity) -> None:
        """Renumber everything in flight from 0 under the identity."""
        self.identity = identity
        self.next_sequence = Sequence(0)
        for batch in self.in_flight:
            batch.number(identity, self.next_sequence)
            batch.sequence_reset = True
            self.next_sequence = sequence.increment(self.next_sequence, batch.record_count)
        self.last_acked = NO_SEQUENCE
        self.unresolved_next = NO_SEQUENCE

    def close_gap(self, batch: ProducerBatch) -> None:
        """A numbered batch is certainly not in the log: those behind it in flight move up into its sequences."""
        if batch.identity != self.identity or batch not in self.in_flight:
            return
        for later in self.in_flight[self.in_flight.index(batch) + 1 :]:
            later.base_sequence = sequence.decrement(later.base_sequence, batch.record_count)
            later.sequence_reset = True
        self.next_sequence = sequence.decrement(self.next_sequence, batch.record_count)

    def forget(self) -> None:
        """Know nothing of the sequences any more; the next batch to be numbered starts at 0 under its identity."""
        self.identity = None
        self.next_sequence = Sequence(0)
        self.last_acked = NO_SEQUENCE
        self.last_acked_offset = NO_OFFSET
        self.unresolved_next = NO_SEQUENCE

    def drop_undrained(self) -> list[ProducerBatch]:
        """Take out the batches that have never been numbered; those that have may be in the log already."""
        dropped = [batch for batch in self.waiting if not batch.has_sequence]
        self.waiting = deque(batch for batch in self.waiting if batch.has_sequence)
        return dropped

    def drop_all(self) -> list[ProducerBatch]:
        """Take out every batch, decided or not."""
        dropped = [*self.in_flight, *self.drop_undrained()]
        self.in_flight.clear()
        self.waiting.clear()
        return dropped

    def requeue(self, batch: ProducerBatch) -> None:
        """Put a batch back to be sent again, among the other numbered ones in sequence order."""
        order = {id(numbered): place for place, numbered in enumerate(self.in_flight)}
        place = 0
        while place < len(self.waiting) and order.get(id(self.waiting[place]), len(order)) < order[id(batch)]:
            place += 1
        self.waiting.insert(place, batch)

    def split(self, batch: ProducerBatch, parts: Listed[ProducerBatch]) -> None:
        """Send a batch in parts: they have its sequences, and its place among those in flight."""
        following = batch.base_sequence
        for part in parts:
            if batch.identity is not None:
                part.number(batch.identity, following)
            part.sequence_reset = batch.sequence_reset
            following = sequence.increment(following, part.record_count)
        place = self.in_flight.index(batch)
        self.in_flight[place : place + 1] = parts
        for part in parts:
            self.requeue(part)

    def acknowledge(self, batch: ProducerBatch, offset: Offset) -> None:
        """Note a success, late ones of expired batches included."""
        if batch.identity == self.identity and sequence.is_later(batch.last_sequence, self.last_acked):
            self.last_acked = batch.last_sequence
        if offset != NO_OFFSET:
            self.last_acked_offset = Offset(max(self.last_acked_offset, offset + batch.record_count - 1))
        self.remove(batch)

    def expire(self, batch: ProducerBatch) -> None:
        """Give up a batch; the fate of one ever sent is unknown, and nothing new is numbered until that is settled."""
        self.remove(batch)
        if batch.attempts:
            following = sequence.increment(batch.last_sequence, 1)
            if sequence.is_later(following, self.unresolved_next):
                self.unresolved_next = following

    def remove(self, batch: ProducerBatch) -> None:
        """Take a decided batch out of the queue."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)
        if batch in self.waiting:
            self.waiting.remove(batch)
