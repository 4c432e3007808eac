"""The scheduler of the world of idempotent producers."""

from typing import Final

from reference.event import Event
from reference.faults import FaultRates
from reference.simulate.cluster import SimulatedCluster
from reference.simulate.scheduler import Scheduler
from reference.tape import Tape

LONGEST_QUEUE: Final = 8
"""Batches that an application hands over before it waits."""


class ProducerScheduler(Scheduler):
    """Picks the events of a world of idempotent producers."""

    def __init__(self, cluster: SimulatedCluster, tape: Tape, faults: FaultRates) -> None:
        """A scheduler of `cluster` that has not made a turn."""
        self.cluster = cluster
        self.faults = faults
        super().__init__(cluster.clock, tape, cluster.recorder, PRODUCERS, faults)
        self._closing = self.without(("application_sends", "reader_fetches"))

    def settle(self, turns: int = 10_000) -> bool:
        """Without faults, let everything under way come to its end; whether it did within the turns."""
        for _ in range(turns):
            self.clock.advance(self.cluster.shape.delivery_timeout_ms // 1000)
            if not self.is_unfinished():
                return True
            self._closing.happen(self, self.tape)
        return False

    def is_unfinished(self) -> bool:
        """Whether something is under way or waits for something."""
        cluster = self.cluster
        under_way = bool(cluster.requests.in_transit or cluster.replies.in_transit or cluster.sendable())
        waiting = any(producer.busy or producer.needs_producer_id for producer in cluster.producers)
        return under_way or waiting or any(partition.behind() for partition in cluster.partitions)

    # --- events -----------------------------------------------------------------------------------------------

    def producers_tick(self, _: Tape) -> bool:
        """Every producer makes a round."""
        for producer in range(len(self.cluster.producers)):
            self.cluster.producer_ticks(producer)
        return True

    def application_sends(self, tape: Tape) -> bool:
        """Some application hands over a batch, unless it waits for earlier ones."""
        producer = tape.below(len(self.cluster.producers))
        partition = tape.below(len(self.cluster.partitions))
        if len(self.cluster.producers[producer].queues[partition].waiting) >= LONGEST_QUEUE:
            return False
        self.cluster.application_makes(producer, partition, 1 + tape.below(3))
        return True

    def producer_asks_for_id(self, tape: Tape) -> bool:
        """A producer without id asks for one."""
        waiting = [number for number, producer in enumerate(self.cluster.producers) if producer.needs_producer_id]
        if waiting:
            self.cluster.producer_asks_for_id(tape.pick(waiting), tape.below(self.cluster.shape.nodes))
        return bool(waiting)

    def producer_sends(self, tape: Tape) -> bool:
        """Some producer sends a batch."""
        sendable = self.cluster.sendable()
        if sendable:
            self.cluster.producer_sends(*tape.pick(sendable))
        return bool(sendable)

    def broker_receives(self, tape: Tape) -> bool:
        """Some request arrives; a copy may stay behind."""
        requests = self.cluster.requests.deliverable()
        if requests:
            message = tape.pick(requests)
            self.cluster.broker_receives(message, tape.happens(self.faults.duplication))
        return bool(requests)

    def producer_receives(self, tape: Tape) -> bool:
        """Some answer arrives; a copy may stay behind."""
        replies = self.cluster.replies.deliverable()
        if replies:
            message = tape.pick(replies)
            self.cluster.producer_receives(message, tape.happens(self.faults.duplication))
        return bool(replies)

    def follower_fetches(self, tape: Tape) -> bool:
        """Some follower copies the next batch."""
        behind = [(number, node) for number, p in enumerate(self.cluster.partitions) for node in p.behind()]
        if behind:
            self.cluster.follower_fetches(*tape.pick(behind))
        return bool(behind)

    def reader_fetches(self, tape: Tape) -> bool:
        """Some reader reads on."""
        leaders = ((number, replicated.leader) for number, replicated in enumerate(self.cluster.partitions))
        due = self.cluster.readers.due(leaders)
        if due:
            self.cluster.reader_fetches(*tape.pick(due))
        return bool(due)

    # --- faults -----------------------------------------------------------------------------------------------

    def network_fails(self, tape: Tape) -> bool:
        """A connection breaks; without order, one message is lost."""
        return self.connection_breaks(tape) if self.cluster.requests.ordered else self.message_is_lost(tape)

    def connection_breaks(self, tape: Tape) -> bool:
        """A connection breaks, some of its requests still arrive."""
        producer = tape.below(len(self.cluster.producers))
        node = tape.below(self.cluster.shape.nodes)
        carried = len(self.cluster.requests.of_channel((producer, node)))
        self.cluster.connection_breaks(producer, node, tape.between(0, carried))
        return True

    def message_is_lost(self, tape: Tape) -> bool:
        """A request or an answer is lost."""
        requests, replies = self.cluster.requests.in_transit, self.cluster.replies.in_transit
        if replies and tape.happens(500):
            self.cluster.reply_is_lost(tape.pick(replies))
        elif requests:
            self.cluster.request_is_lost(tape.pick(requests))
        return bool(requests or replies)

    def leader_fails_over(self, tape: Tape) -> bool:
        """A follower in sync takes over a partition."""
        partition = tape.below(len(self.cluster.partitions))
        candidates = self.cluster.partitions[partition].candidates()
        if candidates:
            self.cluster.leader_fails_over(partition, tape.pick(candidates))
        return bool(candidates)

    def broker_restarts(self, tape: Tape) -> bool:
        """A node goes down and comes back."""
        self.cluster.broker_restarts(tape.below(self.cluster.shape.nodes))
        return True

    def producer_state_expires(self, tape: Tape) -> bool:
        """A node forgets silent producers, after a day of silence."""
        self.clock.advance(self.cluster.shape.expiration_ms)
        self.cluster.producer_state_expires(tape.below(self.cluster.shape.nodes))
        return True

    def delivery_times_out(self, tape: Tape) -> bool:
        """So much time passes that producers give up what they could not deliver."""
        self.clock.advance(self.cluster.shape.delivery_timeout_ms)
        return self.producers_tick(tape)


def requests_are_under_way(scheduler: ProducerScheduler) -> bool:
    """The network carries a request."""
    return bool(scheduler.cluster.requests.in_transit)


def replies_are_under_way(scheduler: ProducerScheduler) -> bool:
    """The network carries an answer."""
    return bool(scheduler.cluster.replies.in_transit)


PRODUCERS: Final = (
    Event(ProducerScheduler.producers_tick, 1),
    Event(ProducerScheduler.application_sends, 12),
    Event(ProducerScheduler.producer_asks_for_id, 30),
    Event(ProducerScheduler.producer_sends, 30),
    Event(ProducerScheduler.broker_receives, 30, requests_are_under_way),
    Event(ProducerScheduler.producer_receives, 30, replies_are_under_way),
    Event(ProducerScheduler.follower_fetches, 40),
    Event(ProducerScheduler.reader_fetches, 4),
    Event(ProducerScheduler.network_fails, 6, fault="loss"),
    Event(ProducerScheduler.leader_fails_over, 5, fault="failover"),
    Event(ProducerScheduler.broker_restarts, 4, fault="restart"),
    Event(ProducerScheduler.producer_state_expires, 3, fault="expiry"),
    Event(ProducerScheduler.delivery_times_out, 3, fault="late"),
)
"""What happens in a world of idempotent producers."""
