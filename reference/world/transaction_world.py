"""A world of transactional producers, coordinators, partitions and consumers, and a network that does what it likes.

Each method is one event. The world decides nothing: who calls the methods (a Hypothesis machine, a test) chooses what
happens next. A request may be lost, copied, delayed or overtaken, and so may its answer; a sending is answered to its
sender once at most, and the sender may give it up before.
"""

from collections.abc import Callable
from contextlib import suppress

from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_log import AppendFault
from reference.broker.transaction_metadata import AT_REST, TopicPartition, increment_epoch
from reference.broker.transaction_timeouts import abort_timed_out, expire_ids
from reference.clock import Clock
from reference.errors import Refusal
from reference.network import NetworkMessage
from reference.recording.recorder import Fate, Recorder
from reference.replication.replicated import ReplicatedPartition
from reference.world.administrators import Administrators
from reference.world.applications import Applications
from reference.world.brokers import Brokers
from reference.world.coordinator_rows import memory_of
from reference.world.exchanges import api_of, exchange_rows
from reference.world.handling import Handling
from reference.world.history import HistoryRows
from reference.world.loops import Loops
from reference.world.messages import Answer, BrokerSender, ClientSender, Plain, Request, Response, Sender, Wires
from reference.world.node import Storage
from reference.world.plain_applications import PlainApplications
from reference.world.readers import Consumers
from reference.world.replica_rows import ReplicasBefore, follow, node_name, record_fault
from reference.world.steps import TraceSteps
from reference.world.transaction_shape import TransactionShape
from spec.versions import NEWEST, Profile
from spec.vocabulary import MAX_EPOCH, Epoch, Timestamp

Elect = Callable[[ReplicatedPartition, int, Timestamp], None]
"""Makes a node the leader of a partition."""


