"""The leader's side of a partition: followers, in-sync set, high watermark (Partition)."""

from dataclasses import dataclass, field
from typing import Final

from reference.errors import NotLeaderOrFollower, Refusal
from reference.recording.recorder import ObservedState
from reference.replication.follower_progress import NEVER, WITHOUT_LIMIT, FollowerProgress, bounds, read_for
from reference.replication.messages import (
    NO_EPOCH,
    UNDEFINED,
    Altered,
    AlterPartition,
    BrokerEpochs,
    EpochEnd,
    FetchRequest,
    FollowerFetchResult,
    PartitionState,
)
from reference.replication.replica_log import ReplicaLog
from reference.replication.watch import ReplicationWatch, fetch_columns, progress_columns
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, LeaderEpoch, Offset, Timestamp

WITHDRAWN: Final = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
"""Answers after which a proposal is dropped; after others it is sent again, or superseded by word of a new state."""


@dataclass(frozen=True, slots=True)
class ReplicaConfig:
    """How a broker is configured.

    Attributes:
        min_insync: min.insync.replicas.
        lag_max_ms: replica.lag.time.max.ms.
        max_batches: batches in the answer to one fetch (replica.fetch.max.bytes, counted in batches).
    """

    min_insync: int = 1
    lag_max_ms: int = 30_000
    max_batches: int = WITHOUT_LIMIT


