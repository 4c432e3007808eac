"""The stage of brokers that replicate: what is sent, copied, elected and dropped is noted down as it happens."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from model_tests.monitor.story import Story
from model_tests.scenarios.producer_stage import ACKS, ROUNDS, broker, participants
from reference.event import FaultRates
from reference.network import NetworkMessage
from reference.recording.recorder import FATE, Fate
from reference.replication.messages import AlterPartition, FetchRequest, LeaderAndIsr
from reference.simulate.schedule_replicas import ReplicasScheduler
from reference.tape import Tape
from reference.world.history import producer_name
from reference.world.replica_rows import node_name
from reference.world.replicas import ReplicasWorld
from reference.world.replicas_base import controller_name
from reference.world.replicas_messages import BatchAnswer, FollowerFetchAnswer, ReplicaMessage, ReplicaProduce
from reference.world.replicas_shape import ReplicasShape
from spec.versions import NEWEST, Profile
from spec.vocabulary import Api, ErrorCode

STEP_MS: Final = 500  # time passes in steps as long as the interval of heartbeats in the simulation's schedule
CONTROLLER: Final = "controller"
ZOOKEEPER: Final = "zookeeper"
"""The store, in rows of changes that a leader makes there by itself."""


@dataclass(frozen=True, slots=True)
class OfReplicas:
    """A setting of brokers that replicate one partition.

    Attributes:
        beside: what is set beside that, in words.
    """

    profile: Profile = NEWEST
    shape: ReplicasShape = field(default_factory=ReplicasShape)
    beside: str = ""

    @property
    def words(self) -> str:
        """Releases and settings."""
        shape, writer = self.shape, self.shape.writers[0]
        parts = [
            f"Kafka {self.profile.name}",
            "KRaft" if self.profile.quorum_controller else "ZooKeeper",
            f"acks={ACKS[writer.acks]}",
            "idempotent" if writer.idempotent else "not idempotent",
            f"{shape.replicas} replicas",
            f"min.insync.replicas={shape.min_insync}" if shape.min_insync > 1 else "",
            "unclean.leader.election.enable" if shape.unclean_allowed else "",
            self.beside,
        ]
        return ", ".join(part for part in parts if part)

    def stage(self) -> "ReplicasStage":
        """A world in which nothing has happened."""
        return ReplicasStage(self.profile, self.shape)


class ReplicasStage(ReplicasWorld):
    """Brokers, controllers and producers; all producers write to partition 0.

    Attributes:
        events: of the world: what fails, and what is back, is one of them.
    """

    def __init__(self, profile: Profile, shape: ReplicasShape) -> None:
        """Brokers that are all in sync, and producers that have their producer ids."""
        super().__init__(profile, shape)
        self.story = Story(self.recorder, participants(len(shape.writers), shape.brokers))
        controllers = [controller_name(number) for number in range(shape.controllers)]
        self.story.participants |= dict.fromkeys((*controllers, ZOOKEEPER), CONTROLLER)
        for number, producer in enumerate(self.clients.producers):
            if producer.needs_producer_id:
                self.producer_asks_for_id(number, 0)
        self.events = ReplicasScheduler(self, Tape.recorded(()), FaultRates())

    @property
    def cast(self) -> tuple[str, ...]:
        """Producers, brokers, the controller."""
        return tuple(self.story.participants.values())

    def name_of(self, producer: int) -> str:
        """Name of a producer."""
        return self.story.participants[producer_name(producer)]

    # --- what a scenario does -----------------------------------------------------------------------------------

    def send(self, *values: str, producer: int = 0) -> list[NetworkMessage[ReplicaMessage]]:
        """The application hands over records, each a batch of its own, and they are sent; what is under way."""
        for name in values:
            made = self._histories.next_values(producer, 1)
            self.story.call(made[0], name)
            self.application_sends(producer, 0, made)
        return self.send_again(producer)

    def send_again(self, producer: int = 0) -> list[NetworkMessage[ReplicaMessage]]:
        """The producer sends whatever it may."""
        self.producer_ticks(producer)
        sent = []
        while self.clients.producers[producer].may_drain(0):
            sent.append(self.producer_sends(producer, 0))
        return sent

    def arrives(self, *messages: NetworkMessage[ReplicaMessage]) -> None:
        """Messages arrive."""
        for message in messages:
            self.message_arrives(message)

    def lose(self, *messages: NetworkMessage[ReplicaMessage]) -> None:
        """Messages are lost: the last one that is under way first, as a connection loses all behind one."""
        for message in reversed(messages):
            self.events.let(self.events.network_fails, message)

    def answered(self) -> None:
        """Every answer to a producer that is under way arrives."""
        self.arrives(*self._under_way(BatchAnswer))

    def lose_answers(self) -> None:
        """Every answer to a producer that is under way is lost."""
        self.lose(*self._under_way(BatchAnswer))

    def _under_way(self, *kinds: type) -> list[NetworkMessage[ReplicaMessage]]:
        return [message for message in self.deliverable() if isinstance(message.payload.body, kinds)]

    def talk(self) -> None:
        """Brokers and controllers receive all messages that they have sent each other."""
        for _ in range(ROUNDS):
            clients = self._under_way(ReplicaProduce, BatchAnswer)
            messages = [message for message in self.deliverable() if message not in clients]
            if not messages:
                return
            self.arrives(*messages)

    def requests_alone(self) -> None:
        """What followers ask arrives, and what they are answered is lost."""
        self.arrives(*self._under_way(FetchRequest))
        self.lose(*self._under_way(FollowerFetchAnswer))

    def orders(self, controller: int, node: int, word: LeaderAndIsr) -> None:
        """A controller, which may have been replaced since, tells a broker the state of the partition."""
        self.arrives(self._send(controller_name(controller), node_name(node), 0, word))

    def proposals_arrive(self) -> None:
        """What leaders propose reaches the controller."""
        self.arrives(*self._under_way(AlterPartition))

    def replicate(self, *nodes: int, rounds: int = 3) -> None:
        """Followers copy everything, learn the high watermark, and return to the in-sync set."""
        for _ in range(rounds):
            for node in nodes:
                if self.nodes[node].is_up:
                    self.follower_fetches(node, 0)
            self.talk()

    def passes(self, milliseconds: int, slow: Sequence[int] = ()) -> None:
        """Time passes: brokers send heartbeats, leaders look for laggards, all followers but the slow ones copy."""
        for _ in range(0, milliseconds, STEP_MS):
            self.clock.advance(STEP_MS)
            running = [node.number for node in self.nodes if node.is_up]
            for node in running:
                self.broker_heartbeats(node)
            self.talk()
            self.controller_checks_sessions()
            self.talk()
            self.replicate(*(node for node in running if node not in slow), rounds=1)
            for node in running:
                self.leader_checks_lag(node)
            self.talk()

    def settle(self) -> None:
        """Without further faults, everything comes to its end, if it does within the rounds."""
        for _ in range(ROUNDS):
            self.arrives(*self._under_way(ReplicaProduce))
            self.replicate(*(node.number for node in self.nodes if node.is_up))
            self.answered()
            for producer in range(len(self.shape.writers)):
                self.clients.learn_leader(producer, 0, self.leader_of(0))
                self.send_again(producer)
            if not self._under_way(ReplicaProduce, BatchAnswer):
                return

    def acknowledged(self, *values: str) -> None:
        """Records are sent and, with everything else that is under way, acknowledged."""
        self.send(*values)
        self.settle()

    def crashes(self, node: int) -> None:
        """A broker is killed."""
        self.events.let(self.events.broker_crashes, self.nodes[node])

    def pauses(self, node: int) -> None:
        """A broker stands still."""
        self.events.let(self.events.broker_pauses, self.nodes[node])

    def resumes(self, node: int) -> None:
        """A broker that stood still continues."""
        self.events.let(self.events.broker_is_back, self.nodes[node])

    def begins_shutdown(self, node: int) -> None:
        """A broker gets the order to shut down."""
        self.events.let(self.events.broker_begins_shutdown, self.nodes[node])

    def elect_controller(self, number: int) -> None:
        """Another controller is elected."""
        self.events.let(self.events.controller_is_elected, number)

    def elect_preferred_leader(self) -> None:
        """The partition is to get its preferred leader back."""
        self.events.let(self.events.preferred_leader_is_elected)

    def fails(self, node: int) -> None:
        """A broker is killed, and so much time passes that the controller notices."""
        self.crashes(node)
        self.notices()

    def notices(self, slow: Sequence[int] = ()) -> None:
        """So much time passes that the controller fences silent brokers."""
        self.passes(self.shape.session_timeout_ms + 2 * STEP_MS, slow)

    def stands_still(self, node: int) -> None:
        """A broker stands still, and so much time passes that the controller notices."""
        self.pauses(node)
        self.notices()

    def returns(self, node: int, lost_batches: int = 0) -> None:
        """A broker is back from disk, without what never got there; it registers, and copies what it lacks."""
        lost = f": {lost_batches} batch never got there" if lost_batches else ""
        self.story.remark(broker(node), f"is back, with what it has on disk{lost}")
        events = self.events
        if lost_batches:
            events.let(events.broker_is_back, self.nodes[node], lost_batches, happening=(events.faults.power,))
        else:
            events.let(events.broker_is_back, self.nodes[node])
        self.catches_up(node)

    def goes_on(self, node: int) -> None:
        """A paused broker continues, sends a heartbeat, and copies what it lacks."""
        self.resumes(node)
        self.catches_up(node)

    def catches_up(self, node: int) -> None:
        """A broker that is back learns the leader, and follows."""
        self.talk()
        self.passes(2 * STEP_MS)
        self.replicate(node)

    # --- what a scenario sees -----------------------------------------------------------------------------------

    @property
    def leader(self) -> str:
        """Who leads, as the controller has it."""
        leader = self.leader_of(0)
        return "none" if leader < 0 else broker(leader)

    @property
    def insync(self) -> list[str]:
        """The in-sync set, as the controller has it."""
        return [broker(node) for node in sorted(self.metadata.partitions[0].insync)]

    def log_of(self, node: int) -> list[str]:
        """The values that a broker has."""
        return self.story.names_in(self.replica(node).log.log)

    @property
    def log(self) -> list[str]:
        """The values in the leader's log."""
        return self.log_of(max(0, self.leader_of(0)))

    @property
    def readable(self) -> list[str]:
        """The values that a consumer is given: those below the high watermark."""
        return self.story.names_in(self.replica(self.leader_of(0)).log.fetch(0).batches)

    @property
    def promised(self) -> list[str]:
        """The values for which the application got a success."""
        history = [batch for producer in self.clients.producers for _, batch in producer.history]
        return [self.story.names[value] for batch in history if batch.outcome is True for value in batch.values]

    @property
    def answers(self) -> list[str]:
        """What producers have been answered."""
        return self.answers_to(Api.PRODUCE)

    def answers_to(self, api: str) -> list[str]:
        """What has been answered to all requests of a name."""
        answered = (row for row in self.recorder.rows if row.get(FATE) == Fate.ANSWERED and row["api"] == api)
        return [ErrorCode(int(row["error"])).name for row in answered]
