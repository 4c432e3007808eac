"""The scheduler of worlds of transactions: each turn picks, from the tape, the next event among those that can happen.

Applications do what their producer's state admits; producers, the network, coordinators and readers go their own way.
"""

from typing import Final

from reference.broker.group_requests import NO_CLAIM
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.client.transaction_states import IllegalState, ProducerFailed
from reference.faults import FaultRates
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED
from reference.simulate.schedule import LONGEST_QUEUE
from reference.simulate.scheduler import Event, Scheduler, Traffic, WeightedEvents, unusual, usual
from reference.simulate.transaction_faults import TransactionFaults
from reference.simulate.weights import (
    ACTIONS,
    ADMINISTRATION,
    APPLICATIONS,
    BEYOND,
    DIRTY_READERS,
    LOOPS,
    MOST_AHEAD_MS,
    MOST_DRIFT_PPM,
    OVERDUE,
    REJOINS,
    SKEWED,
    TRANSACTIONS,
    UNCLEAN,
)
from reference.tape import Tape, Weighted
from reference.world.instances import ApplicationRun
from reference.world.loops import Loop
from reference.world.plain_applications import PlainApplication
from reference.world.transaction_shape import Skew, TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile

IDS: Final = ("payments", "refunds")
GROUP: Final = "ledger"
MOST_INSTANCES: Final = 3
"""Instances alive at once; several of one id are zombies of each other."""

MOST_PLAIN: Final = 1
"""Applications without transactional id that are alive at once."""

KINDS: Final = Weighted(APPLICATIONS)
TOOLS: Final = Weighted(ADMINISTRATION)
ACKS: Final = {"acks=0": 0, "acks=1": 1}
DONE: Final = {state: Weighted(actions) for state, actions in ACTIONS.items()}


