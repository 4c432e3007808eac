"""Transactions from their first record to their outcome, as producers and readers see them, under every version."""

import pytest

from model_tests.unit.reference.world.scenes import (
    BY_VERSION,
    BY_VERSION_IDS,
    ID,
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
from reference.broker.ids import ProducerIdentity
from reference.client.transaction_states import ClientState, IllegalState, ProducerFailed
from reference.errors import NotEnoughReplicas
from reference.world.instances import ApplicationRun
from reference.world.settling import settle
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile
from spec.vocabulary import Epoch, ErrorCode, ProducerId, TransactionState

TIMEOUT_MS = TransactionShape().transaction_timeout_ms

versions = pytest.mark.parametrize("profile", BY_VERSION, ids=BY_VERSION_IDS)


@pytest.fixture
def producer(world: TransactionWorld) -> ApplicationRun:
    return started(world)


@versions
def test_commit(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Nothing is visible before the commit, everything after it."""
    began(world, producer)

    assert {T0: (), T1: ()} == read(world)

    ended(world, producer)

    assert {T0: (b"0/0/0",), T1: (b"0/0/1",)} == read(world)
    assert producer.transaction.is_committed
    assert TransactionState.COMPLETE_COMMIT == known(world).state


@versions
def test_abort(world: TransactionWorld, producer: ApplicationRun) -> None:
    """What was aborted stays in the log, and no reader of committed data receives it."""
    began(world, producer)

    ended(world, producer, commit=False)

    assert {T0: (), T1: ()} == read(world)
    assert {T0: (b"0/0/0",), T1: (b"0/0/1",)} == read(world, isolation=0)
    assert producer.transaction.is_aborted


@versions
def test_one_transaction_after_the_other(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Sequences go on, or start again with each epoch; every second transaction is aborted."""
    for ordinal in range(6):
        began(world, producer, T0)
        ended(world, producer, commit=ordinal % 2 == 0)

    assert {T0: (b"0/0/0", b"0/2/2", b"0/4/4"), T1: ()} == read(world)


@versions
def test_batches_that_were_never_sent_are_dropped_by_an_abort(
    world: TransactionWorld, producer: ApplicationRun
) -> None:
    """An abort does not wait for what is not under way."""
    began(world, producer, T0)
    unsent = world.application_sends(producer, T1)

    ended(world, producer, commit=False)

    assert (False, ()) == (unsent.batch.outcome, read(world, isolation=0)[T1])


@versions
def test_the_end_waits_for_every_batch(world: TransactionWorld, producer: ApplicationRun) -> None:
    """No EndTxn is sent while a batch is under way."""
    began(world, producer, T0)
    world.application_sends(producer, T0)
    world.producer_sends(producer, T0)
    world.application_commits(producer)

    assert not producer.producer.may_poll()

    settle(world)

    assert {T0: (b"0/0/0", b"0/0/1"), T1: ()} == read(world)


@versions
def test_an_empty_transaction_sends_no_request(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Where nothing was sent the end is settled by the producer itself."""
    world.application_begins(producer)
    world.application_commits(producer)

    assert (None, False) == (world.producer_asks(producer), bool(world.wires.requests.in_transit))
    assert producer.transaction.is_committed
    assert TransactionState.EMPTY == known(world).state


@versions
def test_calls_in_the_wrong_order(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Illegal calls raise and change nothing; the same call again waits for the first one."""
    with pytest.raises(IllegalState):
        world.application_sends(producer, T0)
    began(world, producer, T0)
    first = world.application_commits(producer)

    assert first is world.application_commits(producer)
    with pytest.raises(IllegalState):
        producer.producer.abort()
    with pytest.raises(IllegalState):
        world.application_sends(producer, T0)

    settle(world)

    assert {T0: (b"0/0/0",), T1: ()} == read(world)


# --- fencing ------------------------------------------------------------------------------------------------------


@versions
def test_the_next_instance_aborts_what_was_left_open(world: TransactionWorld, producer: ApplicationRun) -> None:
    """A crash leaves a transaction open; the next instance gets its identity only once that is aborted."""
    began(world, producer)
    world.application_crashes(producer)

    successor = started(world)
    began(world, successor, T0)
    ended(world, successor)

    assert {T0: (b"1/0/0",), T1: ()} == read(world)


@versions
def test_a_crashed_application_gets_no_answer(world: TransactionWorld, producer: ApplicationRun) -> None:
    """What an application has sent before it crashed still counts; it learns nothing of it."""
    began(world, producer)
    world.application_commits(producer)
    world.producer_asks(producer)
    world.application_crashes(producer)

    settle(world)

    assert (ClientState.COMMITTING_TRANSACTION, False) == (producer.producer.state, producer.transaction.is_committed)
    assert {T0: (b"0/0/0",), T1: (b"0/0/1",)} == read(world)


@versions
def test_a_zombie_is_fenced(world: TransactionWorld, producer: ApplicationRun) -> None:
    """An instance that is replaced in the middle of a transaction can neither commit it nor send more."""
    zombie = began(world, producer)
    successor = started(world)

    ended(world, zombie)

    assert ClientState.FATAL_ERROR == zombie.producer.state
    assert not zombie.transaction.is_committed
    assert {T0: (), T1: ()} == read(world)
    with pytest.raises(ProducerFailed):
        world.application_aborts(zombie)
    assert ClientState.READY == successor.producer.state


@versions
def test_data_of_a_zombie(world: TransactionWorld, producer: ApplicationRun) -> None:
    """A batch of a replaced instance is refused where its transaction was, and fails the rest of it."""
    zombie = began(world, producer, T0)
    started(world)

    late = world.application_sends(zombie, T0)
    settle(world)

    assert (False, ClientState.ABORTABLE_ERROR) == (late.batch.outcome, zombie.producer.state)
    assert ErrorCode.INVALID_PRODUCER_EPOCH == zombie.producer.manager.machine.error


# --- timeouts and exhausted epochs ----------------------------------------------------------------------------------


def paused_until_aborted(world: TransactionWorld, producer: ApplicationRun) -> None:
    """The producer pauses for so long that its transaction is aborted."""
    began(world, producer)
    world.clock.advance(TIMEOUT_MS + 1)
    world.coordinator_aborts_timed_out(0)
    settle(world)


@versions
def test_a_transaction_that_takes_too_long(world: TransactionWorld, producer: ApplicationRun) -> None:
    """It is aborted, its epoch goes up, and a reader goes past it."""
    paused_until_aborted(world, producer)

    assert (TransactionState.COMPLETE_ABORT, 1) == (known(world).state, known(world).epoch)
    assert 2 == world.brokers.partitions[T0].leader.last_stable


@versions
def test_a_paused_producer_cannot_commit(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Whatever the version, a commit after the timeout is fatal and nothing becomes visible."""
    paused_until_aborted(world, producer)

    ended(world, producer)

    assert (ClientState.FATAL_ERROR, False) == (producer.producer.state, producer.transaction.is_committed)
    assert {T0: (), T1: ()} == read(world)


@versions
def test_a_paused_producer_that_aborts(world: TransactionWorld, producer: ApplicationRun) -> None:
    """Under versions 0 and 1 its abort is fatal; under 2 it takes over the epoch of the timeout and continues."""
    paused_until_aborted(world, producer)

    ended(world, producer, commit=False)

    if world.profile.transaction_version < 2:
        assert (ClientState.FATAL_ERROR, ErrorCode.PRODUCER_FENCED) == (
            producer.producer.state,
            producer.producer.manager.machine.error,
        )
        return
    assert (ClientState.READY, (0, 1)) == (producer.producer.state, producer.producer.manager.identity)
    began(world, producer, T0)
    ended(world, producer)
    assert {T0: (b"0/1/2",), T1: ()} == read(world)


@pytest.mark.parametrize("epoch", [32765, 32766], ids=str)
def test_the_last_epoch_rotates_the_producer_id(epoch: int) -> None:
    """When no epoch is left the next transaction has another producer id, and no record is lost on the way."""
    world = new_world()
    world.recorder.observer = None  # no step shows the epoch that is moved here by hand
    producer = started(world)
    coordinator = world.brokers.nodes[0].transactions
    entry = coordinator.states.known(ID)
    entry.metadata = entry.metadata._replace(epoch=Epoch(epoch - 1))
    world.application_crashes(producer)
    producer = started(world)
    assert (0, epoch) == producer.producer.manager.identity

    identities = []
    for _ in range(3):
        began(world, producer, T0)
        ended(world, producer)
        identities.append(producer.producer.manager.identity)

    after = [(0, 32766), (1, 0), (1, 1), (1, 2)]
    assert after[epoch == 32766 :][:3] == identities
    assert {T0: (b"1/0/0", b"1/1/1", b"1/2/2"), T1: ()} == read(world)


@versions
def test_an_id_that_is_forgotten(world: TransactionWorld, producer: ApplicationRun) -> None:
    """After a week at rest the id is forgotten: its producer is refused, and the next one has a new producer id."""
    began(world, producer)
    ended(world, producer)
    world.clock.advance(world.shape.id_expiration_ms)
    world.coordinator_expires_ids(0)

    world.application_begins(producer)
    world.application_sends(producer, T0)
    settle(world, 20)

    assert ClientState.FATAL_ERROR == producer.producer.state
    assert ErrorCode.INVALID_PRODUCER_ID_MAPPING == producer.producer.manager.machine.error
    assert ProducerIdentity(ProducerId(1), Epoch(0)) == started(world).producer.manager.identity


# --- failures of the network and of partitions ----------------------------------------------------------------------


@versions
def test_an_answer_to_the_end_is_lost(world: TransactionWorld, producer: ApplicationRun) -> None:
    """The producer looks for the coordinator, asks again, and learns the outcome."""
    began(world, producer)
    world.application_commits(producer)
    world.producer_asks(producer)
    deliver_requests(world, is_end)
    world.reply_is_lost(world.wires.replies.in_transit[0])

    settle(world)

    assert producer.transaction.is_committed
    assert {T0: (b"0/0/0",), T1: (b"0/0/1",)} == read(world)


@versions
@pytest.mark.parametrize("arrives", [True, False], ids=["answer-lost", "request-lost"])
def test_a_batch_is_lost(world: TransactionWorld, producer: ApplicationRun, arrives: bool) -> None:
    """It is sent again as it was, and is in the log once."""
    began(world, producer, T0)
    sent = world.application_sends(producer, T0)
    world.producer_sends(producer, T0)
    if arrives:
        deliver_requests(world, lambda request: True)
        world.reply_is_lost(world.wires.replies.in_transit[0])
    else:
        world.request_is_lost(world.wires.requests.in_transit[0])

    ended(world, producer)

    assert (2, True) == (sent.batch.attempts, sent.is_acknowledged)
    assert {T0: (b"0/0/0", b"0/0/1"), T1: ()} == read(world)


@versions
def test_a_delayed_end(world: TransactionWorld, producer: ApplicationRun) -> None:
    """An EndTxn that was given up ends the next transaction under versions 0 and 1 (KAFKA-17754), not under 2."""
    began(world, producer, T0)
    world.application_aborts(producer)
    world.producer_asks(producer)
    (delayed,) = world.wires.requests.in_transit
    world.sender_stops_waiting(delayed.payload)
    world.wires.requests.lose(delayed)
    settle(world)
    assert producer.transaction.is_aborted

    began(world, producer, T0)
    world.wires.requests.send("late", delayed.payload)
    settle(world)

    aborted_by_mistake = world.profile.transaction_version < 2
    assert aborted_by_mistake == (TransactionState.COMPLETE_ABORT == known(world).state)


@versions
def test_a_partition_that_is_away_delays_only_itself(world: TransactionWorld, producer: ApplicationRun) -> None:
    """The other partition has its marker; the transaction is complete when the missing one is back."""
    began(world, producer)
    world.partition_loses_leader(T1)

    world.application_commits(producer)
    settle(world, 20)

    assert producer.transaction.is_committed
    assert {T0: (b"0/0/0",), T1: ()} == read(world)
    assert TransactionState.PREPARE_COMMIT == known(world).state

    world.partition_regains_leader(T1)
    settle(world)

    assert {T0: (b"0/0/0",), T1: (b"0/0/1",)} == read(world)
    assert TransactionState.COMPLETE_COMMIT == known(world).state


@versions
def test_the_next_transaction_waits_for_the_markers(world: TransactionWorld, producer: ApplicationRun) -> None:
    """The producer gets its commit before the markers; its next records wait until they are written."""
    began(world, producer, T0)
    decided(world, producer)
    assert producer.transaction.is_committed

    world.application_begins(producer)
    world.application_sends(producer, T0)
    world.producer_asks(producer)
    for partition in world.sendable(producer):
        world.producer_sends(producer, partition)
    for _ in range(3):
        deliver_requests(world, lambda request: not is_marker(request))
        deliver_replies(world)

    assert (1, None) == (world.brokers.partitions[T0].leader.log_end, producer.transaction.batches[0].batch.outcome)

    settle(world)
    ended(world, producer)

    assert {T0: (b"0/0/0", b"0/1/1"), T1: ()} == read(world)


def test_a_late_marker_is_refused_under_version_2() -> None:
    """A copy of a marker that arrives in the next transaction ends nothing."""
    world = new_world()
    producer = began(world, started(world), T0)
    decided(world, producer)
    world.coordinator_sends_markers(0)
    (marker,) = world.wires.requests.in_transit
    world.broker_receives(marker, leave_copy=True)
    (copy,) = world.wires.requests.in_transit
    world.wires.requests.lose(copy)
    settle(world)

    began(world, producer, T0)
    world.wires.requests.send("late", copy.payload)
    settle(world)
    ended(world, producer)

    assert {T0: (b"0/0/0", b"0/1/1"), T1: ()} == read(world)


@versions
def test_a_leader_that_is_replaced_in_the_middle(profile: Profile) -> None:
    """With two replicas the new leader knows the transaction; what it had not copied is sent again."""
    world = new_world(profile, TransactionShape(replicas=2))
    producer = began(world, started(world), T0)
    world.application_sends(producer, T0)
    world.producer_sends(producer, T0)
    deliver_requests(world, lambda request: True)
    world.leader_fails_over(T0, 1)

    ended(world, producer)

    assert {T0: (b"0/0/0", b"0/0/1"), T1: ()} == read(world)


@versions
@pytest.mark.parametrize("written", [True, False], ids=["written", "not-written"])
def test_an_append_to_the_coordinators_log_fails(
    world: TransactionWorld, producer: ApplicationRun, written: bool
) -> None:
    """Its memory goes back; the decision that timed out after it was written is found by the next coordinator."""
    began(world, producer)
    world.coordinator_log_fails(0, NotEnoughReplicas(), written=written)
    world.application_commits(producer)
    world.producer_asks(producer)
    deliver_requests(world, is_end)
    assert TransactionState.ONGOING == known(world).state

    world.coordinator_fails_over(0, 1)

    assert known(world).state == (TransactionState.PREPARE_COMMIT if written else TransactionState.ONGOING)
    settle(world)
    assert producer.transaction.is_committed
    assert {T0: (b"0/0/0",), T1: (b"0/0/1",)} == read(world)


@versions
def test_an_append_fails_and_the_coordinator_stays(world: TransactionWorld, producer: ApplicationRun) -> None:
    """The producer asks again, and the transaction is decided once."""
    began(world, producer)
    world.coordinator_log_fails(0, NotEnoughReplicas(), written=True)

    ended(world, producer)

    assert producer.transaction.is_committed
    assert {T0: (b"0/0/0",), T1: (b"0/0/1",)} == read(world)
