"""A world of idempotent producers, a network, and partitions with leaders and followers.

Each method is one event. The world decides nothing: who calls the methods (the scheduler of `simulate`, a
Hypothesis machine, a test) chooses what happens next. Every step of a broker becomes a row of the recorder.
"""

from typing import Final, NamedTuple

from reference.broker.ids import BlockAllocator, ProducerIdManager
from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce
from reference.client.producer import Attempt, AttemptReply, IdempotentProducer
from reference.client.record_producer import PlainProducer
from reference.clock import Clock
from reference.log.batch import RecordBatch
from reference.log.partition import Partition
from reference.network import Network, NetworkMessage
from reference.recording.recorder import Fate, ObservedState, Recorder, Row, batch_columns, observe, reply_columns
from reference.replication.replicated import ReplicatedPartition
from reference.simulate.shape import Shape
from reference.world.history import HistoryRows, ProducerHistory, made_by, producer_name
from reference.world.partition_readers import PartitionReaders
from reference.world.replica_rows import TOPIC, ReplicasBefore, delete_records, follow, node_name, record_fault
from spec.versions import NEWEST, Profile
from spec.vocabulary import Api, ErrorCode, Offset, Origin

PRODUCE_VERSION: Final = 11  # the newest version of Produce before partitions join a transaction by it (12)

NO_ACKS: Final = 0
"""The acks with which a broker answers nothing."""


STRANGER: Final = "stranger"
TRANSACTIONAL_ID: Final = "t"
"""Who asks without being one of the producers, and its transactional id."""


class SentProduce(NamedTuple):
    """A Produce on its way to a node."""

    producer: int
    node: int
    attempt: Attempt


class SentReply(NamedTuple):
    """The answer on its way back."""

    request: SentProduce
    reply: AttemptReply


class DelayedProduce(NamedTuple):
    """An answer that waits until the high watermark has passed its batch (the purgatory)."""

    offset: Offset
    response: SentReply


