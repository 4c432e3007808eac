"""Schedulers: each turn picks, from the tape, the next event of a world among those that can happen."""

from collections.abc import Callable
from typing import Final

from reference.broker.replicated import ReplicatedPartition
from reference.cluster import Cluster
from reference.faults import Faults
from reference.raw import RawWorld
from reference.recorder import Recorder
from reference.replica_rows import Before, follow, record_fault
from reference.tape import Tape

Event = Callable[[], None]

LONGEST_QUEUE: Final = 8
"""Batches that an application hands over before it waits."""


class ProducerScheduler:
    """Picks the events of a world of idempotent producers."""

    def __init__(self, cluster: Cluster, tape: Tape, faults: Faults) -> None:
        """A scheduler of `cluster` that has not made a turn."""
        self.cluster = cluster
        self.tape = tape
        self.faults = faults

    @property
    def recorder(self) -> Recorder:
        """The steps so far."""
        return self.cluster.recorder

    def turn(self) -> None:
        """One event, after a little time."""
        self.cluster.clock.advance(self.tape.below(20))
        fault = picked(self.tape.below(1000), self.fault_events())
        if fault is not None:
            fault()
            return
        self.tape.weighted(self.events())()

    def settle(self, turns: int = 10_000) -> bool:
        """Without faults, let everything under way come to its end; whether it did within the turns."""
        for _ in range(turns):
            self.cluster.clock.advance(self.cluster.shape.delivery_timeout_ms // 1000)
            events = self.closing_events()
            if not events and not any(producer.busy for producer in self.cluster.producers):
                return True
            self.tape.weighted([(self.producers_tick, 1), *events])()
        return False

    def producers_tick(self) -> None:
        """Every producer makes a round."""
        for producer in range(len(self.cluster.producers)):
            self.cluster.producer_ticks(producer)

    def events(self) -> list[tuple[Event, int]]:
        """What can happen next without a fault, and how likely it is."""
        return [(self.application_sends, 12), *self.closing_events()]

    def closing_events(self) -> list[tuple[Event, int]]:
        """What can happen next without new work."""
        cluster = self.cluster
        possible: list[tuple[Event, int, bool]] = [
            (self.producer_asks_for_id, 30, any(p.needs_producer_id for p in cluster.producers)),
            (self.producer_sends, 30, bool(cluster.sendable())),
            (self.broker_receives, 30, bool(cluster.requests.in_transit)),
            (self.producer_receives, 30, bool(cluster.replies.in_transit)),
            (self.follower_fetches, 40, any(partition.behind() for partition in cluster.partitions)),
        ]
        return [(event, weight) for event, weight, enabled in possible if enabled]

    def fault_events(self) -> list[tuple[Event, int]]:
        """What can go wrong next, per thousand turns."""
        return [
            (self.network_fails, self.faults.loss),
            (self.leader_fails_over, self.faults.failover),
            (self.broker_restarts, self.faults.restart),
            (self.producer_state_expires, self.faults.expiry),
            (self.delivery_times_out, self.faults.late),
        ]

    # --- events -----------------------------------------------------------------------------------------------

    def application_sends(self) -> None:
        """Some application hands over a batch, unless it waits for earlier ones."""
        producer = self.tape.below(len(self.cluster.producers))
        partition = self.tape.below(len(self.cluster.partitions))
        if len(self.cluster.producers[producer].queues[partition].waiting) < LONGEST_QUEUE:
            self.cluster.application_sends(producer, partition, 1 + self.tape.below(3))

    def producer_asks_for_id(self) -> None:
        """A producer without id asks for one."""
        waiting = [number for number, producer in enumerate(self.cluster.producers) if producer.needs_producer_id]
        self.cluster.producer_asks_for_id(self.tape.pick(waiting), self.tape.below(self.cluster.shape.nodes))

    def producer_sends(self) -> None:
        """Some producer sends a batch."""
        self.cluster.producer_sends(*self.tape.pick(self.cluster.sendable()))

    def broker_receives(self) -> None:
        """Some request arrives; a copy may stay behind."""
        message = self.tape.pick(self.cluster.requests.deliverable())
        self.cluster.broker_receives(message, self.tape.happens(self.faults.duplication))

    def producer_receives(self) -> None:
        """Some answer arrives; a copy may stay behind."""
        message = self.tape.pick(self.cluster.replies.deliverable())
        self.cluster.producer_receives(message, self.tape.happens(self.faults.duplication))

    def follower_fetches(self) -> None:
        """Some follower copies the next batch."""
        behind = [(number, node) for number, p in enumerate(self.cluster.partitions) for node in p.behind()]
        self.cluster.follower_fetches(*self.tape.pick(behind))

    # --- faults -----------------------------------------------------------------------------------------------

    def network_fails(self) -> None:
        """A connection breaks; without order, one message is lost."""
        if self.cluster.requests.ordered:
            self.connection_breaks()
        else:
            self.message_is_lost()

    def connection_breaks(self) -> None:
        """A connection breaks, some of its requests still arrive."""
        producer = self.tape.below(len(self.cluster.producers))
        node = self.tape.below(self.cluster.shape.nodes)
        carried = len(self.cluster.requests.of_channel((producer, node)))
        self.cluster.connection_breaks(producer, node, self.tape.between(0, carried))

    def message_is_lost(self) -> None:
        """A request or an answer is lost."""
        if self.cluster.replies.in_transit and self.tape.happens(500):
            self.cluster.reply_is_lost(self.tape.pick(self.cluster.replies.in_transit))
        elif self.cluster.requests.in_transit:
            self.cluster.request_is_lost(self.tape.pick(self.cluster.requests.in_transit))

    def leader_fails_over(self) -> None:
        """A follower in sync takes over a partition."""
        partition = self.tape.below(len(self.cluster.partitions))
        candidates = self.cluster.partitions[partition].candidates()
        if candidates:
            self.cluster.leader_fails_over(partition, self.tape.pick(candidates))

    def broker_restarts(self) -> None:
        """A node goes down and comes back."""
        self.cluster.broker_restarts(self.tape.below(self.cluster.shape.nodes))

    def producer_state_expires(self) -> None:
        """A node forgets silent producers, after a day of silence."""
        self.cluster.clock.advance(self.cluster.shape.expiration_ms)
        self.cluster.producer_state_expires(self.tape.below(self.cluster.shape.nodes))

    def delivery_times_out(self) -> None:
        """So much time passes that producers give up what they could not deliver."""
        self.cluster.clock.advance(self.cluster.shape.delivery_timeout_ms)
        self.producers_tick()


class RawScheduler:
    """Picks the events of the raw world."""

    def __init__(self, world: RawWorld, tape: Tape, faults: Faults) -> None:
        """A scheduler of `world` that has not made a turn."""
        self.world = world
        self.tape = tape
        self.faults = faults

    @property
    def recorder(self) -> Recorder:
        """The steps so far."""
        return self.world.recorder

    @property
    def partition(self) -> ReplicatedPartition:
        """The partition and its replicas."""
        return self.world.partition

    def turn(self) -> None:
        """One event, after a little time."""
        self.world.clock.advance(self.tape.below(20))
        fault = picked(self.tape.below(1000), self.fault_events())
        if fault is not None:
            fault()
            return
        self.tape.weighted(self.events())()

    def events(self) -> list[tuple[Event, int]]:
        """What can happen next without a fault, and how likely it is."""
        return [
            (self.world.client_produces, 60),
            (self.world.coordinator_writes_marker, 12),
            (self.world.coordinator_writes_data, 4),
            (self.world.quorum_appends, 2),
            (self.world.lone_replica_copies, 10),
            *([(self.follower_fetches, 30)] if self.partition.behind() else []),
        ]

    def fault_events(self) -> list[tuple[Event, int]]:
        """What can go wrong next, per thousand turns."""
        return [
            (self.leader_fails_over, self.faults.failover),
            (self.broker_restarts, self.faults.restart),
            (self.producer_state_expires, self.faults.expiry),
        ]

    def follower_fetches(self) -> None:
        """Some follower copies the next batch."""
        node = self.tape.pick(self.partition.behind())
        follow(self.recorder, self.world.clock.now, self.partition, 0, node)

    def leader_fails_over(self) -> None:
        """A follower in sync takes over."""
        candidates = self.partition.candidates()
        if candidates:
            node = self.tape.pick(candidates)
            before = Before.of(self.partition.replicas)
            self.partition.fail_over(node, self.world.clock.now)
            record_fault(self.recorder, "LeaderFailover", self.world.clock.now, 0, before, node)

    def broker_restarts(self) -> None:
        """A node goes down and comes back."""
        node = self.tape.below(len(self.partition.replicas))
        before = Before.of(self.partition.replicas)
        self.partition.restart(node, self.world.clock.now)
        record_fault(self.recorder, "BrokerRestart", self.world.clock.now, 0, before, node)

    def producer_state_expires(self) -> None:
        """A node forgets silent producers, after a silence."""
        node = self.tape.below(len(self.partition.replicas))
        before = Before.of(self.partition.replicas)
        self.world.clock.advance(self.partition.leader.state.expiration_ms)
        self.partition.replicas[node].state.expire(self.world.clock.now)
        record_fault(self.recorder, "ProducerStateExpiry", self.world.clock.now, 0, before, node)


def picked(choice: int, rates: list[tuple[Event, int]]) -> Event | None:
    """The fault that a choice below 1000 stands for; 0 and all up to the sum of rates below 1000 are none."""
    left = 999 - choice
    for event, rate in rates:
        if left < rate:
            return event
        left -= rate
    return None
