"""The scheduler of worlds of transactions: each turn picks, from the tape, the next event among those that can happen.

Applications do what their producer's state admits; producers, the network, coordinators and readers go their own way.
"""

from typing import Final

from reference.client.consumer import Consumer
from reference.client.transaction_states import IllegalState, ProducerFailed
from reference.faults import Faults
from reference.scheduler import Scheduler, unusual, usual
from reference.tape import Tape, Weighted
from reference.transaction_faults import TransactionFaults
from reference.weights import ACTIONS, TRANSACTIONS
from reference.world.instances import Instance
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile

IDS: Final = ("payments", "refunds")
GROUP: Final = "ledger"
MOST_INSTANCES: Final = 3
"""Instances alive at once; several of one id are zombies of each other."""

DONE: Final = {state: Weighted(actions) for state, actions in ACTIONS.items()}


class TransactionScheduler(Scheduler):
    """Picks the events of a world of transactional producers."""

    def __init__(self, world: TransactionWorld, tape: Tape, faults: Faults) -> None:
        """A scheduler of `world` that has not made a turn."""
        self.world = world
        self.faults = faults
        self.misfortunes = TransactionFaults(world, tape, faults)
        self.consumers = tuple(Consumer(world.partitions, isolation) for isolation in (1, 0))
        events = (
            self.producers_tick,
            self.application_starts,
            self.application_acts,
            self.producer_asks,
            self.producer_sends,
            self.broker_receives,
            self.sender_receives,
            self.follower_fetches,
            self.coordinator_sends_markers,
            self.consumer_fetches,
            self.misfortunes.fault_is_mended,
        )
        rates = unusual(self.misfortunes.rates())
        super().__init__(world.clock, tape, world.recorder, usual(events, TRANSACTIONS), rates)

    # --- applications -----------------------------------------------------------------------------------------

    def application_starts(self) -> bool:
        """An application starts, be it beside others with its transactional id."""
        if len(self.world.living) >= MOST_INSTANCES:
            return False
        self.world.application_starts(self.tape.pick(IDS))
        return True

    def application_acts(self) -> bool:
        """Some application does the next thing, unless its producer does not let it."""
        acting = [instance for instance in self.world.living if instance.producer.state in ACTIONS]
        if not acting:
            return False
        instance = self.tape.pick(acting)
        try:
            self._act(instance, DONE[instance.producer.state].pick(self.tape))
        except (IllegalState, ProducerFailed):
            return False  # it still waits for what it called before
        return True

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

    def producer_asks(self) -> bool:
        """Some producer sends its next request to a coordinator."""
        asking = [instance for instance in self.world.living if instance.producer.may_poll()]
        if asking:
            self.world.producer_asks(self.tape.pick(asking), self.tape.below(self.world.shape.nodes))
        return bool(asking)

    def producer_sends(self) -> bool:
        """Some producer sends a batch."""
        sendable = [(instance, name) for instance in self.world.living for name in self.world.sendable(instance)]
        if sendable:
            self.world.producer_sends(*self.tape.pick(sendable))
        return bool(sendable)

    def producers_tick(self) -> bool:
        """Every producer makes a round."""
        for instance in self.world.living:
            self.world.producer_ticks(instance)
        return True

    def broker_receives(self) -> bool:
        """Some request arrives; a copy may stay behind."""
        requests = self.world.wires.requests.deliverable()
        if requests:
            message = self.tape.pick(requests)
            self.world.broker_receives(message, self.tape.happens(self.faults.duplication))
        return bool(requests)

    def sender_receives(self) -> bool:
        """Some answer arrives; a copy may stay behind."""
        replies = self.world.wires.replies.deliverable()
        if replies:
            message = self.tape.pick(replies)
            self.world.sender_receives(message, self.tape.happens(self.faults.duplication))
        return bool(replies)

    def follower_fetches(self) -> bool:
        """Some follower copies the next batch."""
        partitions = self.world.brokers.partitions
        behind = [(name, node) for name, replicated in partitions.items() for node in replicated.behind()]
        if behind:
            self.world.follower_fetches(*self.tape.pick(behind))
        return bool(behind)

    def coordinator_sends_markers(self) -> bool:
        """Some coordinator sends the markers that it owes."""
        owing = [node for node in range(self.world.shape.nodes) if self.world.owes_markers(node)]
        if owing:
            self.world.coordinator_sends_markers(self.tape.pick(owing))
        return bool(owing)

    def consumer_fetches(self) -> bool:
        """Some consumer reads on; what it has read is what a transaction commits as offsets."""
        readers, partitions = self.world.readers, self.world.partitions
        due = [(each, name) for each in self.consumers for name in partitions if readers.is_due(each, name)]
        if due:
            readers.consumer_fetches(*self.tape.pick(due))
        return bool(due)


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