class TransactionWorld(Applications):
    """The world: what its applications do, and everything else.

    Attributes:
        handling: what nodes do with requests.
        readers: what consumers ask.
        plain: applications without transactions.
        loops: applications that consume, transform and produce.
        administrators: what Kafka's tools do.
        recorder: the steps so far.
    """

    def __init__(
        self,
        profile: Profile = NEWEST,
        shape: TransactionShape | None = None,
        trace: int = 0,
        *,
        now: int = 0,
        storage: Storage | None = None,
    ) -> None:
        """A world in which the first coordinators are elected, and nothing else has happened.

        Args:
            profile: release of all nodes.
            shape: how large it is.
            trace: number of its trace.
            now: the time at which it begins, milliseconds.
            storage: where the data of nodes is, and what is left there; nothing, and in memory, if not given.
        """
        shape = shape or TransactionShape()
        clock, wires = Clock(now), Wires(shape.ordered)
        self.recorder = Recorder(trace, profile)
        self.recorder.clock = clock
        history = HistoryRows(self.recorder, clock)
        brokers = Brokers(profile, shape, clock, wires.send, self.recorder, storage)
        super().__init__(profile, shape, clock, wires, brokers, history)
        self._steps = TraceSteps(self.recorder, self.brokers.clocks, shape.offsets_partitions)
        self.handling = Handling(self.brokers, self._steps, self._principal, self.wires.reply)
        self.readers = Consumers(self.brokers, self._steps, history)
        self.plain = PlainApplications(profile, shape, clock, wires, self.brokers, history, self._steps)
        self.loops = Loops(self.brokers, self.readers)
        self.administrators = Administrators(self.brokers, self._steps, wires.send)
        for partition in range(self.shape.log_partitions):
            self.coordinator_fails_over(partition, self.first_coordinator(partition))
        for partition in range(self.shape.offsets_partitions):
            self.brokers.elect_groups(partition, self.first_coordinator(partition))

    def first_coordinator(self, partition: int) -> int:
        """The node that leads a partition of `__transaction_state` and of `__consumer_offsets` in the beginning."""
        return 0

    # --- the network ------------------------------------------------------------------------------------------

    def broker_receives(self, message: NetworkMessage[Request], leave_copy: bool = False) -> None:
        """A request reaches its node, and is answered now, later, or after others have been asked."""
        self.handling.receive(self.wires.deliver(message, leave_copy))

    def sender_receives(self, message: NetworkMessage[Response], leave_copy: bool = False) -> None:
        """An answer reaches the sender of the request; one that is no longer awaited is dropped."""
        response = self.wires.deliver_reply(message, leave_copy)
        if response is None:
            return
        self._annotate(Fate.ANSWERED, *response)
        match response.request.sender:
            case BrokerSender():
                self.handling.receive_answer(response)
            case ClientSender(instance):
                self.client_receives(self.instances[instance], response)
            case Plain(producer):
                self.plain.receive(self.plain.all[producer], response)

    def request_is_lost(self, message: NetworkMessage[Request]) -> None:
        """A request is lost, and its sender gives it up; the loss of a copy goes unnoticed."""
        self._annotate(Fate.LOST, message.payload)
        self.wires.requests.lose(message)
        if not message.copy:
            self._give_up(message.payload)

    def reply_is_lost(self, message: NetworkMessage[Response]) -> None:
        """An answer is lost, and its client gives up; likewise."""
        self._annotate(Fate.ANSWER_LOST, *message.payload)
        self.wires.replies.lose(message)
        if not message.copy:
            self._give_up(message.payload.request)

    def sender_stops_waiting(self, request: Request) -> None:
        """A request times out at its sender, and is still under way: it may arrive at any later time."""
        self._annotate(Fate.GIVEN_UP, request)
        self._give_up(request)

    def _annotate(self, fate: Fate, request: Request, answer: Answer | None = None) -> None:
        if self.recorder.annotates:
            for columns in exchange_rows(request, answer, self.shape.offsets_partitions):
                self.recorder.annotate(fate, api_of(request.body), columns)

    def _give_up(self, request: Request) -> None:
        if self.wires.give_up(request):
            self.wires.reconnect(request.sender, request.node)
            self._lose(request)

    def connection_breaks(self, sender: Sender, node: int, arriving: int = 0) -> None:
        """A connection breaks: its first `arriving` requests still reach the node, no answer comes back."""
        for request in self.wires.cut(sender, node, arriving):
            self._lose(request)

    def _lose(self, request: Request) -> None:
        match request.sender:
            case BrokerSender():
                self.handling.lose(request)
            case ClientSender(instance):
                self.client_loses(self.instances[instance], request)
            case Plain(producer):
                self.plain.lose(self.plain.all[producer], request)

    # --- transaction coordinators -----------------------------------------------------------------------------

    def coordinator_fails_over(self, partition: int, node: int, *, loads: bool = True) -> None:
        """A node is elected for a partition of `__transaction_state`; the one before it continues as a zombie.

        Args:
            partition: of `__transaction_state`.
            node: the new leader; it may be the old one.
            loads: whether it reads its log at once; else it answers "loading" until `coordinator_loads`.
        """
        elected = self.brokers.nodes[node].transactions
        before = memory_of(elected)
        self.brokers.elect_transactions(partition, node)
        self._steps.changed("CoordinatorElection", node, before, elected)
        if loads:
            self.coordinator_loads(partition)
        else:
            remark = "is elected, and has not read its log yet"
            self.recorder.annotate(Fate.REMARK, remark, {"node": node_name(node)})

    def coordinator_loads(self, partition: int) -> None:
        """The leader of a partition of `__transaction_state` has read it; decided transactions continue."""
        node = self.brokers.log_leaders[partition]
        coordinator = self.brokers.nodes[node].transactions
        before = memory_of(coordinator)
        coordinator.load(partition)
        self._steps.changed("CoordinatorLoad", node, before, coordinator)

    def coordinator_resigns(self, partition: int, node: int) -> None:
        """A zombie learns that it does not lead a partition of `__transaction_state` any more."""
        if self.brokers.log_leaders.get(partition) != node:
            zombie = self.brokers.nodes[node].transactions
            before = memory_of(zombie)
            zombie.resign(partition)
            self._steps.changed("CoordinatorResignation", node, before, zombie)

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
        self._steps.looked_for_timeouts(node, before, coordinator)

    def coordinator_expires_ids(self, node: int) -> None:
        """A coordinator forgets the ids that have been at rest for too long."""
        coordinator = self.brokers.nodes[node].transactions
        before = memory_of(coordinator)
        expire_ids(coordinator)
        self._steps.changed("TransactionalIdExpiry", node, before, coordinator)

    def coordinator_log_fails(self, node: int, refusal: Refusal, *, written: bool = False) -> None:
        """The next append of a coordinator to its log fails; with `written` the record is in the log all the same."""
        self.brokers.nodes[node].log.faults.append(AppendFault(refusal, written))

    def idle_ids(self, node: int) -> list[str]:
        """The ids at rest that a node coordinates, with epochs handed out and more to come."""
        entries = self.brokers.nodes[node].transactions.states.entries()
        return [
            entry.transactional_id
            for entry in entries
            if entry.pending is None and entry.metadata.state in AT_REST and 0 <= entry.metadata.epoch < MAX_EPOCH // 2
        ]

    def sessions_come_and_go(self, node: int, transactional_id: str, epoch: Epoch) -> None:
        """So many sessions initialize an idle id, one after another, that it is at this epoch; the last one leaves."""
        coordinator = self.brokers.nodes[node].transactions
        before = memory_of(coordinator)
        entry = coordinator.states.known(transactional_id)
        earlier = entry.metadata._replace(epoch=Epoch(epoch - 1))
        now = self.brokers.now_at(node)
        change = entry.begin(increment_epoch(earlier, earlier.timeout_ms, None, now))
        with suppress(Refusal):
            coordinator.states.write(entry, change, now)
        self._steps.changed("Sessions", node, before, coordinator)

    def claim_takes_long(self, node: int, meanwhile: Callable[[], object]) -> None:
        """Between a node's next reading of the record of producer ids and its writing, something else happens."""
        self.brokers.nodes[node].blocks.meanwhile = meanwhile

    # --- partitions and nodes ---------------------------------------------------------------------------------

    def follower_fetches(self, partition: TopicPartition, node: int) -> None:
        """A follower copies the next batch of its leader, and answers that waited for it go out."""
        number, topic = partition.partition, partition.topic
        follow(self.recorder, self.brokers.now_at(node), self.brokers.partitions[partition], number, node, topic)
        self.handling.appends.release(partition)

    def leader_fails_over(self, partition: TopicPartition, node: int) -> None:
        """A follower in sync takes over a data partition."""
        self._leader_changes("LeaderFailover", partition, node, ReplicatedPartition.fail_over)

    def follower_leaves_insync(self, partition: TopicPartition, node: int) -> None:
        """A follower was behind for longer than replica.lag.time.max.ms, and answers do not wait for it any more."""
        self.recorder.annotate(Fate.REMARK, "leaves the in-sync set", {"node": node_name(node)})
        self.brokers.partitions[partition].leave_insync(node)
        self.handling.appends.release(partition)

    def unclean_leader_election(self, partition: TopicPartition, node: int) -> None:
        """A follower out of sync takes over (unclean.leader.election.enable); what it does not have is lost."""
        self._leader_changes("UncleanLeaderElection", partition, node, ReplicatedPartition.elect_uncleanly)

    def _leader_changes(
        self,
        api: str,
        partition: TopicPartition,
        node: int,
        elect: Callable[[ReplicatedPartition, int, Timestamp], None],
    ) -> None:
        replicated, now = self.brokers.partitions[partition], self.brokers.now_at(node)
        before = ReplicasBefore.of(replicated.replicas)
        elect(replicated, node, now)
        record_fault(self.recorder, api, now, partition.partition, before, node, topic=partition.topic)
        self.handling.appends.turn_away(partition)
        self.handling.appends.release(partition)

    def partition_loses_leader(self, partition: TopicPartition) -> None:
        """A data partition cannot be written to; markers and batches are retried until it is back."""
        self._remark_partition(partition, "has no leader")
        self.brokers.unavailable.add(partition)

    def partition_regains_leader(self, partition: TopicPartition) -> None:
        """A data partition can be written to again, if it could not be."""
        if partition in self.brokers.unavailable:
            self._remark_partition(partition, "has a leader again")
            self.brokers.unavailable.discard(partition)

    def _remark_partition(self, partition: TopicPartition, remark: str) -> None:
        node = node_name(self.brokers.leader_of(partition))
        self.recorder.annotate(Fate.REMARK, remark, {"node": node, **partition._asdict()})

    def group_coordinator_fails_over(self, partition: int, node: int) -> None:
        """A node is elected for a partition of `__consumer_offsets`, and reads it; the one before stops."""
        self.brokers.elect_groups(partition, node)

    def groups_apply_markers(self, node: int) -> None:
        """A coordinator of groups applies the markers that it has answered: their offsets are committed or dropped."""
        groups = self.brokers.nodes[node].groups
        for pending in groups.decided:
            remark = f"applies the marker to all that is pending for producer {pending.producer_id}"
            self.recorder.annotate(Fate.REMARK, remark, {"node": node_name(node), "topic": OFFSETS_TOPIC})
        groups.take_over_decided()

    def broker_restarts(self, node: int) -> None:
        """A node loses its memory and its connections; what it coordinated waits for an election."""
        for sender in dict.fromkeys(request.sender for request in self.wires.open.values() if request.node == node):
            self.connection_breaks(sender, node)
        for request in self.wires.waiting(BrokerSender(node)):
            self.wires.give_up(request)
        befores = {name: ReplicasBefore.of(each.replicas) for name, each in self.brokers.partitions.items()}
        leaders = {name: each.leader_node for name, each in self.brokers.partitions.items()}
        remembered = memory_of(self.brokers.nodes[node].transactions)
        self.brokers.restart(node)
        self._steps.changed("BrokerRestart", node, remembered, self.brokers.nodes[node].transactions)
        if node >= self.shape.replicas:
            return
        for partition, before in befores.items():
            now, number, topic = self.brokers.now_at(node), partition.partition, partition.topic
            record_fault(self.recorder, "BrokerRestart", now, number, before, node, topic=topic)
            self._waiting_after_restart(partition, led=leaders[partition] == node)

    def _waiting_after_restart(self, partition: TopicPartition, led: bool) -> None:
        """Answer what waits at the leader of a partition after a node has restarted, which `led` it or did not."""
        self.handling.appends.turn_away(partition)
        self.handling.appends.release(partition)

    def producer_state_expires(self, node: int) -> None:
        """A node forgets the producers that were silent for too long."""
        now = self.brokers.now_at(node)
        for partition, replicated in self.brokers.partitions.items():
            before = ReplicasBefore.of(replicated.replicas)
            replicated.replicas[node].state.expire(now)
            number, topic = partition.partition, partition.topic
            record_fault(self.recorder, "ProducerStateExpiry", now, number, before, node, topic=topic)
