"""The scheduler of worlds of transactions: each turn picks, from the tape, the next event among those that can happen.

Applications do what their producer's state admits; producers, the network, coordinators and readers go their own way.
"""

from typing import Final

from reference.broker.group_requests import NO_CLAIM
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer
from reference.client.transaction_states import IllegalState, ProducerFailed
from reference.event import Event, FaultRates
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED
from reference.simulate.scheduler import LONGEST_QUEUE, Scheduler
from reference.simulate.shape import (
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
    UNCLEAN,
)
from reference.simulate.transaction_faults import TransactionFaults
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


class TransactionScheduler(Scheduler, TransactionFaults):
    """Picks the events of a world of transactional producers."""

    def __init__(self, world: TransactionWorld, tape: Tape, faults: FaultRates) -> None:
        """A scheduler of `world` that has not made a turn."""
        TransactionFaults.__init__(self, world)
        self.faults = faults
        self.loops: dict[int, Loop] = {}
        isolations = (READ_COMMITTED, READ_UNCOMMITTED) if tape.happens(DIRTY_READERS) else (READ_COMMITTED,)
        self.consumers = tuple(Consumer(world.partitions, isolation) for isolation in isolations)
        Scheduler.__init__(self, world.clock, tape, world.recorder, TRANSACTIONS, faults)

    # --- applications -----------------------------------------------------------------------------------------

    def application_starts(self, tape: Tape) -> bool:
        """An application starts, be it beside others with its transactional id."""
        kind = KINDS.pick(tape)
        if kind == "transactional":
            possible = len(self.world.living) < MOST_INSTANCES
            if possible:
                self._starts(tape, tape.pick(IDS))
            return possible
        possible = len(self.world.plain.living) < MOST_PLAIN
        if possible:
            self.world.plain.start(idempotent=kind == "idempotent", acks=ACKS.get(kind, -1))
        return possible

    def _starts(self, tape: Tape, transactional_id: str) -> None:
        instance = self.world.application_starts(transactional_id)
        if tape.happens(LOOPS):
            self.loops[instance.number] = self.world.loops.start()

    def application_acts(self, tape: Tape) -> bool:
        """Some application does the next thing, unless its producer does not let it."""
        acting = [instance for instance in self.world.living if instance.producer.state in ACTIONS]
        if not acting:
            return False
        instance = tape.pick(acting)
        try:
            self._act(tape, instance, DONE[instance.producer.state].pick(tape))
        except (IllegalState, ProducerFailed):
            return False  # it still waits for what it called before
        return True

    def plain_application_acts(self, tape: Tape) -> bool:
        """Some application without transactions hands over a batch, or is gone if its producer has failed."""
        plain = self.world.plain
        if not plain.living:
            return False
        application, partition = tape.pick(plain.living), tape.pick(self.world.partitions)
        if application.producer.failed:
            plain.crash(application)
            return True
        if len(application.producer.queues[partition.partition].waiting) >= LONGEST_QUEUE:
            return False
        plain.send(application, partition, 1 + tape.below(3))
        return True

    def _act(self, tape: Tape, instance: ApplicationRun, action: str) -> None:
        loop = self.loops.get(instance.number)
        match action:
            case "initializes":
                self.world.application_initializes(instance)
            case "begins":
                if loop is not None:
                    self._loops(tape, loop)
                self.world.application_begins(instance)
            case "sends":
                self.world.application_sends(instance, tape.pick(self.world.partitions), 1 + tape.below(3))
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

    def _loops(self, tape: Tape, loop: Loop) -> None:
        """An application reads its next input; if it is no member, or at random, it joins its group again."""
        if loop.claim == NO_CLAIM or tape.happens(REJOINS):
            self.world.loops.join(loop)
        self.world.loops.read(loop)

    # --- producers, network, brokers --------------------------------------------------------------------------

    def producer_asks(self, tape: Tape) -> bool:
        """Some producer sends its next request to a coordinator, or has a producer id from any node."""
        asking = [instance for instance in self.world.living if instance.producer.may_poll()]
        nameless = [each for each in self.world.plain.living if each.producer.needs_producer_id]
        if not asking and not nameless:
            return False
        either: list[ApplicationRun | PlainApplication] = [*asking, *nameless]
        event, node = tape.pick(either), tape.below(self.world.shape.nodes)
        if isinstance(event, PlainApplication):
            self.world.plain.ask_for_id(event, node)
        else:
            self.world.producer_asks(event, node)
        return True

    def producer_sends(self, tape: Tape) -> bool:
        """Some producer sends a batch."""
        ready = [(instance, name) for instance in self.world.living for name in self.world.sendable(instance)]
        either: list[tuple[ApplicationRun | PlainApplication, TopicPartition]] = [*ready, *self.world.plain.sendable()]
        if not either:
            return False
        application, partition = tape.pick(either)
        if isinstance(application, PlainApplication):
            self.world.plain.produce(application, partition)
        else:
            self.world.producer_sends(application, partition)
        return True

    def producers_tick(self, _: Tape) -> bool:
        """Every producer makes a round."""
        for instance in self.world.living:
            self.world.producer_ticks(instance)
        self.world.plain.tick()
        self.world.loops.pass_time()
        return True

    def broker_receives(self, tape: Tape) -> bool:
        """Some request arrives; a copy may stay behind. A request whose answer is no longer awaited takes its time."""
        wires = self.world.wires
        requests = wires.requests.deliverable()
        awaited = [message for message in requests if not message.copy and message.payload.number in wires.open]
        if len(awaited) < len(requests) and not tape.happens(OVERDUE):
            requests = awaited
        if requests:
            self.world.broker_receives(tape.pick(requests), tape.happens(self.faults.duplication))
        return bool(requests)

    def sender_receives(self, tape: Tape) -> bool:
        """Some answer arrives; a copy may stay behind."""
        replies = self.world.wires.replies.deliverable()
        if replies:
            message = tape.pick(replies)
            self.world.sender_receives(message, tape.happens(self.faults.duplication))
        return bool(replies)

    def follower_fetches(self, tape: Tape) -> bool:
        """Some follower copies the next batch."""
        partitions = self.world.brokers.partitions
        behind = [(name, node) for name, replicated in partitions.items() for node in replicated.behind()]
        if behind:
            self.world.follower_fetches(*tape.pick(behind))
        return bool(behind)

    def coordinator_sends_markers(self, tape: Tape) -> bool:
        """Some coordinator sends the markers that it owes."""
        nodes = self.world.brokers.nodes
        owing = [number for number, node in enumerate(nodes) if node.transactions.markers.owed]
        if owing:
            self.world.coordinator_sends_markers(tape.pick(owing))
        return bool(owing)

    def consumer_fetches(self, tape: Tape) -> bool:
        """Some consumer reads on; what it has read is what a transaction commits as offsets."""
        readers, partitions = self.world.readers, self.world.partitions
        due = [(each, name) for each in self.consumers for name in partitions if readers.is_due(each, name)]
        if due:
            readers.consumer_fetches(*tape.pick(due))
        return bool(due)

    # --- administrators ---------------------------------------------------------------------------------------

    def administrator_acts(self, tape: Tape) -> bool:
        """An administrator uses one of Kafka's tools."""
        administrators = self.world.administrators
        match TOOLS.pick(tape):
            case "describes producers":
                administrators.describe_producers(tape.pick(self.world.partitions))
            case "lists transactions":
                administrators.list_transactions(tape.below(self.world.shape.nodes))
            case "fences":
                return administrators.fence(tape.pick(IDS)) is not None
            case "aborts what hangs":
                return self._administrator_aborts(tape)
            case "deletes records":
                self._administrator_deletes(tape, tape.pick(self.world.partitions))
        return True

    def _administrator_aborts(self, tape: Tape) -> bool:
        hanging = list(self.world.administrators.hanging())
        if hanging:
            self.world.administrators.abort(tape.pick(hanging))
        return bool(hanging)

    def _administrator_deletes(self, tape: Tape, partition: TopicPartition) -> None:
        administrators = self.world.administrators
        offset = tape.below(administrators.deletable(partition) + 1)
        if tape.happens(BEYOND):
            offset = self.world.brokers.partitions[partition].leader.high_watermark + 1
        administrators.delete_records(partition, offset)


