"""The checks of one append for one producer, in Kafka's order, and the entry that follows (ProducerAppendInfo).

Nothing outside this object changes until the append of all batches has passed: a refusal is pure.
"""

from typing import Final, NamedTuple

from reference.errors import (
    DuplicateSequence,
    Impossible,
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequence,
    Refusal,
    TransactionCoordinatorFenced,
    UnknownProducerId,
)
from reference.log import sequence
from reference.log.batch import RecordBatch
from reference.log.producer_entry import CachedBatch, ProducerEntry, VerificationEntry
from reference.log.record import EndTransactionMarker, MalformedRecords
from spec import rules
from spec.versions import Profile
from spec.vocabulary import (
    MAX_EPOCH,
    NO_EPOCH,
    NO_OFFSET,
    NO_SEQUENCE,
    ControlType,
    Offset,
    Origin,
    ProducerId,
    Sequence,
)

UNKNOWN_VERSION: Final = -1
"""No transaction version came with the append: data, and all that is replicated."""


class CompletedTxn(NamedTuple):
    """A transaction that a marker ended on the partition."""

    producer_id: ProducerId
    first_offset: Offset
    marker_offset: Offset
    aborted: bool


class ProducerAppend:
    """One producer's part in one append.

    Attributes:
        current: the entry before the append.
        entry: the entry after the batches accepted so far.
        verification: the verification entry before the append.
        completed: transactions that the accepted markers ended.
    """

    __slots__ = ("completed", "current", "entry", "marker_version", "origin", "producer_id", "profile", "verification")

    def __init__(
        self,
        profile: Profile,
        producer_id: ProducerId,
        current: ProducerEntry,
        verification: VerificationEntry | None,
        origin: Origin,
        marker_version: int,
    ) -> None:
        """The part before any batch is accepted."""
        self.profile = profile
        self.producer_id = producer_id
        self.current = current
        self.entry = current
        self.verification = verification
        self.origin = origin
        self.marker_version = marker_version
        self.completed: list[CompletedTxn] = []

    def append(self, batch: RecordBatch) -> None:
        """Accept a placed batch into the entry.

        Raises:
            Refusal: a check fails; the entry must then be discarded.
        """
        if not batch.is_control:
            self.append_data(batch)
            return
        marker = batch.marker()
        if marker is not None:  # else cleaning has removed the whole transaction
            self.append_marker(batch, marker)

    # --- data -------------------------------------------------------------------------------------------------

    def append_data(self, batch: RecordBatch) -> None:
        """Check a data batch and add it to the entry.

        Raises:
            Refusal: the first check that fails.
        """
        if self.checks_data_epoch():
            self.check_epoch(batch)
        if self.origin == Origin.CLIENT:
            self.check_sequence(batch)
        self.check_transactional(batch)
        self.remember(batch)
        self.begin_transaction(batch)

    def checks_data_epoch(self) -> bool:
        """Whether the epoch of data is checked: of a client, and since 2.4 of the leader's own appends."""
        if self.origin == Origin.CLIENT:
            return True
        return self.origin != Origin.REPLICATION and self.profile.coordinator_data_checked

    def check_epoch(self, batch: RecordBatch) -> None:
        """Check that an epoch does not fall.

        Raises:
            InvalidProducerEpoch: it does.
        """
        # [fence.stale_epoch]
        if batch.producer_epoch < self.entry.epoch:
            raise self.stale_epoch(batch)

    def check_sequence(self, batch: RecordBatch) -> None:
        """The sequence checks of a client's batch, in Kafka's order.

        Raises:
            OutOfOrderSequence: the base sequence is neither the next one nor an allowed first one.
            UnknownProducerId: before 2.5, it is not 0 and the producer is unknown.
            DuplicateSequence: in the proposed variant alone, it is a past one.
        """
        if self.verification is not None:
            self.check_first_after_bump(batch, self.verification)
            self.check_lowest_waiting(batch, self.verification)

        if batch.producer_epoch != self.entry.epoch:
            self.check_first_of_epoch(batch)
        else:
            self.check_successor(batch)

    def check_first_after_bump(self, batch: RecordBatch, verification: VerificationEntry) -> None:
        """A client that bumps its epoch with each transaction starts at 0 where it is unknown.

        Raises:
            OutOfOrderSequence: its first sequence is another.
        """
        # [seq.first]
        if (
            self.profile.first_after_bump_is_zero
            and verification.bumps
            and batch.base_sequence != 0
            and not self.current.batches
        ):
            raise OutOfOrderSequence(rules.SEQ_FIRST, expected=0, got=batch.base_sequence)

    def check_lowest_waiting(self, batch: RecordBatch, verification: VerificationEntry) -> None:
        """No batch overtakes an earlier one that waited for the same verification.

        Raises:
            OutOfOrderSequence: the batch is later than the lowest that waited.
        """
        # [seq.order]
        if batch.base_sequence > verification.lowest_sequence:
            raise OutOfOrderSequence(rules.SEQ_ORDER, expected=verification.lowest_sequence, got=batch.base_sequence)

    def check_first_of_epoch(self, batch: RecordBatch) -> None:
        """A new epoch starts at 0; the first sequence of an unknown producer depends on the version.

        Raises:
            OutOfOrderSequence: the first sequence is not 0.
            UnknownProducerId: the same of an unknown producer, before 2.5.
        """
        if batch.base_sequence == 0:
            return

        # [seq.epoch_reset]
        if self.entry.epoch != NO_EPOCH:
            raise OutOfOrderSequence(rules.SEQ_EPOCH_RESET, expected=0, got=batch.base_sequence)

        # [seq.first]
        if not self.profile.any_first_sequence:
            raise self.unknown_producer(batch)

    def check_successor(self, batch: RecordBatch) -> None:
        """Within an epoch the next base sequence follows the last sequence.

        Raises:
            OutOfOrderSequence: it does not follow.
            DuplicateSequence: in the proposed variant, it is a past one.
            UnknownProducerId: before 2.5, no sequence is known since the last marker, and it is not 0.
        """
        last = self.entry.last_sequence

        # [seq.first]
        if self.profile.unknown_after_marker and last == NO_SEQUENCE and batch.base_sequence != 0:
            raise self.unknown_producer(batch)

        # [seq.successor]
        if not (self.new_in_this_append() or self.in_sequence(last, batch.base_sequence)):
            raise self.not_in_sequence(last, batch.base_sequence)

    def check_transactional(self, batch: RecordBatch) -> None:
        """While its transaction is open, a producer writes nothing outside it.

        Raises:
            InvalidTxnState: the batch is not of the transaction that is open.
        """
        # [txn.atomic]
        if self.entry.in_transaction and not batch.is_transactional:
            raise InvalidTxnState(rules.TXN_ATOMIC, open_since=self.entry.txn_first_offset)

    def new_in_this_append(self) -> bool:
        """Whether this very append made the producer known: since 2.5 its later batches then follow any sequence."""
        return self.profile.any_first_sequence and self.current.epoch == NO_EPOCH

    def in_sequence(self, last: Sequence, following: Sequence) -> bool:
        """Whether `following` comes right after `last`."""
        return sequence.succeeds(last, following)

    def remember(self, batch: RecordBatch) -> None:
        """Add a batch to the producer's cache; a change of epoch empties it first."""
        entry = self.entry
        cached = CachedBatch(batch.last_sequence, batch.last_offset, self.offset_delta(batch), batch.max_timestamp)
        kept = self.evict(entry.batches) if batch.producer_epoch == entry.epoch else ()
        self.entry = ProducerEntry(
            batch.producer_epoch,
            entry.coordinator_epoch,
            batch.max_timestamp,
            entry.txn_first_offset,
            (*kept, cached),
        )

    def offset_delta(self, batch: RecordBatch) -> int:
        """The version's difference of last and first offset of a batch; 0.11 and 1.0 take it from the sequences."""
        if self.profile.first_offset_by_sequences:
            return batch.last_sequence - batch.base_sequence
        return batch.last_offset_delta

    def evict(self, batches: tuple[CachedBatch, ...]) -> tuple[CachedBatch, ...]:
        """The cached batches that stay when one more is added."""
        kept = self.profile.cached_batches - 1
        return batches[-kept:] if kept else ()

    def begin_transaction(self, batch: RecordBatch) -> None:
        """The first transactional batch opens the transaction at its offset, as the version computes it."""
        if batch.is_transactional and not self.entry.in_transaction:
            first = Offset(batch.last_offset - self.offset_delta(batch))
            self.entry = self.entry._replace(txn_first_offset=first)

    # --- markers ----------------------------------------------------------------------------------------------

    def append_marker(self, batch: RecordBatch, marker: EndTransactionMarker) -> None:
        """Check a transaction marker and end the transaction.

        Raises:
            MalformedRecords: the control batch is neither a commit nor an abort.
            Refusal: its producer epoch or its coordinator epoch is stale.
        """
        if marker.control_type not in (ControlType.ABORT, ControlType.COMMIT):
            raise MalformedRecords(f"control batch of type {marker.control_type.name} from a producer id")
        if not self.tolerates_stale_marker():
            self.check_marker_epoch(batch)
            self.check_coordinator_epoch(marker)
        self.complete_transaction(batch, marker)
        self.adopt_marker(batch, marker)

    def check_marker_epoch(self, batch: RecordBatch) -> None:
        """Under version 2 a marker carries a bumped epoch, a retry of it excepted; before, no lower one.

        Raises:
            InvalidProducerEpoch: the marker's epoch is not above the producer's, or falls.
        """
        if self.effective_marker_version() < 2:
            self.check_epoch(batch)
            return

        # [txn.marker_once]
        if batch.producer_epoch <= self.entry.epoch and not self.is_marker_retry(batch):
            raise InvalidProducerEpoch(rules.TXN_MARKER_ONCE, current=self.entry.epoch, got=batch.producer_epoch)

    def effective_marker_version(self) -> int:
        """The transaction version by which a marker is judged.

        Raises:
            Impossible: the profile judges markers by it, and this one came without.
        """
        if not self.profile.marker_epoch_strict or self.origin == Origin.REPLICATION:
            return 0
        if self.marker_version == UNKNOWN_VERSION:
            raise Impossible("a marker needs the transaction version that came with it")
        return self.marker_version

    def is_marker_retry(self, batch: RecordBatch) -> bool:
        """Whether a marker of the current epoch repeats an earlier one, or no epoch is left to bump."""
        same_epoch = batch.producer_epoch == self.entry.epoch
        at_the_last = self.profile.last_epoch_recovers and batch.producer_epoch == MAX_EPOCH
        return same_epoch and (not self.entry.in_transaction or at_the_last)

    def check_coordinator_epoch(self, marker: EndTransactionMarker) -> None:
        """A marker of a replaced coordinator is refused.

        Raises:
            TransactionCoordinatorFenced: a newer coordinator has written for this producer.
        """
        # [fence.coordinator_epoch]
        if marker.coordinator_epoch < self.entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(current=self.entry.coordinator_epoch, got=marker.coordinator_epoch)

    def complete_transaction(self, batch: RecordBatch, marker: EndTransactionMarker) -> None:
        """Note the end of the open transaction; a marker without one ends nothing."""
        if self.entry.in_transaction:
            aborted = marker.control_type == ControlType.ABORT
            ended = CompletedTxn(self.producer_id, self.entry.txn_first_offset, batch.base_offset, aborted)
            self.completed.append(ended)

    def adopt_marker(self, batch: RecordBatch, marker: EndTransactionMarker) -> None:
        """Take the marker's epochs and time; the cache stays only if the epoch does."""
        kept = self.entry.batches if batch.producer_epoch == self.entry.epoch else ()
        batches = (self.as_batch(batch, kept),) if self.profile.marker_replaces_batch else kept
        self.entry = ProducerEntry(
            batch.producer_epoch, marker.coordinator_epoch, batch.max_timestamp, NO_OFFSET, batches
        )

    def as_batch(self, marker: RecordBatch, kept: tuple[CachedBatch, ...]) -> CachedBatch:
        """The cache of 0.11 after a marker: one record at its offset, with the last sequence of its epoch, or none."""
        last = kept[-1].last_sequence if kept else NO_SEQUENCE
        return CachedBatch(last, marker.last_offset, 0, marker.max_timestamp)

    # --- answers ----------------------------------------------------------------------------------------------

    def tolerates_stale_marker(self) -> bool:
        """Whether falling epochs of a marker are only logged: on a replica, since 2.4."""
        return self.origin == Origin.REPLICATION and self.profile.replica_tolerates_stale_marker

    def stale_epoch(self, batch: RecordBatch) -> Refusal:
        """The answer to a stale epoch: code 47 in every release."""
        return InvalidProducerEpoch(current=self.entry.epoch, got=batch.producer_epoch)

    def not_in_sequence(self, last: Sequence, got: Sequence) -> Refusal:
        """The error for a sequence that does not follow; the proposed variant distinguishes past and future ones."""
        if self.profile.split_out_of_order and sequence.is_past(sequence.increment(last, 1), got):
            return DuplicateSequence(last=last, got=got)
        return OutOfOrderSequence(last=last, got=got)

    def unknown_producer(self, batch: RecordBatch) -> Refusal:
        """The error, before 2.5, for a first sequence other than 0 of a producer without known sequence."""
        if self.profile.unknown_producer_error:
            return UnknownProducerId(expected=0, got=batch.base_sequence)
        return OutOfOrderSequence(rules.SEQ_FIRST, expected=0, got=batch.base_sequence)
