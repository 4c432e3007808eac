"""The coordinator as a whole: markers, time, and what a crash leaves at every durable point."""

import pytest

from model_tests.unit.reference.broker.coordinated import (
    EXPIRATION_MS,
    ID,
    T0,
    T1,
    TIMEOUT_MS,
    CoordinatedBroker,
    identity,
)
from reference.broker.coordinator_errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerIdMapping,
    NotCoordinator,
    TransactionalIdNotFound,
    UnknownServerError,
)
from reference.broker.transaction_log import AppendFault
from reference.broker.transaction_timeouts import abort_timed_out, expire_ids, next_change
from reference.errors import (
    Impossible,
    InvalidProducerEpoch,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    ProducerFenced,
    Refusal,
)
from spec.versions import KAFKA_3_9, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import CoordinatorEpoch, ErrorCode, TransactionState


class MessageTooLarge(Refusal):
    """The record is larger than the log takes."""

    code = ErrorCode.MESSAGE_TOO_LARGE


BOTH = pytest.mark.parametrize("profile", [KAFKA_3_9, NEWEST], ids=["0", "2"])


def begun(world: CoordinatedBroker) -> None:
    """Producer 0 with an open transaction of one record in each partition."""
    first = world.init()
    world.begin(first, (T0, T1))
    for partition in (T0, T1):
        world.write_data(first, partition)


# --- markers --------------------------------------------------------------------------------------------------------


@BOTH
def test_a_commit_reaches_every_partition(profile: Profile) -> None:
    """After the markers nothing is open, and the id is complete."""
    world = CoordinatedBroker(profile)
    begun(world)

    world.end(identity(0, 0))
    before = [partition.last_stable for partition in world.partitions.values()]
    world.coordinator.send_markers()

    assert [0, 0] == before
    assert [2, 2] == [partition.last_stable for partition in world.partitions.values()]
    assert (TransactionState.COMPLETE_COMMIT, frozenset()) == (world.metadata().state, world.metadata().partitions)


def test_the_client_is_answered_before_the_markers() -> None:
    """The answer comes with the decision; until the end everybody waits."""
    world = CoordinatedBroker()
    begun(world)
    world.end(identity(0, 0))

    with pytest.raises(ConcurrentTransactions):
        world.begin(identity(0, 1))
    world.coordinator.send_markers()
    world.begin(identity(0, 1))

    assert TransactionState.ONGOING == world.metadata().state


def test_an_unavailable_partition_is_tried_again() -> None:
    """A partition without leader gets its marker later; the others have theirs, once."""
    world = CoordinatedBroker()
    begun(world)
    world.refusing[T0] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.end(identity(0, 0))
    world.coordinator.send_markers()

    waiting = world.metadata().partitions
    world.refusing.clear()
    world.coordinator.send_markers()

    assert frozenset({T0}) == waiting
    assert TransactionState.COMPLETE_COMMIT == world.metadata().state
    assert [2, 2] == [partition.log_end for partition in world.partitions.values()]


def test_a_deleted_partition_is_left_out() -> None:
    """A partition that no longer exists needs no marker."""
    world = CoordinatedBroker()
    begun(world)
    world.refusing[T0] = None

    world.end(identity(0, 0))
    world.coordinator.send_markers()

    assert TransactionState.COMPLETE_COMMIT == world.metadata().state


@pytest.mark.parametrize("error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_refused_marker_leaves_the_id_prepared(error: ErrorCode) -> None:
    """Where a newer coordinator is at work all sending stops, and the id waits for another coordinator."""
    world = CoordinatedBroker()
    begun(world)
    world.refusing[T0] = error
    world.end(identity(0, 0))
    world.coordinator.send_markers()
    world.refusing.clear()
    world.coordinator.send_markers()

    with pytest.raises(ConcurrentTransactions):
        world.init()

    assert (TransactionState.PREPARE_COMMIT, frozenset({T0})) == (world.metadata().state, world.metadata().partitions)


def test_an_answer_that_no_marker_can_have() -> None:
    """An error that WriteTxnMarkers does not know is our own bug."""
    world = CoordinatedBroker()
    begun(world)
    world.refusing[T0] = ErrorCode.INVALID_RECORD
    world.end(identity(0, 0))

    with pytest.raises(Impossible):
        world.coordinator.send_markers()


def test_the_end_is_written_again() -> None:
    """If the log does not take the end of a transaction, it is tried again; no marker is written twice."""
    world = CoordinatedBroker()
    begun(world)
    world.end(identity(0, 0))
    world.log.faults.append(AppendFault(NotEnoughReplicas()))
    world.coordinator.send_markers()
    failed = world.metadata().state
    world.coordinator.send_markers()

    assert TransactionState.PREPARE_COMMIT == failed
    assert TransactionState.COMPLETE_COMMIT == world.metadata().state
    assert [2, 2] == [partition.log_end for partition in world.partitions.values()]


# --- time -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "epoch"), [(KAFKA_3_9, 1), (SNAPSHOT_4_0, 2), (NEWEST, 1)], ids=["3.9", "snapshot", "4.3"]
)
def test_a_timeout_aborts_and_fences(profile: Profile, epoch: int) -> None:
    """An open transaction past its timeout is aborted under a higher epoch; its producer is fenced."""
    world = CoordinatedBroker(profile)
    begun(world)
    world.clock.advance(TIMEOUT_MS)
    abort_timed_out(world.coordinator)
    in_time = world.metadata().state
    world.clock.advance(1)
    abort_timed_out(world.coordinator)
    world.coordinator.send_markers()

    assert TransactionState.ONGOING == in_time
    assert (TransactionState.COMPLETE_ABORT, epoch) == (world.metadata().state, world.metadata().epoch)
    with pytest.raises(ProducerFenced):
        world.begin(identity(0, 0))


