"""InitProducerId, row by row."""

import pytest

from model_tests.unit.reference.broker.coordinated import ID, TIMEOUT_MS, CoordinatedBroker, identity
from reference.broker.coordinator_errors import ConcurrentTransactions, InvalidTransactionTimeout, UnknownServerError
from reference.broker.ids import ProducerIdentity
from reference.broker.transaction_api import NO_IDENTITY, handle_init_producer_id
from reference.errors import InvalidRequest, ProducerFenced
from spec.versions import KAFKA_3_9, KAFKA_4_0, KAFKA_4_1, KAFKA_4_2, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import MAX_EPOCH, NO_TIMESTAMP, ErrorCode, TransactionState

AT_REST = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def by_name(value: object) -> str:
    return value.name.lower() if isinstance(value, TransactionState) else str(value)


def test_without_a_transactional_id() -> None:
    """Every client without a transactional id gets a producer id of its own, whatever else the request has."""
    coordinator = CoordinatedBroker().coordinator

    first = coordinator.init_producer_id(None, -5)
    second = coordinator.init_producer_id(None, -5)

    assert (0, 0) == (first.epoch, second.epoch)
    assert first.producer_id != second.producer_id


def test_the_empty_transactional_id() -> None:
    """The empty string is no transactional id."""
    with pytest.raises(InvalidRequest):
        CoordinatedBroker().coordinator.init_producer_id("", TIMEOUT_MS)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_out_of_range(timeout_ms: int) -> None:
    """A timeout is positive and at most the broker's longest."""
    with pytest.raises(InvalidTransactionTimeout):
        CoordinatedBroker().init(timeout_ms=timeout_ms)


@pytest.mark.parametrize("expected", [identity(-1, 0), identity(7, -1)], ids=["no-id", "no-epoch"])
def test_half_an_expected_identity(expected: ProducerIdentity) -> None:
    """An expected identity has both its parts or none."""
    answer = handle_init_producer_id(CoordinatedBroker().coordinator, 4, ID, TIMEOUT_MS, expected)

    assert (ErrorCode.INVALID_REQUEST, NO_IDENTITY) == answer


def test_a_new_id() -> None:
    """The first producer of an id has epoch 0, and the log knows it."""
    world = CoordinatedBroker()

    first = world.init()

    assert 0 == first.epoch
    assert [(first.producer_id, 0, TransactionState.EMPTY)] == [
        (written.producer_id, written.epoch, written.state) for written in world.written()
    ]


def test_a_new_id_takes_any_expected_identity() -> None:
    """What the coordinator has never seen it does not fence."""
    assert 0 == CoordinatedBroker().init(expected=(99, 17)).epoch


def test_pending() -> None:
    """While a change is under way the client tries again."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY).pending = TransactionState.ONGOING

    with pytest.raises(ConcurrentTransactions):
        world.init()


@pytest.mark.parametrize("state", PREPARED, ids=by_name)
def test_prepared(state: TransactionState) -> None:
    """A decided transaction is completed first."""
    world = CoordinatedBroker()
    world.put(state)

    with pytest.raises(ConcurrentTransactions):
        world.init()


@pytest.mark.parametrize("state", AT_REST, ids=by_name)
def test_the_next_epoch(state: TransactionState) -> None:
    """A producer that starts gets the next epoch, and the one before is not remembered."""
    world = CoordinatedBroker()
    world.put(state)

    assert identity(7, 6) == world.init()
    assert -1 == world.metadata().last_epoch


@pytest.mark.parametrize("state", AT_REST, ids=by_name)
def test_the_next_epoch_after_the_expected_one(state: TransactionState) -> None:
    """A producer that continues gets the next epoch, and may ask again with the one it had."""
    world = CoordinatedBroker()
    world.put(state)

    first = world.init(expected=(7, 5))
    again = world.init(expected=(7, 5))

    assert identity(7, 6) == first == again
    assert 5 == world.metadata().last_epoch


@pytest.mark.parametrize("expected", [(7, 3), (7, 6), (8, 5)], ids=["older", "newer", "other-id"])
def test_another_identity_than_expected(expected: tuple[int, int]) -> None:
    """A producer with another identity than the newest is fenced."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)

    with pytest.raises(ProducerFenced):
        world.init(expected=expected)


def test_an_ongoing_transaction_is_aborted_first() -> None:
    """The open transaction of another instance is aborted with a higher epoch, and the client tries again."""
    world = CoordinatedBroker(KAFKA_3_9)
    world.put(TransactionState.ONGOING)

    with pytest.raises(ConcurrentTransactions):
        world.init()
    decided = world.metadata()
    world.coordinator.send_markers()

    assert (TransactionState.PREPARE_ABORT, 6) == (decided.state, decided.epoch)
    assert TransactionState.COMPLETE_ABORT == world.metadata().state
    assert identity(7, 7) == world.init()


