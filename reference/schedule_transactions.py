"""The scheduler of worlds of transactions: each turn picks, from the tape, the next event among those that can happen.

Applications do what their producer's state admits; producers, the network, coordinators and readers go their own way.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reference.client.consumer import Consumer
from reference.client.transaction_states import ClientState, IllegalState, ProducerFailed
from reference.faults import Faults
from reference.recorder import Recorder
from reference.schedule import Event, picked
from reference.tape import Tape
from reference.transaction_faults import TransactionFaults
from reference.world.instances import Instance
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile

IDS: Final = ("payments", "refunds")
GROUP: Final = "ledger"
MOST_INSTANCES: Final = 3
"""Instances alive at once; several of one id are zombies of each other."""

WEIGHTS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "application_starts": 1,
        "application_acts": 20,
        "producer_asks": 14,
        "producer_sends": 14,
        "producers_tick": 1,
        "broker_receives": 40,
        "sender_receives": 40,
        "follower_fetches": 30,
        "coordinator_sends_markers": 10,
        "consumer_fetches": 3,
        "fault_is_mended": 12,
    }
)
"""How likely each event is, beside the others that can happen."""

ACTIONS: Final[Mapping[ClientState, Sequence[tuple[str, int]]]] = MappingProxyType(
    {
        ClientState.UNINITIALIZED: (("initializes", 1),),
        ClientState.READY: (("begins", 1),),
        ClientState.IN_TRANSACTION: (("sends", 8), ("sends_offsets", 1), ("commits", 3), ("aborts", 2)),
        ClientState.ABORTABLE_ERROR: (("aborts", 3), ("crashes", 1)),
        ClientState.FATAL_ERROR: (("crashes", 1),),
    }
)
"""What an application does in which state of its producer, and how likely; in all others it waits."""


class TransactionScheduler:
    """Picks the events of a world of transactional producers."""

    def __init__(self, world: TransactionWorld, tape: Tape, faults: Faults) -> None:
        """A scheduler of `world` that has not made a turn."""
        self.world = world
        self.tape = tape
        self.faults = faults
        self.misfortunes = TransactionFaults(world, tape, faults)
        self.consumers = tuple(Consumer(world.partitions, isolation) for isolation in (1, 0))

    @property
    def recorder(self) -> Recorder:
        """The steps so far."""
        return self.world.recorder

    def turn(self) -> None:
        """One event, after a little time."""
        self.world.clock.advance(self.tape.below(20))
        fault = picked(self.tape.below(1000), self.misfortunes.events())
        if fault is not None:
            fault()
            return
        self.tape.weighted(self.events())()

    def events(self) -> list[tuple[Event, int]]:
        """What can happen next without a fault, and how likely it is."""
        wires = self.world.wires
        possible = (
            (self.application_starts, len(self.living()) < MOST_INSTANCES),
            (self.application_acts, self.acting()),
            (self.producer_asks, self.asking()),
            (self.producer_sends, any(self.world.sendable(instance) for instance in self.living())),
            (self.producers_tick, True),
            (self.broker_receives, wires.requests.in_transit),
            (self.sender_receives, wires.replies.in_transit),
            (self.follower_fetches, any(each.behind() for each in self.world.brokers.partitions.values())),
            (self.coordinator_sends_markers, self.owing()),
            (self.consumer_fetches, True),
            (self.misfortunes.fault_is_mended, self.misfortunes.mendable()),
        )
        return [(event, WEIGHTS[event.__name__]) for event, enabled in possible if enabled]

    # --- who can do something ---------------------------------------------------------------------------------

    def living(self) -> list[Instance]:
        """The instances that have not crashed."""
        return [instance for instance in self.world.instances if instance.alive]

    def acting(self) -> list[Instance]:
        """The instances whose application does not wait."""
        return [instance for instance in self.living() if instance.producer.state in ACTIONS]

    def asking(self) -> list[Instance]:
        """The instances whose producer has something to ask a coordinator."""
        return [instance for instance in self.living() if instance.producer.may_poll()]

    def owing(self) -> list[int]:
        """The nodes whose coordinator owes markers."""
        return [node for node in range(self.world.shape.nodes) if self.world.owes_markers(node)]

    # --- applications -----------------------------------------------------------------------------------------

    def application_starts(self) -> None:
        """An application starts, be it beside others with its transactional id."""
        self.world.application_starts(self.tape.pick(IDS))

    def application_acts(self) -> None:
        """Some application does the next thing, unless its producer does not let it."""
        instance = self.tape.pick(self.acting())
        action = self.tape.weighted(ACTIONS[instance.producer.state])
        try:
            self._act(instance, action)
        except (IllegalState, ProducerFailed):
            return  # it still waits for what it called before

    def _act(self, instance: Instance, action: str) -> None:
        match action:
            case "initializes":
                self.world.application_initializes(instance)
            case "begins":
                self.world.application_begins(instance)
            case "sends":
                self.world.application_sends(instance, self.tape.pick(self.world.partitions), 1 + self.tape.below(3))
            case "sends_offsets":
                self.world.application_sends_offsets(instance, GROUP, self.consumers[0].consumed())
            case "commits":
                self.world.application_commits(instance)
            case "aborts":
                self.world.application_aborts(instance)
            case "crashes":
                self.world.application_crashes(instance)

    # --- producers, network, brokers --------------------------------------------------------------------------

    def producer_asks(self) -> None:
        """Some producer sends its next request to a coordinator."""
        instance = self.tape.pick(self.asking())
        self.world.producer_asks(instance, self.tape.below(self.world.shape.nodes))

    def producer_sends(self) -> None:
        """Some producer sends a batch."""
        sendable = [(instance, name) for instance in self.living() for name in self.world.sendable(instance)]
        self.world.producer_sends(*self.tape.pick(sendable))

    def producers_tick(self) -> None:
        """Every producer makes a round."""
        for instance in self.living():
            self.world.producer_ticks(instance)

    def broker_receives(self) -> None:
        """Some request arrives; a copy may stay behind."""
        message = self.tape.pick(self.world.wires.requests.deliverable())
        self.world.broker_receives(message, self.tape.happens(self.faults.duplication))

    def sender_receives(self) -> None:
        """Some answer arrives; a copy may stay behind."""
        message = self.tape.pick(self.world.wires.replies.deliverable())
        self.world.sender_receives(message, self.tape.happens(self.faults.duplication))

    def follower_fetches(self) -> None:
        """Some follower copies the next batch."""
        partitions = self.world.brokers.partitions
        behind = [(name, node) for name, replicated in partitions.items() for node in replicated.behind()]
        self.world.follower_fetches(*self.tape.pick(behind))

    def coordinator_sends_markers(self) -> None:
        """Some coordinator sends the markers that it owes."""
        self.world.coordinator_sends_markers(self.tape.pick(self.owing()))

    def consumer_fetches(self) -> None:
        """Some consumer reads on; what it has read is what a transaction commits as offsets."""
        consumer = self.tape.pick(self.consumers)
        self.world.readers.consumer_fetches(consumer, self.tape.pick(self.world.partitions))


def drawn_world(profile: Profile, tape: Tape, faults: Faults, trace: int) -> TransactionWorld:
    """A world whose size and network the tape chooses; its times are short, so that they pass within a trace."""
    shape = TransactionShape(
        nodes=2 + tape.below(2),
        replicas=1 + tape.below(2),
        partitions=1 + tape.below(2),
        log_partitions=1 + tape.below(2),
        transaction_timeout_ms=5_000,
        id_expiration_ms=60_000,
        producer_expiration_ms=120_000,
        delivery_timeout_ms=10_000,
        ordered=faults.ordered and tape.happens(500),
    )
    return TransactionWorld(profile, shape, trace)
