"""The nodes of a world of transactions: who leads what, what is answered, and what waits.

Data partitions are replicated as everywhere. `__transaction_state` and `__consumer_offsets` are logs that outlive
their coordinators: what is in them is taken to be replicated.
"""

from collections.abc import Callable
from functools import partial

from reference.broker.coordinator_errors import CoordinatorNotAvailable, NotCoordinator
from reference.broker.group_coordinator import GroupConfig, GroupCoordinator
from reference.broker.ids import ProducerIdManager
from reference.broker.marker_channel import VERSION_WITH_TRANSACTION_VERSION, TxnMarker
from reference.broker.transaction_api import OFFSETS_TOPIC, IdentityAnswer, handle_init_producer_id
from reference.broker.transaction_coordinator import CoordinatorConfig, TransactionCoordinator
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.verification import AddPartitionsToTxnManager
from reference.client.coordinator_channel import CoordinatorAnswer, CoordinatorType
from reference.client.producer_settings import request_versions
from reference.clock import Clock, NodeClock
from reference.recording.recorder import Recorder
from reference.replication.replicated import ReplicatedPartition
from reference.world.authorization import Authorizer
from reference.world.messages import Body, BrokerSender, Request, WriteMarker
from reference.world.node import MarkerSender, Node, NodeBlocks, NodeTransactionLog, Storage
from reference.world.transaction_shape import TransactionShape
from spec.versions import Profile
from spec.vocabulary import CoordinatorEpoch, ErrorCode, Timestamp

Send = Callable[[BrokerSender, int, Body], Request]
"""Sends a request from a node to a node."""