@pytest.mark.parametrize(("profile", "adopts"), [(KAFKA_3_9, False), (NEWEST, True)], ids=["0", "2"])
def test_a_client_that_slept_through_its_timeout(profile: Profile, adopts: bool) -> None:
    """Its abort is fatal under versions 0 and 1; under version 2 it takes over the fencing epoch and continues."""
    world = CoordinatedBroker(profile)
    begun(world)
    world.clock.advance(TIMEOUT_MS + 1)
    abort_timed_out(world.coordinator)
    world.coordinator.send_markers()

    if adopts:
        assert identity(0, 1) == world.end(identity(0, 0), commit=False)
    else:
        with pytest.raises(ProducerFenced):
            world.end(identity(0, 0), commit=False)


def test_a_fence_that_failed_is_not_repeated() -> None:
    """KAFKA-9666: under versions 0 and 1 a fence whose abort the log refused keeps its one bump."""
    world = CoordinatedBroker(KAFKA_3_9)
    begun(world)
    world.clock.advance(TIMEOUT_MS + 1)
    world.log.faults += [AppendFault(NotEnoughReplicas())] * 2

    epochs = []
    for _ in range(3):
        abort_timed_out(world.coordinator)
        epochs.append(world.metadata().epoch)

    assert [1, 1, 1] == epochs
    assert TransactionState.PREPARE_ABORT == world.metadata().state


def test_a_fence_that_failed_under_version_2() -> None:
    """Under version 2 the abort itself bumps: if the log refuses it, no epoch is used up."""
    world = CoordinatedBroker()
    begun(world)
    world.clock.advance(TIMEOUT_MS + 1)
    world.log.faults.append(AppendFault(NotEnoughReplicas()))

    abort_timed_out(world.coordinator)
    failed = world.metadata()
    abort_timed_out(world.coordinator)

    assert (TransactionState.ONGOING, 0) == (failed.state, failed.epoch)
    assert (TransactionState.PREPARE_ABORT, 1) == (world.metadata().state, world.metadata().epoch)


@pytest.mark.parametrize(
    "state", [TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT]
)
def test_an_idle_id_is_forgotten(state: TransactionState) -> None:
    """An id at rest expires; its next producer has a new producer id."""
    world = CoordinatedBroker()
    world.put(state)
    world.clock.advance(EXPIRATION_MS - 1)
    expire_ids(world.coordinator)
    world.metadata()
    world.clock.advance(1)
    expire_ids(world.coordinator)

    with pytest.raises(TransactionalIdNotFound):
        world.metadata()
    with pytest.raises(InvalidProducerIdMapping):
        world.begin(identity(7, 5))
    assert () == world.written()
    assert 7 != world.init().producer_id


@pytest.mark.parametrize(
    "state", [TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT]
)
def test_a_busy_id_stays(state: TransactionState) -> None:
    """An id with a transaction does not expire."""
    world = CoordinatedBroker()
    world.put(state)
    world.clock.advance(EXPIRATION_MS)
    expire_ids(world.coordinator)

    assert state == world.metadata().state


def test_a_tombstone_that_failed() -> None:
    """An id whose tombstone the log refused is still there."""
    world = CoordinatedBroker()
    first = world.init()
    world.clock.advance(EXPIRATION_MS)
    world.log.faults.append(AppendFault(NotEnoughReplicas()))
    expire_ids(world.coordinator)

    world.begin(first)

    assert TransactionState.ONGOING == world.metadata().state


def test_what_an_id_does_by_itself() -> None:
    """An open transaction is aborted one millisecond after its timeout, an id at rest forgotten in time."""
    world = CoordinatedBroker()
    first = world.init()
    at_rest = next_change(world.coordinator, ID)
    world.begin(first)

    assert (1000 + EXPIRATION_MS, 1000 + TIMEOUT_MS + 1) == (at_rest, next_change(world.coordinator, ID))


