"""The stage of producers without transactions: replicas, producers, and what is under way between them."""

from dataclasses import dataclass, field
from typing import Final

from model_tests.diagrams.events import Event, Mark
from model_tests.scenarios.storyboard import Storyboard
from reference.broker.ids import ProducerIdentity
from reference.broker.produce import PartitionAnswer
from reference.errors import Impossible
from reference.log.batch import RecordBatch
from reference.log.producer_state import PRODUCER_EXPIRATION_MS
from reference.network import NetworkMessage
from reference.simulate.cluster import SentProduce, SentReply, SimulatedCluster
from reference.simulate.shape import Shape
from spec.versions import NEWEST, Profile
from spec.vocabulary import NO_PRODUCER_ID, ErrorCode

ACKS: Final = {-1: "all", 0: "0", 1: "1"}
ROUNDS: Final = 60
"""Rounds after which a run that does not come to rest is not going to."""

ALONE: Final = Shape(producers=1, nodes=1)


@dataclass(frozen=True, slots=True)
class OfProducers:
    """A setting without transactions."""

    profile: Profile = NEWEST
    shape: Shape = field(default=ALONE)

    @property
    def words(self) -> str:
        """Releases and settings."""
        kind = "idempotent" if self.shape.idempotent else "not idempotent"
        replicas = f", {self.shape.nodes} replicas" if self.shape.nodes > 1 else ""
        least = f", min.insync.replicas={self.shape.min_insync}" if self.shape.min_insync > 1 else ""
        expiry = f", producer.id.expiration.ms={self.shape.expiration_ms}" if self._forgets_early else ""
        release = f"{'the proposal' if self.profile.split_out_of_order else 'Kafka'} {self.profile.name}"
        return f"{release}, acks={ACKS[self.shape.acks]}, {kind}{replicas}{least}{expiry}"

    @property
    def _forgets_early(self) -> bool:
        return self.shape.expiration_ms != PRODUCER_EXPIRATION_MS

    def stage(self) -> "ProducerStage":
        """A world in which nothing has happened."""
        return ProducerStage(self.profile, self.shape)


