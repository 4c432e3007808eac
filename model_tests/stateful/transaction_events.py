"""What the network, the brokers and the consumers do: each event takes one number, and makes its choices with it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from model_tests.stateful.events import Choices
from model_tests.stateful.ledger import Ledger
from model_tests.stateful.transaction_applications import GROUP, Applications
from model_tests.stateful.transaction_readers import reads_what_is_committed
from model_tests.stateful.transaction_setting import EXPIRATION_MS, TIMEOUT_MS, TransactionSetting
from reference.broker.coordinator_errors import CoordinatorLoadInProgress
from reference.broker.group_requests import OffsetAndMetadata
from reference.client.consumer import Consumer
from reference.client.transaction_states import ClientState, IllegalState
from reference.errors import NotEnoughReplicas, NotLeaderOrFollower, Refusal
from reference.network import Message
from reference.world.messages import Broker, Client, Produce, Request, Response, Sender, Verify, WriteMarker
from reference.world.settling import living, play, send_all
from spec.vocabulary import Offset

APPEND_ERRORS: Final[tuple[Refusal, ...]] = (NotEnoughReplicas(), NotLeaderOrFollower())


class TransactionEvents(Applications):
    """Everything that may happen."""

    def __init__(self, setting: TransactionSetting, ledger: Ledger) -> None:
        """A world, and a consumer that reads it."""
        super().__init__(setting, ledger)
        self.consumer = Consumer(self.partitions)
        self._held: list[Message[Request] | Message[Response]] = []

    # --- the network ------------------------------------------------------------------------------------------

    def everything_arrives(self, number: int) -> None:
        """For some rounds everybody sends and hears; what is late stays so, and one message may be held up."""
        choose = Choices(number)
        rounds, held = 1 + choose.below(5), choose.below(6)
        self.happens("everything arrives")
        requests, replies = self.wires.requests.in_transit, self.wires.replies.in_transit
        if held < 2:
            self._holds_up(choose, requests if held else replies)
        late = [message for message in requests if self._is_late(message) or message in self._held]
        answers = [message for message in replies if message in self._held]
        requests[:] = [message for message in requests if message not in late]
        replies[:] = [message for message in replies if message not in answers]
        for _ in range(rounds):
            self.clock.advance(1)
            play(self)
        requests[:0], replies[:0] = late, answers
        if held < 2:
            self._held.clear()

    def network_holds_up(self, number: int) -> None:
        """A message, often the answer to a broker, is held up while others pass; or all that is held up goes on."""
        choose = Choices(number)
        self.happens("the network holds a message up, or lets all go on")
        if choose.below(4) == 3:
            self._held.clear()
            return
        replies = self.wires.replies.in_transit
        to_brokers = [message for message in replies if isinstance(message.payload.request.body, Verify)]
        self._holds_up(choose, to_brokers or replies or self.wires.requests.in_transit)

    def _holds_up(self, choose: Choices, messages: Sequence[Message[Request] | Message[Response]]) -> None:
        if messages:
            self._held.append(choose.pick(messages))

    def _is_late(self, message: Message[Request]) -> bool:
        return message.copy or message.payload.number not in self.wires.open

    def request_arrives_twice(self, number: int) -> None:
        """A request arrives, a marker if there is one, and its copy will come at any later time."""
        requests = self.wires.requests.deliverable()
        markers = [message for message in requests if isinstance(message.payload.body, WriteMarker)]
        message = Choices(number).pick(markers or requests)
        self.happens(f"request {message.payload.number} arrives, and will once more")
        self.broker_receives(message, leave_copy=True)

    def batch_outlives_its_transaction(self, number: int) -> None:
        """A producer gives up a batch that is under way or waits for its verification, and its transaction with it."""
        choose = Choices(number)
        request = choose.pick([each for each in self.wires.open.values() if isinstance(each.body, Produce)])
        self.happens(f"the batch of request {request.number} takes too long, and is held up")
        if choose.below(4):
            self._arrives([request.number])
            self._arrives(self._verifications(request))
        waiting = self._verifications(request)
        self._held += [each for each in self.wires.requests.in_transit if each.payload.number == request.number]
        self._held += [each for each in self.wires.replies.in_transit if each.payload.request.number in waiting]
        self.sender_gives_up(request)
        self.delivery_times_out(0)
        for instance in living(self):
            if instance.producer.state is ClientState.ABORTABLE_ERROR:
                with suppress(IllegalState):  # a commit is under way
                    self.application_aborts(instance)
            send_all(self, instance, 0)

    def _arrives(self, numbers: Sequence[int]) -> None:
        for message in tuple(self.wires.requests.deliverable()):
            if message.payload.number in numbers:
                self.broker_receives(message)

    def _verifications(self, request: Request) -> list[int]:
        """The questions that a request waits for at its node."""
        return [n for node in self.brokers.nodes for n, each in node.parked.items() if each.request == request]

    def late_request_arrives(self, number: int) -> None:
        """A request arrives that its sender does not wait for any more, or for the second time."""
        message = Choices(number).pick([each for each in self.wires.requests.in_transit if self._is_late(each)])
        self.happens(f"request {message.payload.number} arrives late")
        self.broker_receives(message)

    def request_arrives(self, number: int) -> None:
        """One request reaches its node; a copy may come later."""
        choose = Choices(number)
        message = choose.pick(self.wires.requests.deliverable())
        copied = choose.below(5) == 1
        self.happens(f"request {message.payload.number} arrives{', and will once more' if copied else ''}")
        self.broker_receives(message, leave_copy=copied)

    def reply_arrives(self, number: int) -> None:
        """One answer reaches its sender."""
        message = Choices(number).pick(self.wires.replies.deliverable())
        self.happens(f"the answer to request {message.payload.request.number} arrives")
        self.sender_receives(message)

    def network_loses(self, number: int) -> None:
        """A request, an answer or a whole connection is lost."""
        choose = Choices(number)
        chosen = choose.below(3)
        if chosen == 0 and self.wires.requests.in_transit:
            self.happens("a request is lost")
            self.request_is_lost(choose.pick(self.wires.requests.in_transit))
        elif chosen == 1 and self.wires.replies.in_transit:
            self.happens("an answer is lost")
            self.reply_is_lost(choose.pick(self.wires.replies.in_transit))
        else:
            senders: list[Sender] = [
                *(Client(each.number) for each in living(self)),
                *map(Broker, range(self.shape.nodes)),
            ]
            self.happens("a connection breaks")
            self.connection_breaks(choose.pick(senders), choose.below(self.shape.nodes), choose.below(3))

    def sender_loses_patience(self, number: int) -> None:
        """A request times out at its sender, and is still under way."""
        request = Choices(number).pick(list(self.wires.open.values()))
        self.happens(f"request {request.number} times out at its sender")
        self.sender_gives_up(request)

    def delivery_times_out(self, number: int) -> None:
        """Batches of producers take too long."""
        self.happens("deliveries time out")
        self.clock.advance(self.shape.delivery_timeout_ms)
        for instance in living(self):
            self.producer_ticks(instance)

    # --- transaction coordinators -----------------------------------------------------------------------------

    def coordinator_goes_on(self, number: int) -> None:
        """A coordinator sends the markers that it owes; a zombie, too."""
        node = Choices(number).below(self.shape.nodes)
        self.happens(f"coordinator {node} sends markers")
        self.coordinator_sends_markers(node)

    def coordinator_is_replaced(self, number: int) -> None:
        """A node is elected, and reads its log now or later; the one before it goes on."""
        choose = Choices(number)
        partition, node = choose.below(self.shape.log_partitions), choose.below(self.shape.nodes)
        loads = choose.below(4) != 1
        self.happens(f"node {node} is elected for the ids of partition {partition}{'' if loads else ', and reads'}")
        self.coordinator_fails_over(partition, node, loads=loads)

    def coordinators_load(self, number: int) -> None:
        """Whoever is reading has read."""
        self.happens("coordinators have read their logs")
        for partition, node in self.brokers.log_leaders.items():
            if self._is_loading(partition, node):
                self.coordinator_loads(partition)

    def _is_loading(self, partition: int, node: int) -> bool:
        coordinator = self.brokers.nodes[node].transactions
        name = next((n for n in self.setting.names if self.brokers.log.partition_of(n) == partition), None)
        try:
            if name is not None:
                coordinator.states.find(name)
        except CoordinatorLoadInProgress:
            return True
        return False

    def zombie_resigns(self, number: int) -> None:
        """A coordinator that was replaced learns of it."""
        choose = Choices(number)
        partition, node = choose.below(self.shape.log_partitions), choose.below(self.shape.nodes)
        self.happens(f"node {node} resigns from partition {partition} unless it leads it")
        self.coordinator_resigns(partition, node)

    def coordinator_log_refuses(self, number: int) -> None:
        """The next append of a coordinator fails, or succeeds and seems to have failed."""
        choose = Choices(number)
        node, written = choose.below(self.shape.nodes), choose.below(2) == 1
        if not self.brokers.nodes[node].log.faults:
            self.happens(f"the log will fail coordinator {node}{', and take it' if written else ''}")
            self.coordinator_log_fails(node, choose.pick(APPEND_ERRORS), written=written)

    def transactions_time_out(self, number: int) -> None:
        """Coordinators look for transactions that are open for too long; in most runs time has passed."""
        choose = Choices(number)
        self.clock.advance((TIMEOUT_MS + 1, TIMEOUT_MS // 2, 0)[choose.below(3)])
        self.happens("coordinators look at timeouts")
        for node in range(self.shape.nodes):
            self.coordinator_aborts_timed_out(node)

    def transactional_ids_expire(self, number: int) -> None:
        """Coordinators forget what was at rest for long; in most runs time has passed."""
        choose = Choices(number)
        self.clock.advance((self.shape.id_expiration_ms, self.shape.id_expiration_ms // 2, 0)[choose.below(3)])
        self.happens("coordinators look for ids at rest")
        for node in range(self.shape.nodes):
            self.coordinator_expires_ids(node)

    def producer_starts_without_id(self, number: int) -> None:
        """An idempotent producer asks any node for a producer id."""
        node = Choices(number).below(self.shape.nodes)
        self.happens(f"an idempotent producer asks node {node}")
        identity = self.brokers.nodes[node].transactions.init_producer_id(None, 0)
        self.coordinators.given(identity.producer_id, f"the producer of step {self.watch.step}")

    # --- partitions and nodes ---------------------------------------------------------------------------------

    def followers_catch_up(self, number: int) -> None:
        """Followers copy everything, or one batch."""
        self.happens("followers fetch")
        for name, replicated in self.brokers.partitions.items():
            for _ in range(1 if number % 2 else 20):
                for node in replicated.behind():
                    self.follower_fetches(name, node)

    def partition_changes_leader(self, number: int) -> None:
        """A follower in sync becomes leader."""
        choose = Choices(number)
        name = choose.pick(self.partitions)
        candidates = self.brokers.partitions[name].candidates()
        if candidates:
            self.happens(f"partition {name.partition} has another leader")
            self.leader_fails_over(name, choose.pick(candidates))
            self.looks()

    def partition_is_unavailable(self, number: int) -> None:
        """A partition goes away, or comes back."""
        name = Choices(number).pick(self.partitions)
        away = name in self.brokers.unavailable
        self.happens(f"partition {name.partition} {'comes back' if away else 'goes away'}")
        (self.partition_comes_back if away else self.partition_goes_away)(name)

    def node_restarts(self, number: int) -> None:
        """A node loses its memory; all that it coordinated is elected anew at once."""
        choose = Choices(number)
        node = choose.below(self.shape.nodes)
        self.happens(f"node {node} restarts")
        self.broker_restarts(node)
        self.elect(choose)

    def elect(self, choose: Choices) -> None:
        """Everything has a coordinator."""
        for partition in range(self.shape.log_partitions):
            if partition not in self.brokers.log_leaders:
                self.coordinator_fails_over(partition, choose.below(self.shape.nodes))
        for partition in range(self.shape.offsets_partitions):
            if partition not in self.brokers.group_leaders:
                self.group_coordinator_fails_over(partition, choose.below(self.shape.nodes))

    def group_coordinator_is_replaced(self, number: int) -> None:
        """Another node reads the offsets of groups."""
        node = Choices(number).below(self.shape.nodes)
        self.happens(f"node {node} coordinates the groups")
        self.group_coordinator_fails_over(0, node)

    def silent_producers_are_forgotten(self, number: int) -> None:
        """A day passes, and a node forgets the producers that were silent."""
        node = Choices(number).below(self.shape.nodes)
        self.happens(f"node {node} forgets silent producers")
        self.clock.advance(EXPIRATION_MS)
        self.watch.forgotten = True
        if node < self.shape.replicas:
            self.producer_state_expires(node)

    # --- consumers --------------------------------------------------------------------------------------------

    def consumer_reads(self, number: int) -> None:
        """The consumer reads one partition on, or all."""
        self.happens("the consumer reads")
        for name in self.partitions if number % 2 else (Choices(number // 2).pick(self.partitions),):
            leader = self.brokers.partitions[name].leader
            self.readers.consumer_fetches(self.consumer, name)
            reads_what_is_committed(self.consumer, name, leader, self.histories[name], self.watch)

    def group_looks_up_offsets(self, number: int) -> None:
        """A consumer asks where its group is, and waits for open transactions or does not."""
        stable = number % 2 == 0
        self.happens("a consumer asks for offsets")
        answer = self.readers.consumer_starts(Consumer(self.partitions), GROUP, require_stable=stable)
        self.groups.told(GROUP, answer, stable)

    def consumer_commits(self, number: int) -> None:
        """A consumer commits offsets outside of any transaction."""
        choose = Choices(number)
        self.happens("a consumer commits offsets")
        offsets = {choose.pick(self.partitions): OffsetAndMetadata(Offset(choose.below(100)))}
        self.readers.consumer_commits(GROUP, offsets)
        self.looks()
