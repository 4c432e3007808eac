"""The world that a server drives: its clients are real, and between its nodes everything is delivered at once."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from reference.broker.transaction_metadata import TopicPartition
from reference.errors import Refusal
from reference.network import NetworkMessage
from reference.recording.recorder import Observer
from reference.replication.replicated import ReplicatedPartition
from reference.world.history import NOBODY_ANSWERS
from reference.world.messages import Answer, Body, ClientSender, Produce, Request, Response, Verify, WriteMarker
from reference.world.steps import TraceSteps
from reference.world.storage import Storage
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile
from spec.vocabulary import Timestamp

TakeAnswer = Callable[[Answer], None]
"""Takes the answer to a request, at once or some steps later."""

ANYBODY: Final = "User:ANONYMOUS"
"""The identity of clients: there is no authentication."""

MOST_ROUNDS: Final = 8
"""How often markers are sent in one step; what is refused as often waits for the next step."""


class ServedWorld(TransactionWorld):
    """Nodes whose clients are connections.

    The steps of its nodes go to the recorder's observer, and are not kept.
    """

    def __init__(self, profile: Profile, shape: TransactionShape, now: int, storage: Storage | None = None) -> None:
        """Nodes that share all coordination among them, and have no topics yet.

        Args:
            profile: release of all nodes.
            shape: how many there are, and how they are configured.
            now: the time at which they start, milliseconds.
            storage: where their data is; in memory if not given.
        """
        super().__init__(profile, shape, now=now, storage=storage)
        self.recorder.keeps = False
        self._waiting: dict[int, TakeAnswer] = {}
        self._touched: dict[TopicPartition, None] = {}

    def first_coordinator(self, partition: int) -> int:
        """One node after the other."""
        return partition % self.shape.nodes

    @property
    def steps(self) -> TraceSteps:
        """The rows of its nodes."""
        return self._steps

    def observe(self, observer: Observer) -> None:
        """Have somebody told of each step from now on, and first of what coordinators have read as they started."""
        for row in self.recorder.rows:
            observer(row)
        self.recorder.rows.clear()
        self.recorder.observer = observer

    def move_coordinator(self, partition: int, node: int) -> None:
        """A node leads a partition of `__transaction_state` from now on, and the one before it knows."""
        former = self.brokers.log_leaders.get(partition)
        if former == node:
            return
        self.coordinator_fails_over(partition, node)
        if former is not None:
            self.coordinator_resigns(partition, former)

    def create_topic(self, topic: str, partitions: int) -> None:
        """Make a topic, or open one that was left; its partitions are led by one node after the other."""
        self.brokers.create_topic(topic, partitions)
        for number in range(partitions):
            replicated = self.brokers.partitions[TopicPartition(topic, number)]
            catch_up(replicated)
            leader = number % len(replicated.replicas)
            if leader in replicated.candidates():
                replicated.fail_over(leader, Timestamp(self.clock.now))

    # --- requests ---------------------------------------------------------------------------------------------

    def ask(self, connection: int, node: int, body: Body, take: TakeAnswer) -> None:
        """A client's request arrives at a node; with acks=0 nothing is ever taken.

        Args:
            connection: number of the client's connection.
            node: that the request has reached.
            body: the request.
            take: takes the answer, during a later `settle`.
        """
        request = self.wires.send(ClientSender(connection), node, body)
        self._waiting[request.number] = take

    def settle(self) -> None:
        """Deliver whatever is under way between nodes, replicate, and end transactions, until nothing is left to do."""
        for _ in range(MOST_ROUNDS):
            self._deliver()
            for node in range(self.shape.nodes):
                if self.owes_markers(node):
                    self.coordinator_sends_markers(node)
            if not self.wires.requests.in_transit:
                break
        self._deliver()
        self._touched.clear()
        for each in self.brokers.nodes:
            each.groups.take_over_decided()

    def _deliver(self) -> None:
        while self.wires.requests.in_transit or self.wires.replies.in_transit or self._replicate():
            for request in tuple(self.wires.requests.in_transit):
                self.broker_receives(request)
            for response in tuple(self.wires.replies.in_transit):
                self.sender_receives(response)

    def _replicate(self) -> bool:
        """Let followers copy one batch each; whether there was any."""
        copied = False
        for partition in self._touched:
            for node in self.brokers.partitions[partition].behind():
                self.follower_fetches(partition, node)
                copied = True
        return copied

    def _touch(self, body: Body) -> None:
        """What is to be replicated once the body is dealt with."""
        match body:
            case Produce(partition=partition) | WriteMarker(partition=partition):
                named: tuple[TopicPartition, ...] = (partition,)
            case Verify():
                named = tuple(each.partition for each in body.all)
            case _:
                return
        self._touched.update(dict.fromkeys(each for each in named if each in self.brokers.partitions))

    def broker_receives(self, message: NetworkMessage[Request], leave_copy: bool = False) -> None:
        """A request reaches its node."""
        request = message.payload
        self._touch(request.body)
        super().broker_receives(message, leave_copy)
        if isinstance(request.body, Produce) and request.body.acks == NOBODY_ANSWERS:
            self.wires.give_up(request)
            self._waiting.pop(request.number, None)

    def sender_receives(self, message: NetworkMessage[Response], leave_copy: bool = False) -> None:
        """An answer reaches the sender of its request: a node, or a connection."""
        request = message.payload.request
        if not isinstance(request.sender, ClientSender):
            self._touch(request.body)
            super().sender_receives(message, leave_copy)
            return
        response = self.wires.deliver_reply(message, leave_copy)
        take = self._waiting.pop(request.number, None)
        if response is not None and take is not None:
            take(response.answer)

    def _principal(self, instance: int) -> str:
        return ANYBODY


def catch_up(replicated: ReplicatedPartition) -> None:
    """Let followers copy whatever they lack; one that cannot apply its leader's log stops, as `follow` has it."""
    while behind := replicated.behind():
        for node in behind:
            with suppress(Refusal):
                replicated.follow(node)
