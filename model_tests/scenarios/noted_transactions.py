"""A world of transactions in which every event is noted down, to be drawn."""

from collections.abc import Callable, Iterable
from typing import Final

from model_tests.diagrams.events import Event, Mark
from model_tests.scenarios.storyboard import Storyboard
from model_tests.scenarios.transaction_words import (
    GROUPS,
    answer_words,
    coordinator,
    error_of,
    is_reported,
    partition_name,
    receiver_of,
    request_words,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.network import NetworkMessage
from reference.world.coordinator_rows import Memory, changed, memory_of
from reference.world.instances import ApplicationRun
from reference.world.messages import Administrator, BrokerSender, ClientSender, Plain, Request, Response, Sender
from reference.world.steps import sender_name
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile
from spec.vocabulary import ErrorCode

READERS: Final = ("reader", "another reader")


class NotedTransactions(TransactionWorld):
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

    def name_of(self, instance: ApplicationRun) -> str:
        """Name of an instance: its transactional id, with a number where it is not the first."""
        earlier = sum(each.transactional_id == instance.transactional_id for each in self.instances[: instance.number])
        return f"{instance.transactional_id} #{earlier + 1}" if earlier else instance.transactional_id

    # --- what is noted down -------------------------------------------------------------------------------------

    def application_crashes(self, instance: ApplicationRun) -> None:
        """An application is gone."""
        self.story.remark(self.name_of(instance), "crashes")
        super().application_crashes(instance)

    def broker_receives(self, message: NetworkMessage[Request], leave_copy: bool = False) -> None:
        """A request arrives."""
        request = message.payload
        if is_reported(request.body):
            late = Mark.PLAIN if request.number in self.wires.open else Mark.LATE
            self._report_request(request, Mark.AGAIN if message.copy else late)
        before = self._memory()
        super().broker_receives(message, leave_copy)
        self._note_states(before)

    def sender_receives(self, message: NetworkMessage[Response], leave_copy: bool = False) -> None:
        """An answer arrives."""
        if is_reported(message.payload.request.body) and message.payload.request.number in self.wires.open:
            self._report_answer(message.payload)
        before = self._memory()
        super().sender_receives(message, leave_copy)
        self._note_states(before)

    def request_is_lost(self, message: NetworkMessage[Request]) -> None:
        """A request is lost."""
        self._report_request(message.payload, Mark.LOST)
        super().request_is_lost(message)

    def reply_is_lost(self, message: NetworkMessage[Response]) -> None:
        """An answer is lost."""
        self._report_answer(message.payload, Mark.LOST)
        super().reply_is_lost(message)

    def coordinator_fails_over(self, partition: int, node: int, *, loads: bool = True) -> None:
        """A node is elected, and reads its log, or will."""
        if not loads:
            self.story.remark(coordinator(node), "is elected, and has not read its log yet")
        super().coordinator_fails_over(partition, node, loads=loads)

    def coordinator_loads(self, partition: int) -> None:
        """A node that is elected has read its log."""
        super().coordinator_loads(partition)
        node = self.brokers.log_leaders[partition]
        for transactional_id, known in sorted(memory_of(self.brokers.nodes[node].transactions).items()):
            self.story.remark(coordinator(node), f"reads the log: {transactional_id} {known.metadata.state.name}")

    def coordinator_aborts_timed_out(self, node: int) -> None:
        """A coordinator aborts what has been open for too long."""
        self._by_itself(node, lambda: super(NotedTransactions, self).coordinator_aborts_timed_out(node))

    def coordinator_expires_ids(self, node: int) -> None:
        """A coordinator forgets the ids that have been at rest for too long."""
        self._by_itself(node, lambda: super(NotedTransactions, self).coordinator_expires_ids(node))

    def producer_state_expires(self, node: int) -> None:
        """The partitions of a node forget the producers that were silent for too long."""
        super().producer_state_expires(node)
        for partition in self.partitions:
            self.story.remark(partition_name(partition), "forgets its silent producers (producer.id.expiration.ms)")

    def partition_loses_leader(self, partition: TopicPartition) -> None:
        """A partition cannot be written to."""
        self.story.remark(partition_name(partition), "has no leader")
        super().partition_loses_leader(partition)

    def partition_regains_leader(self, partition: TopicPartition) -> None:
        """A partition can be written to again."""
        self.story.remark(partition_name(partition), "has a leader again")
        super().partition_regains_leader(partition)

    def _by_itself(self, node: int, acts: Callable[[], None]) -> None:
        before = self._memory()
        acts()
        self.story.remark(coordinator(node), "looks at the clock")
        self._note_states(before)

    def _report_request(self, request: Request, mark: Mark) -> None:
        words, receiver = request_words(request.body, self.names), receiver_of(request.body, request.node)
        self.story.report(self._sender(request.sender), receiver, words, mark, request.number)

    def _report_answer(self, response: Response, mark: Mark = Mark.PLAIN) -> None:
        request, answer = response
        refused = Mark.PLAIN if error_of(answer) is ErrorCode.NONE else Mark.REFUSED
        who, to = receiver_of(request.body, request.node), self._sender(request.sender)
        self.story.report(who, to, answer_words(answer), mark or refused, request.number)

    def _sender(self, sender: Sender) -> str:
        match sender:
            case ClientSender(number):
                return self.name_of(self.instances[number])
            case BrokerSender(node):
                return coordinator(node)
            case Plain() | Administrator():
                return sender_name(sender)

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
