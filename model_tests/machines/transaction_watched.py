"""The world of transactions under watch: after each event an onlooker reads the logs and the answers on the wire."""

from typing import Any

from model_tests.machines.ghost_state import CoordinatedTransaction, CurrentEvent, LoggedBatch, Owner, Owners
from model_tests.machines.memory import SEQUENCES
from model_tests.machines.monitored import judge_steps
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_coordinator_log import DECIDED, CoordinatorLog, IdHistory
from model_tests.machines.transaction_logs import LoggedPartition, stale
from model_tests.machines.transaction_offsets import OffsetsPartition
from model_tests.machines.transaction_setting import TransactionSetting
from model_tests.machines.transaction_verdicts import Verdicts
from model_tests.machines.transaction_watch import TransactionWatch
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_metadata import TopicPartition
from reference.client.coordinator_channel import CoordinatorAnswer, EndTxn, InitProducerId, TxnOffsetCommit
from reference.client.partition_queue import PartitionQueue
from reference.network import NetworkMessage
from reference.world.instances import ApplicationRun
from reference.world.messages import (
    BrokerSender,
    ClientSender,
    CoordinatorCall,
    Produce,
    Request,
    Response,
    Verify,
    WriteMarker,
)
from reference.world.transaction_world import TransactionWorld
from spec import rules
from spec.evidence import Layer, evidences


@evidences(rules.TXN_CLIENT_VERDICT, Layer.STATEFUL)
def end_waits(instance: ApplicationRun, request: Request, watch: TransactionWatch) -> None:
    """The end of a transaction is asked for once each of its batches is acknowledged, or given up for good."""
    if isinstance(request.body, CoordinatorCall) and isinstance(request.body.request, EndTxn):
        undecided = [sent.batch.values for sent in instance.transaction.batches if sent.batch.outcome is None]
        message = f"instance {instance.number} asks for the end of its transaction while it waits for {undecided}"
        watch.expect(rules.TXN_CLIENT_VERDICT, not undecided, message)


def numbers_follow(instance: ApplicationRun, watch: TransactionWatch) -> None:
    """What a client has in flight can be appended: no sequence before it is missing for ever."""
    for partition, queue in zip(instance.producer.partitions, instance.producer.queues, strict=True):
        if queue.in_flight and not queue.is_unresolved:
            message = f"instance {instance.number} leaves a gap on partition {partition.partition}: {_numbers(queue)}"
            watch.expect(rules.SEQ_SUCCESSOR, _is_gapless(queue), message)


def _is_gapless(queue: PartitionQueue) -> bool:
    """Every batch in flight follows the one before it, or what was acknowledged."""
    last = queue.last_acked
    for batch in queue.in_flight:
        if batch.identity == queue.identity:
            distance = (batch.base_sequence - (last + 1)) % SEQUENCES
            if 0 < distance < SEQUENCES // 2:
                return False
            last = max(last, batch.last_sequence) if batch.last_sequence >= batch.base_sequence else batch.last_sequence
    return True


def _numbers(queue: PartitionQueue) -> str:
    flying = ", ".join(f"{batch.base_sequence} to {batch.last_sequence}" for batch in queue.in_flight)
    return f"in flight {flying}, last acknowledged {queue.last_acked}"


BY_ITSELF = CurrentEvent("the coordinator")


