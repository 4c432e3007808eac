"""What a world of replicas is made of, and what its nodes do by themselves."""

from contextlib import suppress
from typing import Final

from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.clock import Clock
from reference.errors import Refusal
from reference.log.partition import Partition
from reference.network import Network, NetworkMessage
from reference.recording.recorder import ObservedState, Recorder, Row
from reference.replication.broker import BrokerProcess
from reference.replication.controller import Controller, ControllerConfig
from reference.replication.elections import Metadata
from reference.replication.kraft_controller import KRaftController
from reference.replication.leadership import ReplicaConfig
from reference.replication.messages import AlterPartition
from reference.replication.replica import Replica
from reference.replication.zookeeper_controller import ZooKeeperController
from reference.world.history import HistoryRows
from reference.world.producer_history import ProducerHistory
from reference.world.replica_rows import TOPIC, node_name
from reference.world.replicas_clients import ReplicaProducers
from reference.world.replicas_messages import (
    Body,
    ReplicaMessage,
)
from reference.world.replicas_nodes import BrokerNode
from reference.world.replicas_produce import ProduceHandling
from reference.world.replicas_readers import ReplicaReaders
from reference.world.replicas_shape import ReplicasShape
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

START: Final = 7 * 24 * 60 * 60 * 1000
"""Where the clock begins: long after the time that Kafka takes for never."""


class ReplicasBase:
    """Brokers, controllers, producers and a network.

    Attributes:
        metadata: what outlives every controller.
        controllers: by number; one of them is present, the others were replaced or never elected.
        nodes: the brokers' machines, by number.
        clients: the producers.
        readers: of all partitions, one for each isolation level.
        network: what is under way.
        recorder: the steps so far.
    """

    def __init__(self, profile: Profile = NEWEST, shape: ReplicasShape | None = None, trace: int = 0) -> None:
        """A world in which all brokers are registered, the first leads, and nothing else has happened."""
        self.profile = profile
        self.shape = shape or ReplicasShape()
        self.clock = Clock(START)
        self.recorder = Recorder(trace, profile)
        self.recorder.clock = self.clock
        self.metadata = Metadata()
        self.controllers = [self._controller(number) for number in range(self.shape.controllers)]
        self.active = 0
        self.clients = ReplicaProducers(profile, self.shape, self.clock)
        history = HistoryRows(self.recorder, self.clock)
        self.readers = ReplicaReaders(self.recorder, history, self.clients.leaders[0])
        self._histories = ProducerHistory(history, self.clients.producers, [each.acks for each in self.shape.writers])
        self.network: Network[ReplicaMessage] = Network(self.shape.ordered)
        allocator = BlockAllocator()
        self.nodes = [self._node(number, allocator) for number in range(self.shape.brokers)]
        self._producing = ProduceHandling(self.shape.request_timeout_ms, self._send)
        self._reported_version = ABSENT
        self._begin()

    def _controller(self, number: int) -> Controller:
        kind = KRaftController if self.profile.quorum_controller else ZooKeeperController
        shape = self.shape
        config = ControllerConfig(shape.session_timeout_ms, shape.unclean_allowed, shape.min_insync)
        return kind(
            self.profile, number, self.metadata, config, lambda *reported: self._controller_decides(number, *reported)
        )

    def _node(self, number: int, allocator: BlockAllocator) -> BrokerNode:
        hosted = [each for each in range(self.shape.partitions) if number in self.shape.assignment(each)]
        replicas = {partition: self._replica(number, partition) for partition in hosted}
        producer_ids = ProducerIdManager(allocator, self.profile)
        return BrokerNode(BrokerProcess(self.profile, number, replicas), producer_ids, self.clock)

    def _replica(self, node: int, partition: int) -> Replica:
        shape = self.shape
        lag = self.profile.replica_lag_time_max_ms if shape.lag_max_ms is None else shape.lag_max_ms
        log = Partition(self.profile, leads=False, alone=False, expiration_ms=shape.expiration_ms)
        config = ReplicaConfig(shape.min_insync, lag, shape.fetched_batches)
        return Replica(
            self.profile, node, log, config, lambda *reported: self._broker_decides(node, partition, *reported)
        )

    def _begin(self) -> None:
        self.controller.take_office(self.clock.now)
        for node in self.nodes:
            self._register(node, clean=True)
        for partition in range(self.shape.partitions):
            self.controller.create(partition, self.shape.assignment(partition))
        self._reported_version = self.metadata.version
        for node in self.nodes:
            for partition in node.broker.replicas:
                node.broker.learn_leader(partition, self.controller.word_of(partition), node.now)

    @property
    def controller(self) -> Controller:
        """The present controller."""
        return self.controllers[self.active]

    def replica(self, node: int, partition: int = 0) -> Replica:
        """A replica on a node."""
        return self.nodes[node].broker.replicas[partition]

    def leader_of(self, partition: int) -> int:
        """The broker that leads, by the store of the controllers; -1 none."""
        return self.metadata.partitions[partition].leader

    # --- rows -------------------------------------------------------------------------------------------------

    def _broker_decides(
        self, node: int, partition: int, api: str, before: ObservedState, after: ObservedState, columns: Row
    ) -> None:
        where: Row = {"node": node_name(node), "topic": TOPIC, "partition": partition}
        self.recorder.add(api, self.nodes[node].now, where | columns, before, after)

    def _controller_decides(self, number: int, api: str, partition: int, columns: Row) -> None:
        direct = api == "AlterPartition" and not self.profile.insync_set_is_asked_for
        node = "zookeeper" if direct else controller_name(number)
        where: Row = {"node": node}
        if partition != ABSENT:
            where |= {"topic": TOPIC, "partition": partition}
        self.recorder.add(api, self.clock.now, where | columns)

    # --- what nodes do by themselves --------------------------------------------------------------------------

    def _send(self, sender: str, receiver: str, partition: int, body: Body) -> NetworkMessage[ReplicaMessage]:
        return self.network.send((sender, receiver), ReplicaMessage(sender, receiver, partition, body))

    def _propose(self, node: BrokerNode, partition: int, proposal: AlterPartition | None) -> None:
        if proposal is None:
            return
        if self.profile.insync_set_is_asked_for:
            self._send(node_name(node.number), controller_name(self.active), partition, proposal)
            return
        answer = self.controller.alter_partition(partition, proposal)
        node.broker.altered(partition, proposal, answer, node.now)
        self._report_brokers()

    def _register(self, node: BrokerNode, clean: bool) -> None:
        node.broker.registered(self.controller.register(node.number, clean, self.clock.now))
        with suppress(Refusal):
            self.controller.heartbeat(node.number, node.broker.epoch, False, self.clock.now)
        self._report_brokers()

    def controller_reports(self, node: int) -> None:
        """The controller sends a broker once more what it should know."""
        for partition in self.nodes[node].broker.replicas:
            word = self.controller.word_of(partition)
            self._send(controller_name(self.active), node_name(node), partition, word)

    def _report_brokers(self, again: bool = False) -> None:
        if (self.metadata.version == self._reported_version and not again) or not self.metadata.partitions:
            return
        self._reported_version = self.metadata.version
        for node in range(len(self.nodes)):
            self.controller_reports(node)


def controller_name(number: int) -> str:
    """Name of a controller in rows."""
    return f"controller-{number}"
