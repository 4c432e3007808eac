"""One replica at its broker: who leads it, what it does as leader or follower, and which answers wait for it."""

from itertools import count
from typing import Final, NamedTuple

from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce
from reference.errors import NotLeaderOrFollower, Refusal
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.replication.following import Following
from reference.replication.leadership import Leadership, ReplicaConfig
from reference.replication.messages import (
    NO_EPOCH,
    NO_LEADER,
    UNDEFINED,
    AlterPartition,
    BrokerEpochs,
    EpochEnd,
    EpochEndAnswer,
    EpochEndRequest,
    FencedLeaderEpoch,
    FetchRequest,
    FollowerFetchResult,
    LeaderAndIsr,
    UnknownLeaderEpoch,
)
from reference.replication.replica_log import ReplicaLog
from reference.replication.watch import ReplicationWatch, Report, fetch_columns
from spec.versions import Profile
from spec.vocabulary import ABSENT, ErrorCode, LeaderEpoch, Offset, Timestamp

ALL: Final = -1
"""Acks of a producer that waits for the in-sync set."""


class Delayed(NamedTuple):
    """An acks=all answer that waits in the purgatory (DelayedProduce).

    Attributes:
        required: the high watermark that it waits for.
        deadline: after which it is answered REQUEST_TIMED_OUT.
        asker: the source of the request.
    """

    required: Offset
    deadline: Timestamp
    asker: object


