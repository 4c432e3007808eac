"""The expected producer state of a replica: what its log implies, less what restarts and expiry remove.

Written from the log's side alone, so that it can be compared with what the replica really knows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from reference.log.batch import RecordBatch
from spec.versions import Profile
from spec.vocabulary import NO_EPOCH, NO_SEQUENCE, ProducerId, Timestamp

SEQUENCES = 2**31
"""How many sequence numbers there are."""


class RememberedBatch(NamedTuple):
    """One batch of the window."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int


class ReplicaMemory(NamedTuple):
    """One producer on one replica: its epoch, and the window, newest first; -1 and empty if it is unknown."""

    epoch: int = NO_EPOCH
    window: tuple[RememberedBatch, ...] = ()

    @property
    def last_sequence(self) -> int:
        """Of the newest batch, -1 none."""
        return self.window[0].last_sequence if self.window else NO_SEQUENCE


UNKNOWN = ReplicaMemory()


@dataclass(slots=True)
class Memory:
    """The marks that faults leave on one replica's memory.

    Attributes:
        forgotten: by producer, the offset below which its batches are forgotten.
        recovered_to: below this offset a restart has left only the newest batch of each producer.
    """

    profile: Profile
    expiration_ms: int
    forgotten: dict[ProducerId, int] = field(default_factory=dict)
    recovered_to: int = 0

    def known(self, log: Iterable[RecordBatch], producer_id: ProducerId) -> ReplicaMemory:
        """What the replica with this log should know of a producer."""
        remembered: list[RememberedBatch] = []
        epoch: int = NO_EPOCH
        for batch in reversed(self.of_producer(log, producer_id)):
            if epoch not in (NO_EPOCH, batch.producer_epoch) or not self.has_room(remembered, batch):
                break
            epoch = batch.producer_epoch
            remembered.append(remember(batch))
        return ReplicaMemory(epoch, tuple(remembered))

    def of_producer(self, log: Iterable[RecordBatch], producer_id: ProducerId) -> list[RecordBatch]:
        """The producer's batches that are not forgotten, oldest first."""
        start = self.forgotten.get(producer_id, 0)
        return [batch for batch in log if batch.producer_id == producer_id and batch.base_offset >= start]

    def has_room(self, remembered: list[RememberedBatch], batch: RecordBatch) -> bool:
        """Whether the window still holds this older batch."""
        if len(remembered) == self.profile.cached_batches:
            return False
        recovered = [older for older in remembered if older.first_offset < self.recovered_to]
        return batch.base_offset >= self.recovered_to or len(recovered) < self.profile.recovered_batches

    def restarts(self, log: Iterable[RecordBatch], now: Timestamp) -> None:
        """The replica comes back from disk."""
        batches = tuple(log)
        self.recovered_to = batches[-1].last_offset + 1 if batches else 0
        self.forget_silent(batches, now)

    def truncates(self, log: Iterable[RecordBatch], now: Timestamp) -> None:
        """The replica lost the end of its log, and has read what is left."""
        self.recovered_to = 0
        self.forgotten.clear()
        self.forget_silent(tuple(log), now)

    def forget_silent(self, log: tuple[RecordBatch, ...], now: Timestamp) -> None:
        """Forget the producers whose newest batch is too old."""
        newest = {batch.producer_id: batch for batch in log}
        for producer_id, batch in newest.items():
            if now - batch.max_timestamp >= self.expiration_ms:
                self.forgotten[producer_id] = batch.last_offset + 1


def remember(batch: RecordBatch) -> RememberedBatch:
    """What the window keeps of a batch in the log."""
    first = int(batch.base_sequence)
    last = (first + batch.last_offset_delta) % SEQUENCES
    return RememberedBatch(first, last, batch.base_offset, batch.base_offset + batch.last_offset_delta)