def requests_are_under_way(scheduler: TransactionScheduler) -> bool:
    """The network carries a request."""
    return bool(scheduler.world.wires.requests.in_transit)


def replies_are_under_way(scheduler: TransactionScheduler) -> bool:
    """The network carries an answer."""
    return bool(scheduler.world.wires.replies.in_transit)


def is_replicated(scheduler: TransactionScheduler) -> bool:
    """Partitions have followers."""
    return scheduler.world.shape.replicas > 1


TRANSACTIONS: Final = (
    Event(TransactionScheduler.producers_tick, 1),
    Event(TransactionScheduler.application_starts, 1),
    Event(TransactionScheduler.application_acts, 10),
    Event(TransactionScheduler.plain_application_acts, 1),
    Event(TransactionScheduler.producer_asks, 20),
    Event(TransactionScheduler.producer_sends, 14),
    Event(TransactionScheduler.broker_receives, 40, requests_are_under_way),
    Event(TransactionScheduler.sender_receives, 40, replies_are_under_way),
    Event(TransactionScheduler.follower_fetches, 30, is_replicated),
    Event(TransactionScheduler.coordinator_sends_markers, 16),
    Event(TransactionScheduler.consumer_fetches, 2),
    Event(TransactionScheduler.administrator_acts, 1),
    Event(TransactionScheduler.fault_is_mended, 12),
    Event(TransactionScheduler.network_fails, 2, fault="loss"),
    Event(TransactionScheduler.sender_stops_waiting, 2, fault="abandonment"),
    Event(TransactionScheduler.application_crashes, 3, fault="crash"),
    Event(TransactionScheduler.leader_fails_over, 3, fault="failover"),
    Event(TransactionScheduler.coordinator_fails_over, 3, fault="coordinator"),
    Event(TransactionScheduler.coordinator_log_fails, 2, fault="log"),
    Event(TransactionScheduler.partition_loses_leader, 1, fault="unavailability"),
    Event(TransactionScheduler.broker_restarts, 1, fault="restart"),
    Event(TransactionScheduler.producer_state_expires, 1, fault="expiry"),
    Event(TransactionScheduler.delivery_times_out, 1, fault="late"),
    Event(TransactionScheduler.transactions_time_out, 2, fault="timeout"),
    Event(TransactionScheduler.ids_expire, 1, fault="forgetting"),
    Event(TransactionScheduler.epochs_are_used_up, 1, fault="exhaustion"),
)
"""What happens in a world of transactions."""


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