class WatchedWorld(TransactionWorld):
    """A world, and what is seen of it.

    Attributes:
        watch: the onlooker's notes.
        coordinators: by `__transaction_state`.
        histories: of every partition with transactions.
        groups: of the groups' offsets.
        verdicts: outcomes compared with results.
    """

    def __init__(self, setting: TransactionSetting, ledger: Ledger) -> None:
        """A new world of the setting."""
        self.watch = TransactionWatch(setting, ledger)
        self.coordinators = CoordinatorLog(self.watch)
        self.histories: dict[TopicPartition, LoggedPartition] = {}
        self.groups = OffsetsPartition(self.watch)
        self.verdicts = Verdicts(self.watch, self.coordinators)
        self._owners: dict[int, Owners] = {}
        self._decided: dict[int, CoordinatedTransaction | None] = {}
        self._requests_seen = self._replies_seen = -1
        super().__init__(setting.profile, setting.shape)
        judge_steps(self.recorder, ledger)
        self.verdicts.instances = self.instances
        for name in (*self.partitions, *self.brokers.offsets.names().values()):
            self.histories[name] = LoggedPartition(name, self.watch, self.coordinators, self._marker_ends)
        ledger.runs += 1

    def _marker_ends(self, written: LoggedBatch) -> None:
        self.verdicts.decided(written)
        if written.partition.topic == OFFSETS_TOPIC:
            self.groups.check_order(written)

    # --- events that read or write logs, or put requests on the wire ------------------------------------------

    def broker_receives(self, message: NetworkMessage[Request], leave_copy: bool = False) -> None:
        """As ever; what arrives may be late."""
        request = message.payload
        self.watch.delayed |= request.number not in self.wires.open
        markers_before = len(self._markers(request))
        outdated = isinstance(request.body, WriteMarker) and stale(self.histories[request.body.partition], request.body)
        super().broker_receives(message, leave_copy)
        self.looks(self._cause(request))
        if outdated:
            self._fenced(request, markers_before)

    def _markers(self, request: Request) -> list[Any]:
        return [] if not isinstance(request.body, WriteMarker) else self.histories[request.body.partition].markers

    @evidences(rules.FENCE_COORDINATOR_EPOCH, Layer.STATEFUL)
    def _fenced(self, request: Request, markers_before: int) -> None:
        """A marker of a stale coordinator is refused."""
        refused = len(self._markers(request)) == markers_before
        self.watch.expect(rules.FENCE_COORDINATOR_EPOCH, refused, f"{request.body} was written")

    def sender_receives(self, message: NetworkMessage[Response], leave_copy: bool = False) -> None:
        """As ever; an answer to a node releases the requests that waited for it."""
        request = message.payload.request
        super().sender_receives(message, leave_copy)
        self.looks(self._cause(request))
        if isinstance(request.sender, ClientSender):
            numbers_follow(self.instances[request.sender.instance], self.watch)

    def _lose(self, request: Request) -> None:
        """As ever; a node whose question is lost asks at once what has come up since."""
        super()._lose(request)
        self._look_at_requests()

    def producer_asks(self, instance: ApplicationRun, node: int = 0) -> Request | None:
        """As ever; the request belongs to the instance's newest transaction."""
        request = super().producer_asks(instance, node)
        if request is not None:
            end_waits(instance, request, self.watch)
        self._look_at_requests()
        self.verdicts.looks()
        return request

    def producer_sends(self, instance: ApplicationRun, partition: TopicPartition) -> Request:
        """As ever, likewise."""
        request = super().producer_sends(instance, partition)
        self._look_at_requests()
        return request

    def coordinator_sends_markers(self, node: int) -> None:
        """As ever; a transaction without markers is completed."""
        super().coordinator_sends_markers(node)
        self.looks()

    @evidences(rules.TXN_FAILOVER, Layer.STATEFUL)
    def coordinator_loads(self, partition: int) -> None:
        """As ever: the new coordinator knows of each id what the log says, and by loading decides nothing."""
        super().coordinator_loads(partition)
        coordinator = self.brokers.nodes[self.brokers.log_leaders[partition]].transactions
        for name, history in self.coordinators.ids.items():
            if self.brokers.log.partition_of(name) == partition:
                history.loads(self.brokers.log_epochs[partition])
                entry = coordinator.states.find(name)
                known = None if entry is None else (entry.metadata.state, entry.metadata.partitions)
                wanted = None if history.known is None else (history.known.state, history.known.partitions)
                message = f"{name} is loaded as {known}, the log says {wanted}"
                self.watch.expect(rules.TXN_FAILOVER, known == wanted, message)
                self._check_progress(history, coordinator.markers.owed)
        self.looks(CurrentEvent("loading"))

    def _check_progress(self, history: IdHistory, owed: list[Any]) -> None:
        if history.state in DECIDED and history.current is not None:
            outcomes = [
                each.marker.committed for each in owed if each.entry.transactional_id == history.transactional_id
            ]
            message = f"{history.current}: the new coordinator owes {outcomes}"
            self.watch.expect(rules.TXN_FAILOVER, outcomes == [history.current.commits], message)

    @evidences(rules.TXN_TIMEOUT, Layer.STATEFUL)
    def coordinator_aborts_timed_out(self, node: int) -> None:
        """As ever: what is past its timeout is aborted and its producer fenced, all else is left alone."""
        faults, now = self._faults(), self.clock.now
        befores = {name: history.known for name, history in self._led(node).items()}
        super().coordinator_aborts_timed_out(node)
        failed = faults != self._faults()
        self.looks(CurrentEvent("timeout"))
        for name, before in befores.items():
            after = self.coordinators.of(name).known
            if before is None or after is None or failed or before.state.name != "ONGOING":
                continue
            late = before.started_ms + before.timeout_ms < now
            aborted = after.state.name == "PREPARE_ABORT" and (after.epoch > before.epoch)
            message = f"{name}, open for {now - before.started_ms} of {before.timeout_ms} ms, goes to {after}"
            self.watch.expect(rules.TXN_TIMEOUT, aborted if late else after == before, message)

    @evidences(rules.TXN_EXPIRY, Layer.STATEFUL)
    def coordinator_expires_ids(self, node: int) -> None:
        """As ever: ids that were at rest for long are forgotten."""
        faults = self._faults()
        before = {name: history.known for name, history in self._led(node).items()}
        super().coordinator_expires_ids(node)
        failed = faults != self._faults()
        self.looks(CurrentEvent("expiry"))
        for name, known in before.items():
            if known is not None and not failed:
                at_rest = known.state.name in ("EMPTY", "COMPLETE_COMMIT", "COMPLETE_ABORT")
                due = at_rest and known.updated_ms + self.shape.id_expiration_ms <= self.clock.now
                gone = self.coordinators.of(name).known is None
                message = (
                    f"{name} in {known.state.name}, idle for {self.clock.now - known.updated_ms} ms, is gone: {gone}"
                )
                self.watch.expect(rules.TXN_EXPIRY, due == gone, message)

    def _led(self, node: int) -> dict[str, IdHistory]:
        """The ids that a node coordinates and has read."""
        coordinator = self.brokers.nodes[node].transactions
        known = {entry.transactional_id for entry in coordinator.states.entries()}
        leaders, number = self.brokers.log_leaders, self.brokers.log.partition_of
        return {
            name: h for name, h in self.coordinators.ids.items() if name in known and leaders.get(number(name)) == node
        }

    def leader_fails_over(self, partition: TopicPartition, node: int) -> None:
        """As ever; what the new leader has not copied is gone."""
        super().leader_fails_over(partition, node)
        self.looks()

    def producer_state_expires(self, node: int) -> None:
        """As ever; what a node has forgotten is no violation from now on."""
        self.watch.forgotten = True
        super().producer_state_expires(node)

    # --- what the onlooker does -------------------------------------------------------------------------------

    def _faults(self) -> list[tuple[Any, ...]]:
        return [tuple(node.log.faults) for node in self.brokers.nodes]

    def _doubtful(self) -> set[tuple[int, int]]:
        """Partition and offset of the records that are in the log although their append was refused."""
        return {place for node in self.brokers.nodes for place in node.log.unsure}

    def looks(self, cause: CurrentEvent = BY_ITSELF) -> None:
        """Read what is new on the wires and in the logs."""
        self._look_at_requests()
        doubtful = self._doubtful()
        for number, log in enumerate(self.brokers.log.partitions):
            self.coordinators.looks(number, log, cause, self.brokers.log_epochs.get(number, 0), doubtful)
        decided = None if cause.request is None else self._decided.get(cause.request.number)
        for name, history in self.histories.items():
            offsets = history.is_of_offsets
            partitions = self.brokers.offsets.partitions
            log = partitions[name.partition].log if offsets else self.brokers.partitions[name].leader.log
            if offsets:
                self.groups.looks(log.batches)
            for written in history.looks(log.batches, cause, decided):
                history.registered(written)
                if offsets:
                    self.groups.of_the_member(written)
        self._look_at_replies()
        self.verdicts.looks()

    def _look_at_requests(self) -> None:
        new = [m for m in self.wires.requests.in_transit if m.number > self._requests_seen]
        for message in new:
            self._requests_seen = max(self._requests_seen, message.number)
            request = message.payload
            if isinstance(request.body, WriteMarker):
                self._decided[request.number] = self._sent_for(request.body)
            else:
                self._owners[request.number] = self._owners_of(request)

    def _owners_of(self, request: Request) -> Owners:
        """The transactions that a request belongs to; asking for an identity belongs to none."""
        match request.body, request.sender:
            case Verify(), BrokerSender(node):
                waiting = self.brokers.nodes[node].waiting_for(request.number)
                return {parked.verify.transactional_id: self._cause(parked.request).owner for parked in waiting}
            case CoordinatorCall(request=InitProducerId(expected=None)), _:
                return {}
            case Produce() | CoordinatorCall(), ClientSender(number):
                instance = self.instances[number]
                return {instance.transactional_id: Owner(number, len(instance.transactions) - 1)}
        return {}

    def _cause(self, request: Request) -> CurrentEvent:
        """That a request arrives, or that its answer does."""
        return CurrentEvent(type(asked_of(request)).__name__, request, self._owners.get(request.number, {}))

    def _sent_for(self, request: WriteMarker) -> CoordinatedTransaction | None:
        """The transaction that a marker is about: the newest such one that its coordinator knew of."""
        marker = request.marker
        history = self.coordinators.of_producer(marker.producer_id)
        for decided in () if history is None else history.all():
            if decided.identity == (marker.producer_id, marker.epoch) and marker.coordinator_epoch in decided.epochs:
                return decided
        return None

    def _look_at_replies(self) -> None:
        new = [m for m in self.wires.replies.in_transit if m.number > self._replies_seen]
        for message in new:
            self._replies_seen = max(self._replies_seen, message.number)
            request, answer = message.payload
            if isinstance(request.body, CoordinatorCall) and isinstance(answer, CoordinatorAnswer):
                cause = CurrentEvent("answer", request, self._owners.get(request.number, {}))
                if isinstance(request.body.request, TxnOffsetCommit):
                    self.groups.answered(cause.owner, answer)
                self.verdicts.answered(request.body.request, answer, cause)


def asked_of(request: Request) -> object:
    """What a request asks, without what it travels in."""
    return request.body.request if isinstance(request.body, CoordinatorCall) else request.body
