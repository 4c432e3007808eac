"""What goes wrong in a world of transactions, and how it is mended: the network, nodes, coordinators, logs, time."""

from collections.abc import Callable
from typing import Final

from reference.errors import CorruptMessage, NotEnoughReplicas, NotLeaderOrFollower, Refusal
from reference.simulate.scheduler import ANSWER_LOST
from reference.tape import Tape
from reference.world.instances import ApplicationRun
from reference.world.plain_applications import PlainApplication
from reference.world.transaction_world import TransactionWorld
from spec.vocabulary import Epoch

LAGGING: Final = 500
"""Per thousand elections of a leader of data where they may be unclean, those of a follower that has lagged."""

OF_GROUPS: Final = 200
"""Per thousand elections of coordinators, those of a coordinator of groups."""

LOADS_AT_ONCE: Final = 700
"""Per thousand elections, those after which the log is read at once."""

ELECTION_MS: Final = 2_000
"""Time that an election takes where clocks differ: more than they differ by, as sessions have to expire first."""

WRITTEN: Final = 300
"""Per thousand failures of a coordinator's append, those after which the record is in the log all the same."""

FAILED_APPENDS: Final[tuple[type[Refusal], ...]] = (NotEnoughReplicas, NotLeaderOrFollower, CorruptMessage)
"""How an append can fail: for now, for this node, or in a way that coordinators do not know."""

NEARLY_USED_UP: Final = (32_764, 32_765, 32_766)
"""Epochs at which sessions of an id may leave it; 32766 is the last that a client gets."""