class Replica:
    """A replica of one partition.

    Attributes:
        replica_log: what it has on disk.
        leader: the broker that leads, as far as this one knows; -1 none.
        leader_epoch: under which it leads, -1 before the first message.
        partition_epoch: of the last state received.
        leadership: what it does as leader, None if another leads.
        following: what it does as follower, None if it leads or there is no leader.
        delayed: answers that wait.
    """

    __slots__ = (
        "_askings",
        "_config",
        "delayed",
        "following",
        "leader",
        "leader_epoch",
        "leadership",
        "node",
        "partition_epoch",
        "profile",
        "replica_log",
        "watch",
    )

    def __init__(
        self, profile: Profile, node: int, log: Partition, config: ReplicaConfig, report: Report | None = None
    ):
        """A replica on broker `node` that does not know the leader yet."""
        self.profile = profile
        self.node = node
        self.replica_log = ReplicaLog(log)
        self.watch = ReplicationWatch(log, report)
        self._config = config
        self._askings = count(1)
        self.delayed: list[Delayed] = []
        self.forget()

    @property
    def log(self) -> Partition:
        """Records, producer state and watermarks."""
        return self.replica_log.log

    def forget(self) -> None:
        """Know of no leader, as after a start."""
        self.leader = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = ABSENT
        self.leadership: Leadership | None = None
        self.following: Following | None = None
        self.delayed = []
        self.log.leads = self.log.alone = False

    # --- what the controller says -----------------------------------------------------------------------------

    def take_over(self, update: LeaderAndIsr, now: Timestamp) -> None:
        """Lead or follow as the controller says, unless that is old."""
        state = update.state
        if not self.is_news(update):
            return
        before, known = self.watch.before(), (self.leader_epoch, self.partition_epoch)
        leads = state.leader == self.node
        if leads:
            self._lead(update, now)
        self.leader, self.leader_epoch = state.leader, state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.watch.decided(
            "BecomeLeader" if leads else "BecomeFollower",
            before,
            error=int(ErrorCode.NONE),
            leads=leads,
            leader=state.leader,
            asked_leader_epoch=state.leader_epoch,
            asked_partition_epoch=state.partition_epoch,
            asked_controller_epoch=update.controller_epoch,
            leader_epoch=known[0],
            partition_epoch=known[1],
            leader_epoch_after=self.leader_epoch,
            partition_epoch_after=self.partition_epoch,
            epoch_start=self.leadership.epoch_start if leads and self.leadership else ABSENT,
        )
        if not leads:
            self._follow(known[0], now)
        elif self.leadership is not None:
            self.leadership.raise_high_watermark(now)

    def is_news(self, update: LeaderAndIsr) -> bool:
        """Whether a state is newer: under ZooKeeper by its leader epoch alone, under KRaft any change counts."""
        state = update.state
        if state.leader_epoch == self.leader_epoch and self.profile.quorum_controller:
            return state.partition_epoch > self.partition_epoch
        return state.leader_epoch > self.leader_epoch

    def _lead(self, update: LeaderAndIsr, now: Timestamp) -> None:
        self.following = None
        self.log.leads = True
        self.log.leader_epoch = update.state.leader_epoch
        if self.leadership is not None:
            self.leadership.go_on(update.state, update.brokers, now)
            return
        self.leadership = self.new_leadership(update)
        self.leadership.begin(update.state.assignment, now)

    def new_leadership(self, update: LeaderAndIsr) -> Leadership:
        """The leader's side of the partition in that state."""
        state = update.state
        return Leadership(
            self.profile,
            self.node,
            self._config,
            self.replica_log,
            self.watch,
            update.brokers,
            state.leader_epoch,
            state.partition_epoch,
            state.insync,
        )

    def _follow(self, former_epoch: LeaderEpoch, now: Timestamp) -> None:
        self.leadership = None
        self.log.leads = self.log.alone = False
        if self.leader == NO_LEADER:
            self.following = None
        elif self.following is None or self.leader_epoch != former_epoch:
            own = (self.profile, self.node, self.replica_log, self.watch, self._askings)
            self.following = Following(*own, self.leader, self.leader_epoch)
            self.following.begin(now)

    def hear_of(self, brokers: BrokerEpochs) -> None:
        """Take over which brokers are registered."""
        if self.leadership is not None:
            self.leadership.brokers = brokers

    # --- what followers ask -----------------------------------------------------------------------------------

    def leading(self, named: LeaderEpoch) -> Leadership:
        """The leader's side, for a request that names this leader epoch or none.

        Raises:
            FencedLeaderEpoch: the epoch has passed.
            UnknownLeaderEpoch: this broker does not know it yet.
            NotLeaderOrFollower: another leads.
        """
        # [repl.prefix_agreement]
        if named != NO_EPOCH and named < self.leader_epoch:
            raise FencedLeaderEpoch(current=self.leader_epoch, got=named)
        if named != NO_EPOCH and named > self.leader_epoch:
            raise UnknownLeaderEpoch(current=self.leader_epoch, got=named)
        if self.leadership is None:
            raise NotLeaderOrFollower(leader=self.leader)
        return self.leadership

    def fetch(self, request: FetchRequest, now: Timestamp) -> tuple[FollowerFetchResult, AlterPartition | None]:
        """Answer a follower; as leader, perhaps with a proposal to take it into the in-sync set."""
        try:
            leadership = self.leading(request.leader_epoch)
        except Refusal as refusal:
            answer = FollowerFetchResult(refusal.code)
            columns = fetch_columns(request, answer) | {"leads": self.leadership is not None}
            columns |= {"leader_epoch": self.leader_epoch, "broker": request.follower}
            self.watch.decided("FetchFollower", self.watch.before(), **columns)
            return answer, None
        return leadership.fetch(request, now)

    def epoch_end(self, request: EpochEndRequest) -> EpochEndAnswer:
        """Where an epoch ends in the leader's log."""
        end, error = self.replica_log.epoch_end(request.epoch), ErrorCode.NONE
        answered = end if self.profile.truncation_names_epoch else EpochEnd(NO_EPOCH, end.end)
        try:
            self.leading(request.leader_epoch)
        except Refusal as refusal:
            error, answered = refusal.code, UNDEFINED
        self.watch.decided(
            "OffsetsForLeaderEpoch",
            self.watch.before(),
            error=int(error),
            broker=request.follower,
            leads=self.leadership is not None,
            asked_leader_epoch=request.leader_epoch,
            asked_epoch=request.epoch,
            leader_epoch=self.leader_epoch,
            known_epoch=end.epoch,
            known_epoch_end=end.end,
            answered_epoch=answered.epoch,
            answered_end=answered.end,
        )
        return EpochEndAnswer(error, answered)

    # --- what producers ask -----------------------------------------------------------------------------------

    def append(self, number: int, batch: RecordBatch, acks: int, version: int) -> PartitionAnswer:
        """Append a client's batch to partition `number`, if enough replicas are in sync for its acks.

        Args:
            number: of the partition.
            batch: as the client sent it.
            acks: 0, 1, or -1 for all.
            version: of the Produce.
        """
        request = ProduceRequest({number: (batch,)}, acks=acks, version=version)
        insync = 0 if self.leadership is None else len(self.leadership.insync)
        return handle_produce(self.log.profile, {number: self.log}, request, None, self.min_insync, insync)[number]

    @property
    def min_insync(self) -> int:
        """How many replicas must be in sync: no more than there are."""
        if self.leadership is None:
            return self._config.min_insync
        return min(self._config.min_insync, len(self.leadership.followers) + 1)

    def wait(self, delayed: Delayed) -> None:
        """An answer waits until its batch is replicated."""
        self.delayed.append(delayed)

    def release(self, now: Timestamp) -> list[tuple[object, ErrorCode]]:
        """The waiting requests to answer now, with their answers; the others keep waiting."""
        if not self.delayed:
            return []
        verdicts = [(each, self.verdict(each, now)) for each in self.delayed]
        self.delayed = [each for each, error in verdicts if error is None]
        answered = [(each, error) for each, error in verdicts if error is not None]
        for each, error in answered:
            self._report_acknowledged(each, error)
        return [(each.asker, error) for each, error in answered]

    def verdict(self, delayed: Delayed, now: Timestamp) -> ErrorCode | None:
        """What a waiting answer says, None if it waits on."""
        if self.leadership is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark >= delayed.required:
            enough = len(self.leadership.maximal) >= self.min_insync
            return ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.REQUEST_TIMED_OUT if now >= delayed.deadline else None

    def _report_acknowledged(self, delayed: Delayed, error: ErrorCode) -> None:
        self.watch.decided(
            "DelayedProduce",
            self.watch.before(),
            acks=ALL,
            offset=delayed.required,
            leads=self.leadership is not None,
            leader_epoch=self.leader_epoch,
            maximal_size=0 if self.leadership is None else len(self.leadership.maximal),
            min_insync=self.min_insync,
            error=int(error),
        )

    # --- down and up again ------------------------------------------------------------------------------------

    def restart(self, kept_end: Offset, now: Timestamp) -> None:
        """Come back from a disk that has the log below `kept_end`."""
        before = self.watch.producers()
        self.forget()
        self.replica_log.restart(kept_end, now)
        self.watch.decided("BrokerRestart", before[ABSENT], truncated_to=kept_end, error=int(ErrorCode.NONE))
        self.watch.changed("BrokerRestart", before)