class SimulatedCluster:
    """The world.

    Attributes:
        partitions: by partition number; replica i is on node i.
        producers: by number.
        requests: from producers to nodes.
        replies: from nodes to producers.
        recorder: the steps so far.
        readers: of all partitions, one for each isolation level.
    """

    def __init__(self, profile: Profile = NEWEST, shape: Shape | None = None, *, ordered: bool = True, trace: int = 0):
        """A world in which nothing has happened yet."""
        self.profile = profile
        self.shape = shape or Shape()
        self.clock = Clock()
        self.recorder = Recorder(trace, profile)
        self.partitions = [
            ReplicatedPartition(profile, self.shape.nodes, self.shape.expiration_ms)
            for _ in range(self.shape.partitions)
        ]
        self.producers = [
            (IdempotentProducer if self.shape.idempotent else PlainProducer)(
                self.shape.partitions,
                self.shape.delivery_timeout_ms,
                min(self.shape.max_in_flight, profile.cached_batches),
                fenced_has_code=profile.fenced_has_code,
            )
            for _ in range(self.shape.producers)
        ]
        self.requests: Network[SentProduce] = Network(ordered)
        self.replies: Network[SentReply] = Network(ordered)
        history = HistoryRows(self.recorder, self.clock)
        self.readers = PartitionReaders(self.recorder, history, self.shape.partitions)
        self._histories = ProducerHistory(history, self.producers, [self.shape.acks] * self.shape.producers)
        self._allocator = BlockAllocator()
        self._ids = [ProducerIdManager(self._allocator, profile) for _ in range(self.shape.nodes)]
        self._waiting: list[list[DelayedProduce]] = [[] for _ in range(self.shape.partitions)]
        self._sent_to: list[dict[int, int]] = [{} for _ in range(self.shape.producers)]
        self._known_leaders = [[0] * self.shape.partitions for _ in range(self.shape.producers)]

    # --- clients ----------------------------------------------------------------------------------------------

    def application_sends(self, producer: int, partition: int, values: tuple[bytes, ...]) -> None:
        """An application hands a batch of these values to its producer."""
        batch = self.producers[producer].send(partition, len(values), self.clock.now, values)
        self._histories.hands_over(producer, partition, batch)

    def application_makes(self, producer: int, partition: int, count: int) -> None:
        """An application hands over a batch of records with values that no other record has."""
        self.application_sends(producer, partition, self._histories.next_values(producer, count))

    def producer_asks_for_id(self, producer: int, node: int = 0) -> None:
        """A producer without producer id gets one from any node."""
        identity = self._ids[node].init_producer_id()
        self.producers[producer].identified(identity)
        self.recorder.record(
            Api.INIT_PRODUCER_ID,
            self.clock.now,
            node=node_name(node),
            client=producer_name(producer),
            error=int(ErrorCode.NONE),
            reply_producer_id=identity.producer_id,
            reply_epoch=identity.epoch,
        )

    def sendable(self) -> list[tuple[int, int]]:
        """Producers and partitions of which a batch may be sent now."""
        return [
            (number, partition)
            for number, producer in enumerate(self.producers)
            for partition in range(self.shape.partitions)
            if producer.may_drain(partition)
        ]

    def producer_sends(self, producer: int, partition: int) -> NetworkMessage[SentProduce]:
        """A producer sends its next batch to the node that it takes for the leader."""
        attempt = self.producers[producer].drain(partition)
        node = self._known_leaders[producer][partition]
        self._sent_to[producer][attempt.number] = node
        message = self.requests.send((producer, node), SentProduce(producer, node, attempt))
        if self.shape.acks == NO_ACKS:
            self.producers[producer].receive(attempt, AttemptReply(ErrorCode.NONE))
            self._histories.report(producer)
        return message

    def producer_ticks(self, producer: int) -> None:
        """A producer expires batches, settles unresolved ones and bumps its epoch if it must."""
        self.producers[producer].tick(self.clock.now)
        self._histories.report(producer)

    def producer_receives(self, message: NetworkMessage[SentReply], leave_copy: bool = False) -> None:
        """An answer reaches its producer."""
        self._annotate_answer(Fate.ANSWERED, message.payload)
        request, reply = self.replies.deliver(message, leave_copy)
        producer = self.producers[request.producer]
        producer.receive(request.attempt, reply)
        if reply.error == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self.producer_refreshes_metadata(request.producer, request.attempt.partition)
        self.producer_ticks(request.producer)

    def producer_refreshes_metadata(self, producer: int, partition: int) -> None:
        """A producer learns who leads a partition, unless batches are still under way to the leader it knows."""
        under_way = any(attempt.partition == partition for attempt in self.producers[producer].on_wire.values())
        if self.shape.eager_metadata or not under_way:
            self._known_leaders[producer][partition] = self.partitions[partition].leader_node

    def reader_fetches(self, reader: int, partition: int) -> None:
        """A reader reads on at the leader of a partition."""
        replicated = self.partitions[partition]
        self.readers.fetch(reader, partition, replicated.leader_node, self.clock.now, replicated.leader)

    # --- the network ------------------------------------------------------------------------------------------

    def connection_breaks(self, producer: int, node: int, arriving: int = 0) -> None:
        """A connection breaks: `arriving` requests still reach the node, no answer comes back."""
        self.requests.cut((producer, node), arriving)
        self.replies.cut((producer, node), 0)
        self._forget_waiting(producer, node)
        for attempt in self.on_wire(producer, node):
            self.producers[producer].lose(attempt)
        for partition in range(self.shape.partitions):
            self.producer_refreshes_metadata(producer, partition)

    def on_wire(self, producer: int, node: int) -> list[Attempt]:
        """What a producer has sent to a node and not seen answered, in the order of sending."""
        sent_to = self._sent_to[producer]
        return [a for a in self.producers[producer].on_wire.values() if sent_to[a.number] == node]

    def request_is_lost(self, message: NetworkMessage[SentProduce]) -> None:
        """One request is lost, and its producer times out (where connections keep no order)."""
        request = message.payload
        self.recorder.annotate(Fate.LOST, Api.PRODUCE, _columns_of(request))
        self.requests.lose(message)
        self.producers[request.producer].lose(request.attempt)

    def reply_is_lost(self, message: NetworkMessage[SentReply]) -> None:
        """One answer is lost, and its producer times out (where connections keep no order)."""
        self._annotate_answer(Fate.ANSWER_LOST, message.payload)
        request = message.payload.request
        self.replies.lose(message)
        self.producers[request.producer].lose(request.attempt)

    def producer_stops_waiting(self, message: NetworkMessage[SentProduce]) -> None:
        """A producer waits no longer for an answer (request.timeout.ms); its request is still under way."""
        request = message.payload
        self._annotate_request(Fate.GIVEN_UP, message)
        self.producers[request.producer].lose(request.attempt)

    # --- brokers ----------------------------------------------------------------------------------------------

    def broker_receives(self, message: NetworkMessage[SentProduce], leave_copy: bool = False) -> PartitionAnswer:
        """A Produce reaches its node, which answers now or when the batch is replicated."""
        request = self.requests.deliver(message, leave_copy)
        number = request.attempt.partition
        replicated = self.partitions[number]
        replica = replicated.replicas[request.node]
        before = observe(replica, request.attempt.records.producer_id)
        answer = self._handle(request, replica, len(replicated.insync))
        self._record_produce(message, replica, before, answer)
        self._answer(request, replica, answer)
        return answer

    def broker_refuses(self, message: NetworkMessage[SentProduce], error: ErrorCode) -> None:
        """A Produce reaches its node, which refuses it for what no log decides: its size, or rights."""
        request = self.requests.deliver(message)
        self._annotate_request(Fate.ARRIVED, message)
        self._reply(SentReply(request, AttemptReply(error)))

    def stranger_asks(self, partition: int, batches: tuple[RecordBatch, ...]) -> PartitionAnswer:
        """A stranger, none of the producers, asks the leader of a partition to append, and is answered at once."""
        replicated, batch = self.partitions[partition], batches[0]
        replica = replicated.leader
        request = ProduceRequest({partition: batches}, TRANSACTIONAL_ID if batch.is_transactional else None)
        before = observe(replica, batch.producer_id)
        answer = handle_produce(replica.profile, {partition: replica}, request)[partition]
        node = node_name(replicated.leader_node)
        named: Row = {"node": node, "client": STRANGER, "topic": TOPIC, "partition": partition}
        named |= {"batch_count": len(batches), "origin": int(Origin.CLIENT), **batch_columns(batch)}
        self._record_append(named, batch.producer_id, replica, before, answer)
        return answer

    def follower_fetches(self, partition: int, node: int) -> None:
        """A follower copies the next batch of its leader, and answers that waited for it go out."""
        follow(self.recorder, self.clock.now, self.partitions[partition], partition, node)
        self._release(partition)

    def leader_fails_over(self, partition: int, node: int) -> None:
        """A follower in sync takes over; what waited at the old leader is answered NOT_LEADER_OR_FOLLOWER."""
        replicated = self.partitions[partition]
        before = ReplicasBefore.of(replicated.replicas)
        replicated.fail_over(node, self.clock.now)
        record_fault(self.recorder, "LeaderFailover", self.clock.now, partition, before, node)
        self._turn_away(partition)

    def follower_leaves_insync(self, partition: int, node: int) -> None:
        """A follower was behind for longer than replica.lag.time.max.ms, and answers do not wait for it any more."""
        self.recorder.annotate(Fate.REMARK, "leaves the in-sync set", {"node": node_name(node)})
        self.partitions[partition].leave_insync(node)
        self._release(partition)

    def unclean_leader_election(self, partition: int, node: int) -> None:
        """A follower out of sync takes over (unclean.leader.election.enable); what it does not have is lost."""
        replicated = self.partitions[partition]
        before = ReplicasBefore.of(replicated.replicas)
        replicated.elect_uncleanly(node, self.clock.now)
        record_fault(self.recorder, "UncleanLeaderElection", self.clock.now, partition, before, node)
        self._turn_away(partition)

    def broker_restarts(self, node: int) -> None:
        """A node goes down and comes back from disk; its connections break, its partitions get other leaders."""
        for producer in range(self.shape.producers):
            self.connection_breaks(producer, node)
        self._ids[node].restart()
        for number, replicated in enumerate(self.partitions):
            before = ReplicasBefore.of(replicated.replicas)
            replicated.restart(node, self.clock.now)
            record_fault(self.recorder, "BrokerRestart", self.clock.now, number, before, node)
            self._turn_away(number)

    def producer_state_expires(self, node: int) -> None:
        """A node forgets the producers that were silent for too long."""
        for number, replicated in enumerate(self.partitions):
            before = ReplicasBefore.of(replicated.replicas)
            replicated.replicas[node].state.expire(self.clock.now)
            record_fault(self.recorder, "ProducerStateExpiry", self.clock.now, number, before, node)

    def leader_deletes_records(self, partition: int) -> None:
        """A leader drops everything below its high watermark (retention, DeleteRecords), and its followers do."""
        delete_records(self.recorder, self.clock.now, self.partitions[partition], partition)

    # --- inside -----------------------------------------------------------------------------------------------

    def _handle(self, request: SentProduce, replica: Partition, insync: int) -> PartitionAnswer:
        number = request.attempt.partition
        produce = ProduceRequest({number: (request.attempt.records,)}, acks=self.shape.acks, version=PRODUCE_VERSION)
        return handle_produce(replica.profile, {number: replica}, produce, None, self.shape.min_insync, insync)[number]

    def _record_produce(
        self, message: NetworkMessage[SentProduce], replica: Partition, before: ObservedState, answer: PartitionAnswer
    ) -> None:
        request = message.payload
        named: Row = {**_columns_of(request), "message": message.number, "acks": self.shape.acks, "batch_count": 1}
        self._record_append(named, request.attempt.records.producer_id, replica, before, answer)

    def _annotate_request(self, fate: Fate, message: NetworkMessage[SentProduce]) -> None:
        if self.recorder.annotates:
            self.recorder.annotate(fate, Api.PRODUCE, _columns_of(message.payload) | {"message": message.number})

    def _annotate_answer(self, fate: Fate, response: SentReply) -> None:
        if not self.recorder.annotates:
            return
        request, reply = response
        self.recorder.annotate(fate, Api.PRODUCE, _columns_of(request) | reply_columns(reply.error, reply.offset))

    def _record_append(
        self, requested: Row, producer_id: int, replica: Partition, before: ObservedState, answer: PartitionAnswer
    ) -> None:
        reported = reply_columns(answer.error, answer.base_offset, answer.last_offset, answer.duplicate)
        columns = {**requested, "api_version": PRODUCE_VERSION, **reported}
        self.recorder.add(Api.PRODUCE, self.clock.now, columns, before, observe(replica, producer_id))

    def _answer(self, request: SentProduce, replica: Partition, answer: PartitionAnswer) -> None:
        response = SentReply(request, AttemptReply(answer.error, answer.base_offset, answer.log_start))
        if self.shape.acks == NO_ACKS:
            return
        if answer.error == ErrorCode.NONE and self.shape.acks == -1 and replica.high_watermark <= answer.last_offset:
            self._waiting[request.attempt.partition].append(DelayedProduce(answer.last_offset, response))
        else:
            self._reply(response)

    def _reply(self, response: SentReply) -> None:
        self.replies.send((response.request.producer, response.request.node), response)

    def _release(self, partition: int) -> None:
        high_watermark = self.partitions[partition].leader.high_watermark
        waiting = self._waiting[partition]
        self._waiting[partition] = [w for w in waiting if w.offset >= high_watermark]
        for done in waiting:
            if done.offset < high_watermark:
                self._reply(done.response)

    def _turn_away(self, partition: int) -> None:
        turned_away = self._waiting[partition]
        self._waiting[partition] = []
        for waiting in turned_away:
            self._reply(SentReply(waiting.response.request, AttemptReply(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
        self._release(partition)

    def _forget_waiting(self, producer: int, node: int) -> None:
        for partition, waiting in enumerate(self._waiting):
            self._waiting[partition] = [w for w in waiting if w.response.request[:2] != (producer, node)]


def _columns_of(request: SentProduce) -> Row:
    """From which producer to which node a Produce goes, and what it carries."""
    return {
        "node": node_name(request.node),
        "client": producer_name(request.producer),
        "topic": TOPIC,
        "partition": request.attempt.partition,
        "batch": request.attempt.batch.ordinal,
        "origin": int(Origin.CLIENT),
        **made_by(request.attempt.batch),
        **batch_columns(request.attempt.records),
    }
