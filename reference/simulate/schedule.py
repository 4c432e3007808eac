"""The schedulers of the raw world and of the world of idempotent producers."""

from collections.abc import Iterable
from typing import Final

from reference.faults import FaultRates
from reference.replication.replicated import ReplicatedPartition
from reference.simulate.cluster import SimulatedCluster
from reference.simulate.raw import RawWorld
from reference.simulate.scheduler import Event, Scheduler, Traffic, WeightedEvents, always, unusual, usual
from reference.simulate.weights import PRODUCERS, RAW
from reference.tape import Tape
from reference.world.replica_rows import ReplicasBefore, follow, record_fault

LONGEST_QUEUE: Final = 8
"""Batches that an application hands over before it waits."""


class ProducerScheduler(Scheduler):
    """Picks the events of a world of idempotent producers."""

    def __init__(self, cluster: SimulatedCluster, tape: Tape, faults: FaultRates) -> None:
        """A scheduler of `cluster` that has not made a turn."""
        self.cluster = cluster
        self.faults = faults
        closing = (self.producers_tick, self.producer_asks_for_id, self.producer_sends, self.follower_fetches)
        everything = (*closing, self.application_sends, self.reader_fetches)
        delivering = (self.broker_receives, self.producer_receives)
        self._closing = usual((*closing, *delivering), PRODUCERS)
        self._traffic = Traffic(everything, PRODUCERS, *delivering)
        super().__init__(cluster.clock, tape, cluster.recorder, usual(everything, PRODUCERS), unusual(self._rates()))

    def possible(self) -> WeightedEvents:
        """All events that the state of the network does not rule out."""
        return self._traffic.among(self.cluster.requests.in_transit, self.cluster.replies.in_transit)

    def _rates(self) -> Iterable[tuple[Event, int]]:
        return (
            (self.network_fails, self.faults.loss),
            (self.leader_fails_over, self.faults.failover),
            (self.broker_restarts, self.faults.restart),
            (self.producer_state_expires, self.faults.expiry),
            (self.delivery_times_out, self.faults.late),
        )

    def settle(self, turns: int = 10_000) -> bool:
        """Without faults, let everything under way come to its end; whether it did within the turns."""
        for _ in range(turns):
            self.clock.advance(self.cluster.shape.delivery_timeout_ms // 1000)
            if not self.is_unfinished():
                return True
            self._closing.happen(self.tape)
        return False

    def is_unfinished(self) -> bool:
        """Whether something is under way or waits for something."""
        cluster = self.cluster
        under_way = bool(cluster.requests.in_transit or cluster.replies.in_transit or cluster.sendable())
        waiting = any(producer.busy or producer.needs_producer_id for producer in cluster.producers)
        return under_way or waiting or any(partition.behind() for partition in cluster.partitions)

    # --- events -----------------------------------------------------------------------------------------------

    def producers_tick(self) -> bool:
        """Every producer makes a round."""
        for producer in range(len(self.cluster.producers)):
            self.cluster.producer_ticks(producer)
        return True

    def application_sends(self) -> bool:
        """Some application hands over a batch, unless it waits for earlier ones."""
        producer = self.tape.below(len(self.cluster.producers))
        partition = self.tape.below(len(self.cluster.partitions))
        if len(self.cluster.producers[producer].queues[partition].waiting) >= LONGEST_QUEUE:
            return False
        self.cluster.application_makes(producer, partition, 1 + self.tape.below(3))
        return True

    def producer_asks_for_id(self) -> bool:
        """A producer without id asks for one."""
        waiting = [number for number, producer in enumerate(self.cluster.producers) if producer.needs_producer_id]
        if waiting:
            self.cluster.producer_asks_for_id(self.tape.pick(waiting), self.tape.below(self.cluster.shape.nodes))
        return bool(waiting)

    def producer_sends(self) -> bool:
        """Some producer sends a batch."""
        sendable = self.cluster.sendable()
        if sendable:
            self.cluster.producer_sends(*self.tape.pick(sendable))
        return bool(sendable)

    def broker_receives(self) -> bool:
        """Some request arrives; a copy may stay behind."""
        requests = self.cluster.requests.deliverable()
        if requests:
            message = self.tape.pick(requests)
            self.cluster.broker_receives(message, self.tape.happens(self.faults.duplication))
        return bool(requests)

    def producer_receives(self) -> bool:
        """Some answer arrives; a copy may stay behind."""
        replies = self.cluster.replies.deliverable()
        if replies:
            message = self.tape.pick(replies)
            self.cluster.producer_receives(message, self.tape.happens(self.faults.duplication))
        return bool(replies)

    def follower_fetches(self) -> bool:
        """Some follower copies the next batch."""
        behind = [(number, node) for number, p in enumerate(self.cluster.partitions) for node in p.behind()]
        if behind:
            self.cluster.follower_fetches(*self.tape.pick(behind))
        return bool(behind)

    def reader_fetches(self) -> bool:
        """Some reader reads on."""
        leaders = ((number, replicated.leader) for number, replicated in enumerate(self.cluster.partitions))
        due = self.cluster.readers.due(leaders)
        if due:
            self.cluster.reader_fetches(*self.tape.pick(due))
        return bool(due)

    # --- faults -----------------------------------------------------------------------------------------------

    def network_fails(self) -> bool:
        """A connection breaks; without order, one message is lost."""
        return self.connection_breaks() if self.cluster.requests.ordered else self.message_is_lost()

    def connection_breaks(self) -> bool:
        """A connection breaks, some of its requests still arrive."""
        producer = self.tape.below(len(self.cluster.producers))
        node = self.tape.below(self.cluster.shape.nodes)
        carried = len(self.cluster.requests.of_channel((producer, node)))
        self.cluster.connection_breaks(producer, node, self.tape.between(0, carried))
        return True

    def message_is_lost(self) -> bool:
        """A request or an answer is lost."""
        requests, replies = self.cluster.requests.in_transit, self.cluster.replies.in_transit
        if replies and self.tape.happens(500):
            self.cluster.reply_is_lost(self.tape.pick(replies))
        elif requests:
            self.cluster.request_is_lost(self.tape.pick(requests))
        return bool(requests or replies)

    def leader_fails_over(self) -> bool:
        """A follower in sync takes over a partition."""
        partition = self.tape.below(len(self.cluster.partitions))
        candidates = self.cluster.partitions[partition].candidates()
        if candidates:
            self.cluster.leader_fails_over(partition, self.tape.pick(candidates))
        return bool(candidates)

    def broker_restarts(self) -> bool:
        """A node goes down and comes back."""
        self.cluster.broker_restarts(self.tape.below(self.cluster.shape.nodes))
        return True

    def producer_state_expires(self) -> bool:
        """A node forgets silent producers, after a day of silence."""
        self.clock.advance(self.cluster.shape.expiration_ms)
        self.cluster.producer_state_expires(self.tape.below(self.cluster.shape.nodes))
        return True

    def delivery_times_out(self) -> bool:
        """So much time passes that producers give up what they could not deliver."""
        self.clock.advance(self.cluster.shape.delivery_timeout_ms)
        return self.producers_tick()


class RawScheduler(Scheduler):
    """Picks the events of the raw world."""

    def __init__(self, world: RawWorld, tape: Tape, faults: FaultRates) -> None:
        """A scheduler of `world` that has not made a turn."""
        self.world = world
        requested = (
            always(world.client_produces),
            always(world.coordinator_writes_marker),
            always(world.coordinator_writes_data),
            always(world.quorum_appends),
            always(world.lone_replica_copies),
            self.follower_fetches,
            self.reader_fetches,
        )
        rates = (
            (self.leader_fails_over, faults.failover),
            (self.broker_restarts, faults.restart),
            (self.producer_state_expires, faults.expiry),
        )
        super().__init__(world.clock, tape, world.recorder, usual(requested, RAW), unusual(rates))

    @property
    def partition(self) -> ReplicatedPartition:
        """The partition and its replicas."""
        return self.world.partition

    # --- events -----------------------------------------------------------------------------------------------

    def follower_fetches(self) -> bool:
        """Some follower copies the next batch."""
        behind = self.partition.behind()
        if behind:
            follow(self.recorder, self.clock.now, self.partition, 0, self.tape.pick(behind))
        return bool(behind)

    def reader_fetches(self) -> bool:
        """Some reader reads on."""
        due = self.world.readers.due([(0, self.partition.leader)])
        if due:
            self.world.reader_fetches(self.tape.pick(due)[0])
        return bool(due)

    # --- faults -----------------------------------------------------------------------------------------------

    def leader_fails_over(self) -> bool:
        """A follower in sync takes over."""
        candidates = self.partition.candidates()
        if candidates:
            node = self.tape.pick(candidates)
            before = ReplicasBefore.of(self.partition.replicas)
            self.partition.fail_over(node, self.clock.now)
            record_fault(self.recorder, "LeaderFailover", self.clock.now, 0, before, node)
        return bool(candidates)

    def broker_restarts(self) -> bool:
        """A node goes down and comes back."""
        node = self.tape.below(len(self.partition.replicas))
        before = ReplicasBefore.of(self.partition.replicas)
        self.partition.restart(node, self.clock.now)
        record_fault(self.recorder, "BrokerRestart", self.clock.now, 0, before, node)
        return True

    def producer_state_expires(self) -> bool:
        """A node forgets silent producers, after a silence."""
        node = self.tape.below(len(self.partition.replicas))
        before = ReplicasBefore.of(self.partition.replicas)
        self.clock.advance(self.partition.leader.state.expiration_ms)
        self.partition.replicas[node].state.expire(self.clock.now)
        record_fault(self.recorder, "ProducerStateExpiry", self.clock.now, 0, before, node)
        return True
