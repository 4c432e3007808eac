"""The stage of transactions: applications, coordinators, partitions and readers, and everything between them noted."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from model_tests.diagrams.events import Event, Mark
from model_tests.scenarios.storyboard import Storyboard
from model_tests.scenarios.transaction_words import (
    GROUPS,
    answer_words,
    called,
    coordinator,
    error_of,
    is_told,
    partition_name,
    receiver_of,
    request_words,
)
from reference.broker.partition import READ_COMMITTED
from reference.broker.transaction_metadata import TopicPartition, TransactionMetadata
from reference.client.consumer import Consumer
from reference.client.coordinator_requests import EndTxn
from reference.log.batch import value_batch
from reference.network import Message
from reference.replica_rows import TOPIC
from reference.world.coordinator_rows import Memory, changed, memory_of
from reference.world.instances import Instance
from reference.world.messages import Asked, Broker, Client, Request, Response, Sender, Verify, WriteMarker
from reference.world.settling import PAUSE_MS, busy, living, send_all
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import NEWEST, Profile
from spec.vocabulary import ErrorCode

T0: Final = TopicPartition(TOPIC, 0)
T1: Final = TopicPartition(TOPIC, 1)
DAY_MS: Final = 24 * 60 * 60 * 1000
READERS: Final = ("reader", "another reader")


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


class TransactionStage(TransactionWorld):
    """A world of transactions in which every event is noted down.

    Attributes:
        names: what the story calls the values of records.
    """

    def __init__(self, profile: Profile, shape: TransactionShape) -> None:
        """Node 0 coordinates everything."""
        self.story = Storyboard()
        self.names: dict[bytes, str] = {}
        with self.story.offstage():
            super().__init__(profile, shape)

    @property
    def steps(self) -> tuple[tuple[Event, ...], ...]:
        """What has happened, to be drawn."""
        return self.story.steps

    @property
    def cast(self) -> tuple[str, ...]:
        """Applications, coordinators, partitions, groups, readers."""
        coordinators = map(coordinator, range(self.shape.nodes))
        return (
            *map(self.name_of, self.instances),
            *coordinators,
            *map(partition_name, self.partitions),
            GROUPS,
            *READERS,
        )

    def name_of(self, instance: Instance) -> str:
        """Name of an instance: its transactional id, with a number where it is not the first."""
        earlier = sum(each.transactional_id == instance.transactional_id for each in self.instances[: instance.number])
        return f"{instance.transactional_id} #{earlier + 1}" if earlier else instance.transactional_id

    # --- what a scenario does -----------------------------------------------------------------------------------

    def start(self, transactional_id: str) -> Instance:
        """An application starts, and gets its producer id."""
        instance = self.application_starts(transactional_id)
        self.application_initializes(instance)
        self.settle()
        return instance

    def begin(self, instance: Instance, **values: str) -> None:
        """A transaction begins; `t0="ab"` sends records a and b to t-0, and all of them are acknowledged."""
        self.application_begins(instance)
        for partition, letters in values.items():
            self.send(instance, {"t0": T0, "t1": T1}[partition], *letters)
        self.settle()

    def send(self, instance: Instance, partition: TopicPartition, *names: str) -> None:
        """Records are handed over."""
        for name in names:
            sent = self.application_sends(instance, partition)
            self.names[sent.batch.values[0]] = name

    def write_plainly(self, partition: TopicPartition, name: str) -> None:
        """A producer without transactions writes a record."""
        self.brokers.partitions[partition].leader.append(value_batch([name.encode()], timestamp=self.clock.now))
        self.story.remark(partition_name(partition), f"appends {name}, of a producer without transactions")

    @contextmanager
    def delayed(self) -> Iterator[None]:
        """What is under way to brokers arrives no earlier than after the context."""
        requests = self.wires.requests
        held = tuple(requests.in_transit)
        for message in held:
            requests.lose(message)
        yield
        requests.in_transit += held

    def end(self, instance: Instance, *, commit: bool = True) -> None:
        """The transaction ends, and what follows from that happens."""
        self.ask_to_end(instance, commit=commit)
        self.settle()

    def ask_to_end(self, instance: Instance, *, commit: bool = True) -> None:
        """The application commits or aborts."""
        (self.application_commits if commit else self.application_aborts)(instance)

    def decide(self, instance: Instance, *, commit: bool = True) -> None:
        """The end is decided and the application told; no marker is sent yet."""
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
            self.reply_is_lost(message)

    def replace_coordinator(self) -> None:
        """The coordinator's node fails, and the other one takes over."""
        self.story.remark(coordinator(0), "fails")
        self.coordinator_fails_over(0, 1)
        self.coordinator_resigns(0, 0)

    def pause(self, instance: Instance, milliseconds: int) -> None:
        """An application does nothing for some time."""
        days, seconds = milliseconds // DAY_MS, milliseconds // 1000
        self.story.remark(self.name_of(instance), f"pauses for {f'{days} days' if days else f'{seconds} seconds'}")
        self.clock.advance(milliseconds)

    # --- what a scenario sees -----------------------------------------------------------------------------------

    def read(self, partition: TopicPartition, isolation: int = READ_COMMITTED) -> list[str]:
        """What a new consumer receives of a partition; nobody in the story."""
        return self.fetch(Consumer([partition], isolation), partition)

    def shows(self, partition: TopicPartition, isolation: int = READ_COMMITTED, reader: str = "reader") -> list[str]:
        """The same, by somebody in the story."""
        return self.told_read(Consumer([partition], isolation), partition, reader)

    def told_read(self, consumer: Consumer, partition: TopicPartition, reader: str = "reader") -> list[str]:
        """A consumer reads on; it is part of the story."""
        values = self.fetch(consumer, partition)
        self.story.tell(partition_name(partition), reader, ", ".join(values) or "nothing")
        return values

    def fetch(self, consumer: Consumer, partition: TopicPartition) -> list[str]:
        """What a consumer receives next."""
        return [called(each.record, self.names) for each in self.readers.consumer_fetches(consumer, partition)]

    def known(self, transactional_id: str) -> TransactionMetadata:
        """The transactional id as its coordinator has it."""
        node = self.brokers.log_leaders[self.brokers.log.partition_of(transactional_id)]
        return self.brokers.nodes[node].transactions.describe(transactional_id)

    # --- what is noted down -------------------------------------------------------------------------------------

    def application_crashes(self, instance: Instance) -> None:
        """An application is gone."""
        self.story.remark(self.name_of(instance), "crashes")
        super().application_crashes(instance)

    def broker_receives(self, message: Message[Request], leave_copy: bool = False) -> None:
        """A request arrives."""
        request = message.payload
        if is_told(request.body):
            late = Mark.PLAIN if request.number in self.wires.open else Mark.LATE
            self._tell_request(request, Mark.AGAIN if message.copy else late)
        before = self._memory()
        super().broker_receives(message, leave_copy)
        self._note_states(before)

    def sender_receives(self, message: Message[Response], leave_copy: bool = False) -> None:
        """An answer arrives."""
        if is_told(message.payload.request.body) and message.payload.request.number in self.wires.open:
            self._tell_answer(message.payload)
        before = self._memory()
        super().sender_receives(message, leave_copy)
        self._note_states(before)

    def request_is_lost(self, message: Message[Request]) -> None:
        """A request is lost."""
        self._tell_request(message.payload, Mark.LOST)
        super().request_is_lost(message)

    def reply_is_lost(self, message: Message[Response]) -> None:
        """An answer is lost."""
        self._tell_answer(message.payload, Mark.LOST)
        super().reply_is_lost(message)

    def coordinator_fails_over(self, partition: int, node: int, *, loads: bool = True) -> None:
        """A node is elected, and reads its log."""
        super().coordinator_fails_over(partition, node, loads=loads)
        for transactional_id, known in sorted(memory_of(self.brokers.nodes[node].transactions).items()):
            self.story.remark(coordinator(node), f"reads the log: {transactional_id} {known.metadata.state.name}")

    def coordinator_aborts_timed_out(self, node: int) -> None:
        """A coordinator aborts what has been open for too long."""
        self._by_itself(node, lambda: super(TransactionStage, self).coordinator_aborts_timed_out(node))

    def coordinator_expires_ids(self, node: int) -> None:
        """A coordinator forgets the ids that have been at rest for too long."""
        self._by_itself(node, lambda: super(TransactionStage, self).coordinator_expires_ids(node))

    def partition_goes_away(self, partition: TopicPartition) -> None:
        """Nobody can write to a partition."""
        self.story.remark(partition_name(partition), "has no leader")
        super().partition_goes_away(partition)

    def partition_comes_back(self, partition: TopicPartition) -> None:
        """A partition can be written to again."""
        self.story.remark(partition_name(partition), "has a leader again")
        super().partition_comes_back(partition)

    def _by_itself(self, node: int, acts: Callable[[], None]) -> None:
        before = self._memory()
        acts()
        self.story.remark(coordinator(node), "looks at the clock")
        self._note_states(before)

    def _tell_request(self, request: Request, mark: Mark) -> None:
        words, receiver = request_words(request.body, self.names), receiver_of(request.body, request.node)
        self.story.tell(self._sender(request.sender), receiver, words, mark, request.number)

    def _tell_answer(self, response: Response, mark: Mark = Mark.PLAIN) -> None:
        request, answer = response
        refused = Mark.PLAIN if error_of(answer) is ErrorCode.NONE else Mark.REFUSED
        who, to = receiver_of(request.body, request.node), self._sender(request.sender)
        self.story.tell(who, to, answer_words(answer), mark or refused, request.number)

    def _sender(self, sender: Sender) -> str:
        match sender:
            case Client(number):
                return self.name_of(self.instances[number])
            case Broker(node):
                return coordinator(node)

    def _memory(self) -> list[Memory]:
        return [memory_of(node.transactions) for node in self.brokers.nodes]

    def _note_states(self, before: Iterable[Memory]) -> None:
        """What the coordinators' states have come to."""
        for node, (was, now) in enumerate(zip(before, self._memory(), strict=True)):
            for transactional_id in changed(was, now):
                if transactional_id not in now:
                    self.story.note(coordinator(node), f"forgets {transactional_id}")
                elif (
                    transactional_id not in was
                    or was[transactional_id].metadata.state != now[transactional_id].metadata.state
                ):
                    self.story.note(
                        coordinator(node), f"{transactional_id}: {now[transactional_id].metadata.state.name}"
                    )


def is_end(request: Request) -> bool:
    """Whether it is an EndTxn."""
    return isinstance(request.body, Asked) and isinstance(request.body.request, EndTxn)


def is_marker_for(partition: TopicPartition) -> Callable[[Request], bool]:
    """Whether it is a marker for the partition."""
    return lambda request: isinstance(request.body, WriteMarker) and request.body.partition == partition
