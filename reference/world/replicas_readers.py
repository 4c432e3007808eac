"""The readers of a world of replicas, with what each believes about leaders."""

from collections.abc import Sequence
from typing import Final

from reference.errors import Refusal
from reference.recording.recorder import Recorder, Row
from reference.replication.messages import NO_LEADER
from reference.replication.replica import Replica
from reference.world.history import HistoryRows
from reference.world.partition_readers import READERS, PartitionReaders
from reference.world.replicas_nodes import BrokerNode
from spec.vocabulary import LeaderEpoch

FIRST_EPOCH: Final = LeaderEpoch(0)  # the leader epoch of a new partition


class ReplicaReaders:
    """Two readers of all partitions, one for each isolation level; a fetch asks once and is answered at once.

    Attributes:
        leaders: the broker that a reader takes for the leader of a partition and its leader epoch, by reader and
            partition.
    """

    __slots__ = ("_readers", "leaders")

    def __init__(self, recorder: Recorder, history: HistoryRows, first: Sequence[int]) -> None:
        """Readers that know the first leader of each partition."""
        self._readers = PartitionReaders(recorder, history, len(first))
        self.leaders = [[(leader, FIRST_EPOCH) for leader in first] for _ in READERS]

    def due(self, nodes: Sequence[BrokerNode]) -> list[tuple[int, int]]:
        """Readers and partitions of which a fetch from a broker that runs is refused, or brings something."""
        found = []
        for reader, leaders in enumerate(self.leaders):
            for partition, (broker, _) in enumerate(leaders):
                if nodes[broker].is_up and self._is_due(reader, partition, nodes[broker].broker.replicas[partition]):
                    found.append((reader, partition))
        return found

    def _is_due(self, reader: int, partition: int, replica: Replica) -> bool:
        return replica.leadership is None or self._readers.is_due(reader, partition, replica.log)

    def lost(self, nodes: Sequence[BrokerNode]) -> list[tuple[int, int]]:
        """Readers and partitions where whom they take for the leader does not run."""
        return [
            (reader, partition)
            for reader, leaders in enumerate(self.leaders)
            for partition, (broker, _) in enumerate(leaders)
            if not nodes[broker].is_up
        ]

    def fetch(self, reader: int, partition: int, node: BrokerNode) -> bool:
        """A reader asks whom it takes for the leader, and names the epoch that it knows; whether it is answered."""
        replica, epoch = node.broker.replicas[partition], self.leaders[reader][partition][1]
        named: Row = {"asked_leader_epoch": epoch, "leader_epoch": replica.leader_epoch}
        try:
            replica.leading(epoch)
        except Refusal as refusal:
            self._readers.is_refused(reader, partition, node.number, node.now, refusal.code, named)
            return False
        self._readers.fetch(reader, partition, node.number, node.now, replica.log, named)
        return True

    def learn_leader(self, reader: int, partition: int, replica: Replica) -> None:
        """A reader learns a leader from some broker; of two leaders it takes the later one."""
        if replica.leader != NO_LEADER and replica.leader_epoch > self.leaders[reader][partition][1]:
            self.leaders[reader][partition] = replica.leader, replica.leader_epoch
