"""The follower's side of a partition: truncate, fetch, copy (AbstractFetcherThread, ReplicaFetcherThread)."""

from collections.abc import Iterator
from enum import Enum, unique

from reference.errors import Refusal
from reference.log.batch import RecordBatch
from reference.recording.recorder import batch_columns, reply_columns
from reference.replication.messages import (
    NO_EPOCH,
    UNDEFINED,
    EpochEnd,
    EpochEndAnswer,
    EpochEndRequest,
    FetchRequest,
    FollowerFetchResult,
)
from reference.replication.replica_log import ReplicaLog
from reference.replication.watch import ReplicationWatch
from spec.versions import Profile
from spec.vocabulary import ABSENT, NO_OFFSET, ErrorCode, LeaderEpoch, Offset, Origin, Timestamp


@unique
class FollowerPhase(Enum):
    """What a follower does."""

    TRUNCATING = "asks where its log and the leader's part"
    FETCHING = "copies"
    STOPPED = "waits for word of another leader epoch"
    FAILED = "could not apply the leader's log, for good"


class Following:
    """A follower under one leader epoch.

    Attributes:
        leader: the broker to ask.
        leader_epoch: under which it leads.
        phase: what comes next.
        failure: why it has failed, None if it has not.
    """

    __slots__ = (
        "_numbers",
        "_profile",
        "_replica",
        "_request_number",
        "_watch",
        "failure",
        "leader",
        "leader_epoch",
        "node",
        "phase",
    )

    def __init__(
        self,
        profile: Profile,
        node: int,
        replica: ReplicaLog,
        watch: ReplicationWatch,
        askings: Iterator[int],
        leader: int,
        leader_epoch: LeaderEpoch,
    ) -> None:
        """A follower that has not asked anything; `askings` numbers what it asks, as no request before it."""
        self.node = node
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.phase = FollowerPhase.TRUNCATING
        self.failure: Refusal | None = None
        self._profile = profile
        self._replica = replica
        self._watch = watch
        self._numbers = askings
        self._request_number = ABSENT

    def begin(self, now: Timestamp) -> None:
        """Find out where the logs part, with the first fetch or before it, or cut at the high watermark."""
        if self._replica.epochs.latest == NO_EPOCH or not self._profile.truncates_by_leader_epoch:
            self._truncate(UNDEFINED, self._replica.log.high_watermark, now)
        elif self._profile.fetch_finds_divergence:
            self.phase = FollowerPhase.FETCHING

    # --- what it asks -----------------------------------------------------------------------------------------

    def next_request(self, broker_epoch: int) -> FetchRequest | EpochEndRequest | None:
        """The next request to the leader; None while there is nothing to ask. What was asked before is given up."""
        self._request_number = next(self._numbers)
        profile, replica = self._profile, self._replica
        named = self.leader_epoch if profile.fetch_names_leader_epoch else NO_EPOCH
        if self.phase is FollowerPhase.FETCHING:
            last = replica.epochs.latest if profile.fetch_finds_divergence else NO_EPOCH
            return FetchRequest(self._request_number, self.node, broker_epoch, named, replica.log.log_end, last)
        if self.phase is FollowerPhase.TRUNCATING:
            return EpochEndRequest(self._request_number, self.node, named, replica.epochs.latest)
        return None

    # --- what it is answered ----------------------------------------------------------------------------------

    def receive_end(self, request: EpochEndRequest, answer: EpochEndAnswer, now: Timestamp) -> None:
        """The leader says where an epoch ends in its log."""
        if request.number != self._request_number or self.phase is not FollowerPhase.TRUNCATING:
            return
        if answer.error is ErrorCode.NONE:
            self._truncate_to(answer.end, now)
        elif answer.error is ErrorCode.FENCED_LEADER_EPOCH:
            self.phase = FollowerPhase.STOPPED

    def receive(self, request: FetchRequest, answer: FollowerFetchResult, now: Timestamp) -> None:
        """The leader answers a fetch; an answer to anything but the last request is dropped."""
        if (
            request.number != self._request_number
            or self.phase is not FollowerPhase.FETCHING
            or request.offset != self._replica.log.log_end
        ):
            return
        if answer.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._find_range(answer, now)
        elif answer.error is ErrorCode.FENCED_LEADER_EPOCH:
            self.phase = FollowerPhase.STOPPED
        elif answer.error is ErrorCode.NONE and answer.diverging != UNDEFINED:
            self._truncate_to(answer.diverging, now)
        elif answer.error is ErrorCode.NONE:
            self._copy_all(answer)

    def _copy_all(self, answer: FollowerFetchResult) -> None:
        for batch in answer.batches:
            self.copy(batch)
            if self.failure is not None:
                return
        log = self._replica.log
        before = self._watch.before()
        log.adopt_high_watermark(answer.high_watermark)
        if answer.log_start > log.log_start:
            log.log.advance_start(min(answer.log_start, log.log_end))
        if self._watch.is_open:
            self._watch.decided(
                "FollowerHighWatermark",
                before,
                leader_epoch=self.leader_epoch,
                leader_high_watermark=answer.high_watermark,
                answered_log_start=answer.log_start,
            )

    def copy(self, batch: RecordBatch) -> None:
        """Append a batch at the leader's offset; where this version cannot, the follower has failed."""
        before = self._watch.before(batch.producer_id)
        error, offsets = ErrorCode.NONE, (batch.base_offset, batch.last_offset)
        try:
            self._replica.copy(batch)
        except Refusal as refusal:
            self._fail(refusal)
            error, offsets = refusal.code, (NO_OFFSET, NO_OFFSET)
        if self._watch.is_open:
            self._watch.decided(
                "ReplicaFetch",
                before,
                **batch_columns(batch),
                **reply_columns(error, *offsets),
                client=f"broker-{self.leader}",
                origin=int(Origin.REPLICATION),
                batch_count=1,
                leader_epoch=self.leader_epoch,
            )

    def _fail(self, refusal: Refusal) -> None:
        self.phase = FollowerPhase.FAILED
        self.failure = refusal

    # --- truncation -------------------------------------------------------------------------------------------

    def _truncate_to(self, answer: EpochEnd, now: Timestamp) -> None:
        """Cut the log where the leader's answer says; if the leader's epoch is not one of ours, ask further back."""
        log_end = self._replica.log.log_end
        # [repl.prefix_agreement]
        if answer.end == NO_OFFSET:
            self._truncate(answer, self._replica.log.high_watermark, now)
            return
        own = self._replica.epoch_end(answer.epoch)
        if UNDEFINED.epoch in (answer.epoch, own.epoch):
            self._truncate(answer, min(answer.end, log_end), now)
        elif own.epoch != answer.epoch:
            self._truncate(answer, min(own.end, log_end), now, completed=False)
        else:
            self._truncate(answer, min(own.end, answer.end, log_end), now)

    def _truncate(self, answer: EpochEnd, offset: Offset, now: Timestamp, completed: bool = True) -> None:
        own = self._replica.epoch_end(answer.epoch)
        before = self._watch.producers()
        if completed or self._profile.fetch_finds_divergence:
            self.phase = FollowerPhase.FETCHING
        try:
            self._replica.truncate(offset, now)
        except Refusal as refusal:  # before 2.4, the log of a former leader may be one that no follower can replay
            self._fail(refusal)
        self._watch.decided(
            "ReplicaTruncate",
            before[ABSENT],
            leader_epoch=self.leader_epoch,
            answered_epoch=answer.epoch,
            answered_end=answer.end,
            known_epoch=own.epoch,
            known_epoch_end=own.end,
            truncated_to=offset,
            completed=completed,
            error=int(ErrorCode.NONE),
        )
        self._watch.changed("ReplicaTruncate", before)

    def _find_range(self, answer: FollowerFetchResult, now: Timestamp) -> None:
        """The leader does not have our offset: cut what it lost in an unclean election, or begin where it begins."""
        log, before = self._replica.log, self._watch.producers()
        if answer.log_end < log.log_end:
            self._replica.truncate(answer.log_end, now)
        elif answer.log_start > log.log_end:
            self._replica.start_at(answer.log_start, now)
        self._watch.decided(
            "ReplicaTruncate",
            before[ABSENT],
            leader_epoch=self.leader_epoch,
            answered_end=answer.log_end,
            answered_log_start=answer.log_start,
            truncated_to=log.log_end,
            completed=True,
            error=int(ErrorCode.OFFSET_OUT_OF_RANGE),
        )
        self._watch.changed("ReplicaTruncate", before)
