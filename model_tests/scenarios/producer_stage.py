"""Where producers without transactions play: replicas, producers, and what is under way between them."""

from dataclasses import dataclass, field
from typing import Final

from model_tests.monitor.story import Story
from reference.broker.ids import ProducerIdentity
from reference.errors import Impossible
from reference.event import FaultRates
from reference.log.producer_state import PRODUCER_EXPIRATION_MS
from reference.network import NetworkMessage
from reference.recording.recorder import FATE
from reference.simulate.cluster import SentProduce, SentReply, SimulatedCluster
from reference.simulate.scheduler import ANSWER_LOST, ProducerScheduler
from reference.simulate.shape import Shape
from reference.tape import Tape
from reference.world.history import producer_name
from reference.world.replica_rows import node_name
from spec.versions import NEWEST, Profile
from spec.vocabulary import Api, ErrorCode

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
    """A cluster whose producers all write to partition 0.

    Attributes:
        story: what is drawn.
        events: of the world: what fails is one of them.
    """

    def __init__(self, profile: Profile, shape: Shape) -> None:
        """Producers that have their producer ids."""
        super().__init__(profile, shape, ordered=False)
        self.story = Story(self.recorder, participants(shape.producers, shape.nodes))
        self.events = ProducerScheduler(self, Tape.recorded(()), FaultRates())
        for number, producer in enumerate(self.producers):
            if producer.needs_producer_id:
                self.producer_asks_for_id(number)

    @property
    def cast(self) -> tuple[str, ...]:
        """Producers, then brokers."""
        return tuple(self.story.participants.values())

    def name_of(self, producer: int) -> str:
        """Name of a producer."""
        return self.story.participants[producer_name(producer)]

    def identity_of(self, producer: int) -> ProducerIdentity:
        """Producer id and epoch of a producer that has them."""
        identity = self.producers[producer].identity
        if identity is None:
            raise Impossible(f"{self.name_of(producer)} has no producer id")
        return identity

    # --- what a scenario does -----------------------------------------------------------------------------------

    def send(self, *values: str, producer: int = 0) -> list[NetworkMessage[SentProduce]]:
        """The application hands over records, each a batch of its own, and they are sent; what is under way."""
        for name in values:
            made = self._histories.next_values(producer, 1)
            self.story.call(made[0], name)
            self.application_sends(producer, 0, made)
        return self.send_again(producer)

    def send_again(self, producer: int = 0, partition: int = 0) -> list[NetworkMessage[SentProduce]]:
        """The producer sends whatever it may."""
        self.producer_ticks(producer)
        sent = []
        while self.producers[producer].may_drain(partition):
            sent.append(self.producer_sends(producer, partition))
        return sent

    def answer_all(self) -> None:
        """Every answer that is under way arrives."""
        for message in tuple(self.replies.in_transit):
            self.producer_receives(message)

    def lose_answers(self) -> None:
        """Every answer that is under way is lost."""
        for message in tuple(self.replies.in_transit):
            self.lose(message)

    def lose(self, message: NetworkMessage[SentProduce] | NetworkMessage[SentReply]) -> None:
        """A request or an answer is lost."""
        answer = () if isinstance(message.payload, SentProduce) else (ANSWER_LOST,)
        self.events.let(self.events.network_fails, message, happening=answer)

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
        return self.story.names_in(self.partitions[0].leader.log)

    @property
    def readable(self) -> list[str]:
        """The values that a consumer is given: those below the high watermark."""
        return self.story.names_in(self.partitions[0].leader.fetch(0).batches)

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
        return [self.story.names[value] for batch in history if batch.outcome is outcome for value in batch.values]

    @property
    def answers(self) -> list[str]:
        """What brokers have answered to each Produce."""
        produced = (row for row in self.recorder.rows if row["api"] == Api.PRODUCE and FATE not in row)
        return [ErrorCode(int(row["error"])).name for row in produced]

    @property
    def insync(self) -> list[str]:
        """The in-sync set."""
        return [broker(node) for node in sorted(self.partitions[0].insync)]


def broker(node: int) -> str:
    """Name of a node."""
    return f"broker {node}"


def participants(producers: int, nodes: int) -> dict[str, str]:
    """What stories call so many producers and nodes, by their names in rows."""
    named = {producer_name(each): f"producer {each + 1}" if producers > 1 else "producer" for each in range(producers)}
    return named | {node_name(node): broker(node) for node in range(nodes)}
