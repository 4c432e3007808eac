"""A world of transactional producers, coordinators, partitions and consumers, and a network that does what it likes.

Each method is one event. The world decides nothing: who calls the methods (a Hypothesis machine, a test) chooses what
happens next. A request may be lost, copied, delayed or overtaken, and so may its answer; a sending is answered to its
sender once at most, and the sender may give it up before.
"""

from typing import Final

from reference.broker.group_requests import NOBODY, Claim, Offsets
from reference.broker.transaction_log import AppendFault
from reference.broker.transaction_metadata import TopicPartition
from reference.broker.transaction_timeouts import abort_timed_out, expire_ids
from reference.client.coordinator_channel import NO_NODE, CoordinatorAnswer, PendingResult
from reference.client.producer import Reply
from reference.client.request_versions import request_versions
from reference.client.transactional_producer import TransactionalProducer
from reference.clock import Clock
from reference.errors import Refusal
from reference.network import Message
from reference.recorder import Recorder
from reference.replica_rows import Before, follow, record_fault
from reference.world.brokers import Brokers
from reference.world.coordinator_rows import memory_of
from reference.world.handling import Handling
from reference.world.instances import ClientTransaction, Instance, SentBatch, SentOffsets
from reference.world.messages import Asked, Body, Broker, Client, Produce, Request, Response
from reference.world.readers import Readers
from reference.world.steps import Steps
from reference.world.transaction_shape import TransactionShape
from reference.world.wires import Wires
from spec.versions import NEWEST, Profile
from spec.vocabulary import ErrorCode

STALE_LEADER: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NETWORK_EXCEPTION)
"""Answers after which a producer asks who leads."""


