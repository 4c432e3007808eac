"""The events of the network: it delivers, loses, copies, delays and holds up."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_applications import ApplicationPool
from model_tests.machines.transaction_setting import TransactionSetting
from reference.client.transaction_states import ClientState, IllegalState
from reference.event import NO_FAULTS
from reference.network import NetworkMessage
from reference.simulate.schedule_transactions import TransactionScheduler
from reference.tape import Tape
from reference.world.messages import Produce, Request, Response, Verify, WriteMarker
from reference.world.settling import living, play, send_all

COPYING: Final = replace(NO_FAULTS, duplication=200)
"""Nothing goes wrong by itself, but messages may come twice."""


class NetworkEvents(ApplicationPool):
    """A network that does what it likes.

    Attributes:
        simulated: the same world with the events of a simulation.
    """

    def __init__(self, setting: TransactionSetting, ledger: Ledger) -> None:
        """A world in which nothing is held up."""
        super().__init__(setting, ledger)
        self.simulated = TransactionScheduler(self, Tape.of_number(0), COPYING)
        self._held: list[NetworkMessage[Request] | NetworkMessage[Response]] = []

    def deliver_most_messages(self, choose: Tape) -> None:
        """For some rounds all clients send and all answers arrive; late messages stay late, and one may be held up."""
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

    def network_holds_up(self, choose: Tape) -> None:
        """A message, often the answer to a broker, is held up while others pass; or all that is held up is released."""
        self.happens("the network holds a message up, or releases all")
        if choose.below(4) == 3:
            self._held.clear()
            return
        replies = self.wires.replies.in_transit
        to_brokers = [message for message in replies if isinstance(message.payload.request.body, Verify)]
        self._holds_up(choose, to_brokers or replies or self.wires.requests.in_transit)

    def _holds_up(self, choose: Tape, messages: Sequence[NetworkMessage[Request] | NetworkMessage[Response]]) -> None:
        if messages:
            self._held.append(choose.pick(messages))

    def _is_late(self, message: NetworkMessage[Request]) -> bool:
        return message.copy or message.payload.number not in self.wires.open

    def request_arrives_twice(self, choose: Tape) -> None:
        """A request arrives, a marker if there is one, and its copy will come at any later time."""
        requests = self.wires.requests.deliverable()
        markers = [message for message in requests if isinstance(message.payload.body, WriteMarker)]
        message = choose.pick(markers or requests)
        self.happens(f"request {message.payload.number} arrives, and will once more")
        self.broker_receives(message, leave_copy=True)

    def batch_outlives_its_transaction(self, choose: Tape) -> None:
        """A producer gives up a batch that is under way or waits for its verification, and its transaction with it."""
        request = choose.pick([each for each in self.wires.open.values() if isinstance(each.body, Produce)])
        self.happens(f"the batch of request {request.number} takes too long, and is held up")
        if choose.below(4):
            self._arrives([request.number])
            self._arrives(self._verifications(request))
        waiting = self._verifications(request)
        self._held += [each for each in self.wires.requests.in_transit if each.payload.number == request.number]
        self._held += [each for each in self.wires.replies.in_transit if each.payload.request.number in waiting]
        self.sender_stops_waiting(request)
        self.simulated.delivery_times_out(choose)
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
        return [
            number
            for node in self.brokers.nodes
            for number in node.questions.values()
            if any(each.request == request for each in node.waiting_for(number))
        ]

    def late_request_arrives(self, choose: Tape) -> None:
        """A request arrives that its sender does not wait for any more, or for the second time."""
        message = choose.pick([each for each in self.wires.requests.in_transit if self._is_late(each)])
        self.happens(f"request {message.payload.number} arrives late")
        self.broker_receives(message)
