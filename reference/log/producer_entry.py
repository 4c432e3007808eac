"""A partition's state of one producer (ProducerStateEntry, VerificationStateEntry)."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from reference.log import sequence
from reference.log.batch import RecordBatch
from spec.vocabulary import (
    NO_COORDINATOR_EPOCH,
    NO_EPOCH,
    NO_OFFSET,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    CoordinatorEpoch,
    Epoch,
    Offset,
    Sequence,
    Timestamp,
)

NO_GUARD: Final = 0
"""The guard of an append without verification (VerificationGuard.SENTINEL)."""


class CachedBatch(NamedTuple):
    """The part of a batch that duplicate detection needs (BatchMetadata).

    Attributes:
        last_sequence: of the last record.
        last_offset: of the last record.
        offset_delta: last offset minus first; in 0.11 and 1.0 last sequence minus first, negative across the wrap.
        timestamp: the greatest of its records, milliseconds.
    """

    last_sequence: Sequence
    last_offset: Offset
    offset_delta: int
    timestamp: Timestamp

    @property
    def first_offset(self) -> Offset:
        """Offset of the batch's first record."""
        return Offset(self.last_offset - self.offset_delta)

    @property
    def first_sequence(self) -> Sequence:
        """Sequence of the first record, derived from the last."""
        return sequence.decrement(self.last_sequence, self.offset_delta)


class ProducerEntry(NamedTuple):
    """One producer on one partition; never changed, only replaced.

    Attributes:
        epoch: of the newest accepted batch or marker, -1 unknown producer.
        coordinator_epoch: of the newest marker, -1 none.
        last_timestamp: of the newest batch or marker, milliseconds; expiry counts from it.
        txn_first_offset: where the ongoing transaction begins, -1 none.
        batches: the newest batches of this epoch, oldest first.
    """

    epoch: Epoch = NO_EPOCH
    coordinator_epoch: CoordinatorEpoch = NO_COORDINATOR_EPOCH
    last_timestamp: Timestamp = NO_TIMESTAMP
    txn_first_offset: Offset = NO_OFFSET
    batches: tuple[CachedBatch, ...] = ()

    @property
    def last_sequence(self) -> Sequence:
        """Sequence of the newest record known, -1 none."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on the partition."""
        return self.txn_first_offset != NO_OFFSET

    def find_duplicate(self, batch: RecordBatch) -> CachedBatch | None:
        """The cached batch with exactly the epoch, first and last sequence of `batch`."""
        if batch.producer_epoch != self.epoch:
            return None
        last_sequence = batch.last_sequence
        for cached in self.batches:
            if cached.last_sequence == last_sequence and cached.first_sequence == batch.base_sequence:
                return cached
        return None

    def shrunk(self, kept: int) -> "ProducerEntry":
        """The entry as a snapshot keeps it: with its newest `kept` batches only."""
        return self._replace(batches=self.batches[-kept:] if kept else ())


UNKNOWN_PRODUCER: Final = ProducerEntry()
"""The entry of a producer that the partition does not know."""


@dataclass(frozen=True, slots=True)
class VerificationEntry:
    """A verification of a producer's transaction that has begun and has not led to an append yet.

    Attributes:
        guard: unique number that the append must carry.
        lowest_sequence: lowest sequence that waits for it.
        epoch: producer epoch that waits for it.
        bumps: the client bumps its epoch with each transaction (transaction version 2).
        created_ms: when it began, milliseconds; expiry counts from it.
    """

    guard: int
    lowest_sequence: Sequence
    epoch: Epoch
    bumps: bool
    created_ms: Timestamp

    def joined_by(self, base_sequence: Sequence, epoch: Epoch) -> "VerificationEntry":
        """The entry after another request joins it: a newer epoch starts over, a lower sequence lowers."""
        lowest, newest = self.lowest_sequence, self.epoch
        if epoch > newest:
            lowest, newest = base_sequence, epoch
        elif epoch == newest:
            lowest = min(lowest, base_sequence)
        return VerificationEntry(self.guard, lowest, newest, self.bumps, self.created_ms)