@pytest.mark.parametrize(
    ("profile", "epoch"),
    [(KAFKA_3_9, 6), (SNAPSHOT_4_0.under(1), 6), (SNAPSHOT_4_0, 7), (NEWEST.under(0), 6), (NEWEST, 6)],
    ids=["3.9", "4.0-SNAPSHOT-1", "4.0-SNAPSHOT-2", "4.3-0", "4.3-2"],
)
def test_a_fence_bumps(profile: Profile, epoch: int) -> None:
    """A fence takes the epoch up by one; the snapshot of 4.0 does it twice under version 2 (KAFKA-19367)."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.ONGOING)

    with pytest.raises(ConcurrentTransactions):
        world.init()

    assert epoch == world.metadata().epoch


@pytest.mark.parametrize(
    ("profile", "fenced"),
    [(KAFKA_3_9, True), (SNAPSHOT_4_0, True), (NEWEST, False)],
    ids=["3.9", "4.0-SNAPSHOT", "4.3"],
)
def test_a_producer_that_fences_itself(profile: Profile, fenced: bool) -> None:
    """Going on over one's own open transaction ends in a fence, except under version 2 since 4.0."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.ONGOING)
    with pytest.raises(ConcurrentTransactions):
        world.init(expected=(7, 5))
    world.coordinator.send_markers()

    if fenced:
        with pytest.raises(ProducerFenced):
            world.init(expected=(7, 5))
    else:
        assert identity(7, 6) == world.init(expected=(7, 5))


@pytest.mark.parametrize("epoch", [MAX_EPOCH - 1, MAX_EPOCH])
def test_the_epochs_are_used_up(epoch: int) -> None:
    """From epoch 32766 on the next producer has a new producer id with epoch 0."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY, epoch)

    rotated = world.init()

    assert (0, 7) == (rotated.epoch, world.metadata().previous_producer_id)
    assert 7 != rotated.producer_id


def test_a_rotation_is_repeated_once() -> None:
    """Who lost the answer with the new producer id gets it with the old identity, but only once."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY, MAX_EPOCH - 1)
    rotated = world.init(expected=(7, MAX_EPOCH - 1))

    assert rotated == world.init(expected=(7, MAX_EPOCH - 1))
    with pytest.raises(ProducerFenced):
        world.init(expected=(7, MAX_EPOCH - 1))


@pytest.mark.parametrize("epoch", [MAX_EPOCH - 1, MAX_EPOCH])
def test_another_epoch_than_expected_where_all_are_used_up(epoch: int) -> None:
    """Where the epochs are used up, another expected epoch runs into the broker's own check."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY, epoch)

    with pytest.raises(UnknownServerError):
        world.init(expected=(7, epoch - 1))
    assert (TransactionState.EMPTY, epoch) == (world.metadata().state, world.metadata().epoch)


def test_an_ongoing_transaction_at_the_last_epoch() -> None:
    """Before 4.3 an open transaction at epoch 32767 is stuck; since then it is aborted without a bump."""
    stuck, recovers = CoordinatedBroker(KAFKA_4_2), CoordinatedBroker(NEWEST)
    for world in (stuck, recovers):
        world.put(TransactionState.ONGOING, MAX_EPOCH)

    with pytest.raises(UnknownServerError):
        stuck.init()
    with pytest.raises(ConcurrentTransactions):
        recovers.init()

    assert TransactionState.ONGOING == stuck.metadata().state
    assert (TransactionState.PREPARE_ABORT, MAX_EPOCH) == (recovers.metadata().state, recovers.metadata().epoch)


def test_two_bumps_leave_the_last_epoch_behind() -> None:
    """KAFKA-19367: fencing epoch 32766 twice overflows; memory keeps epoch 32767, the log knows nothing of it."""
    world = CoordinatedBroker(SNAPSHOT_4_0)
    world.put(TransactionState.ONGOING, MAX_EPOCH - 1)

    with pytest.raises(UnknownServerError):
        world.init()

    assert (TransactionState.ONGOING, MAX_EPOCH) == (world.metadata().state, world.metadata().epoch)
    assert () == world.written()


@pytest.mark.parametrize(("profile", "in_memory"), [(KAFKA_4_0, 1000), (KAFKA_4_1, NO_TIMESTAMP)], ids=["4.0", "4.1"])
def test_the_start_time_of_the_transaction_before(profile: Profile, in_memory: int) -> None:
    """The log shows that no transaction has begun; before 4.1 memory keeps the start of the one before all the same."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.COMPLETE_COMMIT)

    world.init()

    assert in_memory == world.metadata().started_ms
    assert [NO_TIMESTAMP] == [written.started_ms for written in world.written()]


@pytest.mark.parametrize(
    ("version", "error"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)],
    ids=["3", "4"],
)
def test_old_clients_know_no_fence(version: int, error: ErrorCode) -> None:
    """Before version 4 a fenced producer gets the error of an invalid epoch."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)

    answer = handle_init_producer_id(world.coordinator, version, ID, TIMEOUT_MS, identity(7, 1))

    assert (error, NO_IDENTITY) == answer