class TransactionScheduler(Scheduler):
    """Picks the events of a world of transactional producers."""

    def __init__(self, world: TransactionWorld, tape: Tape, faults: FaultRates) -> None:
        """A scheduler of `world` that has not made a turn."""
        self.world = world
        self.faults = faults
        self.misfortunes = TransactionFaults(world, tape, faults)
        self.loops: dict[int, Loop] = {}
        isolations = (READ_COMMITTED, READ_UNCOMMITTED) if tape.happens(DIRTY_READERS) else (READ_COMMITTED,)
        self.consumers = tuple(Consumer(world.partitions, isolation) for isolation in isolations)
        events: list[Event] = [
            self.producers_tick,
            self.application_starts,
            self.application_acts,
            self.plain_application_acts,
            self.producer_asks,
            self.producer_sends,
            self.coordinator_sends_markers,
            self.consumer_fetches,
            self.administrator_acts,
            self.misfortunes.fault_is_mended,
        ]
        if world.shape.replicas > 1:
            events.append(self.follower_fetches)
        self._traffic = Traffic(events, TRANSACTIONS, self.broker_receives, self.sender_receives)
        rates = unusual(self.misfortunes.rates())
        super().__init__(world.clock, tape, world.recorder, usual(events, TRANSACTIONS), rates)

    def possible(self) -> WeightedEvents:
        """All events that the state of the network does not rule out."""
        wires = self.world.wires
        return self._traffic.among(wires.requests.in_transit, wires.replies.in_transit)

    # --- applications -----------------------------------------------------------------------------------------

    def application_starts(self) -> bool:
        """An application starts, be it beside others with its transactional id."""
        kind = KINDS.pick(self.tape)
        if kind == "transactional":
            possible = len(self.world.living) < MOST_INSTANCES
            if possible:
                self._starts(self.tape.pick(IDS))
            return possible
        possible = len(self.world.plain.living) < MOST_PLAIN
        if possible:
            self.world.plain.start(idempotent=kind == "idempotent", acks=ACKS.get(kind, -1))
        return possible

    def _starts(self, transactional_id: str) -> None:
        instance = self.world.application_starts(transactional_id)
        if self.tape.happens(LOOPS):
            self.loops[instance.number] = self.world.loops.start()

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

    def plain_application_acts(self) -> bool:
        """Some application without transactions hands over a batch, or is gone if its producer has failed."""
        plain = self.world.plain
        if not plain.living:
            return False
        application, partition = self.tape.pick(plain.living), self.tape.pick(self.world.partitions)
        if application.producer.failed:
            plain.crash(application)
            return True
        if len(application.producer.queues[partition.partition].waiting) >= LONGEST_QUEUE:
            return False
        plain.send(application, partition, 1 + self.tape.below(3))
        return True

    def _act(self, instance: ApplicationRun, action: str) -> None:
        loop = self.loops.get(instance.number)
        match action:
            case "initializes":
                self.world.application_initializes(instance)
            case "begins":
                if loop is not None:
                    self._loops(loop)
                self.world.application_begins(instance)
            case "sends":
                self.world.application_sends(instance, self.tape.pick(self.world.partitions), 1 + self.tape.below(3))
            case "commits" | "sends_offsets" if loop is not None and not instance.transaction.offsets:
                loops = self.world.loops
                self.world.application_sends_offsets(instance, loops.group, loops.consumed(loop), loop.claim)
            case "sends_offsets":
                self.world.application_sends_offsets(instance, GROUP, self.consumers[0].consumed())
            case "commits":
                self.world.application_commits(instance)
            case "aborts":
                if loop is not None:
                    self.world.loops.rewind(loop)
                self.world.application_aborts(instance)
            case "crashes":
                self.world.application_crashes(instance)

    def _loops(self, loop: Loop) -> None:
        """An application reads its next input; if it is no member, or at random, it joins its group again."""
        if loop.claim == NO_CLAIM or self.tape.happens(REJOINS):
            self.world.loops.join(loop)
        self.world.loops.read(loop)

    # --- producers, network, brokers --------------------------------------------------------------------------

    def producer_asks(self) -> bool:
        """Some producer sends its next request to a coordinator, or has a producer id from any node."""
        asking = [instance for instance in self.world.living if instance.producer.may_poll()]
        nameless = [each for each in self.world.plain.living if each.producer.needs_producer_id]
        if not asking and not nameless:
            return False
        either: list[ApplicationRun | PlainApplication] = [*asking, *nameless]
        event, node = self.tape.pick(either), self.tape.below(self.world.shape.nodes)
        if isinstance(event, PlainApplication):
            self.world.plain.ask_for_id(event, node)
        else:
            self.world.producer_asks(event, node)
        return True

    def producer_sends(self) -> bool:
        """Some producer sends a batch."""
        ready = [(instance, name) for instance in self.world.living for name in self.world.sendable(instance)]
        either: list[tuple[ApplicationRun | PlainApplication, TopicPartition]] = [*ready, *self.world.plain.sendable()]
        if not either:
            return False
        application, partition = self.tape.pick(either)
        if isinstance(application, PlainApplication):
            self.world.plain.produce(application, partition)
        else:
            self.world.producer_sends(application, partition)
        return True

    def producers_tick(self) -> bool:
        """Every producer makes a round."""
        for instance in self.world.living:
            self.world.producer_ticks(instance)
        self.world.plain.tick()
        self.world.loops.pass_time()
        return True

    def broker_receives(self) -> bool:
        """Some request arrives; a copy may stay behind. A request whose answer is no longer awaited takes its time."""
        wires = self.world.wires
        requests = wires.requests.deliverable()
        awaited = [message for message in requests if not message.copy and message.payload.number in wires.open]
        if len(awaited) < len(requests) and not self.tape.happens(OVERDUE):
            requests = awaited
        if requests:
            self.world.broker_receives(self.tape.pick(requests), self.tape.happens(self.faults.duplication))
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
        nodes = self.world.brokers.nodes
        owing = [number for number, node in enumerate(nodes) if node.transactions.markers.owed]
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

    # --- administrators ---------------------------------------------------------------------------------------

    def administrator_acts(self) -> bool:
        """An administrator uses one of Kafka's tools."""
        administrators = self.world.administrators
        match TOOLS.pick(self.tape):
            case "describes producers":
                administrators.describe_producers(self.tape.pick(self.world.partitions))
            case "lists transactions":
                administrators.list_transactions(self.tape.below(self.world.shape.nodes))
            case "fences":
                return administrators.fence(self.tape.pick(IDS)) is not None
            case "aborts what hangs":
                return self._administrator_aborts()
            case "deletes records":
                self._administrator_deletes(self.tape.pick(self.world.partitions))
        return True

    def _administrator_aborts(self) -> bool:
        hanging = list(self.world.administrators.hanging())
        if hanging:
            self.world.administrators.abort(self.tape.pick(hanging))
        return bool(hanging)

    def _administrator_deletes(self, partition: TopicPartition) -> None:
        administrators = self.world.administrators
        offset = self.tape.below(administrators.deletable(partition) + 1)
        if self.tape.happens(BEYOND):
            offset = self.world.brokers.partitions[partition].leader.high_watermark + 1
        administrators.delete_records(partition, offset)


def drawn_world(profile: Profile, tape: Tape, faults: FaultRates, trace: int) -> TransactionWorld:
    """A world whose size and network the tape chooses; its times are short, so that they pass within a trace.

    Args:
        profile: release that the world runs.
        tape: all chance.
        faults: what may go wrong.
        trace: its number.
    """
    nodes = 2 + tape.below(2)
    shape = TransactionShape(
        nodes=nodes,
        replicas=1 + tape.below(2),
        partitions=1 + tape.below(2),
        log_partitions=1 + tape.below(2),
        transaction_timeout_ms=5_000,
        max_timeout_ms=10_000,
        id_expiration_ms=60_000,
        producer_expiration_ms=120_000,
        delivery_timeout_ms=10_000,
        ordered=faults.ordered and tape.happens(500),
        unclean=tape.happens(UNCLEAN),
        skews=tuple(drawn_skew(tape) for _ in range(nodes)) if tape.happens(SKEWED) else (),
    )
    return TransactionWorld(profile, shape, trace)


def drawn_skew(tape: Tape) -> Skew:
    """How a node's clock differs from true time."""
    return Skew(tape.below(MOST_AHEAD_MS + 1), tape.between(-MOST_DRIFT_PPM, MOST_DRIFT_PPM))
