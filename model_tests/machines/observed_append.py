"""One append as observed from outside: the request, the log's result, the answer, and the changes."""

from dataclasses import dataclass

from model_tests.machines.memory import SEQUENCES, RememberedBatch, ReplicaMemory
from reference.broker.produce import PartitionAnswer
from reference.log.batch import RecordBatch
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Offset


@dataclass(frozen=True, slots=True)
class ObservedAppend:
    """An append of a client's batch at a leader.

    Attributes:
        by: the client, and where, for messages.
        copies: how often the request carries the batch.
        known: what the log said of the producer before.
        highest_epoch: of the producer's batches in the log before, forgotten ones included; -1 none.
        forgetful: whether any replica has forgotten producers.
        log_end: before.
        grown: batches that are in the log now and were not before.
        unchanged: whether log and producer state are as they were.
    """

    by: str
    profile: Profile
    batch: RecordBatch
    copies: int
    known: ReplicaMemory
    highest_epoch: int
    forgetful: bool
    log_end: int
    answer: PartitionAnswer
    grown: tuple[RecordBatch, ...]
    unchanged: bool

    # --- what was asked ---------------------------------------------------------------------------------------

    @property
    def is_malformed(self) -> bool:
        """Whether no client may send a request like this."""
        batch = self.batch
        agrees = batch.last_offset_delta == batch.record_count - 1 or not self.profile.records_compared_with_offsets
        counted = batch.record_count > 0 and agrees
        unnumbered = batch.producer_id >= 0 and batch.base_sequence < 0
        return self.copies != 1 or batch.is_control or not counted or unnumbered

    @property
    def is_numbered(self) -> bool:
        """Whether it is well formed and of a producer with an id."""
        return not self.is_malformed and self.batch.producer_id >= 0

    @property
    def resent(self) -> RememberedBatch | None:
        """The batch of the window that this is an exact copy of."""
        if not self.is_numbered or self.batch.producer_epoch != self.known.epoch:
            return None
        requested = (int(self.batch.base_sequence), self.last_sequence)
        return next((r for r in self.known.window if (r.first_sequence, r.last_sequence) == requested), None)

    def offsets_of(self, first: RememberedBatch) -> tuple[int, int]:
        """The offsets that a resend is answered; across the largest sequence, 0.11 and 1.0 answer a wrong first one."""
        if self.profile.first_offset_by_sequences:
            return first.last_offset - (first.last_sequence - first.first_sequence), first.last_offset
        return first.first_offset, first.last_offset

    @property
    def last_sequence(self) -> int:
        """Of the batch's last record."""
        return (self.batch.base_sequence + self.batch.last_offset_delta) % SEQUENCES

    @property
    def is_new(self) -> bool:
        """Whether it is a numbered batch and no resend: then epoch and sequence decide."""
        return self.is_numbered and self.resent is None

    @property
    def is_stale(self) -> bool:
        """Whether its epoch is below the producer's."""
        return self.is_new and self.batch.producer_epoch < self.known.epoch

    # --- what came of it --------------------------------------------------------------------------------------

    @property
    def was_appended(self) -> bool:
        """Whether it is in the log, at its end, as it was asked, and was acknowledged so."""
        wanted = self.batch._replace(base_offset=Offset(self.log_end))
        at = self.grown[0] if len(self.grown) == 1 else None
        offsets = (self.log_end, self.log_end + self.batch.last_offset_delta)
        return (
            at is not None
            and at._replace(leader_epoch=wanted.leader_epoch) == wanted
            and self.answer.error == ErrorCode.NONE
            and not self.answer.duplicate
            and (self.answer.base_offset, self.answer.last_offset) == offsets
        )

    def was_refused(self, error: ErrorCode) -> bool:
        """Whether it was refused with this error."""
        return self.answer.error == error and not self.grown

    def __str__(self) -> str:
        """The request, the answer and what is known, in one line."""
        batch, known = self.batch, self.known
        window = ", ".join(f"{r.first_sequence}..{r.last_sequence}@{r.first_offset}" for r in known.window)
        as_duplicate = " as duplicate" if self.answer.duplicate else ""
        reported = f"{self.answer.error.name} at {self.answer.base_offset}..{self.answer.last_offset}"
        return (
            f"{self.by} sent producer {batch.producer_id} epoch {batch.producer_epoch} sequence {batch.base_sequence} "
            f"({batch.record_count} records, {self.profile.name}); the log knows epoch {known.epoch}, "
            f"window [{window}], end {self.log_end}; answered {reported}{as_duplicate}, "
            f"{len(self.grown)} batches appended"
        )
