"""One replica of a partition: its log, its producer state and its watermarks (UnifiedLog, Partition)."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from reference.errors import InvalidProducerEpoch, InvalidTxnState, NotLeaderOrFollower, OffsetOutOfRange
from reference.log.batch import RecordBatch
from reference.log.checkpoint_file import EpochCache
from reference.log.partition_log import PartitionLog
from reference.log.producer_append import UNKNOWN_VERSION, CompletedTxn, ProducerAppend
from reference.log.producer_entry import NO_GUARD, CachedBatch
from reference.log.producer_state import PRODUCER_EXPIRATION_MS, ProducerState
from reference.log.reading import DEFAULT_SEGMENT_BYTES, WITHOUT_LIMIT, ActiveProducer, SegmentBases, within
from reference.log.txn_index import AbortedTxn, TransactionIndex
from reference.log.validation import validate_client_batch
from spec import rules
from spec.versions import Profile
from spec.vocabulary import (
    ABSENT,
    NO_OFFSET,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    LeaderEpoch,
    Offset,
    Origin,
    ProducerId,
    Timestamp,
)

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
"""Kafka's numbers of the isolation levels (IsolationLevel)."""


class AppendResult(NamedTuple):
    """The answer to an accepted append (LogAppendInfo).

    Attributes:
        first_offset: of the first record; of the cached batch for a duplicate.
        last_offset: of the last record, likewise; acks=all waits until it is replicated.
        duplicate: the answer came from the cache, and nothing was appended.
        log_append_time: -1, or the cached timestamp of a duplicate.
        log_start: log start offset.
    """

    first_offset: Offset
    last_offset: Offset
    duplicate: bool
    log_append_time: Timestamp
    log_start: Offset


class FetchResult(NamedTuple):
    """The answer to a fetch; `aborted` is None under read_uncommitted."""

    high_watermark: Offset
    last_stable: Offset
    log_start: Offset
    aborted: tuple[AbortedTxn, ...] | None
    batches: tuple[RecordBatch, ...]