class Brokers:
    """All nodes.

    Attributes:
        partitions: data partitions by name.
        names: theirs, in the order of a producer's queues.
        log: `__transaction_state`, as all nodes share it.
        offsets: `__consumer_offsets`.
        log_leaders: node that leads a partition of `__transaction_state`, by number; none until one is elected.
        log_epochs: leader epoch of each of them: the coordinator epoch.
        group_leaders: node that leads a partition of `__consumer_offsets`, by number.
        nodes: by number.
        storage: where their data is.
        blocks: the record of the producer ids that are handed out, which all share.
        clock: of the world.
        clocks: of the nodes, by number.
        unavailable: data partitions that cannot be written to for now.
        authorizer: who may do what.
    """

    def __init__(
        self,
        profile: Profile,
        shape: TransactionShape,
        clock: Clock,
        send: Send,
        recorder: Recorder,
        storage: Storage | None = None,
    ) -> None:
        """Nodes of which none coordinates anything yet; their data is where `storage` says, in memory without one."""
        self.profile = profile
        self.shape = shape
        self.storage = storage or Storage(profile)
        self.clock = clock
        self.partitions: dict[TopicPartition, ReplicatedPartition] = {}
        self.names: tuple[TopicPartition, ...] = ()
        self.log = self.storage.transaction_log(shape.log_partitions)
        self.offsets = self.storage.offsets_topic(shape.offsets_partitions)
        self.log_leaders: dict[int, int] = {}
        self.log_epochs: dict[int, int] = self.storage.coordinator_epochs()
        self.group_leaders: dict[int, int] = {}
        self.unavailable: set[TopicPartition] = set()
        self.authorizer = Authorizer(())
        for topic in shape.topics:
            self.create_topic(topic, shape.partitions)
        self.send = send
        self.clocks = tuple(self._clock_of(node) for node in range(shape.nodes))
        self.blocks = self.storage.allocator()
        self._recorder = recorder
        self.nodes = [self._started(node) for node in range(shape.nodes)]

    def create_topic(self, topic: str, partitions: int) -> None:
        """A topic with so many partitions; those that are new are empty, and led by node 0."""
        self.create_partitions(topic, range(partitions))
        self.authorizer.topics += (topic,)

    def create_partitions(self, topic: str, numbers: range) -> None:
        """Partitions of a topic; those that are new are empty, and led by node 0."""
        for number in numbers:
            name = TopicPartition(topic, number)
            self.partitions[name] = self.storage.partition(name, self.shape.replicas, self.shape.producer_expiration_ms)
        self.names = tuple(self.partitions)

    def delete_topic(self, topic: str) -> set[TopicPartition]:
        """A topic with all its partitions is gone; which they were."""
        deleted = {partition for partition in self.partitions if partition.topic == topic}
        for partition in deleted:
            del self.partitions[partition]
        self.unavailable -= deleted
        self.names = tuple(self.partitions)
        self.authorizer.topics = tuple(each for each in self.authorizer.topics if each != topic)
        return deleted

    def _clock_of(self, node: int) -> Clock:
        if node >= len(self.shape.skews):
            return self.clock
        return NodeClock(self.clock, *self.shape.skews[node])

    def now_at(self, node: int) -> Timestamp:
        """The time by a node's own clock."""
        return self.clocks[node].now

    def _started(self, number: int) -> Node:
        log = NodeTransactionLog(self.profile, self.log, number, self.log_leaders, self.log_epochs)
        blocks = NodeBlocks(self.blocks, number, self._recorder)
        producer_ids = ProducerIdManager(blocks, self.profile)
        markers = MarkerSender(lambda *marker: self._send_marker(number, *marker), self.is_led)
        clock = self.clocks[number]
        config = CoordinatorConfig(self.shape.max_timeout_ms, self.shape.id_expiration_ms)
        write = partial(self._write_marker, markers)
        transactions = TransactionCoordinator(self.profile, producer_ids, log, write, clock, config)
        group_config = GroupConfig(initial_delay_ms=self.shape.initial_delay_ms)
        groups = GroupCoordinator(self.profile, self.offsets, clock, group_config)
        return Node(log, blocks, producer_ids, transactions, groups, markers, AddPartitionsToTxnManager(), {})

    def _write_marker(self, markers: MarkerSender, partition: TopicPartition, marker: TxnMarker) -> ErrorCode | None:
        """As `MarkerSender.write`; a partition whose topic is gone needs no marker, which None says."""
        return markers.write(partition, marker) if self.exists(partition) else None

    def exists(self, partition: TopicPartition) -> bool:
        """Whether there is such a partition, of data or of offsets."""
        if partition.topic == OFFSETS_TOPIC:
            return 0 <= partition.partition < self.shape.offsets_partitions
        return partition in self.partitions

    def _send_marker(self, node: int, partition: TopicPartition, marker: TxnMarker) -> int:
        version = VERSION_WITH_TRANSACTION_VERSION if self.profile.marker_epoch_strict else 1
        return self.send(BrokerSender(node), self.leader_of(partition), WriteMarker(version, partition, marker)).number

    # --- who leads --------------------------------------------------------------------------------------------

    def leader_of(self, partition: TopicPartition) -> int:
        """The node that leads a data or offsets partition; node 0 where it has no leader."""
        if partition.topic == OFFSETS_TOPIC:
            return self.group_leaders.get(partition.partition, 0)
        return self.partitions[partition].leader_node

    def is_led(self, partition: TopicPartition) -> bool:
        """Whether a data or offsets partition has a leader, as far as nodes know."""
        if not self.shape.leaderless_is_known:
            return True
        if partition.topic == OFFSETS_TOPIC:
            return partition.partition in self.group_leaders
        return partition not in self.unavailable

    @property
    def has_leaderless(self) -> bool:
        """Whether a partition of a coordinator's log waits for an election."""
        logs, offsets = self.shape.log_partitions, self.shape.offsets_partitions
        return len(self.log_leaders) < logs or len(self.group_leaders) < offsets

    def coordinator_of(self, kind: CoordinatorType, key: str) -> int | None:
        """The node that coordinates a transactional id or a group, None if there is none."""
        if kind is CoordinatorType.GROUP:
            return self.group_leaders.get(self.offsets.number_of(key))
        return self.log_leaders.get(self.log.partition_of(key))

    def found_coordinator(self, requested: int, kind: CoordinatorType, key: str) -> CoordinatorAnswer:
        """The answer to FindCoordinator of one node: itself, as long as it takes itself for the coordinator."""
        node = requested if self._takes_itself_for(requested, kind, key) else self.coordinator_of(kind, key)
        if node is None:
            return CoordinatorAnswer(CoordinatorNotAvailable.code)
        return CoordinatorAnswer(node=node)

    def _takes_itself_for(self, node: int, kind: CoordinatorType, key: str) -> bool:
        if kind is CoordinatorType.GROUP:
            return False
        try:
            self.nodes[node].transactions.states.epoch_of(key)
        except NotCoordinator:
            return False
        return True

    def new_producer_id(self, node: int, principal: str) -> IdentityAnswer:
        """The answer of a node to InitProducerId without transactional id."""
        denied = self.authorizer.check_producer_id(principal, None)
        if denied is not ErrorCode.NONE:
            return IdentityAnswer(denied)
        version = request_versions(self.profile).init_producer_id
        return handle_init_producer_id(self.nodes[node].transactions, version, None, timeout_ms=0)

    # --- coordinators come and go -----------------------------------------------------------------------------

    def elect_transactions(self, partition: int, node: int) -> None:
        """A node leads a partition of `__transaction_state` under a new epoch; it answers "loading" until it has read.

        The node that led it before is not notified: it continues as a zombie until it resigns.
        """
        elected = self.nodes[node].transactions
        elected.resign(partition)
        self.log_leaders[partition] = node
        self.log_epochs[partition] = self.log_epochs.get(partition, -1) + 1
        self.storage.coordinator_elected(partition, self.log_epochs[partition])
        elected.states.begin_loading(partition, CoordinatorEpoch(self.log_epochs[partition]))

    def elect_groups(self, partition: int, node: int, *, loads: bool = True) -> None:
        """A node leads a partition of `__consumer_offsets`, and reads it if it loads; the one before stops at once."""
        former = self.group_leaders.get(partition)
        if former is not None:
            self.nodes[former].groups.resign(partition)
        self.group_leaders[partition] = node
        elected = self.nodes[node].groups.shards
        elected.begin_loading(partition)
        if loads:
            elected.load(partition)

    def restart(self, number: int) -> None:
        """A node loses its memory; what it coordinated has no coordinator until one is elected."""
        for leaders in (self.log_leaders, self.group_leaders):
            for partition in [partition for partition, node in leaders.items() if node == number]:
                del leaders[partition]
        self.nodes[number] = self._started(number)
        if number < self.shape.replicas:
            for replicated in self.partitions.values():
                replicated.restart(number, self.now_at(number))
