"""The schedulers of simulated worlds: their common part, and the scheduler of idempotent producers.

The common part takes the next event from the tape.
"""

from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Final

from reference.clock import Clock
from reference.event import Event, FaultRates, always, let_happen
from reference.recording.recorder import Recorder
from reference.simulate.cluster import SimulatedCluster
from reference.tape import Tape, Weighted

# --- the common part --------------------------------------------------------------------------------------------------


LONGEST_MS: Final = 20
"""Before each event less than this time passes."""

AT_ONCE: Final = 6
"""Events that one draw names: the first of them that can happen does."""

DRAWS: Final = 20
"""Draws of a turn after which nothing happens; the simplest event always can."""


class Scheduler:
    """Runs a world, event by event.

    Attributes:
        clock: the world's.
        tape: decides what happens.
        recorder: the steps so far.
    """

    def __init__(
        self,
        clock: Clock,
        tape: Tape,
        recorder: Recorder,
        events: Sequence[Event[Any]],
        rates: FaultRates,
        actor: object = None,
    ) -> None:
        """A scheduler that has not made a turn.

        Args:
            clock: of the world.
            tape: decides what happens.
            recorder: of the world's steps.
            events: what may happen, the simplest first.
            rates: of the faults, per thousand turns.
            actor: whose events they are; None is the scheduler itself.
        """
        self.clock = clock
        self.tape = tape
        self.recorder = recorder
        self._actor = self if actor is None else actor
        self._listed = {event.name: event for event in events}
        self._usual = [event for event in events if not event.fault]
        self._conditional = [event for event in self._usual if event.ready is not always]
        self._possible: dict[tuple[bool, ...], WeightedEvents] = {}
        faults = [(event, getattr(rates, event.fault)) for event in events if event.fault]
        self._unusual = Weighted(((None, 1000 - sum(rate for _, rate in faults)), *faults))

    def turn(self) -> None:
        """One event, after a little time; one that cannot happen now makes way for another."""
        self.clock.advance(self.tape.below(LONGEST_MS))
        fault = self._unusual.pick(self.tape)
        if fault is not None and fault.act(self._actor, self.tape) is not False:
            return
        events = self.possible()
        for _ in range(DRAWS):
            if events.happen(self._actor, self.tape):
                return

    def let(self, act: Callable[[Tape], bool | None], *choices: object, happening: Sequence[int] = ()) -> None:
        """Let one event of the list happen, with choices that a script makes.

        Args:
            act: the event, as a method of the scheduler.
            *choices: in the order in which the event makes them, as values.
            happening: rates of what happens by chance within the event.

        Raises:
            ImpossibleChoice: the event cannot happen now, or not so.
        """
        let_happen(self._listed[act.__name__], self._actor, choices, happening)

    def possible(self) -> "WeightedEvents":
        """The events among which the next one is; some of them may turn out not to be possible now."""
        ready = tuple([event.ready(self._actor) for event in self._conditional])
        found = self._possible.get(ready)
        if found is None:
            missing = [event.name for event, can in zip(self._conditional, ready, strict=True) if not can]
            found = self._possible[ready] = self.without(missing)
        return found

    def without(self, names: Container[str]) -> "WeightedEvents":
        """The usual events but some, whether they are ready or not."""
        return WeightedEvents((event, event.weight) for event in self._usual if event.name not in names)


class WeightedEvents(Weighted[Event[Any]]):
    """Events with their weights; a few of them are drawn at once, and the first that can happen does."""

    __slots__ = ("_bound",)

    def __init__(self, options: Iterable[tuple[Event[Any], int]]) -> None:
        """The events, the simplest first."""
        super().__init__(options)
        self._bound = self.total**AT_ONCE

    def happen(self, actor: object, tape: Tape) -> bool:
        """Let one of them happen; whether one of those drawn could."""
        options, sums, total = self._options, self._sums, self.total
        left = tape.below(self._bound)
        for _ in range(AT_ONCE):
            left, choice = divmod(left, total)
            if options[bisect_right(sums, choice)].act(actor, tape) is not False:
                return True
        return False


# --- idempotent producers ---------------------------------------------------------------------------------------------


LONGEST_QUEUE: Final = 8
"""Batches that an application hands over before it waits."""

ANSWER_LOST: Final = 500
"""Per thousand losses of a message, those of an answer, where one is under way."""


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
        if replies and tape.happens(ANSWER_LOST):
            self.cluster.reply_is_lost(tape.pick(replies))
        elif requests:
            self.cluster.request_is_lost(tape.pick(requests))
        else:
            return False
        return True

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