class ProducerStage(SimulatedCluster):
    """A cluster in which every event is noted down; all producers write to partition 0."""

    def __init__(self, profile: Profile, shape: Shape) -> None:
        """Producers that have their producer ids."""
        super().__init__(profile, shape, ordered=False)
        self.story = Storyboard()
        self.answers: list[str] = []
        for number, producer in enumerate(self.producers):
            if producer.needs_producer_id:
                self.producer_asks_for_id(number)

    @property
    def steps(self) -> tuple[tuple[Event, ...], ...]:
        """What has happened, to be drawn."""
        return self.story.steps

    @property
    def cast(self) -> tuple[str, ...]:
        """Producers, then brokers."""
        return (*map(self.name_of, range(self.shape.producers)), *map(broker, range(self.shape.nodes)))

    def name_of(self, producer: int) -> str:
        """Name of a producer."""
        return "producer" if self.shape.producers == 1 else f"producer {producer + 1}"

    def identity_of(self, producer: int) -> ProducerIdentity:
        """Producer id and epoch of a producer that has them."""
        identity = self.producers[producer].identity
        if identity is None:
            raise Impossible(f"{self.name_of(producer)} has no producer id")
        return identity

    # --- what a scenario does -----------------------------------------------------------------------------------

    def send(self, *values: str, producer: int = 0) -> list[NetworkMessage[SentProduce]]:
        """The application hands over records, each a batch of its own, and they are sent; what is under way."""
        for value in values:
            self.application_sends(producer, 0, (value.encode(),))
        return self.send_again(producer)

    def send_again(self, producer: int = 0) -> list[NetworkMessage[SentProduce]]:
        """The producer sends whatever it may."""
        self.producer_ticks(producer)
        sent = []
        while self.producers[producer].may_drain(0):
            sent.append(self.producer_sends(producer, 0))
        return sent

    def give_up(self, message: NetworkMessage[SentProduce]) -> None:
        """A producer waits no longer for an answer (request.timeout.ms); the request is still under way."""
        request = message.payload
        self.story.remark(self.name_of(request.producer), f"waits no longer for the answer to: {request_text(request)}")
        self.producers[request.producer].lose(request.attempt)

    def answer_all(self) -> None:
        """Every answer that is under way arrives."""
        for message in tuple(self.replies.in_transit):
            self.producer_receives(message)

    def lose_answers(self) -> None:
        """Every answer that is under way is lost."""
        for message in tuple(self.replies.in_transit):
            self.reply_is_lost(message)

    def acknowledged(self, *values: str, producer: int = 0) -> None:
        """Records are sent and, with everything else that is under way, acknowledged."""
        self.send(*values, producer=producer)
        self.settle()

    def settle(self, rounds: int = ROUNDS) -> None:
        """Without further faults, everything comes to its end, if it does within the rounds."""
        for _ in range(rounds):
            for message in tuple(self.requests.in_transit):
                self.broker_receives(message)
                self.answer_all()
            for node in self.partitions[0].behind():
                self.follower_fetches(0, node)
            self.answer_all()
            for producer in range(self.shape.producers):
                self.send_again(producer)
            if not (self.requests.in_transit or self.replies.in_transit or self.partitions[0].behind()):
                return

    def replicate(self, node: int) -> None:
        """A follower copies everything."""
        while node in self.partitions[0].behind():
            self.follower_fetches(0, node)

    # --- what a scenario sees -----------------------------------------------------------------------------------

    @property
    def log(self) -> list[str]:
        """The values in the leader's log."""
        return [value for batch in self.partitions[0].leader.log for value in values_of(batch)]

    @property
    def readable(self) -> list[str]:
        """The values that a consumer is given: those below the high watermark."""
        result = self.partitions[0].leader.fetch(0)
        return [value for batch in result.batches for value in values_of(batch)]

    @property
    def promised(self) -> list[str]:
        """The values for which the application got a success."""
        return self._reported(True)

    @property
    def failed(self) -> list[str]:
        """The values for which the application got a failure."""
        return self._reported(False)

    def _reported(self, outcome: bool) -> list[str]:
        history = [batch for producer in self.producers for _, batch in producer.history]
        return [value.decode() for batch in history if batch.outcome is outcome for value in batch.values]

    @property
    def insync(self) -> list[str]:
        """The in-sync set."""
        return [broker(node) for node in sorted(self.partitions[0].insync)]

    # --- what is noted down -------------------------------------------------------------------------------------

    def broker_receives(self, message: NetworkMessage[SentProduce], leave_copy: bool = False) -> PartitionAnswer:
        """A request arrives."""
        request = message.payload
        arrival = self._exchange(request)
        mark = self._mark(message)
        answer = super().broker_receives(message, leave_copy)
        self.answers.append(answer.error.name)
        self.story.report(self.name_of(request.producer), broker(request.node), request_text(request), mark, arrival)
        if answer.duplicate:
            self.story.note(broker(request.node), "knows the batch, and appends nothing")
        elif answer.error is ErrorCode.NONE:
            self.story.note(broker(request.node), f"appends it at offset {answer.base_offset}")
        elif self.shape.acks == 0:
            self.story.note(broker(request.node), answer.error.name)
        return answer

    def producer_receives(self, message: NetworkMessage[SentReply], leave_copy: bool = False) -> None:
        """An answer arrives."""
        self._report_answer(message.payload, Mark.PLAIN)
        super().producer_receives(message, leave_copy)

    def request_is_lost(self, message: NetworkMessage[SentProduce]) -> None:
        """A request is lost."""
        request = message.payload
        self.story.report(self.name_of(request.producer), broker(request.node), request_text(request), Mark.LOST)
        super().request_is_lost(message)

    def reply_is_lost(self, message: NetworkMessage[SentReply]) -> None:
        """An answer is lost."""
        self._report_answer(message.payload, Mark.LOST)
        super().reply_is_lost(message)

    def follower_fetches(self, partition: int, node: int) -> None:
        """A follower copies a batch."""
        replicated = self.partitions[partition]
        batch, was_insync = replicated.next_for(node), node in replicated.insync
        super().follower_fetches(partition, node)
        if batch is not None:
            listed = ", ".join(values_of(batch))
            self.story.report(broker(replicated.leader_node), broker(node), f"copies {listed}", part_of=("copy", node))
        if not was_insync and node in replicated.insync:
            (self.story.remark if batch is None else self.story.note)(broker(node), "is in sync again")

    def follower_leaves_insync(self, partition: int, node: int) -> None:
        """A follower leaves the in-sync set."""
        super().follower_leaves_insync(partition, node)
        self.story.remark(broker(node), "leaves the in-sync set (replica.lag.time.max.ms)")

    def leader_fails_over(self, partition: int, node: int) -> None:
        """The leader is another."""
        former = self.partitions[partition].leader_node
        super().leader_fails_over(partition, node)
        self._report_election(former, node, "elected from the in-sync set")

    def unclean_leader_election(self, partition: int, node: int) -> None:
        """The leader is one that was not in sync."""
        former = self.partitions[partition].leader_node
        super().unclean_leader_election(partition, node)
        self._report_election(former, node, "elected although it is not in sync")

    def producer_state_expires(self, node: int) -> None:
        """A broker forgets its silent producers."""
        super().producer_state_expires(node)
        self.story.remark(broker(node), "forgets the producer (producer.id.expiration.ms)")

    def _report_election(self, former: int, node: int, how: str) -> None:
        if former != node:
            self.story.remark(broker(former), "fails; when it is back it drops what the new leader does not have")
        self.story.remark(broker(node), f"leads: {how}")

    def _report_answer(self, response: SentReply, mark: Mark) -> None:
        request, reply = response
        refused = reply.error is not ErrorCode.NONE
        text = reply.error.name if refused else f"offset {reply.offset}"
        mark = mark or (Mark.REFUSED if refused else Mark.PLAIN)
        self.story.report(broker(request.node), self.name_of(request.producer), text, mark, self._exchange(request))

    def _exchange(self, request: SentProduce) -> tuple[int, int]:
        return request.producer, request.attempt.number

    def _mark(self, message: NetworkMessage[SentProduce]) -> Mark:
        if message.copy:
            return Mark.AGAIN
        waited_for = message.payload.attempt.number in self.producers[message.payload.producer].on_wire
        return Mark.PLAIN if waited_for or self.shape.acks == 0 else Mark.LATE


def broker(node: int) -> str:
    """Name of a node."""
    return f"broker {node}"


def request_text(request: SentProduce) -> str:
    """A Produce in words: the values, and what distinguishes them from others."""
    batch = request.attempt.records
    values = ", ".join(values_of(batch))
    if batch.producer_id == NO_PRODUCER_ID:
        return f"Produce {values}"
    epoch = f"epoch {batch.producer_epoch}, " if batch.producer_epoch else ""
    return f"Produce {values}: {epoch}sequence {batch.base_sequence}"


def values_of(batch: RecordBatch) -> list[str]:
    """The values of a batch of data."""
    return [record.value.decode() for record in batch.records() if record.value is not None]
