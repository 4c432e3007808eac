"""The world that a server drives: its clients are real, and between its nodes everything is delivered at once.

In rows, a topic that was deleted and created again under the same name is another topic, because the rules compare
successive steps of one name: a log does not become shorter, an offset of a group does not go back. A topic that was
deleted n times is `orders#n` in the rows that follow, and so is the group of an offset.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from reference.broker.group_deletion import delete_offsets
from reference.broker.group_record import OffsetKey
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import Refusal
from reference.network import NetworkMessage
from reference.recording.recorder import Observer, Row
from reference.replication.replicated import ReplicatedPartition
from reference.world.messages import (
    Administrator,
    Answer,
    Body,
    BrokerSender,
    ClientSender,
    Produce,
    Request,
    Response,
    Sender,
    Verify,
    WriteMarker,
)
from reference.world.node import Storage
from reference.world.readers import note_committed
from reference.world.steps import TraceSteps
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile
from spec.vocabulary import ErrorCode, Timestamp

# --- names of topics and groups in rows -------------------------------------------------------------------------------


class RowNames:
    """How often each topic, and each offset of a group, was deleted."""

    __slots__ = ("_offsets", "_topics")

    def __init__(self) -> None:
        """Nothing was deleted."""
        self._topics = Counter[object]()
        self._offsets = Counter[object]()

    def topic_deleted(self, topic: str) -> None:
        """A topic is gone."""
        self._topics[topic] += 1

    def offsets_deleted(self, keys: Iterable[OffsetKey]) -> None:
        """Offsets of groups are gone."""
        self._offsets.update((key.group, key.partition.topic, key.partition.partition) for key in keys)

    def __call__(self, row: Row) -> None:
        """Put the names into a step."""
        topic = row["topic"]
        if row["group"]:
            row["group"] = numbered(str(row["group"]), self._offsets[row["group"], topic, row["partition"]])
        if topic:
            row["topic"] = numbered(str(topic), self._topics[topic])


def numbered(name: str, deleted: int) -> str:
    """The name of something that was deleted so many times; no client can give a topic this name."""
    return f"{name}#{deleted}" if deleted else name


# --- the world --------------------------------------------------------------------------------------------------------


TakeAnswer = Callable[[Answer], None]
"""Takes the answer to a request, at once or some steps later."""


class _Awaited(NamedTuple):
    """Who takes an answer, and until when replicas are waited for."""

    take: TakeAnswer
    deadline_ms: int


ANYBODY: Final = "User:ANONYMOUS"
"""The identity of clients: there is no authentication."""

LONGEST_MS: Final = 2**31 - 1
"""The longest timeout that a request can carry, milliseconds."""

MOST_ROUNDS: Final = 8
"""How often markers are sent in one step; a marker that is refused each time waits for the next step."""


class ServedWorld(TransactionWorld):
    """Nodes whose clients are connections.

    The steps of its nodes go to the recorder's observer, and are not kept.

    Attributes:
        down: nodes that do not run: messages to them are lost.
        paused: nodes that stand still: requests to them wait, and so do answers to them and from them.
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
        self.recorder.rename = self.names = RowNames()
        self.handling.appends.unanswered = self._take_unanswered
        self.handling.offsets_committed = partial(note_committed, self.history)
        self.down: set[int] = set()
        self.paused: set[int] = set()
        self._waiting: dict[int, _Awaited] = {}
        self._touched: dict[TopicPartition, None] = {}

    def first_coordinator(self, partition: int) -> int:
        """One node after the other."""
        return partition % self.shape.nodes

    @property
    def steps(self) -> TraceSteps:
        """The rows of its nodes."""
        return self._steps

    def observe(self, observer: Observer) -> None:
        """Call an observer with each step from now on, and first with what coordinators have read as they started."""
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
        self._spread(topic, range(partitions))

    def create_partitions(self, topic: str, numbers: range, leaders: Sequence[int] = ()) -> None:
        """Add partitions to a topic; they are led by these nodes, or by one after the other."""
        self.brokers.create_partitions(topic, numbers)
        self._spread(topic, numbers, leaders)

    def _spread(self, topic: str, numbers: range, leaders: Sequence[int] = ()) -> None:
        for place, number in enumerate(numbers):
            replicated = self.brokers.partitions[TopicPartition(topic, number)]
            catch_up(replicated)
            leader = leaders[place] if leaders else number % len(replicated.replicas)
            if leader in replicated.candidates():
                replicated.fail_over(leader, Timestamp(self.clock.now))
            replicated.forget_times()

    def delete_topic(self, topic: str) -> None:
        """A topic is gone: requests that wait there are answered, and groups forget the offsets committed of it."""
        deleted = self.brokers.delete_topic(topic)
        for partition in deleted:
            self._touched.pop(partition, None)
            self.handling.appends.forget(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for each in self.brokers.nodes:
            self.names.offsets_deleted(delete_offsets(each.groups, deleted))
        self.names.topic_deleted(topic)

    # --- requests ---------------------------------------------------------------------------------------------

    def submit(self, connection: int, node: int, body: Body, take: TakeAnswer, timeout_ms: int = LONGEST_MS) -> None:
        """A client's request arrives at a node.

        Args:
            connection: number of the client's connection.
            node: that the request has reached.
            body: the request.
            take: takes the answer, during a later `settle`; with acks=0 the one that would have been given.
            timeout_ms: how long replicas are waited for.
        """
        self._submit(ClientSender(connection), node, body, _Awaited(take, self.clock.now + timeout_ms))

    def administer(self, node: int, body: Body, take: TakeAnswer) -> None:
        """As `submit`, for a client with Kafka's tools."""
        self._submit(Administrator(), node, body, _Awaited(take, self.clock.now + LONGEST_MS))

    def _submit(self, sender: Sender, node: int, body: Body, awaited: _Awaited) -> None:
        request = self.wires.send(sender, node, body)
        self._waiting[request.number] = awaited

    def expire_waiting(self) -> None:
        """Requests that have waited for replicas for too long are answered, during a later `settle`."""
        if any(self.handling.appends.waiting.values()):
            self.handling.appends.expire(self._is_due)

    def _is_due(self, request: Request) -> bool:
        awaited = self._waiting.get(request.number)
        return awaited is not None and awaited.deadline_ms <= self.clock.now

    def runs(self, node: int) -> bool:
        """Whether a node is neither down nor paused."""
        return node not in self.down and node not in self.paused

    def touch_all(self) -> None:
        """A node is back, and copies whatever it has missed."""
        self._touched.update(dict.fromkeys(self.brokers.partitions))

    def _take_unanswered(self, request: Request, answer: Answer) -> None:
        """An answer that the client does not get: the server takes it."""
        self.wires.give_up(request)
        awaited = self._waiting.pop(request.number, None)
        if awaited is not None:
            awaited.take(answer)

    def settle(self) -> None:
        """Deliver whatever is under way between nodes, replicate, and end transactions, until nothing is left to do."""
        for _ in range(MOST_ROUNDS):
            self._deliver()
            for node in range(self.shape.nodes):
                if self._can_send_markers(node):
                    self.coordinator_sends_markers(node)
            if not self.wires.requests.in_transit:
                break
        self._deliver()
        self._touched.clear()
        for node in range(self.shape.nodes):
            self.groups_apply_markers(node)

    def _can_send_markers(self, node: int) -> bool:
        """Whether a coordinator runs, and owes a marker to a running node or can end a transaction that owes none."""
        owed = self.brokers.nodes[node].transactions.markers.owed
        return self.runs(node) and any(
            not each.partitions or any(self._takes_marker(name) for name in each.partitions) for each in owed
        )

    def _takes_marker(self, partition: TopicPartition) -> bool:
        """Whether the partition's leader runs; or it is deleted, which the coordinator finds out."""
        return not self.brokers.exists(partition) or self.runs(self.brokers.leader_of(partition))

    def _deliver(self) -> None:
        while self._deliver_some() or self._replicate():
            pass

    def _deliver_some(self) -> bool:
        """Deliver or lose each message under way, unless its receiver stands still; returns whether there was any."""
        moved = False
        for request in tuple(self.wires.requests.in_transit):
            if request.payload.node in self.down:
                self.request_is_lost(request)
            elif request.payload.node in self.paused:
                continue
            else:
                self.broker_receives(request)
            moved = True
        for response in tuple(self.wires.replies.in_transit):
            ends = self._ends(response.payload.request)
            if ends & self.down:
                self.reply_is_lost(response)
            elif ends & self.paused:
                continue
            else:
                self.sender_receives(response)
            moved = True
        return moved

    def _ends(self, request: Request) -> set[int]:
        """The nodes between which an answer travels."""
        return {request.node, request.sender.node} if isinstance(request.sender, BrokerSender) else {request.node}

    def _replicate(self) -> bool:
        """Let followers copy one batch each; whether there was any."""
        copied = False
        for partition in self._touched:
            replicated = self.brokers.partitions[partition]
            for node in replicated.behind() if self.runs(replicated.leader_node) else ():
                if self.runs(node):
                    self.follower_fetches(partition, node)
                    copied = True
        return copied

    def _touch(self, body: Body) -> None:
        """Note what is to be replicated once the request is handled."""
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

    def sender_receives(self, message: NetworkMessage[Response], leave_copy: bool = False) -> None:
        """An answer reaches the sender of its request: a node, or a connection."""
        request = message.payload.request
        if isinstance(request.sender, BrokerSender):
            self._touch(request.body)
            super().sender_receives(message, leave_copy)
            return
        response = self.wires.deliver_reply(message, leave_copy)
        awaited = self._waiting.pop(request.number, None)
        if response is not None and awaited is not None:
            awaited.take(response.answer)

    def leader_fails_over(self, partition: TopicPartition, node: int) -> None:
        """A follower in sync takes over a data partition."""
        super().leader_fails_over(partition, node)
        self.brokers.partitions[partition].forget_times()

    def _lose(self, request: Request) -> None:
        """The sender of a request hears nothing of it any more."""
        if isinstance(request.sender, BrokerSender):
            super()._lose(request)
        else:
            self._waiting.pop(request.number, None)

    def _waiting_after_restart(self, partition: TopicPartition, led: bool) -> None:
        """Requests that wait at a leader keep waiting while a follower restarts."""
        if led:
            self.brokers.partitions[partition].forget_times()
            self.handling.appends.turn_away(partition)
        self.handling.appends.release(partition)

    def _principal(self, instance: int) -> str:
        return ANYBODY


def catch_up(replicated: ReplicatedPartition) -> None:
    """Let followers copy whatever they lack; one that cannot apply its leader's log stops, as `follow` has it."""
    while behind := replicated.behind():
        for node in behind:
            with suppress(Refusal):
                replicated.follow(node)
