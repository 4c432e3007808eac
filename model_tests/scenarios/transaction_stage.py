"""Where transactions play: applications, coordinators, partitions and readers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from model_tests.monitor.story import Story
from model_tests.traces.schema import Row
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_metadata import TopicPartition, TransactionMetadata
from reference.client.consumer import Consumer
from reference.client.coordinator_channel import EndTxn
from reference.errors import Impossible
from reference.event import FaultRates
from reference.log.partition import READ_COMMITTED
from reference.network import NetworkMessage
from reference.recording.recorder import FATE, Fate
from reference.simulate.schedule_transactions import TransactionScheduler
from reference.simulate.scheduler import ANSWER_LOST
from reference.simulate.transaction_faults import LOADS_AT_ONCE
from reference.tape import Tape
from reference.world.coordinator_rows import VERIFY_PARTITIONS
from reference.world.instances import ApplicationRun
from reference.world.messages import CoordinatorCall, Request, Response, Verify, WriteMarker
from reference.world.node import Storage
from reference.world.replica_rows import TOPIC
from reference.world.settling import PAUSE_MS, busy, living, send_all
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import NEWEST, Profile
from spec.vocabulary import Api, ControlType

T0: Final = TopicPartition(TOPIC, 0)
T1: Final = TopicPartition(TOPIC, 1)
GROUPS: Final = "group coordinator"
PLAIN: Final = "producer without transactions"
READERS: Final = ("reader", "another reader")

GROUP_APIS: Final = (
    Api.TXN_OFFSET_COMMIT,
    Api.OFFSET_COMMIT,
    Api.OFFSET_FETCH,
    Api.JOIN_GROUP,
    Api.SYNC_GROUP,
    Api.HEARTBEAT,
    Api.LEAVE_GROUP,
)
PARTITION_APIS: Final = ("ConsumerFetch", "ConsumerFetchAborted", "ProducerStateExpiry", "BrokerRestart")
VERIFIES: Final = (Api.ADD_PARTITIONS_TO_TXN, VERIFY_PARTITIONS)
"""What group coordinators answer, what partitions answer or do, and what partitions ask transaction coordinators."""

DAY_MS: Final = 24 * 60 * 60 * 1000  # milliseconds


@dataclass(frozen=True, slots=True)
class OfTransactions:
    """A setting with transactions."""

    profile: Profile = NEWEST
    shape: TransactionShape = field(default=TransactionShape())

    @property
    def words(self) -> str:
        """Releases and settings."""
        return f"Kafka {self.profile.name}, acks=all, transaction.version={self.profile.transaction_version}"

    def stage(self) -> "TransactionStage":
        """A world in which nothing has happened."""
        return TransactionStage(self.profile, self.shape)


class TransactionStory(Story):
    """A run with transactions: a node is drawn as its coordinators and the partitions that it leads."""

    def client(self, row: Row) -> str:
        """Who asks in a step: of brokers, coordinators write markers, and those that have a request verify it."""
        return self._role(row, str(row["client"]), of_partition=row["api"] in VERIFIES)

    def node(self, row: Row) -> str:
        """Who handles it."""
        of_partition = row["origin"] >= 0 or row["api"] in PARTITION_APIS or row.get(FATE) == Fate.REMARK
        return self._role(row, str(row["node"]), of_partition=of_partition)

    def _role(self, row: Row, name: str, *, of_partition: bool) -> str:
        kind, _, number = name.rpartition("-")
        if kind != "broker":
            return self.participants.get(name, name)
        if row["api"] in GROUP_APIS or (of_partition and row["topic"] == OFFSETS_TOPIC):
            return GROUPS
        return f"{row['topic']}-{row['partition']}" if of_partition and row["topic"] else coordinator(int(number))


class TransactionScene(TransactionWorld):
    """A world of transactions that is recorded to be drawn; node 0 coordinates everything.

    Attributes:
        story: what is drawn.
        events: of the world: what fails, and what is mended, is one of them.
    """

    def __init__(self, profile: Profile, shape: TransactionShape, storage: Storage | None = None) -> None:
        """No application has started; the data of nodes is in memory if no storage is given."""
        super().__init__(profile, shape, storage=storage)
        self.story = TransactionStory(self.recorder)
        self.events = TransactionScheduler(self, Tape.recorded(()), FaultRates())

    @property
    def cast(self) -> tuple[str, ...]:
        """Applications, coordinators, partitions, groups, readers."""
        return (
            *map(self.name_of, self.instances),
            PLAIN,
            *map(coordinator, range(self.shape.nodes)),
            *map(partition_name, self.partitions),
            GROUPS,
            *READERS,
        )

    def application_starts(self, transactional_id: str) -> ApplicationRun:
        """An application starts: it is called by its transactional id, with a number where it is not the first."""
        instance = super().application_starts(transactional_id)
        earlier = sum(each.transactional_id == transactional_id for each in self.instances[:-1])
        name = f"{transactional_id} #{earlier + 1}" if earlier else transactional_id
        self.story.participants[instance.client] = name
        return instance

    def crash(self, instance: ApplicationRun) -> None:
        """An application is gone."""
        self.events.let(self.events.application_crashes, instance)

    def name_of(self, instance: ApplicationRun) -> str:
        """What the story calls an application."""
        return self.story.participants[instance.client]


class TransactionStage(TransactionScene):
    """What a scenario of transactions is played on."""

    # --- what a scenario does -----------------------------------------------------------------------------------

    def start(self, transactional_id: str) -> ApplicationRun:
        """An application starts, and gets its producer id."""
        instance = self.application_starts(transactional_id)
        self.application_initializes(instance)
        self.settle()
        return instance

    def begin(self, instance: ApplicationRun, **values: str) -> None:
        """A transaction begins; `t0="ab"` sends records a and b to t-0, and all of them are acknowledged."""
        self.application_begins(instance)
        for partition, letters in values.items():
            self.send(instance, {"t0": T0, "t1": T1}[partition], *letters)
        self.settle()

    def send(self, instance: ApplicationRun, partition: TopicPartition, *names: str) -> None:
        """Records are handed over."""
        for name in names:
            sent = self.application_sends(instance, partition)
            self.story.call(sent.batch.values[0], name)

    def write_plainly(self, partition: TopicPartition, name: str) -> None:
        """A producer without transactions writes a record."""
        application = self.plain.start(idempotent=False)
        sent = self.plain.send(application, partition)
        self.story.call(sent.batch.values[0], name)
        self.story.participants[application.client] = PLAIN
        self.round_trip(self.plain.produce(application, partition))

    def round_trip(self, request: Request, *, answered: bool = True) -> None:
        """A request arrives, and its answer arrives or is lost."""
        self.deliver(lambda each: each is request)
        for message in tuple(self.wires.replies.in_transit):
            if message.payload.request is request:
                (self.sender_receives if answered else self.lose)(message)

    @contextmanager
    def delayed(self) -> Iterator[None]:
        """What is under way to brokers arrives no earlier than after the context."""
        requests = self.wires.requests
        held = tuple(requests.in_transit)
        for message in held:
            requests.lose(message)
        yield
        requests.in_transit += held

    def end(self, instance: ApplicationRun, *, commit: bool = True) -> None:
        """The transaction ends, and what follows from that happens."""
        self.ask_to_end(instance, commit=commit)
        self.settle()

    def ask_to_end(self, instance: ApplicationRun, *, commit: bool = True) -> None:
        """The application commits or aborts."""
        (self.application_commits if commit else self.application_aborts)(instance)

    def decide(self, instance: ApplicationRun, *, commit: bool = True) -> None:
        """The end is decided and answered; no marker is sent yet."""
        self.ask_to_end(instance, commit=commit)
        self.producer_asks(instance)
        self.deliver(is_end)
        for message in tuple(self.wires.replies.in_transit):
            self.sender_receives(message)

    def settle(self, rounds: int = 40) -> bool:
        """Without further faults, everything comes to its end, one exchange after the other; whether it did."""
        for turn in range(rounds):
            if not busy(self):
                return True
            self.clock.advance(PAUSE_MS)
            for instance in living(self):
                send_all(self, instance, turn % self.shape.nodes)
            self._exchange()
            for node in range(self.shape.nodes):
                self.coordinator_sends_markers(node)
            self._exchange()
        return not busy(self)

    def _exchange(self) -> None:
        """Requests arrive, oldest first, and each is answered before the next; what a broker asks goes before them."""
        wires = self.wires
        while wires.requests.in_transit or wires.replies.in_transit:
            if wires.replies.in_transit:
                self.sender_receives(wires.replies.in_transit[0])
                continue
            waiting = wires.requests.in_transit
            asked_by_brokers = (message for message in waiting if isinstance(message.payload.body, Verify))
            self.broker_receives(next(asked_by_brokers, waiting[0]))

    def write_markers(self) -> None:
        """The coordinator of node 0 sends the markers that it owes, and they are written and answered."""
        self.coordinator_sends_markers(0)
        self._exchange()

    def deliver(self, wanted: Callable[[Request], bool]) -> None:
        """The requests under way that are wanted arrive."""
        for message in tuple(self.wires.requests.in_transit):
            if wanted(message.payload):
                self.broker_receives(message)

    def lose_answers(self) -> None:
        """Every answer that is under way is lost."""
        for message in tuple(self.wires.replies.in_transit):
            self.lose(message)

    def lose(self, message: NetworkMessage[Request] | NetworkMessage[Response]) -> None:
        """A request or an answer is lost."""
        answer = (ANSWER_LOST,) if isinstance(message.payload, Response) else ()
        self.events.let(self.events.network_fails, message, happening=answer)

    def replace_coordinator(self) -> None:
        """The coordinator's node fails, and the other one takes over."""
        self.story.remark(coordinator(0), "fails")
        self.move_coordinator(1)

    def move_coordinator(self, node: int, *, loads: bool = True) -> None:
        """Another node is elected coordinator, and the former one learns it; the log is read at once, or later."""
        self.events.let(self.events.coordinator_fails_over, node, happening=(LOADS_AT_ONCE,) if loads else ())
        if self.events.zombies:
            self.events.let(self.events.fault_is_mended, self.events.coordinator_resigns)

    def pause(
        self, instance: ApplicationRun, milliseconds: int, until: Callable[[Tape], None], *choices: object
    ) -> None:
        """An application does nothing for so long that an event comes of the time.

        Raises:
            Impossible: the event takes another time.
        """
        days, seconds = milliseconds // DAY_MS, milliseconds // 1000
        self.story.remark(self.name_of(instance), f"pauses for {f'{days} days' if days > 1 else f'{seconds} seconds'}")
        self.clock.advance(1)  # what began now is over when more than its time has passed
        began = self.clock.now
        self.events.let(until, *choices)
        if self.clock.now - began != milliseconds:
            raise Impossible(f"{until.__name__} takes another time than {milliseconds} ms")

    # --- what a scenario sees -----------------------------------------------------------------------------------

    def read(self, partition: TopicPartition, isolation: int = READ_COMMITTED) -> list[str]:
        """The records that a new consumer receives of a partition; it is no participant."""
        with self.story.offstage():
            return self.fetch(Consumer([partition], isolation), partition)

    def shows(self, partition: TopicPartition, isolation: int = READ_COMMITTED, reader: str = "reader") -> list[str]:
        """The same, by a participant."""
        return self.reported_read(Consumer([partition], isolation), partition, reader)

    def reported_read(self, consumer: Consumer, partition: TopicPartition, reader: str = "reader") -> list[str]:
        """A consumer reads on; it is part of the story."""
        self.story.participants[self.readers.name_of(consumer)] = reader
        return self.fetch(consumer, partition)

    def fetch(self, consumer: Consumer, partition: TopicPartition) -> list[str]:
        """What a consumer receives next."""
        return [self.story.name_of(each.record) for each in self.readers.consumer_fetches(consumer, partition)]

    def stable(self, partition: TopicPartition) -> int:
        """The last stable offset; it is part of the story."""
        offset = int(self.brokers.partitions[partition].leader.last_stable)
        self.story.remark(partition_name(partition), f"last stable offset {offset}")
        return offset

    def written(self, partition: TopicPartition) -> list[str]:
        """What the log has: records by name, and markers by their outcome."""
        names: list[str] = []
        for batch in self.brokers.partitions[partition].leader.log:
            marker = batch.marker() if batch.is_control else None
            marked = None if marker is None else ControlType(marker.control_type).name
            names += [marked] if marked else [self.story.name_of(record) for record in batch.records()]
        return names

    def known(self, transactional_id: str) -> TransactionMetadata:
        """The transactional id as its coordinator has it."""
        node = self.brokers.log_leaders[self.brokers.log.partition_of(transactional_id)]
        return self.brokers.nodes[node].transactions.describe(transactional_id)


def is_end(request: Request) -> bool:
    """Whether it is an EndTxn."""
    return isinstance(request.body, CoordinatorCall) and isinstance(request.body.request, EndTxn)


def is_marker_for(partition: TopicPartition) -> Callable[[Request], bool]:
    """Whether it is a marker for the partition."""
    return lambda request: isinstance(request.body, WriteMarker) and request.body.partition == partition


def coordinator(node: int) -> str:
    """Name of a node's transaction coordinator."""
    return f"coordinator {node}"


def partition_name(partition: TopicPartition) -> str:
    """Name of a partition."""
    return f"{partition.topic}-{partition.partition}"
