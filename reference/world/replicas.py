"""A world of brokers that replicate, controllers, producers, and a network that does what it likes.

Each method is one event. The world decides nothing: who calls the methods (a scheduler, a test) chooses what happens
next. Brokers and controllers know only what they have received, and each broker has a clock of its own. It registers at
once when it starts, or when it learns that its registration has passed; all else goes over the network. Controllers run
on nodes of their own, also under ZooKeeper, where Kafka's is one of the brokers.
"""

from contextlib import suppress

from reference.client.producer import Attempt
from reference.errors import Refusal
from reference.network import NetworkMessage
from reference.recording.recorder import Fate, Row
from reference.replication.controller import Controller
from reference.replication.messages import AlterPartition, EpochEndRequest, FetchRequest, LeaderAndIsr
from reference.world.history import producer_name
from reference.world.replica_rows import TOPIC, node_name
from reference.world.replicas_base import ReplicasBase, controller_name
from reference.world.replicas_messages import (
    AlterAnswer,
    BatchAnswer,
    BrokerHeartbeat,
    EpochAnswer,
    FollowerFetchAnswer,
    HeartbeatAnswer,
    ReplicaMessage,
    ReplicaProduce,
)
from reference.world.replicas_nodes import BrokerNode, ProcessStatus, message_columns
from spec.vocabulary import ABSENT, Api, ErrorCode, Offset


