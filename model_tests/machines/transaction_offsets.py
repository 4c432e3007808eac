"""The offsets of groups, by the log of their partition: the committed ones, and those that await a marker."""

from collections.abc import Sequence
from typing import NamedTuple

from model_tests.machines.ghost_state import LoggedBatch, Owner
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_record import OffsetKey, decode_key, decode_offset
from reference.broker.group_requests import MemberClaim
from reference.client.coordinator_channel import CoordinatorAnswer
from reference.log.batch import RecordBatch
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import ControlType, ErrorCode


class Recorded(NamedTuple):
    """An offset, and where its record is."""

    offset: int
    at: int


class Passage(NamedTuple):
    """What one transaction of a worker has read: from an offset up to another."""

    start: int
    end: int


class OffsetsPartition:
    """One partition of `__consumer_offsets`.

    Attributes:
        committed: what counts, by key.
        pending: what waits, by producer id.
        passages: of workers, by transaction.
        claims: with which a transaction's offsets were sent.
        member: the claim of the group's one member.
    """

    def __init__(self, watch: TransactionWatch) -> None:
        """Nothing is committed."""
        self.watch = watch
        self.committed: dict[OffsetKey, Recorded] = {}
        self.pending: dict[int, dict[OffsetKey, Recorded]] = {}
        self.passages: dict[Owner, Passage] = {}
        self.claims: dict[Owner, MemberClaim] = {}
        self.member: MemberClaim | None = None
        self._counted: set[Owner] = set()
        self._read = 0

    def looks(self, batches: Sequence[RecordBatch]) -> None:
        """Follow the log."""
        new = batches[self._read :]
        self._read = len(batches)
        for batch in new:
            marker = batch.marker() if batch.is_control else None
            if marker is not None:
                self._ends(batch.producer_id, marker.control_type == ControlType.COMMIT)
            elif not batch.is_control:
                self._takes(batch)

    def _takes(self, batch: RecordBatch) -> None:
        place = self.pending.setdefault(batch.producer_id, {}) if batch.is_transactional else self.committed
        for record in batch.records():
            key = decode_key(record.key or b"")
            if isinstance(key, OffsetKey) and record.value is not None:
                place[key] = Recorded(decode_offset(record.value).offset, batch.base_offset + record.offset_delta)

    def _ends(self, producer_id: int, commits: bool) -> None:
        for key, recorded in self.pending.pop(producer_id, {}).items():
            current = self.committed.get(key)
            if commits and (current is None or current.at < recorded.at):
                self.committed[key] = recorded

    # --- invariants -------------------------------------------------------------------------------------------

    @evidences(rules.OFFSETS_GENERATION_FENCE, Layer.STATEFUL)
    def of_the_member(self, written: LoggedBatch) -> None:
        """Offsets that name a member are taken from the member of the present generation alone."""
        claim = None if written.owner is None else self.claims.get(written.owner)
        if claim is not None:
            message = f"{written} comes from {claim}, the member is {self.member}"
            self.watch.expect(rules.OFFSETS_GENERATION_FENCE, claim == self.member, message)

    @evidences(rules.OFFSETS_GENERATION_FENCE, Layer.STATEFUL)
    def answered(self, owner: Owner | None, answer: CoordinatorAnswer) -> None:
        """Who is not the member is refused."""
        claim = None if owner is None else self.claims.get(owner)
        if claim is not None:
            refused = ErrorCode.NONE not in answer.partitions.values()
            message = f"{owner} commits offsets as {claim}, the member is {self.member}"
            self.watch.expect(rules.OFFSETS_GENERATION_FENCE, refused or claim == self.member, message)

    @evidences(rules.OFFSETS_ATOMIC, Layer.STATEFUL)
    def check_order(self, written: LoggedBatch) -> None:
        """Committed transactions of workers have read every input once: each begins where the one before has ended."""
        passage = None if written.owner is None else self.passages.get(written.owner)
        if passage is None or written.owner is None or not written.is_committed:
            return
        others = [p for owner, p in self.passages.items() if owner in self._counted and owner != written.owner]
        reached = max((p.end for p in others), default=0)
        self._counted.add(written.owner)
        message = f"{written} has read {passage.start} to {passage.end}; the group had come to {reached}"
        self.watch.expect(rules.OFFSETS_ATOMIC, passage.start == reached, message)

    @evidences(rules.OFFSETS_STABLE_FETCH, Layer.STATEFUL)
    @evidences(rules.OFFSETS_ATOMIC, Layer.STATEFUL)
    def reported(self, group: str, answer: OffsetsAnswer, require_stable: bool) -> None:
        """A fetch returns the committed offset; a stable one none that an open transaction may change."""
        for partition, fetched in answer.partitions.items():
            if answer.error is not ErrorCode.NONE:
                return
            key = OffsetKey(group, partition)
            waits = any(key in waiting for waiting in self.pending.values())
            message = f"{group} gets {fetched.error.name} {fetched.offset} of {partition}, pending: {self.pending}"
            if require_stable:
                unstable = fetched.error is ErrorCode.UNSTABLE_OFFSET_COMMIT
                self.watch.expect(rules.OFFSETS_STABLE_FETCH, unstable == waits, message)
            if fetched.error is ErrorCode.NONE:
                wanted = self.committed.get(key, Recorded(-1, -1)).offset
                self.watch.expect(rules.OFFSETS_ATOMIC, fetched.offset == wanted, f"{message}, committed {wanted}")
