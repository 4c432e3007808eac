"""A partition and its replicas, which exchange messages at once: no network, no clock, no controller of their own.

The replicas are those of `reference.replication`. The caller decides which is elected and which lags; leaders and
followers decide the rest.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reference.errors import Impossible, Refusal
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.log.producer_state import PRODUCER_EXPIRATION_MS
from reference.replication.elections import next_leader
from reference.replication.follower_progress import NEVER
from reference.replication.following import Following
from reference.replication.leadership import Leadership, ReplicaConfig
from reference.replication.messages import (
    UNDEFINED,
    Altered,
    EpochEnd,
    EpochEndRequest,
    FetchRequest,
    FollowerFetchResult,
    LeaderAndIsr,
    PartitionState,
)
from reference.replication.replica import Replica
from spec.versions import Profile
from spec.vocabulary import ErrorCode, LeaderEpoch, Offset, Timestamp

NO_TIME: Final = Timestamp(0)
"""The time where nothing depends on it: the caller decides which replicas lag."""

NOBODY_LAGS: Final = -1
"""A lag after which no follower counts as caught up, but for its log."""


class ReplicatedPartition:
    """One partition on several nodes; replica i lives on node i.

    Attributes:
        replicas: by node.
        state: the leader and the in-sync set.
        failed: nodes whose replica could not apply the leader's log (before 2.4) and has stopped.
    """

    __slots__ = ("_brokers", "_replicas", "failed", "replicas", "state")

    def __init__(
        self,
        profile: Profile,
        replicas: int = 1,
        expiration_ms: int = PRODUCER_EXPIRATION_MS,
        opened: Sequence[Partition] = (),
    ) -> None:
        """Replicas, all in sync; node 0 leads, or the one whose log has the latest epoch and the most records of it.

        Args:
            profile: release of all nodes.
            replicas: how many.
            expiration_ms: setting producer.id.expiration.ms.
            opened: replicas that are there already, as a restart of all nodes finds them; empty ones if not given.
        """
        nodes = range(replicas)
        self.replicas = list(opened) or [Partition(profile, expiration_ms=expiration_ms) for _ in nodes]
        config = ReplicaConfig(lag_max_ms=NOBODY_LAGS, max_batches=1)
        self._replicas = [Replica(profile, node, self.replicas[node], config) for node in nodes]
        self._brokers = dict.fromkeys(nodes, 0)
        self.failed: set[int] = set()
        newest = [(replica.epochs.latest, replica.log_end) for replica in self.replicas]
        leader, epoch = newest.index(max(newest)), LeaderEpoch(max(newest)[0] + 1)
        self.state = PartitionState(tuple(nodes), leader, epoch, 0, frozenset(nodes))
        self._announce(NO_TIME)

    @property
    def leader_node(self) -> int:
        """The node that leads."""
        return self.state.leader

    @property
    def leader(self) -> Partition:
        """The leader's replica."""
        return self.replicas[self.state.leader]

    @property
    def leader_epoch(self) -> LeaderEpoch:
        """The epoch of the present leader."""
        return self.state.leader_epoch

    @property
    def insync(self) -> frozenset[int]:
        """Nodes whose replicas count for the high watermark; only they may become leader, unless uncleanly."""
        return self.state.insync

    @property
    def leadership(self) -> Leadership:
        """The leader's view of its followers.

        Raises:
            Impossible: the node that is named as leader does not lead.
        """
        leadership = self._replicas[self.state.leader].leadership
        if leadership is None:
            raise Impossible(f"node {self.state.leader} does not lead")
        return leadership

    def epoch_end(self, epoch: LeaderEpoch) -> EpochEnd:
        """The newest leader epoch at or below `epoch` in the leader's log, and where it ends; -1 if none is known."""
        return self._replicas[self.state.leader].replica_log.epoch_end(epoch)

    # --- following --------------------------------------------------------------------------------------------

    def behind(self) -> list[int]:
        """Followers with something to fetch: batches, a higher high watermark or their place in the in-sync set."""
        leader, insync = self.leader, self.state.insync
        log_end, high_watermark = leader.log.log_end, leader.high_watermark
        return [
            node
            for node, replica in enumerate(self.replicas)
            if (replica.log.log_end < log_end or replica.high_watermark < high_watermark or node not in insync)
            and replica is not leader
            and node not in self.failed
        ]

    def next_for(self, node: int) -> RecordBatch | None:
        """The batch that a follower copies next, None if it has all."""
        return next(self.leader.log.walk(self.replicas[node].log_end, self.leader.log_end), None)

    def follow(self, node: int) -> RecordBatch | None:
        """A follower copies the next batch, None if it has all; its progress may raise the high watermark.

        Raises:
            Refusal: before 2.4, an epoch of a marker is below the known one; the follower then stops.
        """
        following = self._following(node)
        try:
            request, answer = self._fetch_from(following, NO_TIME)
            following.receive(request, answer, NO_TIME)
            check(following)
        except Refusal:
            self.stop(node)
            raise
        replica = self.replicas[node]
        self._count(node, replica.log_end)
        if replica.high_watermark != self.leader.high_watermark:
            # The answer to the next fetch would carry it.
            replica.adopt_high_watermark(self.leader.high_watermark)
        return answer.batches[0] if answer.batches else None

    def _following(self, node: int) -> Following:
        following = self._replicas[node].following
        if following is None:
            raise Impossible(f"node {node} follows no leader")
        return following

    def _fetch_from(self, following: Following, now: Timestamp) -> tuple[FetchRequest, FollowerFetchResult]:
        """The leader's answer to a follower whose log is a prefix of the leader's; nothing is counted yet.

        Raises:
            Refusal: before 2.4, the follower cannot cut its log there.
        """
        leader = self._replicas[self.state.leader]
        while True:
            check(following)
            request = following.next_request(0)
            if isinstance(request, EpochEndRequest):
                following.receive_end(request, leader.epoch_end(request), now)
            elif request is None:
                raise Impossible(f"node {following.node} has nothing to ask")
            else:
                answer = leader.leading(request.leader_epoch).answer(request)
                if answer.error is ErrorCode.NONE and answer.diverging == UNDEFINED:
                    return request, answer
                following.receive(request, answer, now)

    def _count(self, node: int, end: Offset, joins: bool = True) -> None:
        """The leader notes a follower's position; `joins`: it may join the in-sync set by that."""
        leadership = self.leadership
        before = leadership.followers[node]
        leadership.count(node, end, 0, NO_TIME)
        proposal = leadership.consider(node, before, NO_TIME)
        if proposal is not None:
            self._grant(frozenset(proposal.insync) if joins else self.state.insync)

    # --- the in-sync set --------------------------------------------------------------------------------------

    def leave_insync(self, node: int) -> None:
        """A follower that was behind for too long leaves the in-sync set, and no longer bounds the high watermark."""
        if node in self.state.insync:
            self.leadership.propose(self.state.insync - {node})
            self._grant(self.state.insync - {node})

    def _grant(self, insync: frozenset[int]) -> None:
        self.state = replace(self.state, insync=insync, partition_epoch=self.state.partition_epoch + 1)
        self.leader.alone = insync == {self.state.leader}
        self.leadership.altered(Altered(ErrorCode.NONE, self.state), NO_TIME)

    def stop(self, node: int) -> None:
        """A replica stops; it no longer bounds the high watermark."""
        self.failed.add(node)
        self.leave_insync(node)

    def forget_times(self) -> None:
        """A follower counts as caught up by its log alone, however lately it was in sync."""
        followers = self.leadership.followers
        for node, progress in followers.items():
            followers[node] = progress._replace(caught_up_ms=NEVER)

    # --- another leader ---------------------------------------------------------------------------------------

    def candidates(self) -> list[int]:
        """In-sync nodes other than the leader's."""
        return sorted(self.state.insync - {self.state.leader})

    def fail_over(self, node: int, now: Timestamp) -> None:
        """An in-sync follower becomes leader; the others drop what it does not have."""
        self.state = next_leader(self.state, node)
        self._announce(now)

    def elect_uncleanly(self, node: int, now: Timestamp) -> None:
        """A follower out of sync becomes leader, alone in the in-sync set; what it does not have is lost."""
        self.state = replace(self.state, insync=frozenset({node}))
        self.fail_over(node, now)

    def _announce(self, now: Timestamp) -> None:
        """Announce the leader to every broker: first to the leader itself, then to the others."""
        word = LeaderAndIsr(0, 0, self.state, self._brokers)
        leader = self._replicas[self.state.leader]
        leader.take_over(word, now)
        leader.log.alone = self.state.insync == {self.state.leader}
        for node, replica in enumerate(self._replicas):
            if replica is not leader and node not in self.failed:
                replica.take_over(word, now)
                self._align(node, now)

    def _align(self, node: int, now: Timestamp) -> None:
        """A follower cuts its log where it and the leader's diverge, and reports its end to the leader."""
        try:
            self._fetch_from(self._following(node), now)
        except Refusal:
            self.stop(node)
        else:
            self._count(node, self.replicas[node].log_end, joins=False)

    def restart(self, node: int, now: Timestamp) -> None:
        """A node comes back from disk; it leaves the in-sync set unless it is the last of it."""
        replica = self._replicas[node]
        replica.replica_log.write_checkpoint()
        replica.restart(replica.log.log_end, now)
        remaining = self.state.insync - {node}
        if not remaining:
            self.fail_over(node, now)
        elif node == self.state.leader:
            self.state = replace(self.state, insync=remaining)
            self.fail_over(min(remaining), now)
        else:
            self.leave_insync(node)
            replica.take_over(LeaderAndIsr(0, 0, self.state, self._brokers), now)


def check(following: Following) -> None:
    """A follower that could not apply the leader's log has stopped.

    Raises:
        Refusal: why it could not.
    """
    if following.failure is not None:
        raise following.failure