class ReplicasWorld(ReplicasBase):
    """The world."""

    # --- clients ----------------------------------------------------------------------------------------------

    def application_sends(self, producer: int, partition: int, values: tuple[bytes, ...]) -> None:
        """An application hands a batch of these values to its producer."""
        batch = self.clients.producers[producer].send(partition, len(values), self.clock.now, values)
        self._histories.hands_over(producer, partition, batch)

    def application_makes(self, producer: int, partition: int, count: int) -> None:
        """An application hands over a batch of records with values that no other record has."""
        self.application_sends(producer, partition, self._histories.next_values(producer, count))

    def producer_asks_for_id(self, producer: int, node: int) -> None:
        """A producer without producer id gets one from a broker that runs."""
        identity = self.nodes[node].producer_ids.init_producer_id()
        self.clients.producers[producer].identified(identity)
        self.recorder.record(
            Api.INIT_PRODUCER_ID,
            self.nodes[node].now,
            node=node_name(node),
            client=producer_name(producer),
            error=int(ErrorCode.NONE),
            reply_producer_id=identity.producer_id,
            reply_epoch=identity.epoch,
        )

    def producer_sends(self, producer: int, partition: int) -> NetworkMessage[ReplicaMessage]:
        """A producer sends its next batch to the broker that it takes for the leader."""
        broker, request = self.clients.send(producer, partition)
        self._histories.report(producer)
        return self._send(producer_name(producer), node_name(broker), partition, request)

    def producer_ticks(self, producer: int) -> None:
        """A producer expires batches, settles unresolved ones and bumps its epoch if it must."""
        self.clients.producers[producer].tick(self.clock.now)
        self._histories.report(producer)

    def producer_stops_waiting(self, producer: int, attempt: Attempt) -> None:
        """A producer waits no longer for an answer; its request is still under way."""
        self.clients.give_up(producer, attempt)

    def producer_refreshes_metadata(self, producer: int, partition: int, node: int) -> None:
        """A producer asks a running broker for the leader, and gets that broker's view."""
        replica = self.nodes[node].broker.replicas.get(partition)
        if replica is not None:
            self.clients.learn_leader(producer, partition, replica.leader)

    def reader_fetches(self, reader: int, partition: int) -> bool:
        """A reader reads on at the broker that it takes for the leader, which runs; whether it is answered."""
        return self.readers.fetch(reader, partition, self.nodes[self.readers.leaders[reader][partition][0]])

    def reader_refreshes_metadata(self, reader: int, partition: int, node: int) -> None:
        """A reader asks a running broker for the leader, and gets that broker's view."""
        replica = self.nodes[node].broker.replicas.get(partition)
        if replica is not None:
            self.readers.learn_leader(reader, partition, replica)

    # --- the network ------------------------------------------------------------------------------------------

    def deliverable(self) -> list[NetworkMessage[ReplicaMessage]]:
        """What may arrive next: at a process that stands still, nothing does."""
        paused = {node_name(node.number) for node in self.nodes if node.status is ProcessStatus.PAUSED}
        messages = self.network.deliverable()
        return [message for message in messages if message.payload.receiver not in paused] if paused else messages

    def message_is_lost(self, message: NetworkMessage[ReplicaMessage]) -> None:
        """A message is lost; a producer notices, brokers ask again."""
        self._annotate(message.payload, lost=True)
        self.network.lose(message)
        body = message.payload.body
        if isinstance(body, ReplicaProduce | BatchAnswer) and not message.copy:
            request = body if isinstance(body, ReplicaProduce) else body.request
            self.clients.give_up(request.producer, request.attempt)

    def message_arrives(self, message: NetworkMessage[ReplicaMessage], leave_copy: bool = False) -> None:
        """A message reaches whom it is for; at a broker that is down, it is lost."""
        sent = message.payload
        kind, _, number = sent.receiver.partition("-")
        if kind == "broker" and self.nodes[int(number)].status is ProcessStatus.DOWN:
            self.message_is_lost(message)
            return
        self.network.deliver(message, leave_copy)
        if kind == "broker":
            self._broker_receives(self.nodes[int(number)], message)
        elif kind == "controller":
            self._controller_receives(self.controllers[int(number)], sent)
        elif isinstance(sent.body, BatchAnswer):
            self._annotate(sent)
            self._producer_receives(sent.body, sent.partition)

    def _annotate(self, sent: ReplicaMessage, *, lost: bool = False) -> None:
        """What became of a producer's request, or of the answer to one."""
        if self.recorder.annotates and isinstance(sent.body, ReplicaProduce | BatchAnswer):
            of_answer = Fate.ANSWER_LOST if lost else Fate.ANSWERED
            fate = of_answer if isinstance(sent.body, BatchAnswer) else Fate.LOST
            self.recorder.annotate(fate, Api.PRODUCE, message_columns(sent, sent.body))

    def _producer_receives(self, answered: BatchAnswer, partition: int) -> None:
        self.clients.receive(answered)
        self._histories.report(answered.request.producer)
        if answered.reply.error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self.clients.learn_leader(answered.request.producer, partition, self.leader_of(partition))

    def _broker_receives(self, node: BrokerNode, message: NetworkMessage[ReplicaMessage]) -> None:
        sender, receiver, partition, body = message.payload
        broker = node.broker
        match body:
            case ReplicaProduce():
                self._producing.receive(node, message, body)
            case FetchRequest():
                answer, proposal = broker.answer_fetch(partition, body, node.now)
                self._send(receiver, sender, partition, FollowerFetchAnswer(body, answer))
                self._propose(node, partition, proposal)
            case EpochEndRequest():
                end = broker.replicas[partition].epoch_end(body)
                self._send(receiver, sender, partition, EpochAnswer(body, end))
            case FollowerFetchAnswer() | EpochAnswer():
                self._follower_receives(node, partition, body)
            case AlterAnswer():
                broker.altered(partition, body.request, body.answer, node.now)
            case LeaderAndIsr():
                self._broker_learns(node, message, body)
            case HeartbeatAnswer():
                self._register(node, clean=True)
        self._producing.release(node)

    def _broker_learns(self, node: BrokerNode, message: NetworkMessage[ReplicaMessage], word: LeaderAndIsr) -> None:
        sender, receiver, partition, _ = message.payload
        try:
            node.broker.learn_leader(partition, word, node.now)
        except Refusal as refusal:
            of: Row = {"client": sender, "node": receiver, "topic": TOPIC, "partition": partition}
            of |= {"message": message.number, "asked_controller_epoch": word.controller_epoch}
            self.recorder.annotate(Fate.ANSWERED, "LeaderAndIsr", of | {"error": int(refusal.code)})

    def _follower_receives(self, node: BrokerNode, partition: int, body: FollowerFetchAnswer | EpochAnswer) -> None:
        following = node.broker.replicas[partition].following
        if following is None:
            return
        node.asked_ms.pop(partition, None)
        if isinstance(body, FollowerFetchAnswer):
            following.receive(body.request, body.answer, node.now)
        else:
            following.receive_end(body.request, body.answer, node.now)

    def _controller_receives(self, controller: Controller, sent: ReplicaMessage) -> None:
        match sent.body:
            case AlterPartition():
                answer = controller.alter_partition(sent.partition, sent.body)
                self._send(sent.receiver, sent.sender, sent.partition, AlterAnswer(sent.body, answer))
            case BrokerHeartbeat(broker, epoch, shuts_down):
                try:
                    controller.heartbeat(broker, epoch, shuts_down, self.clock.now)
                except Refusal as refusal:
                    if refusal.code is ErrorCode.STALE_BROKER_EPOCH:
                        self._send(sent.receiver, sent.sender, ABSENT, HeartbeatAnswer(refusal.code))
        self._report_brokers()

    # --- brokers ----------------------------------------------------------------------------------------------

    def follower_fetches(self, node: int, partition: int) -> None:
        """A follower asks its leader for what comes next, or where their logs part."""
        machine = self.nodes[node]
        request = machine.broker.next_request(partition)
        if request is not None:
            machine.asked_ms[partition] = machine.now
            self._send(node_name(node), node_name(request[0]), partition, request[1])

    def leader_checks_lag(self, node: int) -> None:
        """A broker looks for followers that have lagged for too long."""
        machine = self.nodes[node]
        for partition, proposal in machine.broker.check_lags(machine.now).items():
            self._propose(machine, partition, proposal)
        self._producing.release(machine)

    def broker_asks_again(self, node: int, partition: int) -> None:
        """A leader whose proposal was not answered sends it again."""
        machine = self.nodes[node]
        self._propose(machine, partition, machine.broker.ask_again(partition))

    def purgatory_expires(self, node: int) -> None:
        """A broker answers what has waited for too long."""
        self._producing.release(self.nodes[node])

    def broker_heartbeats(self, node: int) -> None:
        """A broker sends the controller a heartbeat, which may ask for a shutdown; or it keeps its session."""
        machine = self.nodes[node]
        body = BrokerHeartbeat(node, machine.broker.epoch, machine.shuts_down)
        self._send(node_name(node), controller_name(self.active), ABSENT, body)

    def broker_writes_checkpoint(self, node: int) -> None:
        """A broker writes its high watermarks to disk."""
        for replica in self.nodes[node].broker.replicas.values():
            replica.replica_log.write_checkpoint()

    def leader_deletes_records(self, node: int, partition: int) -> None:
        """A leader drops everything below its high watermark (retention, DeleteRecords)."""
        replica = self.replica(node, partition)
        before = replica.watch.before()
        replica.log.log.advance_start(Offset(replica.log.high_watermark))
        replica.watch.decided(Api.DELETE_RECORDS, before, leads=True, offset=replica.log.high_watermark)

    # --- faults of brokers ------------------------------------------------------------------------------------

    def broker_crashes(self, node: int) -> None:
        """A process is killed: memory and connections are gone, without notice."""
        self.recorder.annotate(Fate.REMARK, "is killed", {"node": node_name(node)})
        self._stop(node)

    def _stop(self, node: int) -> None:
        self.nodes[node].stop()
        self.clients.lose_all(node)

    def broker_starts(self, node: int, lost_batches: int = 0, clean: bool = False) -> None:
        """A broker comes back from disk and registers; after a loss of power the tails of its logs are gone.

        Args:
            node: the broker, which is down.
            lost_batches: batches at the end of each log that never reached the disk.
            clean: it had shut down in order.
        """
        machine = self.nodes[node]
        machine.start(lost_batches)
        self._register(machine, clean)
        self._report_brokers()

    def broker_pauses(self, node: int) -> None:
        """A process is paused; its view of itself is the same when it continues."""
        self.recorder.annotate(Fate.REMARK, "stands still", {"node": node_name(node)})
        self.nodes[node].status = ProcessStatus.PAUSED

    def broker_resumes(self, node: int) -> None:
        """A process continues."""
        self.recorder.annotate(Fate.REMARK, "continues", {"node": node_name(node)})
        self.nodes[node].status = ProcessStatus.UP

    def broker_begins_shutdown(self, node: int) -> None:
        """A broker gets the order to stop: from now on its heartbeats ask for the shutdown."""
        self.nodes[node].shuts_down = True
        self.broker_heartbeats(node)

    def broker_ends_shutdown(self, node: int) -> None:
        """A broker that leads nothing any more writes its checkpoints and goes."""
        self.broker_writes_checkpoint(node)
        self.recorder.annotate(Fate.REMARK, "goes", {"node": node_name(node)})
        self._stop(node)

    def clock_drifts(self, node: int, milliseconds: int) -> None:
        """A broker's clock goes ahead of the others, or falls behind."""
        self.nodes[node].skew_ms += milliseconds

    # --- controllers ------------------------------------------------------------------------------------------

    def controller_checks_sessions(self) -> None:
        """Brokers whose last contact is too long ago are fenced."""
        self.controller.check_sessions(self.clock.now)
        self._report_brokers()

    def controller_is_elected(self, number: int) -> None:
        """Another controller; the one before continues for a while, and can change nothing any more."""
        self.active = number
        self.controller.take_office(self.clock.now)
        self._report_brokers(again=True)

    def preferred_leader_is_elected(self, partition: int) -> None:
        """An administrator, or the controller's timer, asks for the preferred leader."""
        with suppress(Refusal):
            self.controller.elect_preferred(partition)
        self._report_brokers()
