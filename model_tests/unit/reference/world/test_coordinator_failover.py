"""A coordinator fails at each durable point, and the next one takes over; the old one continues as a zombie."""

from collections.abc import Callable

import pytest

from model_tests.unit.reference.world.scenes import (
    BY_VERSION,
    BY_VERSION_IDS,
    T0,
    T1,
    began,
    decided,
    deliver_replies,
    deliver_requests,
    ended,
    is_end,
    is_marker,
    known,
    new_world,
    read,
    started,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.client.transaction_states import ClientState
from reference.world.instances import ApplicationRun
from reference.world.messages import Request
from reference.world.settling import settle
from reference.world.transaction_world import TransactionWorld
from spec.vocabulary import ControlType, TransactionState

versions = pytest.mark.parametrize("profile", BY_VERSION, ids=BY_VERSION_IDS)
outcomes = pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
Visible = dict[TopicPartition, tuple[bytes | None, ...]]
VISIBLE: dict[bool, Visible] = {True: {T0: (b"0/0/0",), T1: (b"0/0/1",)}, False: {T0: (), T1: ()}}


@pytest.fixture
def producer(world: TransactionWorld) -> ApplicationRun:
    return began(world, started(world))


def marker_for(partition: TopicPartition) -> Callable[[Request], bool]:
    """Wants the marker of one partition."""
    return lambda request: is_marker(request, partition)


def replaced(world: TransactionWorld) -> None:
    """Node 1 coordinates, and node 0 knows it."""
    world.coordinator_fails_over(0, 1)
    world.coordinator_resigns(0, 0)


def markers(world: TransactionWorld) -> list[ControlType]:
    """The outcomes that the log of the first partition has, oldest first."""
    batches = world.brokers.partitions[T0].leader.log
    return [marker.control_type for batch in batches if batch.is_control and (marker := batch.marker())]


@versions
@outcomes
def test_before_prepare(world: TransactionWorld, producer: ApplicationRun, commit: bool) -> None:
    """The transaction stays open, and its producer ends it at the new coordinator."""
    world.coordinator_fails_over(0, 1)
    assert TransactionState.ONGOING == known(world).state

    ended(world, producer, commit)

    assert VISIBLE[commit] == read(world)
    assert ClientState.READY == producer.producer.state


@versions
def test_before_prepare_without_its_producer(world: TransactionWorld, producer: ApplicationRun) -> None:
    """The new coordinator knows when the transaction began, and aborts it in time."""
    world.application_crashes(producer)
    world.coordinator_fails_over(0, 1)

    world.clock.advance(world.shape.transaction_timeout_ms)
    world.coordinator_aborts_timed_out(1)
    settle(world)

    assert VISIBLE[False] == read(world)
    assert TransactionState.COMPLETE_ABORT == known(world).state


@versions
@outcomes
@pytest.mark.parametrize("written", [0, 1, 2], ids=["no-marker", "one-marker", "all-markers"])
def test_between_prepare_and_complete(
    world: TransactionWorld, producer: ApplicationRun, commit: bool, written: int
) -> None:
    """What was decided stays decided, whichever markers were written: the new coordinator writes them all again."""
    decided(world, producer, commit)
    world.coordinator_sends_markers(0)
    for partition in (T0, T1)[:written]:
        assert 1 == deliver_requests(world, marker_for(partition))
    for message in tuple(world.wires.requests.in_transit):
        world.wires.requests.lose(message)

    world.coordinator_fails_over(0, 1)
    settle(world)

    assert VISIBLE[commit] == read(world)
    assert {ControlType.COMMIT if commit else ControlType.ABORT} == set(markers(world))
    assert known(world).state == (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)


@versions
@outcomes
def test_prepare_without_an_answer(world: TransactionWorld, producer: ApplicationRun, commit: bool) -> None:
    """The producer asks the new coordinator again and gets the same outcome."""
    (world.application_commits if commit else world.application_aborts)(producer)
    world.producer_asks(producer)
    deliver_requests(world, is_end)
    world.reply_is_lost(world.wires.replies.in_transit[0])

    replaced(world)
    settle(world)

    assert commit == producer.transaction.is_committed
    assert commit != producer.transaction.is_aborted
    assert VISIBLE[commit] == read(world)


@versions
@outcomes
def test_after_complete(world: TransactionWorld, producer: ApplicationRun, commit: bool) -> None:
    """The new coordinator has nothing to do, and the producer continues with it."""
    ended(world, producer, commit)
    before = world.brokers.partitions[T0].leader.log_end

    replaced(world)
    settle(world)

    assert before == world.brokers.partitions[T0].leader.log_end
    began(world, producer, T0)
    ended(world, producer)
    assert (*VISIBLE[commit][T0], b"0/1/2") == read(world)[T0]


@versions
def test_a_zombie_coordinator_cannot_decide(world: TransactionWorld, producer: ApplicationRun) -> None:
    """The old coordinator's log is closed to it: the producer is sent to the new one."""
    world.coordinator_fails_over(0, 1)
    world.application_commits(producer)
    world.producer_asks(producer)

    deliver_requests(world, is_end)

    assert TransactionState.ONGOING == known(world).state
    settle(world)
    assert VISIBLE[True] == read(world)


@pytest.mark.parametrize("profile", BY_VERSION[:2], ids=BY_VERSION_IDS[:2])
def test_a_zombie_coordinator_promises_what_it_cannot_keep(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Under versions 0 and 1 a zombie takes the end of a transaction for that of the one before, and accepts it.

    A limit of these versions: the reader never sees what the producer got as committed.
    """
    ended(world, producer)
    world.coordinator_fails_over(0, 1)
    began(world, producer, T0)
    world.application_commits(producer)
    world.producer_asks(producer)
    world.request_is_lost(world.wires.requests.in_transit[0])

    while not producer.transaction.is_committed:
        world.producer_asks(producer, node=0)
        deliver_requests(world, lambda request: True)
        deliver_replies(world)
    world.clock.advance(world.shape.transaction_timeout_ms + 1)
    world.coordinator_aborts_timed_out(1)
    settle(world)

    assert TransactionState.COMPLETE_ABORT == known(world).state
    assert VISIBLE[True] == read(world)


def test_a_zombie_coordinator_answers_from_memory() -> None:
    """Under version 2 it may end a producer by an answer about the transaction before; it can promise nothing."""
    world = new_world()
    producer = began(world, started(world), T0)
    ended(world, producer)
    world.coordinator_fails_over(0, 1)

    began(world, producer, T0)
    ended(world, producer)

    assert (ClientState.FATAL_ERROR, False) == (producer.producer.state, producer.transaction.is_committed)
    assert {T0: (b"0/0/0",), T1: ()} == read(world)


@versions
def test_a_zombie_coordinator_cannot_decide_otherwise(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Neither a timeout nor a marker of the old coordinator changes what the new one has decided."""
    decided(world, producer)
    world.coordinator_sends_markers(0)
    old = [message for message in world.wires.requests.in_transit if is_marker(message.payload)]
    for message in old:
        world.wires.requests.lose(message)
    world.coordinator_fails_over(0, 1)
    settle(world)

    world.clock.advance(world.shape.transaction_timeout_ms + 1)
    world.coordinator_aborts_timed_out(0)
    for message in old:
        world.wires.requests.send("late", message.payload)
    settle(world)

    assert VISIBLE[True] == read(world)
    assert {ControlType.COMMIT} == set(markers(world))
    assert TransactionState.COMPLETE_COMMIT == known(world).state


@versions
def test_a_marker_of_an_old_coordinator(world: TransactionWorld, producer: ApplicationRun) -> None:
    """It comes in the next transaction, after a marker of the new coordinator, and ends nothing."""
    decided(world, producer)
    world.coordinator_sends_markers(0)
    old = [message for message in world.wires.requests.in_transit if is_marker(message.payload, T0)]
    for message in old:
        world.wires.requests.lose(message)
    replaced(world)
    settle(world)

    began(world, producer, T0)
    for message in old:
        world.wires.requests.send("late", message.payload)
    settle(world)
    ended(world, producer, commit=False)

    assert VISIBLE[True] == read(world)
    assert 1 == world.brokers.log_epochs[0]


@versions
def test_a_coordinator_that_loads(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Until the log is read the producer waits; then it is answered."""
    world.coordinator_fails_over(0, 1, loads=False)
    world.application_commits(producer)
    settle(world, 5)
    assert ClientState.COMMITTING_TRANSACTION == producer.producer.state

    world.coordinator_loads(0)
    settle(world)

    assert VISIBLE[True] == read(world)


@versions
def test_a_node_that_restarts(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Whatever a node had in memory is in its log: it is elected again and continues."""
    world.broker_restarts(0)
    world.application_commits(producer)
    settle(world, 5)
    assert not producer.transaction.is_committed

    world.coordinator_fails_over(0, 0)
    settle(world)

    assert VISIBLE[True] == read(world)
    assert producer.transaction.is_committed


@versions
def test_a_verification_under_way_is_lost(world: TransactionWorld, producer: ApplicationRun) -> None:
    """A batch whose verification got lost is sent again, and is in the log once."""
    ended(world, producer)
    world.application_begins(producer)
    sent = world.application_sends(producer, T0)
    while not world.sendable(producer):
        world.producer_asks(producer)
        deliver_requests(world, lambda request: True)
        deliver_replies(world)
    world.producer_sends(producer, T0)
    deliver_requests(world, lambda request: True)
    (question,) = world.wires.requests.in_transit
    replaced(world)
    world.request_is_lost(question)

    ended(world, producer)

    assert (True, (b"0/0/0", b"0/1/2")) == (sent.is_acknowledged, read(world)[T0])