@dataclass(slots=True)
class Leadership:
    """One leader epoch of one replica.

    Attributes:
        epoch_start: log end when it began.
        insync: the in-sync set as the controller has confirmed it.
        proposed: the set that the controller was asked for, None if nothing is under way.
        followers: progress by broker.
        brokers: the registered brokers, as far as this one knows.
    """

    profile: Profile
    node: int
    config: ReplicaConfig
    replica: ReplicaLog
    watch: ReplicationWatch
    brokers: BrokerEpochs
    leader_epoch: LeaderEpoch
    partition_epoch: int
    insync: frozenset[int]
    proposed: frozenset[int] | None = None
    followers: dict[int, FollowerProgress] = field(default_factory=dict)
    epoch_start: Offset = Offset(0)  # noqa: RUF009 (a constructor of integers)

    def begin(self, assignment: tuple[int, ...], now: Timestamp) -> None:
        """Begin the epoch: nothing is known of followers but who counts as in sync."""
        self._begin_epoch()
        for broker in assignment:
            if broker != self.node:
                caught_up = now if broker in self.insync else NEVER
                self.followers[broker] = FollowerProgress(caught_up_ms=caught_up)

    def go_on(self, state: PartitionState, brokers: BrokerEpochs, now: Timestamp) -> None:
        """Take over a newer state in which this replica still leads, under the same epoch or a new one."""
        self.brokers = brokers
        self.insync, self.proposed = state.insync, None
        self.partition_epoch = state.partition_epoch
        if state.leader_epoch != self.leader_epoch:
            self.leader_epoch = state.leader_epoch
            self._begin_epoch()
            end = self.replica.log.log_end
            for broker, progress in self.followers.items():
                self.followers[broker] = progress.reset(end, now, broker in self.insync)

    def _begin_epoch(self) -> None:
        self.epoch_start = self.replica.log.log_end
        self.replica.epochs.assign(self.leader_epoch, self.epoch_start)

    # --- the in-sync set --------------------------------------------------------------------------------------

    @property
    def maximal(self) -> frozenset[int]:
        """Who is in sync or may be: the controller may have agreed already, and its answer be under way."""
        return self.insync if self.proposed is None else self.insync | self.proposed

    @property
    def lacks_insync(self) -> bool:
        """Whether fewer replicas are in sync than min.insync.replicas."""
        return len(self.insync) < min(self.config.min_insync, len(self.followers) + 1)

    def is_eligible(self, broker: int) -> bool:
        """Whether a follower may join: since 3.5 it must be there, and have fetched in its present incarnation."""
        if not self.profile.incarnations_compared:
            return True
        return broker in self.brokers and self._counted(broker) == self.brokers[broker]

    def _counted(self, broker: int) -> int:
        return self.brokers.get(broker, ABSENT) if broker == self.node else self.followers[broker].broker_epoch

    def shrink(self, now: Timestamp) -> AlterPartition | None:
        """Propose a set without followers that have lagged for too long; None if none has, or one is under way."""
        end = self.replica.log.log_end
        lagging = set()
        for broker in sorted(self.insync - {self.node}):
            before, progress = self.watch.before(), self.followers[broker]
            late = not progress.is_caught_up(end, now, self.config.lag_max_ms)
            if late:
                lagging.add(broker)
            self.watch.decided(
                "ReplicaLagCheck",
                before,
                **progress_columns(broker, progress),
                leader_epoch=self.leader_epoch,
                leads=True,
                insync=True,
                lag_max_ms=self.config.lag_max_ms,
                lagging=late,
                proposal_under_way=self.proposed is not None,
                proposed=late and self.proposed is None,
            )
        if not lagging or self.proposed is not None:
            return None
        return self.propose(self.insync - lagging)

    def expand(self, broker: int) -> AlterPartition | None:
        """Propose a follower that has just fetched for the set, if it has all that a member must have."""
        if broker in self.insync:
            return None
        before, progress, eligible = self.watch.before(), self.followers[broker], self.is_eligible(broker)
        returns = eligible and self.proposed is None and self.has_enough(progress)
        self.watch.decided(
            "IsrExpansion",
            before,
            **progress_columns(broker, progress),
            leader_epoch=self.leader_epoch,
            leads=True,
            epoch_start=self.epoch_start,
            proposal_under_way=self.proposed is not None,
            ineligible=not eligible,
            asked_broker_epoch=progress.broker_epoch,
            broker_epoch=self.brokers.get(broker, ABSENT),
            proposed=returns,
        )
        return self.propose(self.insync | {broker}) if returns else None

    def has_enough(self, progress: FollowerProgress) -> bool:
        """Whether a follower has all below the high watermark, and what the leader began its epoch with."""
        if progress.log_end < self.replica.log.high_watermark:
            return False
        return progress.log_end >= self.epoch_start or not self.profile.returns_at_epoch_start

    def propose(self, insync: frozenset[int]) -> AlterPartition:
        """Ask for another in-sync set."""
        self.proposed = insync
        return self.proposal(insync)

    def proposal(self, insync: frozenset[int]) -> AlterPartition:
        """The request for that set; it may be sent again."""
        epochs = {broker: self._counted(broker) for broker in sorted(insync)}
        own = self.brokers.get(self.node, ABSENT)
        return AlterPartition(self.node, own, self.leader_epoch, self.partition_epoch, epochs)

    def altered(self, answer: Altered, now: Timestamp) -> None:
        """Take over what the controller made of a proposal."""
        if self.proposed is None:
            return
        before, known, state = self.watch.before(), self.partition_epoch, answer.state
        if state is not None and self.is_newer(state):
            self.insync, self.proposed, self.partition_epoch = state.insync, None, state.partition_epoch
        elif answer.error in WITHDRAWN or not self.profile.insync_set_is_asked_for:
            self.proposed = None
        self.watch.decided(
            "AlterPartitionAnswer",
            before,
            error=int(answer.error),
            leads=True,
            asked_leader_epoch=NO_EPOCH if state is None else state.leader_epoch,
            asked_partition_epoch=ABSENT if state is None else state.partition_epoch,
            leader_epoch=self.leader_epoch,
            partition_epoch=known,
            partition_epoch_after=self.partition_epoch,
            insync_size=len(self.insync),
            proposal_under_way=self.proposed is not None,
        )
        self.raise_high_watermark(now)

    def is_newer(self, state: PartitionState) -> bool:
        """Whether an answer is of this epoch, and not older than what is known."""
        return state.leader_epoch == self.leader_epoch and state.partition_epoch >= self.partition_epoch

    # --- the high watermark -----------------------------------------------------------------------------------

    def raise_high_watermark(self, now: Timestamp) -> bool:
        """Raise it to the least log end of those that hold it back; whether it has risen."""
        before, log = self.watch.before(), self.replica.log
        known = log.high_watermark
        least = min((log.log_end, *(self.followers[broker].log_end for broker in self.holding_back(now))))
        if least > known and not (self.profile.high_watermark_needs_min_isr and self.lacks_insync):
            log.advance_high_watermark(least)
        if self.watch.is_open:
            self.report_high_watermark(before, least, now)
        return log.high_watermark > known

    def holding_back(self, now: Timestamp) -> list[int]:
        """Followers that the high watermark waits for: in sync, perhaps in sync, or about to be."""
        maximal = self.maximal
        return [
            broker
            for broker, progress in self.followers.items()
            if broker in maximal or self.is_about_to_join(broker, progress, now)
        ]

    def is_about_to_join(self, broker: int, progress: FollowerProgress, now: Timestamp) -> bool:
        """Whether a follower out of the set has caught up, and may join it."""
        end = self.replica.log.log_end
        return progress.is_caught_up(end, now, self.config.lag_max_ms) and self.is_eligible(broker)

    def report_high_watermark(self, before: ObservedState, least: Offset, now: Timestamp) -> None:
        """Report the high watermark, whether it has risen or not, and how far the followers are."""
        insync, joining, maximal = [self.replica.log.log_end], [self.replica.log.log_end], self.maximal
        for broker, progress in self.followers.items():
            if broker in maximal:
                insync.append(progress.log_end)
            elif self.is_about_to_join(broker, progress, now):
                joining.append(progress.log_end)
        self.watch.decided(
            "LeaderHighWatermark",
            before,
            leads=True,
            leader_epoch=self.leader_epoch,
            least_end=least,
            insync_end=min(insync),
            joining_end=min(joining),
            insync_size=len(self.insync),
            maximal_size=len(self.maximal),
            min_insync=self.config.min_insync,
        )

    # --- fetches ----------------------------------------------------------------------------------------------

    def fetch(self, request: FetchRequest, now: Timestamp) -> tuple[FollowerFetchResult, AlterPartition | None]:
        """Answer a follower, and count what its fetch says of it; the in-sync set may be proposed to grow."""
        before, progress = self.watch.before(), self.followers[request.follower]
        answer = self.answer(request)
        counts = answer.error is ErrorCode.NONE and answer.diverging == UNDEFINED
        if counts:
            self.count(request.follower, request.offset, request.broker_epoch, now)
        if self.watch.is_open:
            self.report_fetch(before, request, answer, progress)
        return answer, self.consider(request.follower, progress, now) if counts else None

    def answer(self, request: FetchRequest) -> FollowerFetchResult:
        """What a follower is answered; its fetch is not counted yet."""
        try:
            answer = self.read(request, self.replica.epoch_end(request.last_epoch))
            self.check_incarnation(request, answer)
        except Refusal as refusal:
            return FollowerFetchResult(refusal.code, (), *self.bounds())
        return answer

    def count(self, follower: int, offset: Offset, broker_epoch: int, now: Timestamp) -> None:
        """A follower has everything below the offset that it asks for.

        Args:
            follower: its broker id.
            offset: that it asks for.
            broker_epoch: of its registration, as it says.
            now: milliseconds, by the leader's clock.
        """
        progress = self.followers[follower]
        self.followers[follower] = progress.fetched(offset, self.replica.log.log_end, now, broker_epoch)

    def consider(self, follower: int, before: FollowerProgress, now: Timestamp) -> AlterPartition | None:
        """What the progress of a follower means for the in-sync set, and for the high watermark."""
        proposal = self.expand(follower)
        if self.followers[follower].log_end != before.log_end or proposal is not None:
            self.raise_high_watermark(now)
        return proposal

    def report_fetch(
        self, before: ObservedState, request: FetchRequest, answer: FollowerFetchResult, progress: FollowerProgress
    ) -> None:
        """Report a fetch: the request, the leader's view of the follower before, and the view now.

        Args:
            before: the leader, as it was observed.
            request: the follower's request.
            answer: to it.
            progress: what was known of the follower before.
        """
        broker, known = request.follower, self.replica.epoch_end(request.last_epoch)
        columns = fetch_columns(request, answer, known) | progress_columns(broker, progress)
        columns |= {"leads": True, "leader_epoch": self.leader_epoch, "insync": broker in self.insync}
        columns |= {"caught_up_ms": self.followers[broker].caught_up_ms}
        self.watch.decided("FetchFollower", before, **columns, broker_epoch=self.brokers.get(broker, ABSENT))

    def check_incarnation(self, request: FetchRequest, answer: FollowerFetchResult) -> None:
        """A fetch of a follower's past registration is refused; 3.6 takes it as it is.

        Raises:
            NotLeaderOrFollower: the fetch is of an earlier broker epoch, and the follower's log did not diverge.
        """
        current = self.brokers.get(request.follower, ABSENT)
        stale = self.profile.stale_fetch_refused and request.broker_epoch < current
        if stale and answer.diverging == UNDEFINED:
            raise NotLeaderOrFollower(broker_epoch=request.broker_epoch, current=current)

    def read(self, request: FetchRequest, known: EpochEnd) -> FollowerFetchResult:
        """What comes next, or where the two logs part; raises as `read_for`."""
        return read_for(self.replica.log, request, known, self.config.max_batches)

    def bounds(self) -> tuple[Offset, Offset, Offset]:
        """High watermark, log start and log end."""
        return bounds(self.replica.log)
