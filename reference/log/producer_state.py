"""A replica's state of producers: entries, verifications, open transactions (ProducerStateManager)."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from reference.log.batch import RecordBatch
from reference.log.producer_append import UNKNOWN_VERSION, CompletedTxn, ProducerAppend
from reference.log.producer_entry import NO_GUARD, UNKNOWN_PRODUCER, ProducerEntry, VerificationEntry
from spec.versions import Profile
from spec.vocabulary import NO_OFFSET, NO_PRODUCER_ID, Epoch, Offset, Origin, ProducerId, Sequence, Timestamp

PRODUCER_EXPIRATION_MS: Final = 24 * 60 * 60 * 1000
"""Default of producer.id.expiration.ms: one day."""


class UnreplicatedTxn(NamedTuple):
    """A transaction whose marker is in the log but not yet below the high watermark."""

    first_offset: Offset
    marker_offset: Offset


Snapshot = Mapping[ProducerId, ProducerEntry]
"""What survives a restart: one entry per producer, with its newest batches only."""


class ProducerState:
    """One replica's state of the producers of its partition."""

    __slots__ = ("_last_guard", "expiration_ms", "ongoing", "producers", "profile", "unreplicated", "verifications")

    def __init__(self, profile: Profile, expiration_ms: int = PRODUCER_EXPIRATION_MS) -> None:
        """A partition without producers."""
        self.profile = profile
        self.expiration_ms = expiration_ms
        self.producers: dict[ProducerId, ProducerEntry] = {}
        self.verifications: dict[ProducerId, VerificationEntry] = {}
        self.ongoing: dict[Offset, ProducerId] = {}
        self.unreplicated: dict[Offset, UnreplicatedTxn] = {}
        self._last_guard = NO_GUARD

    def entry(self, producer_id: ProducerId) -> ProducerEntry:
        """The producer's entry, `UNKNOWN_PRODUCER` if there is none."""
        return self.producers.get(producer_id, UNKNOWN_PRODUCER)

    def prepare(self, producer_id: ProducerId, origin: Origin, marker_version: int = UNKNOWN_VERSION) -> ProducerAppend:
        """The producer's part in a new append."""
        return ProducerAppend(
            self.profile,
            producer_id,
            self.entry(producer_id),
            self.verifications.get(producer_id),
            origin,
            marker_version,
        )

    def update(self, part: ProducerAppend) -> None:
        """Take over an accepted append: entry and open transaction."""
        before, after = part.current.txn_first_offset, part.entry.txn_first_offset
        self.producers[part.producer_id] = part.entry
        if after not in (before, NO_OFFSET):
            self.ongoing[after] = part.producer_id

    def complete(self, txn: CompletedTxn) -> None:
        """The transaction is no longer ongoing; it holds the last stable offset until its marker is replicated."""
        self.ongoing.pop(txn.first_offset, None)
        self.unreplicated[txn.first_offset] = UnreplicatedTxn(txn.first_offset, txn.marker_offset)

    def on_high_watermark(self, high_watermark: Offset) -> None:
        """Drop the unreplicated transactions whose markers are now below the high watermark."""
        if self.unreplicated:
            self.unreplicated = {
                first: txn for first, txn in self.unreplicated.items() if txn.marker_offset >= high_watermark
            }

    def first_unstable(self) -> Offset:
        """First offset of the oldest transaction that is ongoing or unreplicated, -1 if there is none."""
        if not self.ongoing and not self.unreplicated:
            return NO_OFFSET
        return min((*self.ongoing, *self.unreplicated))

    def last_stable_after(self, txn: CompletedTxn) -> Offset:
        """An aborted-index entry's last stable offset: the oldest other ongoing transaction, else past the marker."""
        others = [first for first, producer_id in self.ongoing.items() if producer_id != txn.producer_id]
        return min(others, default=Offset(txn.marker_offset + 1))

    # --- verification -----------------------------------------------------------------------------------------

    def is_ongoing(self, producer_id: ProducerId, epoch: Epoch) -> bool:
        """Whether the producer has an open transaction; since 4.0 only one of this epoch counts."""
        entry = self.entry(producer_id)
        return entry.in_transaction and (entry.epoch == epoch or not self.profile.ongoing_compares_epoch)

    def start_verification(
        self, producer_id: ProducerId, base_sequence: Sequence, epoch: Epoch, bumps: bool, now: Timestamp
    ) -> int:
        """Begin or join the verification of a producer's transaction; the guard that its append must carry.

        Args:
            producer_id: of the batch.
            base_sequence: of the batch; the lowest that waits is appended first.
            epoch: of the batch.
            bumps: its client raises the epoch with every transaction (transaction version 2).
            now: when the wait begins, in milliseconds.
        """
        if self.is_ongoing(producer_id, epoch):
            return NO_GUARD
        entry = self.verifications.get(producer_id)
        if entry is None:
            self._last_guard += 1
            entry = VerificationEntry(self._last_guard, base_sequence, epoch, bumps, now)
        else:
            entry = entry.joined_by(base_sequence, epoch)
        self.verifications[producer_id] = entry
        return entry.guard

    def is_verified(self, producer_id: ProducerId, guard: int) -> bool:
        """Whether `guard` is that of the producer's verification."""
        entry = self.verifications.get(producer_id)
        return guard != NO_GUARD and entry is not None and entry.guard == guard

    def clear_verification(self, batch: RecordBatch) -> None:
        """An accepted transactional batch ends the verification, unless that belongs to the next transaction."""
        entry = self.verifications.get(batch.producer_id)
        if entry is not None and not self.is_of_next_transaction(entry, batch):
            del self.verifications[batch.producer_id]

    def is_of_next_transaction(self, entry: VerificationEntry, batch: RecordBatch) -> bool:
        """Whether a marker hits the verification of a transaction that began under the marker's own epoch."""
        keeps = self.profile.marker_keeps_next_guard and entry.bumps
        return keeps and batch.is_control and batch.producer_epoch == entry.epoch

    # --- expiry, restart, replay ------------------------------------------------------------------------------

    def is_expired(self, entry: ProducerEntry, now: Timestamp) -> bool:
        """Whether the producer has been silent for too long, by its own timestamps, and has no open transaction."""
        return not entry.in_transaction and now - entry.last_timestamp >= self.expiration_ms

    def due(self, now: Timestamp) -> tuple[ProducerId, ...]:
        """The producers that the next check removes."""
        return tuple(pid for pid, entry in self.producers.items() if self.is_expired(entry, now))

    def expire(self, now: Timestamp) -> tuple[ProducerId, ...]:
        """Remove silent producers and old verifications; returns the removed producers."""
        expired = self.due(now)
        for producer_id in expired:
            del self.producers[producer_id]
        self.verifications = {
            pid: entry for pid, entry in self.verifications.items() if now - entry.created_ms < self.expiration_ms
        }
        return expired

    def snapshot(self) -> Snapshot:
        """The state that survives a restart; producer ids in ascending order."""
        kept = self.profile.recovered_batches
        return {producer_id: self.producers[producer_id].shrunk(kept) for producer_id in sorted(self.producers)}

    def restore(self, snapshot: Snapshot, now: Timestamp) -> None:
        """Start again from a snapshot: without the expired, and without verifications."""
        self.producers = {pid: entry for pid, entry in snapshot.items() if not self.is_expired(entry, now)}
        self.verifications = {}
        opened = sorted((entry.txn_first_offset, pid) for pid, entry in self.producers.items() if entry.in_transaction)
        self.ongoing = dict(opened)

    def rebuild(self, batches: Iterable[RecordBatch], now: Timestamp) -> None:
        """Start again from the batches of the log, as a replica that copies them."""
        self.unreplicated = {}
        self.restore({}, now)
        for batch in batches:
            self.replay(batch)
        self.expire(now)

    def replay(self, batch: RecordBatch) -> tuple[CompletedTxn, ...]:
        """Follow a batch that a leader has accepted; the transactions that it ended."""
        if batch.producer_id == NO_PRODUCER_ID:
            return ()
        part = self.prepare(batch.producer_id, Origin.REPLICATION)
        part.append(batch)
        self.update(part)
        for txn in part.completed:
            self.complete(txn)
        return tuple(part.completed)