# --- crashes --------------------------------------------------------------------------------------------------------


@BOTH
def test_a_crash_before_the_decision(profile: Profile) -> None:
    """The transaction is still open, and its client can end it with the new coordinator."""
    world = CoordinatedBroker(profile)
    begun(world)
    world.crash(1)

    world.end(identity(0, 0))
    world.coordinator.send_markers()

    assert TransactionState.COMPLETE_COMMIT == world.metadata().state
    assert [2, 2] == [partition.last_stable for partition in world.partitions.values()]


@BOTH
@pytest.mark.parametrize("reached", [0, 1, 2])
def test_a_crash_after_the_decision(profile: Profile, reached: int) -> None:
    """The outcome stays, with any number of markers written; the new coordinator writes them all."""
    world = CoordinatedBroker(profile)
    begun(world)
    world.refusing = dict.fromkeys((T0, T1)[reached:], ErrorCode.NETWORK_EXCEPTION)
    world.end(identity(0, 0))
    if reached == 2:
        world.log.faults.append(AppendFault(NotEnoughReplicas()))
    world.coordinator.send_markers()
    world.refusing.clear()
    world.crash(1)
    world.coordinator.send_markers()

    assert TransactionState.COMPLETE_COMMIT == world.metadata().state
    assert [2, 2] == [partition.last_stable - (partition.log_end - 2) for partition in world.partitions.values()]
    assert [1, 1] == [
        producer.coordinator_epoch
        for partition in world.partitions.values()
        for producer in partition.describe_producers()
    ]


@BOTH
def test_a_retry_after_the_crash(profile: Profile) -> None:
    """A client that lost the answer asks the new coordinator: it waits, then it is done."""
    world = CoordinatedBroker(profile)
    begun(world)
    world.end(identity(0, 0))
    world.crash(1)

    with pytest.raises(ConcurrentTransactions):
        world.end(identity(0, 0))
    world.coordinator.send_markers()

    assert identity(0, 0 if profile is KAFKA_3_9 else 1) == world.end(identity(0, 0))


def test_the_log_ahead_of_memory() -> None:
    """A record that was written although the append failed is what a new coordinator finds."""
    world = CoordinatedBroker()
    begun(world)
    world.log.faults.append(AppendFault(NotEnoughReplicas(), written=True))

    with pytest.raises(CoordinatorNotAvailable):
        world.end(identity(0, 0))
    in_memory = world.metadata().state
    world.crash(1)

    assert TransactionState.ONGOING == in_memory
    assert TransactionState.PREPARE_COMMIT == world.metadata().state


@pytest.mark.parametrize(
    ("refusal", "reported"),
    [
        (NotEnoughReplicas(), CoordinatorNotAvailable),
        (NotLeaderOrFollower(), NotCoordinator),
        (MessageTooLarge(), UnknownServerError),
        (InvalidProducerEpoch(), InvalidProducerEpoch),
    ],
    ids=["replicas", "leader", "size", "other"],
)
def test_what_a_client_is_reported_of_the_log(refusal: Refusal, reported: type[Refusal]) -> None:
    """The client gets the log's refusals as errors of the coordinator; those without such a name are returned as is."""
    world = CoordinatedBroker()
    world.log.faults.append(AppendFault(refusal))

    with pytest.raises(reported):
        world.init()


def test_a_retry_across_a_crash_is_fenced() -> None:
    """The last epoch is not in the log: a repeated InitProducerId is fenced by a new coordinator."""
    world = CoordinatedBroker()
    world.init()
    world.init(expected=(0, 0))
    world.crash(1)

    with pytest.raises(ProducerFenced):
        world.init(expected=(0, 0))


def test_a_coordinator_that_resigned() -> None:
    """A coordinator that another one replaced answers for nothing, and sends no marker."""
    world = CoordinatedBroker()
    begun(world)
    world.end(identity(0, 0))
    world.coordinator.resign(0)
    world.coordinator.send_markers()

    with pytest.raises(NotCoordinator):
        world.init()

    assert [1, 1] == [partition.log_end for partition in world.partitions.values()]


def test_a_coordinator_that_loads() -> None:
    """While its log is read a coordinator asks for patience."""
    world = CoordinatedBroker()
    world.coordinator.states.begin_loading(0, CoordinatorEpoch(5))

    with pytest.raises(CoordinatorLoadInProgress):
        world.init()


def test_an_election_needs_a_higher_epoch() -> None:
    """A coordinator epoch never repeats."""
    with pytest.raises(Impossible):
        CoordinatedBroker().coordinator.elect(0, CoordinatorEpoch(0))