class TransactionWorld:
    """The world.

    Attributes:
        instances: of all transactional ids, by number.
        brokers: the nodes.
        handling: what nodes do with requests.
        readers: what consumers ask.
        wires: what is under way.
        recorder: the steps so far.
    """

    def __init__(self, profile: Profile = NEWEST, shape: TransactionShape | None = None, trace: int = 0) -> None:
        """A world in which node 0 coordinates everything, and nothing else has happened."""
        self.profile = profile
        self.shape = shape or TransactionShape()
        self.clock = Clock()
        self.recorder = Recorder(trace, profile)
        self.wires = Wires(self.shape.ordered)
        self.instances: list[Instance] = []
        self.brokers = Brokers(profile, self.shape, self.clock, self.wires.send)
        self._steps = Steps(self.recorder, self.clock)
        self.handling = Handling(self.brokers, self._steps, self._principal, self.wires.reply)
        self.readers = Readers(self.brokers)
        for partition in range(self.shape.log_partitions):
            self.coordinator_fails_over(partition, 0)
        for partition in range(self.shape.offsets_partitions):
            self.brokers.elect_groups(partition, 0)

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """The data partitions, in the order of a producer's queues."""
        return tuple(self.brokers.partitions)

    # --- applications -----------------------------------------------------------------------------------------

    def application_starts(self, transactional_id: str) -> Instance:
        """An application starts with a transactional id; others with the same id may still run."""
        producer = TransactionalProducer(
            transactional_id,
            self.partitions,
            request_versions(self.profile),
            self.shape.transaction_timeout_ms,
            self.shape.delivery_timeout_ms,
        )
        leaders = {partition: self.brokers.leader_of(partition) for partition in self.partitions}
        instance = Instance(len(self.instances), transactional_id, producer, leaders)
        self.instances.append(instance)
        return instance

    def application_crashes(self, instance: Instance) -> None:
        """An application is gone; what it has sent is still under way, and nobody hears the answers."""
        instance.alive = False
        for request in self.wires.waiting(Client(instance.number)):
            self.wires.give_up(request)

    def application_initializes(self, instance: Instance) -> PendingResult:
        """An application asks for its producer id."""
        instance.initialized = instance.producer.init_transactions()
        return instance.initialized

    def application_begins(self, instance: Instance) -> ClientTransaction:
        """An application begins a transaction."""
        instance.producer.begin()
        identity = instance.producer.manager.identity
        instance.transactions.append(ClientTransaction(len(instance.transactions), identity))
        return instance.transaction

    def application_sends(self, instance: Instance, partition: TopicPartition, count: int = 1) -> SentBatch:
        """An application hands over a batch of records with values that no other record has."""
        number = self.partitions.index(partition)
        batch = instance.producer.send(number, count, self.clock.now, instance.next_values(count))
        instance.records += count
        instance.transaction.batches.append(SentBatch(partition, batch))
        return instance.transaction.batches[-1]

    def application_sends_offsets(
        self, instance: Instance, group: str, offsets: Offsets, claim: Claim = NOBODY
    ) -> PendingResult:
        """An application commits what it has read as part of the transaction."""
        result = instance.producer.send_offsets_to_transaction(group, offsets, claim)
        instance.transaction.offsets.append(SentOffsets(group, offsets, result))
        return result

    def application_commits(self, instance: Instance) -> PendingResult:
        """An application commits; again, while the first call is under way, changes nothing."""
        return self._ended(instance, instance.producer.commit(), commits=True)

    def application_aborts(self, instance: Instance) -> PendingResult:
        """An application aborts, likewise; also what it could not commit."""
        return self._ended(instance, instance.producer.abort(), commits=False)

    def _ended(self, instance: Instance, result: PendingResult, commits: bool) -> PendingResult:
        instance.transaction.commits = commits
        instance.transaction.result = result
        return result

    # --- producers --------------------------------------------------------------------------------------------

    def producer_asks(self, instance: Instance, node: int = 0) -> Request | None:
        """A producer sends its next coordinator request; one that any node can answer goes to `node`.

        Returns:
            What was sent; None if nothing need be.
        """
        outgoing = instance.producer.poll()
        if outgoing is None:
            return None
        to = node if outgoing.node == NO_NODE else outgoing.node
        return self._send(instance, to, Asked(outgoing.number, outgoing.request))

    def sendable(self, instance: Instance) -> list[TopicPartition]:
        """The partitions for which a batch can be sent now."""
        if not instance.alive:
            return []
        return [name for number, name in enumerate(self.partitions) if instance.producer.may_drain(number)]

    def producer_sends(self, instance: Instance, partition: TopicPartition) -> Request:
        """A producer sends its next batch to the node that it takes for the leader."""
        producer = instance.producer
        attempt = producer.drain(self.partitions.index(partition))
        version = producer.manager.versions.produce
        body = Produce(version, instance.transactional_id, partition, attempt)
        return self._send(instance, instance.known_leaders[partition], body)

    def producer_ticks(self, instance: Instance) -> None:
        """A producer gives up batches that took too long, and drops what cannot be committed any more."""
        instance.producer.tick(self.clock.now)

    def _send(self, instance: Instance, node: int, body: Body) -> Request:
        return self.wires.send(Client(instance.number), node, body)

    def _principal(self, instance: int) -> str:
        return f"User:{self.instances[instance].transactional_id}"

    # --- the network ------------------------------------------------------------------------------------------

    def broker_receives(self, message: Message[Request], leave_copy: bool = False) -> None:
        """A request reaches its node, and is answered now, later, or after others have been asked."""
        self.handling.receive(self.wires.deliver(message, leave_copy))

    def sender_receives(self, message: Message[Response], leave_copy: bool = False) -> None:
        """An answer reaches whoever sent the request; one that nobody waits for is dropped."""
        response = self.wires.deliver_reply(message, leave_copy)
        if response is None:
            return
        if isinstance(response.request.sender, Broker):
            self.handling.receive_answer(response)
        else:
            self._client_receives(self.instances[response.request.sender.instance], response)

    def request_is_lost(self, message: Message[Request]) -> None:
        """A request is lost, and its sender gives it up."""
        self.wires.requests.lose(message)
        self.sender_gives_up(message.payload)

    def reply_is_lost(self, message: Message[Response]) -> None:
        """An answer is lost, and whoever waits for it gives up."""
        self.wires.replies.lose(message)
        self.sender_gives_up(message.payload.request)

    def sender_gives_up(self, request: Request) -> None:
        """A request times out at its sender, and is still under way: it may arrive at any later time."""
        if self.wires.give_up(request):
            self.wires.reconnect(request.sender, request.node)
            self._lose(request)

    def connection_breaks(self, sender: Client | Broker, node: int, arriving: int = 0) -> None:
        """A connection breaks: its first `arriving` requests still reach the node, no answer comes back."""
        for request in self.wires.cut(sender, node, arriving):
            self._lose(request)

    def _client_receives(self, instance: Instance, response: Response) -> None:
        producer = instance.producer
        match response.request.body, response.answer:
            case Asked(number=number), CoordinatorAnswer() as answer:
                producer.answer(number, answer)
            case Produce(partition=partition, attempt=attempt), Reply() as reply:
                producer.receive(attempt, reply)
                if reply.error in STALE_LEADER:
                    self._refresh_leader(instance, partition)

    def _lose(self, request: Request) -> None:
        if isinstance(request.sender, Broker):
            self.handling.lose(request)
            return
        instance = self.instances[request.sender.instance]
        match request.body:
            case Asked(number=number):
                instance.producer.manager.lose(number)
            case Produce(partition=partition, attempt=attempt):
                instance.producer.lose(attempt)
                self._refresh_leader(instance, partition)

    def _refresh_leader(self, instance: Instance, partition: TopicPartition) -> None:
        """A producer learns who leads, unless batches are still under way to the leader it knows."""
        number = self.partitions.index(partition)
        if not any(attempt.partition == number for attempt in instance.producer.on_wire.values()):
            instance.known_leaders[partition] = self.brokers.leader_of(partition)

    # --- transaction coordinators -----------------------------------------------------------------------------

    def coordinator_fails_over(self, partition: int, node: int, *, loads: bool = True) -> None:
        """A node is elected for a partition of `__transaction_state`; the one before it goes on as a zombie.

        Args:
            partition: of `__transaction_state`.
            node: the new leader; it may be the old one.
            loads: whether it reads its log at once; else it answers "loading" until `coordinator_loads`.
        """
        self.brokers.elect_transactions(partition, node)
        if loads:
            self.coordinator_loads(partition)

    def coordinator_loads(self, partition: int) -> None:
        """The leader of a partition of `__transaction_state` has read it; what was decided goes on."""
        node = self.brokers.log_leaders[partition]
        coordinator = self.brokers.nodes[node].transactions
        before = memory_of(coordinator)
        coordinator.load(partition)
        self._steps.changed("CoordinatorLoad", node, before, coordinator)

    def coordinator_resigns(self, partition: int, node: int) -> None:
        """A zombie learns that it does not lead a partition of `__transaction_state` any more."""
        if self.brokers.log_leaders.get(partition) != node:
            self.brokers.nodes[node].transactions.resign(partition)

    def coordinator_sends_markers(self, node: int) -> None:
        """A coordinator sends every marker that it owes and has not in flight."""
        found = self.brokers.nodes[node]
        before = memory_of(found.transactions)
        found.markers.is_sending = True
        found.transactions.send_markers()
        found.markers.is_sending = False
        self._steps.changed("MarkersSent", node, before, found.transactions)

    def owes_markers(self, node: int) -> bool:
        """Whether a coordinator has decided a transaction and not completed it."""
        return bool(self.brokers.nodes[node].transactions.markers.owed)

    def coordinator_aborts_timed_out(self, node: int) -> None:
        """A coordinator aborts the transactions that have been open for too long."""
        coordinator = self.brokers.nodes[node].transactions
        before = memory_of(coordinator)
        abort_timed_out(coordinator)
        self._steps.changed("TransactionTimeout", node, before, coordinator)

    def coordinator_expires_ids(self, node: int) -> None:
        """A coordinator forgets the ids that have been at rest for too long."""
        coordinator = self.brokers.nodes[node].transactions
        before = memory_of(coordinator)
        expire_ids(coordinator)
        self._steps.changed("TransactionalIdExpiry", node, before, coordinator)

    def coordinator_log_fails(self, node: int, refusal: Refusal, *, written: bool = False) -> None:
        """The next append of a coordinator to its log fails; with `written` the record is in the log all the same."""
        self.brokers.nodes[node].log.faults.append(AppendFault(refusal, written))

    # --- partitions and nodes ---------------------------------------------------------------------------------

    def follower_fetches(self, partition: TopicPartition, node: int) -> None:
        """A follower copies the next batch of its leader, and answers that waited for it go out."""
        follow(self.recorder, self.clock.now, self.brokers.partitions[partition], partition.partition, node)
        self.handling.appends.release(partition)

    def leader_fails_over(self, partition: TopicPartition, node: int) -> None:
        """A follower in sync takes over a data partition."""
        replicated = self.brokers.partitions[partition]
        before = Before.of(replicated.replicas)
        replicated.fail_over(node, self.clock.now)
        record_fault(self.recorder, "LeaderFailover", self.clock.now, partition.partition, before, node)
        self.handling.appends.turn_away(partition)
        self.handling.appends.release(partition)

    def partition_goes_away(self, partition: TopicPartition) -> None:
        """Nobody can write to a data partition; markers and batches are tried again until it is back."""
        self.brokers.unavailable.add(partition)

    def partition_comes_back(self, partition: TopicPartition) -> None:
        """A data partition can be written to again."""
        self.brokers.unavailable.discard(partition)

    def group_coordinator_fails_over(self, partition: int, node: int) -> None:
        """A node is elected for a partition of `__consumer_offsets`, and reads it; the one before stops."""
        self.brokers.elect_groups(partition, node)

    def broker_restarts(self, node: int) -> None:
        """A node loses its memory and its connections; what it coordinated waits for an election."""
        for sender in dict.fromkeys(request.sender for request in self.wires.open.values() if request.node == node):
            self.connection_breaks(sender, node)
        for request in self.wires.waiting(Broker(node)):
            self.wires.give_up(request)
        befores = {name: Before.of(each.replicas) for name, each in self.brokers.partitions.items()}
        self.brokers.restart(node)
        if node >= self.shape.replicas:
            return
        for partition, before in befores.items():
            record_fault(self.recorder, "BrokerRestart", self.clock.now, partition.partition, before, node)
            self.handling.appends.turn_away(partition)
            self.handling.appends.release(partition)

    def producer_state_expires(self, node: int) -> None:
        """A node forgets the producers that were silent for too long."""
        for partition, replicated in self.brokers.partitions.items():
            before = Before.of(replicated.replicas)
            replicated.replicas[node].state.expire(self.clock.now)
            record_fault(self.recorder, "ProducerStateExpiry", self.clock.now, partition.partition, before, node)
