"""A world of one producer that takes records: accumulator and sender, connections that break, brokers that fail over.

Each method is one event, and decides nothing. A connection delivers in the order of sending; where it breaks, its
tail is lost, and no answer comes back.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.broker.produce import ProduceRequest, handle_produce
from reference.client.accumulator import SentRecord
from reference.client.partition_queue import MAX_IN_FLIGHT
from reference.client.partitioners import ByKey, Partitioner, RoundRobin
from reference.client.producer import Attempt, AttemptReply, IdempotentProducer
from reference.client.producer_settings import ProducerSettings
from reference.client.record_producer import PlainProducer, RecordProducer
from reference.client.sender import ProduceCall
from reference.clock import Clock
from reference.network import Network, NetworkMessage
from reference.recording.recorder import Fate, Recorder, Row, batch_columns, observe, reply_columns
from reference.replication.replicated import ReplicatedPartition
from reference.world.history import ALL, producer_name
from reference.world.replica_rows import TOPIC, ReplicasBefore, follow, node_name, record_fault
from spec.versions import NEWEST, Profile
from spec.vocabulary import NO_OFFSET, Api, ErrorCode, Origin

PRODUCER: Final = producer_name(0)
"""The only producer, as rows name it."""


@dataclass(frozen=True, slots=True)
class SendingShape:
    """Sizes and settings.

    Attributes:
        partitions: of the topic.
        nodes: replica i of every partition is on node i.
        idempotent: enable.idempotence.
        settings: of accumulator and sender.
        delivery_timeout_ms: delivery.timeout.ms.
        most_bytes: max.message.bytes of the topic.
    """

    partitions: int = 2
    nodes: int = 2
    idempotent: bool = True
    settings: ProducerSettings = field(default=ProducerSettings())
    delivery_timeout_ms: int = 120_000
    most_bytes: int = 1_048_588


class Answered(NamedTuple):
    """The answer to a Produce, partition by partition."""

    call: ProduceCall
    replies: dict[int, AttemptReply]


class DelayedReply(NamedTuple):
    """An answer that waits until its batches are replicated; the last offset of each that is not."""

    answered: Answered
    wanted: dict[int, int]


class SendingWorld:
    """The world.

    Attributes:
        partitions: of the topic, by number.
        producer: takes records.
        requests: under way to nodes; the channel is the node.
        replies: under way back.
        parked: answers that wait for replication.
        recorder: the steps so far: a row for each batch of a Produce.
    """

    def __init__(
        self, profile: Profile = NEWEST, shape: SendingShape | None = None, partitioner: Partitioner | None = None
    ) -> None:
        """A producer that has its producer id, and has sent nothing."""
        self.profile = profile
        self.shape = shape or SendingShape()
        self.clock = Clock()
        self.recorder = Recorder(0, profile)
        self.partitions = [ReplicatedPartition(profile, self.shape.nodes) for _ in range(self.shape.partitions)]
        self.requests: Network[ProduceCall] = Network()
        self.replies: Network[Answered] = Network()
        self.parked: list[DelayedReply] = []
        self._ids = ProducerIdManager(BlockAllocator(), profile)
        kind = IdempotentProducer if self.shape.idempotent else PlainProducer
        batches = kind(
            self.shape.partitions,
            self.shape.delivery_timeout_ms,
            min(MAX_IN_FLIGHT, profile.cached_batches),
            fenced_has_code=profile.fenced_has_code,
        )
        chosen = partitioner or ByKey(RoundRobin())
        self.producer = RecordProducer(batches, chosen, self._leaders(), self.shape.settings)

    def _leaders(self) -> list[int | None]:
        return [partition.leader_node for partition in self.partitions]

    # --- the producer -----------------------------------------------------------------------------------------

    def application_sends(self, key: bytes | None, value: bytes) -> SentRecord:
        """An application hands over a record."""
        return self.producer.send(key, value, self.clock.now)

    def producer_runs(self) -> list[ProduceCall]:
        """One round of the sender: it gets a producer id if it needs one, and sends what it may.

        A request that was not answered in time closes its connection; what was sent on it still arrives.
        """
        if self.producer.batches.needs_producer_id:
            self.producer.batches.identified(self._ids.init_producer_id())
        patience = self.shape.settings.request_timeout_ms
        for call in tuple(self.producer.sender.calls.values()):
            if self.clock.now - call.sent_ms >= patience:
                self.connection_breaks(call.node, len(self.requests.of_channel(call.node)))
        calls = self.producer.sender.run(self.clock.now)
        for call in calls:
            self.requests.send(call.node, call)
        return calls

    def producer_receives(self, message: NetworkMessage[Answered]) -> None:
        """An answer reaches the producer."""
        call, replies = self.replies.deliver(message)
        if self.recorder.annotates:
            for attempt in call.attempts:
                reply = replies[attempt.partition]
                columns = _columns_of(call, attempt) | reply_columns(reply.error, reply.offset)
                self.recorder.annotate(Fate.ANSWERED, Api.PRODUCE, columns)
        self.producer.sender.receive(call, replies, self.clock.now)

    def producer_learns_leaders(self) -> None:
        """Some node answers with all partitions and their leaders.

        The leader of a partition with batches under way is looked up later.
        """
        for number in range(len(self.producer.queues), len(self.partitions)):
            self.recorder.annotate(Fate.REMARK, f"finds {TOPIC}-{number}", {"client": PRODUCER})
            self.producer.add_partition()
        under_way = {attempt.partition for call in self.producer.sender.calls.values() for attempt in call.attempts}
        known = self.producer.sender.leaders
        reported = self._leaders()
        self.producer.sender.learn(
            [known[number] if number in under_way else leader for number, leader in enumerate(reported)]
        )

    # --- the network ------------------------------------------------------------------------------------------

    def connection_breaks(self, node: int, arriving: int = 0) -> None:
        """A connection breaks: its first `arriving` requests still arrive, no answer comes back."""
        self.requests.cut(node, arriving)
        self.replies.cut(node, 0)
        self.parked = [each for each in self.parked if each.answered.call.node != node]
        for call in tuple(self.producer.sender.calls.values()):
            if call.node == node:
                self.producer.sender.lose(call, self.clock.now)

    # --- brokers ----------------------------------------------------------------------------------------------

    def broker_receives(self, message: NetworkMessage[ProduceCall]) -> None:
        """A Produce reaches its node, which answers when all its batches are replicated or refused."""
        call = self.requests.deliver(message)
        replies: dict[int, AttemptReply] = {}
        wanted: dict[int, int] = {}
        for attempt in call.attempts:
            replies[attempt.partition], last = self._appended(call, attempt)
            if last != NO_OFFSET:
                wanted[attempt.partition] = last
        self.parked.append(DelayedReply(Answered(call, replies), wanted))
        self._release()

    def _appended(self, call: ProduceCall, attempt: Attempt) -> tuple[AttemptReply, int]:
        number, records = attempt.partition, attempt.records
        replica = self.partitions[number].replicas[call.node]
        if replica.leads and records.size > self.shape.most_bytes:
            self.recorder.annotate(Fate.ARRIVED, Api.PRODUCE, _columns_of(call, attempt))
            return AttemptReply(ErrorCode.MESSAGE_TOO_LARGE), NO_OFFSET
        insync, before = len(self.partitions[number].insync), observe(replica, records.producer_id)
        request = ProduceRequest({number: (records,)}, acks=ALL)
        answer = handle_produce(replica.profile, {number: replica}, request, None, 1, insync)[number]
        columns = _columns_of(call, attempt) | {"api_version": request.version}
        columns |= reply_columns(answer.error, answer.base_offset, answer.last_offset, answer.duplicate)
        self.recorder.add(Api.PRODUCE, self.clock.now, columns, before, observe(replica, records.producer_id))
        return AttemptReply(answer.error, answer.base_offset, answer.log_start), answer.last_offset

    def topic_gets_partition(self) -> None:
        """The topic has one partition more (CreatePartitions); the producer finds it when it learns the leaders."""
        self.partitions.append(ReplicatedPartition(self.profile, self.shape.nodes))

    def follower_fetches(self, partition: int, node: int) -> None:
        """A follower copies the next batch, and answers that waited for it go out."""
        follow(self.recorder, self.clock.now, self.partitions[partition], partition, node)
        self._release()

    def leader_fails_over(self, partition: int, node: int) -> None:
        """A follower in sync takes over; what waited for replication at the old leader is refused."""
        replicated = self.partitions[partition]
        former, before = replicated.leader_node, ReplicasBefore.of(replicated.replicas)
        replicated.fail_over(node, self.clock.now)
        record_fault(self.recorder, "LeaderFailover", self.clock.now, partition, before, node)
        for parked in self.parked:
            if parked.answered.call.node == former and partition in parked.wanted:
                parked.answered.replies[partition] = AttemptReply(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                del parked.wanted[partition]
        self._release()

    def _release(self) -> None:
        """Send the answers that need not wait any more.

        A connection is answered in order. Without that the window of five would not suffice: a later batch could be
        acknowledged, and a sixth one sent, while the first of them is not.
        """
        waiting: set[int] = set()
        for parked in tuple(self.parked):
            node = parked.answered.call.node
            if node in waiting or self._waits(parked):
                waiting.add(node)
            else:
                self.parked.remove(parked)
                self.replies.send(node, parked.answered)

    def _waits(self, parked: DelayedReply) -> bool:
        return any(last >= self.partitions[p].leader.high_watermark for p, last in parked.wanted.items())


def _columns_of(call: ProduceCall, attempt: Attempt) -> Row:
    """To which node a Produce goes, and what it carries for one partition."""
    return {
        "node": node_name(call.node),
        "client": PRODUCER,
        "message": call.number,
        "topic": TOPIC,
        "partition": attempt.partition,
        "batch": attempt.batch.ordinal,
        "batch_count": 1,
        "origin": int(Origin.CLIENT),
        "acks": ALL,
        **batch_columns(attempt.records),
    }
