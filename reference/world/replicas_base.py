"""The parts of a world of replicas, and what its nodes do by themselves.

Each producer and each reader has its own view of who leads a partition.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.client.producer import Attempt, AttemptReply, IdempotentProducer
from reference.client.record_producer import PlainProducer
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
from reference.replication.messages import NO_LEADER, AlterPartition
from reference.replication.replica import Replica
from reference.replication.zookeeper_controller import ZooKeeperController
from reference.world.history import HistoryRows, ProducerHistory
from reference.world.partition_readers import READERS, PartitionReaders
from reference.world.replica_rows import TOPIC, node_name
from reference.world.replicas_messages import (
    BatchAnswer,
    Body,
    ReplicaMessage,
    ReplicaProduce,
)
from reference.world.replicas_nodes import BrokerNode, ProduceHandling
from reference.world.replicas_shape import ReplicasShape
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode, LeaderEpoch, Timestamp

# --- producers --------------------------------------------------------------------------------------------------------


NO_ACKS = 0
"""The acks with which a broker answers nothing."""


class ReplicaProducers:
    """All producers.

    Attributes:
        producers: by number.
        leaders: the broker that a producer takes for the leader of a partition, by producer and partition.
        sent: broker and time of each attempt that is not answered, by producer and number of the attempt.
    """

    __slots__ = ("_clock", "_shape", "leaders", "producers", "sent")

    def __init__(self, profile: Profile, shape: ReplicasShape, clock: Clock) -> None:
        """Producers that know the first replica of each assignment."""
        self._shape = shape
        self._clock = clock
        self.producers = [
            (IdempotentProducer if writer.idempotent else PlainProducer)(
                shape.partitions,
                shape.delivery_timeout_ms,
                profile.cached_batches,
                fenced_has_code=profile.fenced_has_code,
            )
            for writer in shape.writers
        ]
        known = [shape.assignment(partition)[0] for partition in range(shape.partitions)]
        self.leaders = [list(known) for _ in shape.writers]
        self.sent: dict[tuple[int, int], tuple[int, Timestamp]] = {}

    def sendable(self) -> list[tuple[int, int]]:
        """Producers and partitions of which a batch may be sent now."""
        return [
            (number, partition)
            for number, producer in enumerate(self.producers)
            for partition in range(self._shape.partitions)
            if producer.may_drain(partition)
        ]

    def send(self, producer: int, partition: int) -> tuple[int, ReplicaProduce]:
        """A producer sends its next batch; returns the broker and the request."""
        attempt = self.producers[producer].drain(partition)
        broker, acks = self.leaders[producer][partition], self._shape.writers[producer].acks
        if acks == NO_ACKS:
            self.producers[producer].receive(attempt, AttemptReply(ErrorCode.NONE))
        else:
            self.sent[producer, attempt.number] = broker, self._clock.now
        return broker, ReplicaProduce(producer, attempt, acks)

    def receive(self, answered: BatchAnswer) -> None:
        """An answer reaches its producer."""
        producer, attempt = answered.request.producer, answered.request.attempt
        self.sent.pop((producer, attempt.number), None)
        self.producers[producer].receive(attempt, answered.reply)
        self.producers[producer].tick(self._clock.now)

    def give_up(self, producer: int, attempt: Attempt) -> None:
        """A producer stops waiting for an answer."""
        self.sent.pop((producer, attempt.number), None)
        self.producers[producer].lose(attempt)

    def lose_all(self, broker: int) -> None:
        """Every connection to a broker breaks."""
        for producer, attempt in tuple(self.waiting()):
            if self.sent[producer, attempt.number][0] == broker:
                self.give_up(producer, attempt)

    def waiting(self) -> Iterator[tuple[int, Attempt]]:
        """Every attempt that waits for an answer, with its producer."""
        for producer, number in self.sent:
            attempt = self.producers[producer].on_wire.get(number)
            if attempt is not None:
                yield producer, attempt

    def overdue(self) -> list[tuple[int, Attempt]]:
        """The attempts that have waited for longer than request.timeout.ms."""
        limit = self._clock.now - self._shape.request_timeout_ms
        return [(who, attempt) for who, attempt in self.waiting() if self.sent[who, attempt.number][1] <= limit]

    def learn_leader(self, producer: int, partition: int, leader: int) -> None:
        """A producer learns a partition's leader, and sends to it once nothing is under way to the former leader."""
        under_way = any(each.partition == partition for each in self.producers[producer].on_wire.values())
        if not under_way and leader >= 0:
            self.leaders[producer][partition] = leader


# --- readers ----------------------------------------------------------------------------------------------------------


FIRST_EPOCH: Final = LeaderEpoch(0)  # the leader epoch of a new partition


class ReplicaReaders:
    """Two readers of all partitions, one for each isolation level; a fetch is answered at once.

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
        """Readers and partitions where a fetch from a running broker is refused, or has a result."""
        found = []
        for reader, leaders in enumerate(self.leaders):
            for partition, (broker, _) in enumerate(leaders):
                if nodes[broker].is_up and self._is_due(reader, partition, nodes[broker].broker.replicas[partition]):
                    found.append((reader, partition))
        return found

    def _is_due(self, reader: int, partition: int, replica: Replica) -> bool:
        return replica.leadership is None or self._readers.is_due(reader, partition, replica.log)

    def lost(self, nodes: Sequence[BrokerNode]) -> list[tuple[int, int]]:
        """Readers and partitions where the broker that the reader takes for the leader does not run."""
        return [
            (reader, partition)
            for reader, leaders in enumerate(self.leaders)
            for partition, (broker, _) in enumerate(leaders)
            if not nodes[broker].is_up
        ]

    def fetch(self, reader: int, partition: int, node: BrokerNode) -> bool:
        """A reader fetches from its supposed leader, with the epoch that it knows; returns whether it is answered."""
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


# --- the world --------------------------------------------------------------------------------------------------------


START: Final = 7 * 24 * 60 * 60 * 1000
"""Where the clock begins: long after the time that Kafka takes for never."""


class ReplicasBase:
    """Brokers, controllers, producers and a network.

    Attributes:
        metadata: the state that outlives every controller.
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
        """The broker that leads, by the metadata of the controllers; -1 if there is none."""
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
        """The controller sends a broker its metadata once more."""
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
