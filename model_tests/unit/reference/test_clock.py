"""Clocks of nodes: each node's timers and timestamps go by its own."""

from model_tests.monitor.monitor import Monitor
from reference.clock import Clock, NodeClock
from reference.world.transaction_shape import Skew, TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.vocabulary import TransactionState


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


def test_a_coordinator_completes_before_the_time_in_the_prepare_record_of_another() -> None:
    """The new coordinator's clock is behind that of the one that decided: no rule is broken by the earlier time."""
    world = TransactionWorld(shape=TransactionShape(skews=(Skew(9_000, 0),)))
    instance = world.application_starts("payments")
    world.application_initializes(instance)
    _settle(world)
    world.application_begins(instance)
    world.application_sends(instance, world.partitions[0])
    _settle(world)
    world.application_commits(instance)
    _settle(world)
    world.coordinator_fails_over(0, 1)
    world.coordinator_sends_markers(1)
    _settle(world)

    completed = world.recorder.rows[-1]
    assert ("MarkerAnswered", TransactionState.COMPLETE_COMMIT) == (completed["api"], completed["after_txn_state"])
    assert int(completed["after_txn_updated_ms"]) < int(completed["before_txn_updated_ms"])
    monitor = Monitor()
    assert not [each for row in world.recorder.rows for each in monitor.judge(row)]


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
