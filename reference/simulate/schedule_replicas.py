"""The scheduler of worlds of replicas: each turn picks, from the tape, the next event among those that can happen."""

from dataclasses import replace
from typing import Final

from reference.event import Event, FaultRates
from reference.network import NetworkMessage
from reference.simulate.scheduler import Scheduler
from reference.tape import Tape
from reference.world.replicas import ReplicasWorld
from reference.world.replicas_messages import ReplicaMessage
from reference.world.replicas_nodes import BrokerNode, ProcessStatus
from reference.world.replicas_shape import ACKS_ALL, ReplicaProducer, ReplicasShape
from reference.world.replicas_strangers import (
    stranger_asks_for_epoch,
    stranger_fetches,
    stranger_produces,
    stranger_proposes,
)
from spec.versions import Profile

LONGEST_QUEUE: Final = 8
"""Batches that an application hands over before it waits."""

HEARTBEAT_MS: Final = 500
CHECKPOINT_MS: Final = 1_000
LONGEST_DRIFT_MS: Final = 400
CROWD: Final = 8
"""Messages under way for which one more arrives at a time."""


class ReplicasScheduler(Scheduler):
    """Picks the events of a world of replicas."""

    def __init__(self, world: ReplicasWorld, tape: Tape, faults: FaultRates) -> None:
        """A scheduler of `world` that has not made a turn."""
        self.world = world
        self.faults = faults
        self._due: dict[tuple[str, int], int] = {}
        super().__init__(world.clock, tape, world.recorder, REPLICAS, faults)
        self._closing = self.without(("application_sends", "reader_fetches"))

    def running(self) -> list[BrokerNode]:
        """The brokers that do anything."""
        return [node for node in self.world.nodes if node.is_up]

    def settle(self, turns: int = 20_000) -> bool:
        """Without faults, let everything under way come to its end; whether it did within the turns."""
        world = self.world
        for node in world.nodes:
            if node.shuts_down and node.is_up:
                world.broker_ends_shutdown(node.number)
        for _ in range(turns):
            self.clock.advance(10)
            if self.is_settled():
                return True
            self._closing.pick(self.tape).act(self, self.tape)
        return False

    def is_settled(self) -> bool:
        """Whether all brokers run and are in sync, and no application waits."""
        world = self.world
        if not all(node.is_up for node in world.nodes) or any(each.busy for each in world.clients.producers):
            return False
        return all(
            state.leader >= 0 and state.insync == frozenset(state.assignment) and self._are_equal(partition)
            for partition, state in world.metadata.partitions.items()
        )

    def _are_equal(self, partition: int) -> bool:
        logs = [self.world.replica(node, partition).log for node in self.world.shape.assignment(partition)]
        return len({(log.log_end, log.high_watermark) for log in logs}) == 1

    # --- time -------------------------------------------------------------------------------------------------

    def timers_fire(self, _: Tape) -> bool:
        """Whatever is due by now happens."""
        world = self.world
        for node in self.running():
            if self._is_due("heartbeat", node, HEARTBEAT_MS):
                self._heartbeat(node)
            if node.is_up and self._is_due("lag", node, self._lag_ms() // 2):
                world.leader_checks_lag(node.number)
            if node.is_up and self._is_due("checkpoint", node, CHECKPOINT_MS):
                world.broker_writes_checkpoint(node.number)
            for partition in tuple(node.broker.proposals):
                if self._is_due(f"proposal-{partition}", node, HEARTBEAT_MS):
                    world.broker_asks_again(node.number, partition)
            world.purgatory_expires(node.number)
        world.controller_checks_sessions()
        return True

    def _heartbeat(self, node: BrokerNode) -> None:
        number = node.number
        if node.shuts_down and number not in {state.leader for state in self.world.metadata.partitions.values()}:
            self.world.broker_ends_shutdown(number)
            return
        self.world.broker_heartbeats(number)
        if node.broker.version < self.world.metadata.version:
            self.world.controller_reports(number)

    def _lag_ms(self) -> int:
        shape = self.world.shape
        return self.world.profile.replica_lag_time_max_ms if shape.lag_max_ms is None else shape.lag_max_ms

    def _is_due(self, timer: str, node: BrokerNode, interval_ms: int) -> bool:
        last, now = self._due.get((timer, node.number)), node.now
        if last is not None and 0 <= now - last < interval_ms:
            return False
        self._due[timer, node.number] = now
        return last is not None

    # --- producers --------------------------------------------------------------------------------------------

    def application_sends(self, tape: Tape) -> bool:
        """Some application hands over a batch, unless it waits for earlier ones."""
        producer = tape.below(len(self.world.shape.writers))
        partition = tape.below(self.world.shape.partitions)
        if len(self.world.clients.producers[producer].queues[partition].waiting) >= LONGEST_QUEUE:
            return False
        self.world.application_makes(producer, partition, 1 + tape.below(3))
        return True

    def producer_asks_for_id(self, tape: Tape) -> bool:
        """A producer without id asks for one."""
        producers = self.world.clients.producers
        waiting = [number for number, producer in enumerate(producers) if producer.needs_producer_id]
        running = self.running()
        if not waiting or not running:
            return False
        self.world.producer_asks_for_id(tape.pick(waiting), tape.pick(running).number)
        return True

    def producer_sends(self, tape: Tape) -> bool:
        """Some producer sends a batch."""
        sendable = self.world.clients.sendable()
        if sendable:
            self.world.producer_sends(*tape.pick(sendable))
        return bool(sendable)

    def producers_tick(self, _: Tape) -> bool:
        """Every producer makes a round, and gives up what was not answered in time."""
        for producer, attempt in self.world.clients.overdue():
            self.world.producer_stops_waiting(producer, attempt)
        for producer in range(len(self.world.shape.writers)):
            self.world.producer_ticks(producer)
        return True

    def producer_refreshes_metadata(self, tape: Tape) -> bool:
        """Some producer asks some broker who leads."""
        running = self.running()
        if running:
            producer = tape.below(len(self.world.shape.writers))
            partition = tape.below(self.world.shape.partitions)
            self.world.producer_refreshes_metadata(producer, partition, tape.pick(running).number)
        return bool(running)

    def reader_fetches(self, tape: Tape) -> bool:
        """Some reader reads on, or asks some broker who leads: after a refusal, or where its leader does not run."""
        readers, running = self.world.readers, self.running()
        due = readers.due(self.world.nodes)
        if due:
            chosen = tape.pick(due)
            if self.world.reader_fetches(*chosen):
                return True
        lost = [chosen] if due else readers.lost(self.world.nodes)
        if lost and running:
            self.world.reader_refreshes_metadata(*tape.pick(lost), tape.pick(running).number)
        return bool(lost and running)

    # --- network and followers --------------------------------------------------------------------------------

    def message_arrives(self, tape: Tape) -> bool:
        """Some message arrives, or some at once if many are under way; a copy may stay behind."""
        world = self.world
        arrived = 0
        while arrived <= len(world.network.in_transit) // CROWD:
            messages = world.deliverable()
            if not messages:
                break
            copied = tape.happens(self.faults.duplication) and not world.network.ordered
            world.message_arrives(tape.pick(messages), copied)
            arrived += 1
        return arrived > 0

    def follower_fetches(self, tape: Tape) -> bool:
        """Some follower asks its leader."""
        timeout = self.world.shape.fetch_timeout_ms
        idle = [
            (node.number, partition)
            for node in self.running()
            for partition in node.broker.replicas
            if node.may_ask(partition, timeout)
        ]
        if idle:
            self.world.follower_fetches(*tape.pick(idle))
        return bool(idle)

    # --- faults -----------------------------------------------------------------------------------------------

    def network_fails(self, tape: Tape) -> bool:
        """A message is lost; where connections keep order, so is everything behind it."""
        in_transit: list[NetworkMessage[ReplicaMessage]] = self.world.network.in_transit
        if not in_transit:
            return False
        message = tape.pick(in_transit)
        lost = [message]
        if self.world.network.ordered:
            channel = self.world.network.of_channel(message.channel)
            lost = [each for each in channel if each.number >= message.number]
        for each in reversed(lost):
            self.world.message_is_lost(each)
        return True

    def broker_crashes(self, tape: Tape) -> bool:
        """A broker is killed."""
        running = self.running()
        if running:
            self.world.broker_crashes(tape.pick(running).number)
        return bool(running)

    def broker_pauses(self, tape: Tape) -> bool:
        """A broker stands still."""
        running = self.running()
        if running:
            self.world.broker_pauses(tape.pick(running).number)
        return bool(running)

    def broker_is_back(self, tape: Tape) -> bool:
        """A broker that was paused continues, or one that is down starts; it may have lost the ends of its logs."""
        away = [node for node in self.world.nodes if not node.is_up]
        if not away:
            return False
        node = tape.pick(away)
        if node.status is ProcessStatus.PAUSED:
            self.world.broker_resumes(node.number)
        else:
            self.world.broker_starts(node.number, tape.below(3) if tape.happens(self.faults.power) else 0)
        return True

    def broker_begins_shutdown(self, tape: Tape) -> bool:
        """A broker gets the order to shut down."""
        running = self.running()
        if running:
            self.world.broker_begins_shutdown(tape.pick(running).number)
        return bool(running)

    def clock_drifts(self, tape: Tape) -> bool:
        """A broker's clock is set forward or back."""
        drift = tape.between(-LONGEST_DRIFT_MS, LONGEST_DRIFT_MS)
        self.world.clock_drifts(tape.below(self.world.shape.brokers), drift)
        return True

    def leader_deletes_records(self, tape: Tape) -> bool:
        """A leader deletes what is replicated."""
        leading = [
            (node.number, partition)
            for node in self.running()
            for partition, replica in node.broker.replicas.items()
            if replica.leadership is not None
        ]
        if leading:
            self.world.leader_deletes_records(*tape.pick(leading))
        return bool(leading)

    def stranger_asks(self, tape: Tape) -> bool:
        """A broker or the controller is asked what it refuses."""
        running = self.running()
        if not running or tape.happens(500):
            return stranger_proposes(self.world, tape)
        event = tape.pick((stranger_fetches, stranger_fetches, stranger_asks_for_epoch, stranger_produces))
        return event(self.world, tape, tape.pick(running))

    def controller_is_elected(self, tape: Tape) -> bool:
        """A node is elected controller, be it the same again."""
        self.world.controller_is_elected(tape.below(self.world.shape.controllers))
        return True

    def preferred_leader_is_elected(self, tape: Tape) -> bool:
        """A partition is to get its preferred leader back."""
        self.world.preferred_leader_is_elected(tape.below(self.world.shape.partitions))
        return True


REPLICAS: Final = (
    Event(ReplicasScheduler.timers_fire, 10),
    Event(ReplicasScheduler.application_sends, 12),
    Event(ReplicasScheduler.producer_asks_for_id, 20),
    Event(ReplicasScheduler.producer_sends, 20),
    Event(ReplicasScheduler.producers_tick, 3),
    Event(ReplicasScheduler.producer_refreshes_metadata, 6),
    Event(ReplicasScheduler.message_arrives, 90),
    Event(ReplicasScheduler.follower_fetches, 30),
    Event(ReplicasScheduler.reader_fetches, 4),
    Event(ReplicasScheduler.broker_is_back, 2),
    Event(ReplicasScheduler.network_fails, 18, fault="loss"),
    Event(ReplicasScheduler.broker_crashes, 14, fault="restart"),
    Event(ReplicasScheduler.broker_pauses, 14, fault="pause"),
    Event(ReplicasScheduler.controller_is_elected, 7, fault="controller"),
    Event(ReplicasScheduler.preferred_leader_is_elected, 10, fault="preference"),
    Event(ReplicasScheduler.broker_begins_shutdown, 7, fault="shutdown"),
    Event(ReplicasScheduler.clock_drifts, 7, fault="drift"),
    Event(ReplicasScheduler.leader_deletes_records, 4, fault="deletion"),
    Event(ReplicasScheduler.stranger_asks, 4, fault="strange"),
)
"""What happens in a world of replicas."""


WRITERS: Final = (
    (ReplicaProducer(), ReplicaProducer()),
    (ReplicaProducer(), ReplicaProducer(idempotent=False)),
    (ReplicaProducer(), ReplicaProducer(acks=1, idempotent=False)),
    (ReplicaProducer(acks=0, idempotent=False), ReplicaProducer(acks=ACKS_ALL, idempotent=False)),
)


QUICK: Final = ReplicasShape(
    lag_max_ms=3_000,
    session_timeout_ms=2_000,
    request_timeout_ms=4_000,
    fetch_timeout_ms=300,
    delivery_timeout_ms=20_000,
)
"""Times so short that they pass within a trace."""


def drawn_replicas(profile: Profile, tape: Tape, faults: FaultRates, trace: int) -> ReplicasWorld:
    """A world whose size, writers and network the tape chooses.

    Args:
        profile: release that the world runs.
        tape: all chance.
        faults: what may go wrong.
        trace: its number.
    """
    shape = replace(
        QUICK,
        partitions=1 + tape.below(2),
        writers=tape.pick(WRITERS),
        min_insync=1 + tape.below(3),
        unclean_allowed=tape.happens(200),
        fetched_batches=1 + tape.below(3),
        ordered=faults.ordered and tape.happens(500),
    )
    return ReplicasWorld(profile, shape, trace)