class Partition:
    """One replica of one partition; the leader accepts appends, the others copy them.

    Attributes:
        leads: whether this replica is the leader.
        leader_epoch: of the current leader, stamped on what it appends.
        high_watermark: below it every record is on all in-sync replicas.
        alone: whether the leader is the only in-sync replica, so that the high watermark is the log end.
        epochs: leader epochs, and where each began.
    """

    __slots__ = (
        "aborted",
        "alone",
        "epochs",
        "high_watermark",
        "leader_epoch",
        "leads",
        "log",
        "profile",
        "segments",
        "state",
    )

    def __init__(
        self,
        profile: Profile,
        *,
        leads: bool = True,
        alone: bool = True,
        expiration_ms: int = PRODUCER_EXPIRATION_MS,
        segment_bytes: int = DEFAULT_SEGMENT_BYTES,
    ) -> None:
        """An empty replica."""
        self.profile = profile
        self.leads = leads
        self.alone = alone
        self.leader_epoch = LeaderEpoch(0)
        self.high_watermark = Offset(0)
        self.log = PartitionLog()
        self.epochs = EpochCache()
        self.segments = SegmentBases(segment_bytes)
        self.state = ProducerState(profile, expiration_ms)
        self.aborted = TransactionIndex()

    @property
    def log_start(self) -> Offset:
        """Log start offset."""
        return self.log.log_start

    @property
    def log_end(self) -> Offset:
        """Log end offset: of the next record."""
        return self.log.log_end

    @property
    def last_stable(self) -> Offset:
        """Last stable offset: every transactional record below it is decided."""
        unstable = self.state.first_unstable()
        if unstable == NO_OFFSET:
            return self.high_watermark
        return min(max(unstable, self.log.log_start), self.high_watermark)

    # --- append -----------------------------------------------------------------------------------------------

    def append(
        self,
        batch: RecordBatch,
        origin: Origin = Origin.CLIENT,
        guard: int = NO_GUARD,
        marker_version: int = UNKNOWN_VERSION,
    ) -> AppendResult:
        """Append one batch as the leader.

        Args:
            batch: as its sender numbered it.
            origin: who sends it.
            guard: from its verification, `NO_GUARD` if there was none (KIP-890).
            marker_version: transaction version of a marker, `UNKNOWN_VERSION` for anything else.

        Raises:
            Refusal: a rule or a check of the batch's form fails; nothing has changed.
        """
        return self.append_all((batch,), origin, guard, marker_version)

    def append_all(
        self,
        batches: Sequence[RecordBatch],
        origin: Origin = Origin.CLIENT,
        guard: int = NO_GUARD,
        marker_version: int = UNKNOWN_VERSION,
    ) -> AppendResult:
        """Append all batches as the leader, or none; the first duplicate of a client answers for all.

        Args:
            batches: as their sender numbered them.
            origin: who sends them.
            guard: from their verification, `NO_GUARD` if there was none (KIP-890).
            marker_version: transaction version of a marker, `UNKNOWN_VERSION` for anything else.

        Raises:
            Refusal: a rule or a check of a batch's form fails; none is in the log then.
        """
        self.check_leads()
        if origin == Origin.CLIENT:
            for batch in batches:
                validate_client_batch(self.profile, batch)

        placed = self.place(batches)
        self.segments.roll(sum(batch.size for batch in placed), self.log.log_end)
        parts: dict[ProducerId, ProducerAppend] = {}
        for batch in placed:
            if batch.producer_id != NO_PRODUCER_ID:
                duplicate = self.find_duplicate(batch, origin)
                if duplicate is not None:
                    return self.answer_duplicate(duplicate)
                self.check_verified(batch, origin, guard)
                self.check_producer(batch, origin, marker_version, parts)
        return self.commit(placed, parts.values())

    def check_leads(self) -> None:
        """Only the leader appends.

        Raises:
            NotLeaderOrFollower: this replica follows.
        """
        if not self.leads:
            raise NotLeaderOrFollower(leader_epoch=self.leader_epoch)

    def place(self, batches: Sequence[RecordBatch]) -> tuple[RecordBatch, ...]:
        """The batches with their offsets in the log, counted from its end on.

        Before 2.0 the count need not agree with the offsets of the batch, which then does not begin at the log end.
        """
        log_end, placed = self.log.log_end, []
        for batch in batches:
            delta = batch.last_offset_delta
            records = delta + 1 if self.profile.records_compared_with_offsets else batch.record_count
            log_end = Offset(log_end + records)
            placed.append(batch.at(Offset(log_end - 1 - delta), self.leader_epoch))
        return tuple(placed)

    def find_duplicate(self, batch: RecordBatch, origin: Origin) -> CachedBatch | None:
        """The cached batch that equals a client's batch, before any other check."""
        # [seq.duplicate_window]
        if origin != Origin.CLIENT:
            return None
        return self.state.entry(batch.producer_id).find_duplicate(batch)

    def answer_duplicate(self, cached: CachedBatch) -> AppendResult:
        """The offsets that the first copy of the batch got."""
        return AppendResult(cached.first_offset, cached.last_offset, True, cached.timestamp, self.log.log_start)

    def check_verified(self, batch: RecordBatch, origin: Origin, guard: int) -> None:
        """A transactional batch belongs to an open transaction, or to one that was just verified.

        Raises:
            InvalidProducerEpoch: the batch's epoch is behind the producer's, in versions that look at it first.
            InvalidTxnState: no transaction is open, and the guard is not that of the verification.
        """
        verified = (Origin.CLIENT, Origin.COORDINATOR) if self.profile.commits_verified else (Origin.CLIENT,)
        if origin not in verified or not batch.is_transactional:
            return
        if self.state.is_ongoing(batch.producer_id, batch.producer_epoch):
            return

        # [fence.stale_epoch]
        current = self.state.entry(batch.producer_id).epoch
        if self.profile.stale_epoch_before_verification and batch.producer_epoch < current:
            raise InvalidProducerEpoch(current=current, got=batch.producer_epoch)

        # [txn.registered_before_data]
        if self.needs_guard(batch, origin) and not self.state.is_verified(batch.producer_id, guard):
            raise InvalidTxnState(rules.TXN_REGISTERED_BEFORE_DATA, guard=guard)

    def needs_guard(self, batch: RecordBatch, origin: Origin) -> bool:
        """Whether the version verifies the batch: data only, in 3.6 of clients alone; never a marker."""
        verifies = origin == Origin.CLIENT or self.profile.commits_verified
        return self.profile.partition_verification and verifies and not batch.is_control

    def check_producer(
        self, batch: RecordBatch, origin: Origin, marker_version: int, parts: dict[ProducerId, ProducerAppend]
    ) -> None:
        """Check the batch in its producer's part of the append.

        Args:
            batch: with the offset that it would have.
            origin: who sends it.
            marker_version: transaction version of a marker, `UNKNOWN_VERSION` for anything else.
            parts: the append's parts so far, by producer; the batch is added.

        Raises:
            Refusal: an epoch, a sequence or a transaction is not as it must be.
        """
        part = parts.get(batch.producer_id)
        if part is None:
            part = parts[batch.producer_id] = self.state.prepare(batch.producer_id, origin, marker_version)
        part.append(batch)

    def commit(self, placed: Sequence[RecordBatch], parts: Iterable[ProducerAppend]) -> AppendResult:
        """Write the accepted batches and update the state of their producers."""
        first = self.log.log_end
        self.write(placed, parts)
        if self.alone:
            self.advance_high_watermark(self.log.log_end)
        return AppendResult(first, Offset(self.log.log_end - 1), False, NO_TIMESTAMP, self.log.log_start)

    def write(self, placed: Sequence[RecordBatch], parts: Iterable[ProducerAppend]) -> None:
        """Put placed batches into the log, and their producers' parts into the state."""
        self.log.append_all(placed)
        for batch in placed:
            self.segments.grow(batch.size)
            if batch.is_transactional:
                self.state.clear_verification(batch)
        for part in parts:
            self.state.update(part)
            for txn in part.completed:
                self.complete(txn)

    def complete(self, txn: CompletedTxn) -> None:
        """End a transaction: an aborted one goes into the index."""
        if txn.aborted:
            last_stable = self.state.last_stable_after(txn)
            self.aborted.append(AbortedTxn(txn.producer_id, txn.first_offset, txn.marker_offset, last_stable))
        self.state.complete(txn)

    # --- replication ------------------------------------------------------------------------------------------

    def replicate(self, batch: RecordBatch) -> None:
        """Append a batch copied from the leader, at the leader's offset, and follow the leader's verdict."""
        part = None
        if batch.producer_id != NO_PRODUCER_ID:
            part = self.state.prepare(batch.producer_id, Origin.REPLICATION)
            part.append(batch)
        self.write((batch,), () if part is None else (part,))

    def advance_high_watermark(self, offset: int) -> None:
        """Raise the high watermark to `offset`, at most to the log end; it does not fall."""
        self.high_watermark = Offset(max(self.high_watermark, min(offset, self.log.log_end)))
        self.state.on_high_watermark(self.high_watermark)

    def adopt_high_watermark(self, offset: int) -> None:
        """Take over the leader's high watermark as a follower, within the own log; under a new leader it may fall."""
        self.high_watermark = Offset(max(self.log.log_start, min(offset, self.log.log_end)))
        self.state.on_high_watermark(self.high_watermark)

    def truncate(self, offset: int, now: Timestamp) -> None:
        """Drop everything from `offset` on and derive the producer state from what is left of the log."""
        self.log.truncate(offset)
        self.segments.truncate(self.log)
        self.aborted.truncate(offset)
        self.high_watermark = Offset(min(self.high_watermark, self.log.log_end))
        self.state.rebuild(self.log, now)
        self.state.on_high_watermark(self.high_watermark)

    def delete_records(self, offset: int) -> None:
        """Let the log begin at `offset`, or at the high watermark if it is -1 (DeleteRecords).

        Producer state stays; before 2.4 Kafka dropped the state of producers without records in the log.

        Raises:
            NotLeaderOrFollower: another replica leads.
            OffsetOutOfRange: the offset is beyond the high watermark.
        """
        self.check_leads()
        wanted = self.high_watermark if offset == ABSENT else offset
        if not 0 <= wanted <= self.high_watermark:
            raise OffsetOutOfRange(offset=offset, high_watermark=self.high_watermark)
        self.follow_log_start(wanted)

    def follow_log_start(self, offset: int) -> None:
        """Let the log begin at `offset`, as far as the high watermark has come; it never goes back."""
        self.log.advance_start(max(self.log.log_start, min(offset, self.high_watermark)))

    def restart(self, now: Timestamp) -> None:
        """Restart from disk: the log is whole, the producer state is what a snapshot keeps."""
        self.state.restore(self.state.snapshot(), now)

    # --- reading ----------------------------------------------------------------------------------------------

    def fetch(self, offset: int, isolation: int = READ_UNCOMMITTED, max_bytes: int = WITHOUT_LIMIT) -> FetchResult:
        """The batches from `offset` on that the isolation level may see, with the aborted transactions among them.

        They come from one segment, and have at most `max_bytes` bytes; a single batch may have more.

        Raises:
            OffsetOutOfRange: the offset is below the log start or beyond the log end.
        """
        if not self.log.log_start <= offset <= self.log.log_end:
            raise OffsetOutOfRange(offset=offset, log_start=self.log.log_start, log_end=self.log.log_end)
        bound = self.last_stable if isolation == READ_COMMITTED else self.high_watermark
        following = self.segments.after(offset)
        upper = self.log.log_end if following is None else following
        batches = self.log.walk(offset, min(bound, upper)) if offset < bound else ()
        aborted = None
        if isolation == READ_COMMITTED:
            aborted = self.aborted.between(offset, upper) if offset < bound else ()
        taken = tuple(within(batches, max_bytes))
        return FetchResult(self.high_watermark, self.last_stable, self.log.log_start, aborted, taken)

    def describe_producers(self) -> tuple[ActiveProducer, ...]:
        """Every known producer, by producer id."""
        return tuple(
            ActiveProducer(
                producer_id,
                entry.epoch,
                entry.last_sequence,
                entry.coordinator_epoch,
                entry.txn_first_offset,
                entry.last_timestamp,
            )
            for producer_id, entry in sorted(self.state.producers.items())
        )
