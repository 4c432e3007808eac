"""Clocks of nodes: each node's timers and timestamps go by its own."""

from reference.clock import Clock, NodeClock
from reference.world.transaction_shape import Skew, TransactionShape
from reference.world.transaction_world import TransactionWorld


def test_a_clock_is_ahead_and_drifts() -> None:
    """Half a second ahead at first; a clock that is too slow by one in a thousand loses a second in a thousand."""
    world = Clock()
    fast, slow = NodeClock(world, ahead_ms=500), NodeClock(world, drift_ppm=-1000)
    before = (fast.now, slow.now)

    world.advance(1_000_000)

    assert (500, 0) == before
    assert (1_000_500, 999_000) == (fast.now, slow.now)


def test_a_coordinator_times_out_by_its_own_clock() -> None:
    """A transaction that is not yet too old by true time is aborted by a node whose clock goes too fast."""
    aborted = []
    for drift_ppm in (0, 100_000):
        shape = TransactionShape(transaction_timeout_ms=5_000, skews=(Skew(300, drift_ppm),))
        world = TransactionWorld(shape=shape)
        instance = world.application_starts("payments")
        world.application_initializes(instance)
        _settle(world)
        world.application_begins(instance)
        world.application_sends(instance, world.partitions[0])
        _settle(world)
        world.clock.advance(4_900)
        world.coordinator_aborts_timed_out(0)
        row = world.recorder.rows[-1]
        aborted.append(row["api"] == "TransactionTimeout")

    assert [False, True] == aborted


def test_a_row_has_the_time_of_its_node_and_the_true_time() -> None:
    """Where a clock is ahead, the difference is that of the two columns; clients go by true time."""
    world = TransactionWorld(shape=TransactionShape(skews=(Skew(700, 0),)))
    instance = world.application_starts("payments")
    world.application_initializes(instance)
    _settle(world)

    ahead = {str(row["api"]): int(row["time_ms"]) - int(row["world_ms"]) for row in world.recorder.rows}
    assert (700, 0) == (ahead["InitProducerId"], ahead["ClientStart"])


def _settle(world: TransactionWorld) -> None:
    """Deliver everything at once, so that no time passes."""
    for _ in range(20):
        for instance in world.living:
            if instance.producer.may_poll():
                world.producer_asks(instance)
            for partition in world.sendable(instance):
                world.producer_sends(instance, partition)
        for request in tuple(world.wires.requests.in_transit):
            world.broker_receives(request)
        for answer in tuple(world.wires.replies.in_transit):
            world.sender_receives(answer)
