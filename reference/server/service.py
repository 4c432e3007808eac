"""What all nodes of a server share: the world, the topics, and the requests that wait for records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from reference.broker.transaction_metadata import TopicPartition
from reference.log.broker_directory import UnusableDirectory
from reference.server.cluster_directory import ClusterDirectory
from reference.server.nodes import NodeFault, Nodes, session_ms
from reference.server.topics import Topic, Topics, is_legal
from reference.server.world import ServedWorld
from reference.wire.codec import RequestHeader
from reference.world.transaction_shape import TransactionShape
from spec.versions import Profile
from spec.vocabulary import ErrorCode

Fields: TypeAlias = Mapping[str, Any]
"""The body of an answer by the names of its fields, as `encode_response` takes it."""

Reply: TypeAlias = Callable[[Fields | None], None]
"""Takes the answer to a request, None where it is never answered."""

Close: TypeAlias = Callable[[str], None]
"""Takes why a connection is closed."""

Wall: TypeAlias = Callable[[], int]
"""The time, milliseconds."""

CLUSTER_ID: Final = "exactly-once-reference"
SWEEP_MS: Final = 1_000
"""Between two looks for transactions, ids and producers whose time is over."""

CHECKPOINT_MS: Final = 5_000
"""Default of replica.high.watermark.checkpoint.interval.ms; log starts and recovery points go with it."""


class Endpoint(NamedTuple):
    """Where a node listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How a server behaves.

    Attributes:
        profile: of all nodes.
        nodes: how many.
        default_partitions: num.partitions, of a topic that is made without a number.
        auto_create: auto.create.topics.enable.
        coordinator_partitions: of `__transaction_state` and of `__consumer_offsets`.
        initial_delay_ms: group.initial.rebalance.delay.ms; the settings that Kafka is shipped with say 0, too.
        min_insync: min.insync.replicas.
        session_timeout_ms: after which the controller takes a silent node for gone; the release's default if None.
    """

    profile: Profile
    nodes: int = 1
    default_partitions: int = 1
    auto_create: bool = True
    coordinator_partitions: int = 50
    initial_delay_ms: int = 0
    min_insync: int = 1
    session_timeout_ms: int | None = None

    def shape(self) -> TransactionShape:
        """Sizes of the world: each partition is on three nodes, or on all if there are fewer."""
        return TransactionShape(
            nodes=self.nodes,
            replicas=min(self.nodes, 3),
            topics=(),
            log_partitions=self.coordinator_partitions,
            offsets_partitions=self.coordinator_partitions,
            initial_delay_ms=self.initial_delay_ms,
            min_insync=self.min_insync,
        )


@dataclass(slots=True)
class ClientRequest:
    """A request of a client at a node.

    Attributes:
        connection: number of the connection.
        node: that it has reached.
        header: of the request.
        message: its body, by the names of Kafka's schemas.
        reply: takes the answer.
        host: of the client.
        close: closes the connection instead of an answer, with a line that says why.
    """

    connection: int
    node: int
    header: RequestHeader
    message: Any
    reply: Reply
    host: str = ""
    close: Close = lambda _: None

    @property
    def version(self) -> int:
        """Of the request."""
        return self.header.version


@dataclass(slots=True)
class Parked:
    """A request that waits until its deadline; `go_on` answers it, at its deadline with whatever there is.

    Attributes:
        connection: the answer is lost once it has ended.
    """

    node: int
    deadline_ms: int
    go_on: Callable[[bool], bool]
    connection: int


class Service:
    """The nodes of a server.

    Attributes:
        settings: how it behaves.
        world: the nodes.
        nodes: which of them run.
        topics: by name and id.
        endpoints: where each node listens, once it does.
        parked: requests that wait, for records or for replicas.
        directory: where the nodes' data is; None if it is in memory.
    """

    def __init__(self, settings: ServerSettings, wall: Wall, directory: Path | None = None) -> None:
        """Nodes with the topics that were left in their directory, if they have one; else without topics.

        Args:
            settings: how they behave.
            wall: the time; it is looked at when something arrives, and stands still until the next.
            directory: for the nodes' data, which is in memory if it is not given.

        Raises:
            UnusableDirectory: no such nodes can start on the directory.
        """
        self.settings = settings
        self._wall = wall
        now, self.directory = wall(), None
        if directory is not None:
            self.directory = ClusterDirectory(directory, settings.profile, settings.nodes, now, CLUSTER_ID)
        with self._opening():
            self._start(now)

    def _start(self, now: int) -> None:
        settings, timeout = self.settings, self.settings.session_timeout_ms
        self.world = ServedWorld(settings.profile, settings.shape(), now, self.directory)
        self.nodes = Nodes(self.world, session_ms(settings.profile) if timeout is None else timeout)
        self.topics = Topics(0 if self.directory is None else self.directory.starts)
        self.endpoints: list[Endpoint] = []
        self.parked: list[Parked] = []
        self._swept_ms = self._checkpointed_ms = self.now
        self._readers = 0
        if self.directory is not None:
            for topic in self.directory.topics.values():
                self.world.create_topic(topic.name, topic.partitions)
                self.topics.put(topic)
            self.directory.begin()

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """What fails while nodes start leaves their directory as it is, and not locked."""
        try:
            yield
        except BaseException as failure:
            self.crash()
            if isinstance(failure, OSError):
                raise UnusableDirectory(f"{failure.filename}: {failure.strerror}") from failure
            raise

    def close(self) -> None:
        """Stop cleanly: the next start need not check what is in the directory."""
        if self.directory is not None:
            self.directory.close()

    def crash(self) -> None:
        """Stop without that, as the end of the process does."""
        if self.directory is not None:
            self.directory.crash()

    @property
    def now(self) -> int:
        """The time of the step under way, milliseconds."""
        return self.world.clock.now

    # --- steps ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Something arrives: the clock advances to the present."""
        self.world.clock.advance(self._wall() - self.now)

    def end(self) -> None:
        """Whatever follows from what has arrived happens, and requests that waited for it are answered."""
        self.world.settle()
        self._remember_topics()
        self.parked = [
            parked for parked in self.parked if self._waits(parked) or not parked.go_on(parked.deadline_ms <= self.now)
        ]

    def _waits(self, parked: Parked) -> bool:
        """Whether nothing can become of a request now: its node stands still."""
        return parked.node in self.world.paused

    def suffer(self, fault: NodeFault) -> None:
        """A fault happens to a node, in a step that has begun; the service's `nodes` do not refuse it."""
        self.nodes.apply(fault)
        self.parked = [parked for parked in self.parked if parked.node not in self.world.down]
        self.end()

    def forget(self, connection: int) -> None:
        """A client is gone: what it waits for is not answered any more."""
        self.parked = [parked for parked in self.parked if parked.connection != connection]

    def pass_time(self) -> None:
        """Whatever is due by now happens: rebalances and sessions, answers that wait, transactions that time out."""
        self.begin()
        self.nodes.pass_time()
        for node in sorted({*self.world.brokers.group_leaders.values()}.intersection(self.nodes.running)):
            self.world.brokers.nodes[node].groups.pass_time()
        self.world.expire_waiting()
        if self.now - self._swept_ms >= SWEEP_MS:
            self._swept_ms = self.now
            self._sweep()
        if self.directory is not None and self.now - self._checkpointed_ms >= CHECKPOINT_MS:
            self._checkpointed_ms = self.now
            self.directory.write_checkpoints()
        self.end()

    def _sweep(self) -> None:
        running = self.nodes.running
        for node in running:
            self.world.coordinator_aborts_timed_out(node)
            self.world.coordinator_expires_ids(node)
        for node in (node for node in running if node < self.world.shape.replicas):
            if any(
                each.replicas[node].state.due(self.world.clock.now) for each in self.world.brokers.partitions.values()
            ):
                self.world.producer_state_expires(node)

    def _remember_topics(self) -> None:
        """What there is after a step is on disk before its answer goes out."""
        if self.directory is not None:
            self.directory.remember(self.topics.by_name)

    # --- topics -----------------------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int) -> Topic:
        """Make a topic that is not there yet, of a legal name."""
        self.world.create_topic(name, partitions)
        topic = self.topics.add(name, partitions)
        self._remember_topics()
        return topic

    def delete_topic(self, topic: Topic) -> None:
        """A topic is gone, and whoever waits for its records is answered at the end of the step."""
        self.topics.delete(topic)
        self.world.delete_topic(topic.name)
        self._remember_topics()

    def create_partitions(self, topic: Topic, partitions: int, leaders: Sequence[int] = ()) -> None:
        """A topic has more partitions from now on, the new ones led by these nodes if any are given."""
        self.world.create_partitions(topic.name, range(topic.partitions, partitions), leaders)
        self.topics.grow(topic, partitions)
        self._remember_topics()

    def topic_for(self, name: str, *, may_create: bool) -> Topic | None:
        """The topic of a name; it is made if it may be, and is None if it is not there."""
        found = self.topics.by_name.get(name)
        partitions = self.settings.default_partitions
        if found is None and may_create and self.settings.auto_create and is_legal(name):
            return self.create_topic(name, partitions) if self.topics.has_room(partitions) else None
        return found

    def partition_named(self, request: Any, number: int) -> TopicPartition | None:
        """The partition that a request names by its topic's name or id; None if it is not there."""
        topic_id = getattr(request, "topic_id", None)
        named = getattr(request, "topic", None) or getattr(request, "name", None)
        topic = self.topics.with_id(topic_id.hex) if topic_id else self.topics.by_name.get(named or "")
        if topic is None or not 0 <= number < topic.partitions:
            return None
        return topic.partition(number)

    def leads(self, node: int, partition: TopicPartition) -> bool:
        """Whether a node leads a partition; one that is deleted has no leader."""
        return partition in self.world.brokers.partitions and self.world.brokers.leader_of(partition) == node

    def leader_error(self, node: int, partition: TopicPartition | None, leader_epoch: int = -1) -> ErrorCode:
        """Why a node does not answer for a partition as its leader, NONE if it does.

        Args:
            node: that is asked.
            partition: None if it is not there.
            leader_epoch: that the client knows of, -1 if it names none.
        """
        if partition is None or partition not in self.world.brokers.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        current = self.world.brokers.partitions[partition].leader_epoch
        if 0 <= leader_epoch < current:
            return ErrorCode.FENCED_LEADER_EPOCH
        if leader_epoch > current:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.leads(node, partition) else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def new_reader(self) -> str:
        """A name for the reader of one answer: what a client does with it, the server does not see."""
        self._readers += 1
        return f"reader-{self._readers}"

    def endpoint(self, node: int) -> Endpoint:
        """Where a node listens."""
        return self.endpoints[node]


def by_topic(listed: Sequence[tuple[Any, Fields]], partitions: str, **names: str) -> list[dict[str, Any]]:
    """Answers by partition, gathered by the topic that the request names, in the request's order.

    Args:
        listed: the request's topic, and what is answered of one partition.
        partitions: name of the field that holds these.
        **names: fields of the answer's topic, each with the name of the request's field that it repeats.
    """
    gathered: dict[int, dict[str, Any]] = {}
    for topic, answer in listed:
        found = gathered.get(id(topic))
        if found is None:
            repeated = {field: getattr(topic, source, None) for field, source in names.items()}
            found = gathered[id(topic)] = {**repeated, partitions: []}
        found[partitions].append(answer)
    return list(gathered.values())
