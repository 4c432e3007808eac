"""A partition and its replicas: who leads, who is in sync, and what a change of leader does (Partition, KIP-101)."""

from reference.broker.partition import Partition
from reference.broker.producer_state import PRODUCER_EXPIRATION_MS
from reference.errors import Refusal
from reference.log.batch import RecordBatch
from spec.versions import Profile
from spec.vocabulary import LeaderEpoch, Offset, Timestamp


class ReplicatedPartition:
    """One partition on several nodes; replica i lives on node i.

    Attributes:
        replicas: by node.
        leader_node: the node that leads.
        insync: nodes whose replicas count for the high watermark; only they may become leader.
        failed: nodes whose replica could not apply the leader's log (before 2.4) and has stopped for good.
    """

    __slots__ = ("failed", "insync", "leader_epoch", "leader_node", "replicas")

    def __init__(self, profile: Profile, replicas: int = 1, expiration_ms: int = PRODUCER_EXPIRATION_MS) -> None:
        """Empty replicas, all in sync; node 0 leads."""
        self.replicas = [
            Partition(profile, leads=node == 0, alone=replicas == 1, expiration_ms=expiration_ms)
            for node in range(replicas)
        ]
        self.leader_node = 0
        self.leader_epoch = LeaderEpoch(0)
        self.insync = set(range(replicas))
        self.failed: set[int] = set()

    @property
    def leader(self) -> Partition:
        """The leader's replica."""
        return self.replicas[self.leader_node]

    def behind(self) -> list[int]:
        """Followers with something to fetch: batches, a higher high watermark or their place in the in-sync set."""
        leader = self.leader
        return [
            node
            for node, replica in enumerate(self.replicas)
            if replica is not leader
            and node not in self.failed
            and (
                replica.log_end < leader.log_end
                or replica.high_watermark < leader.high_watermark
                or node not in self.insync
            )
        ]

    def follow(self, node: int) -> RecordBatch | None:
        """A follower copies the next batch, None if it has all; its progress may raise the high watermark.

        Raises:
            Refusal: before 2.4, the batch's epoch is below the producer's; the follower then stops for good.
        """
        follower, leader = self.replicas[node], self.leader
        batch = self.next_for(node)
        if batch is not None:
            try:
                follower.replicate(batch)
            except Refusal:
                self.stop(node)
                raise
        if follower.log_end == leader.log_end:
            self.insync.add(node)
        self.raise_high_watermark()
        follower.advance_high_watermark(leader.high_watermark)
        return batch

    def next_for(self, node: int) -> RecordBatch | None:
        """The batch that a follower copies next, None if it has all."""
        return next(self.leader.log.walk(self.replicas[node].log_end, self.leader.log_end), None)

    def leave_insync(self, node: int) -> None:
        """A follower that was behind for too long leaves the in-sync set, and holds nothing back any more."""
        self.insync.discard(node)
        self.raise_high_watermark()

    def stop(self, node: int) -> None:
        """A replica stops for good; it no longer holds back the high watermark."""
        self.failed.add(node)
        self.leave_insync(node)

    def raise_high_watermark(self) -> None:
        """The high watermark is the smallest log end among the in-sync replicas."""
        self.leader.alone = self.insync == {self.leader_node}
        self.leader.advance_high_watermark(min(self.replicas[node].log_end for node in self.insync))

    def candidates(self) -> list[int]:
        """In-sync nodes other than the leader's."""
        return sorted(self.insync - {self.leader_node})

    def fail_over(self, node: int, now: Timestamp) -> None:
        """An in-sync follower becomes leader; the others drop what it does not have."""
        self.leader_node = node
        self.leader_epoch = LeaderEpoch(self.leader_epoch + 1)
        for place, replica in enumerate(self.replicas):
            replica.leads = place == node
            replica.leader_epoch = self.leader_epoch
            if place != node:
                replica.alone = False
                self.align(place, now)
        self.raise_high_watermark()

    def elect_uncleanly(self, node: int, now: Timestamp) -> None:
        """A follower out of sync becomes leader, alone in the in-sync set; what it does not have is lost."""
        self.insync = {node}
        self.fail_over(node, now)

    def align(self, node: int, now: Timestamp) -> None:
        """Truncate a follower to where its log and the leader's part."""
        replica = self.replicas[node]
        common = self.common_end(replica)
        if common < replica.log_end and node not in self.failed:
            try:
                replica.truncate(common, now)
            except Refusal:
                self.stop(node)

    def common_end(self, replica: Partition) -> Offset:
        """The offset up to which a replica's log is the leader's: same offsets, same leader epochs."""
        end = replica.log_start
        for mine, leaders in zip(replica.log, self.leader.log, strict=False):
            if (mine.base_offset, mine.leader_epoch) != (leaders.base_offset, leaders.leader_epoch):
                break
            end = Offset(mine.last_offset + 1)
        return end

    def restart(self, node: int, now: Timestamp) -> None:
        """A node comes back from disk; it leaves the in-sync set unless it is the last of it."""
        self.replicas[node].restart(now)
        if self.insync == {node}:
            self.fail_over(node, now)
            return
        self.insync.discard(node)
        if node == self.leader_node:
            self.fail_over(min(self.insync), now)
        self.raise_high_watermark()