class TransactionFaults:
    """The faults of one world, and what is still to be mended.

    Attributes:
        zombies: nodes that still take themselves for the coordinator of a partition of the log.
        loading: partitions of the log that their leader has not read yet.
    """

    def __init__(self, world: TransactionWorld) -> None:
        """Nothing has gone wrong."""
        self.world = world
        self.zombies: list[tuple[int, int]] = []
        self.loading: list[int] = []

    # --- what is mended ---------------------------------------------------------------------------------------

    def mendable(self) -> list[Callable[[Tape], None]]:
        """The faults that can be repaired: an unread log, a zombie, a missing coordinator, an unavailable partition."""
        brokers = self.world.brokers
        possible = (
            (self.coordinator_loads, self.loading),
            (self.coordinator_resigns, self.zombies),
            (self.coordinators_are_elected, brokers.has_leaderless),
            (self.partitions_come_back, brokers.unavailable),
        )
        return [mends for mends, needed in possible if needed]

    def fault_is_mended(self, tape: Tape) -> bool:
        """One of these."""
        brokers = self.world.brokers
        if not (self.loading or self.zombies or brokers.unavailable or brokers.has_leaderless):
            return False
        tape.pick(self.mendable())(tape)
        return True

    def coordinator_loads(self, tape: Tape) -> None:
        """A coordinator has read its log."""
        partition = tape.pick(self.loading)
        self.loading.remove(partition)
        self.world.coordinator_loads(partition)

    def coordinator_resigns(self, tape: Tape) -> None:
        """A zombie learns that it is one."""
        zombie = tape.pick(self.zombies)
        self.zombies.remove(zombie)
        self.world.coordinator_resigns(*zombie)

    def coordinators_are_elected(self, tape: Tape) -> None:
        """What a node that went down coordinated has a coordinator again."""
        brokers, shape = self.world.brokers, self.world.shape
        for partition in range(shape.log_partitions):
            if partition not in brokers.log_leaders:
                self._elect(tape, partition, tape.below(shape.nodes))
        for partition in range(shape.offsets_partitions):
            if partition not in brokers.group_leaders:
                self.world.group_coordinator_fails_over(partition, tape.below(shape.nodes))

    def partitions_come_back(self, _: Tape) -> None:
        """Every partition can be written to again."""
        for partition in self.world.partitions:
            self.world.partition_regains_leader(partition)

    # --- network and applications -----------------------------------------------------------------------------

    def network_fails(self, tape: Tape) -> None:
        """A connection breaks; without order, one message is lost."""
        if self.world.shape.ordered:
            self.connection_breaks(tape)
        else:
            self.message_is_lost(tape)

    def connection_breaks(self, tape: Tape) -> None:
        """The connection of a request that is waited for breaks; some of what it carries still arrives."""
        waiting = list(self.world.wires.open.values())
        if waiting:
            request = tape.pick(waiting)
            carried = [each for each in waiting if (each.sender, each.node) == (request.sender, request.node)]
            self.world.connection_breaks(request.sender, request.node, tape.between(0, len(carried)))

    def message_is_lost(self, tape: Tape) -> None:
        """A request or an answer is lost."""
        wires = self.world.wires
        if wires.replies.in_transit and tape.happens(ANSWER_LOST):
            self.world.reply_is_lost(tape.pick(wires.replies.in_transit))
        elif wires.requests.in_transit:
            self.world.request_is_lost(tape.pick(wires.requests.in_transit))

    def sender_stops_waiting(self, tape: Tape) -> None:
        """A request times out at its sender, and is still under way."""
        waiting = list(self.world.wires.open.values())
        if waiting:
            self.world.sender_stops_waiting(tape.pick(waiting))

    def application_crashes(self, tape: Tape) -> None:
        """Some application is gone."""
        living: list[ApplicationRun | PlainApplication] = [*self.world.living, *self.world.plain.living]
        if not living:
            return
        application = tape.pick(living)
        if isinstance(application, PlainApplication):
            self.world.plain.crash(application)
        else:
            self.world.application_crashes(application)

    # --- nodes ------------------------------------------------------------------------------------------------

    def leader_fails_over(self, tape: Tape) -> None:
        """A follower in sync takes over a partition; where it may, also one that has lagged for too long."""
        partition = tape.pick(self.world.partitions)
        replicated = self.world.brokers.partitions[partition]
        followers = [node for node in range(self.world.shape.replicas) if node != replicated.leader_node]
        if self.world.shape.unclean and followers and tape.happens(LAGGING):
            node = tape.pick(followers)
            self.world.follower_leaves_insync(partition, node)
            self.world.unclean_leader_election(partition, node)
        elif candidates := replicated.candidates():
            self.world.leader_fails_over(partition, tape.pick(candidates))

    def coordinator_fails_over(self, tape: Tape) -> None:
        """A node is elected for a partition of a coordinator's log; a transaction's former one is a zombie."""
        shape, node = self.world.shape, tape.below(self.world.shape.nodes)
        if tape.happens(OF_GROUPS):
            self.world.group_coordinator_fails_over(tape.below(shape.offsets_partitions), node)
        else:
            self._elect(tape, tape.below(shape.log_partitions), node)

    def _elect(self, tape: Tape, partition: int, node: int) -> None:
        if self.world.shape.skews:
            self.world.clock.advance(ELECTION_MS)
        former = self.world.brokers.log_leaders.get(partition)
        self.zombies = [zombie for zombie in self.zombies if zombie != (partition, node)]
        self.loading = [other for other in self.loading if other != partition]
        if former is not None and former != node:
            self.zombies.append((partition, former))
        loads = tape.happens(LOADS_AT_ONCE)
        self.world.coordinator_fails_over(partition, node, loads=loads)
        if not loads:
            self.loading.append(partition)

    def coordinator_log_fails(self, tape: Tape) -> None:
        """The next append of some coordinator fails."""
        node, refusal = tape.below(self.world.shape.nodes), tape.pick(FAILED_APPENDS)
        self.world.coordinator_log_fails(node, refusal(), written=tape.happens(WRITTEN))

    def partition_loses_leader(self, tape: Tape) -> None:
        """Some partition cannot be written to."""
        self.world.partition_loses_leader(tape.pick(self.world.partitions))

    def broker_restarts(self, tape: Tape) -> None:
        """A node goes down and comes back; what it coordinated waits for an election."""
        node = tape.below(self.world.shape.nodes)
        leaders = self.world.brokers.log_leaders
        self.loading = [partition for partition in self.loading if leaders[partition] != node]
        self.zombies = [zombie for zombie in self.zombies if zombie[1] != node]
        self.world.broker_restarts(node)

    # --- time -------------------------------------------------------------------------------------------------

    def producer_state_expires(self, tape: Tape) -> None:
        """A node forgets silent producers, after a silence."""
        self.world.clock.advance(self.world.shape.producer_expiration_ms)
        self.world.producer_state_expires(tape.below(self.world.shape.replicas))

    def delivery_times_out(self, _: Tape) -> None:
        """So much time passes that producers give up what they could not deliver."""
        self.world.clock.advance(self.world.shape.delivery_timeout_ms)
        for instance in self.world.living:
            self.world.producer_ticks(instance)
        self.world.plain.tick()

    def transactions_time_out(self, tape: Tape) -> None:
        """So much time passes, or nearly so much, that coordinators abort what is open."""
        self.world.clock.advance(self.world.shape.transaction_timeout_ms - tape.below(2_000))
        for node in range(self.world.shape.nodes):
            self.world.coordinator_aborts_timed_out(node)

    def ids_expire(self, _: Tape) -> None:
        """So much time passes that coordinators forget ids at rest."""
        self.world.clock.advance(self.world.shape.id_expiration_ms)
        for node in range(self.world.shape.nodes):
            self.world.coordinator_expires_ids(node)

    def epochs_are_used_up(self, tape: Tape) -> None:
        """Many sessions of an id come and go before the next event."""
        node = tape.below(self.world.shape.nodes)
        idle = self.world.idle_ids(node)
        if idle:
            self.world.sessions_come_and_go(node, tape.pick(idle), Epoch(tape.pick(NEARLY_USED_UP)))
