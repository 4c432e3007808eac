"""The state that outlives every controller: brokers and partitions, in ZooKeeper or in the log of the Raft quorum.

Kafka's quorum replicates a log of changes; here what a quorum has committed is one store that all controllers share,
and the election of its leader is taken to be correct. Likewise ZooKeeper.
"""

from dataclasses import dataclass, field, replace

from reference.errors import Impossible
from reference.replication.messages import BrokerEpochs, PartitionState
from reference.replication.refusals import NotController
from spec.vocabulary import ABSENT, LeaderEpoch, Timestamp


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker that has registered.

    Attributes:
        epoch: of this registration; a broker that comes back has a higher one.
        fenced: its last contact is too long ago, or it had none yet; it leads nothing and joins no in-sync set.
        shutting_down: it has asked to shut down, and gives up what it leads.
        last_contact: the time of its last contact.
    """

    epoch: int
    fenced: bool
    shutting_down: bool = False
    last_contact: Timestamp = Timestamp(0)  # noqa: RUF009 (a constructor of integers)

    @property
    def is_active(self) -> bool:
        """Whether it may lead."""
        return not self.fenced and not self.shutting_down


@dataclass(slots=True)
class Metadata:
    """The store.

    Attributes:
        partitions: by number.
        brokers: by number.
        controller_epoch: of the present controller, the only writer.
        version: raised with every write.
    """

    partitions: dict[int, PartitionState] = field(default_factory=dict)
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    controller_epoch: int = ABSENT
    version: int = 0

    def check_controller(self, epoch: int) -> None:
        """Only the present controller may write.

        Raises:
            NotController: there is a newer one.
        """
        if epoch != self.controller_epoch:
            raise NotController(current=self.controller_epoch, got=epoch)

    def create(self, partition: int, assignment: tuple[int, ...]) -> None:
        """A new partition: those of its replicas that are there are in sync, and the first of them leads.

        Raises:
            Impossible: none is there.
        """
        present = [broker for broker in assignment if broker in self.active()]
        if not present:
            raise Impossible(f"none of {assignment} is there")
        self.version += 1
        state = PartitionState(assignment, present[0], LeaderEpoch(0), 0, frozenset(present))
        self.partitions[partition] = state

    def put(self, partition: int, state: PartitionState) -> PartitionState:
        """Keep a changed state of a partition, under the next partition epoch."""
        self.version += 1
        self.partitions[partition] = replace(state, partition_epoch=state.partition_epoch + 1)
        return self.partitions[partition]

    def register(self, broker: int, fenced: bool, now: Timestamp) -> BrokerRegistration:
        """A broker comes, under an epoch of its own."""
        self.version += 1
        self.brokers[broker] = BrokerRegistration(self.version, fenced, last_contact=now)
        return self.brokers[broker]

    def active(self) -> BrokerEpochs:
        """The brokers that may lead and join in-sync sets, with their epochs."""
        return {number: broker.epoch for number, broker in sorted(self.brokers.items()) if broker.is_active}


def next_leader(state: PartitionState, leader: int) -> PartitionState:
    """The state with another leader, under the next leader epoch."""
    return replace(state, leader=leader, leader_epoch=LeaderEpoch(state.leader_epoch + 1))
