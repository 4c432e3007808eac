"""The errors that a producer gets when its partition is not in the transaction."""

import pytest

from model_tests.unit.reference.broker.coordinated import ID, T0, CoordinatedBroker, identity
from model_tests.unit.support.append_decisions import NUMBERS, produced
from reference.broker.produce import PartitionAnswer, ProduceRequest, handle_produce
from reference.broker.transaction_log import AppendFault
from reference.broker.verification import ProduceVerification
from reference.errors import NotEnoughReplicas
from reference.log.batch import value_batch
from spec.versions import KAFKA_3_9, KAFKA_3_9_UNVERIFIED, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import CoordinatorEpoch, ErrorCode, TransactionState


def produce(
    world: CoordinatedBroker, epoch: int = 5, version: int = 9, producer_id: int = 7, name: str = ID
) -> PartitionAnswer:
    """Produce one transactional record to partition 0."""
    batch = value_batch([b"v"], producer_id=producer_id, epoch=epoch, base_sequence=0, transactional=True)
    return produced(world, {0: (batch,)}, version, name)[0]


def test_a_registered_partition() -> None:
    """Data of a partition in the transaction is appended, and opens the transaction there."""
    world = CoordinatedBroker(KAFKA_3_9)
    world.put(TransactionState.ONGOING)

    assert ErrorCode.NONE == produce(world).error
    assert 0 == world.partitions[T0].last_stable


@pytest.mark.parametrize(
    ("version", "error"),
    [(10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)],
    ids=["10", "11"],
)
def test_a_partition_that_is_not_registered(version: int, error: ErrorCode) -> None:
    """Without registration nothing is appended; the error depends on the version of Produce."""
    world = CoordinatedBroker(KAFKA_3_9)
    world.put(TransactionState.EMPTY)

    assert error == produce(world, version=version).error
    assert 0 == world.partitions[T0].log_end


def test_the_broker_registers_for_new_clients() -> None:
    """From version 12 of Produce on the broker itself puts the partition into the transaction."""
    world = CoordinatedBroker(NEWEST)
    world.put(TransactionState.EMPTY)

    assert ErrorCode.NONE == produce(world, version=12).error
    assert (TransactionState.ONGOING, frozenset({T0}), 2) == (
        world.metadata().state,
        world.metadata().partitions,
        world.metadata().client_version,
    )


@pytest.mark.parametrize(
    ("state", "epoch", "producer_id", "error"),
    [
        (TransactionState.ONGOING, 4, 7, ErrorCode.INVALID_PRODUCER_EPOCH),
        (TransactionState.ONGOING, 5, 8, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (TransactionState.PREPARE_COMMIT, 5, 7, ErrorCode.NOT_ENOUGH_REPLICAS),
    ],
    ids=["fenced", "other-id", "decided"],
)
def test_the_coordinators_errors(state: TransactionState, epoch: int, producer_id: int, error: ErrorCode) -> None:
    """A producer gets errors that it knows: a fence as an invalid epoch, a wait as a retriable error."""
    world = CoordinatedBroker(KAFKA_3_9)
    world.put(state)

    assert error == produce(world, epoch, producer_id=producer_id).error


def test_a_new_client_waits_by_name() -> None:
    """A client of Produce 12 gets the error about the transaction before."""
    world = CoordinatedBroker(NEWEST)
    world.put(TransactionState.PREPARE_COMMIT)

    assert ErrorCode.CONCURRENT_TRANSACTIONS == produce(world, version=12).error


def test_a_coordinator_that_loads() -> None:
    """While the coordinator reads its log the producer tries again."""
    world = CoordinatedBroker(KAFKA_3_9)
    world.coordinator.states.begin_loading(0, CoordinatorEpoch(1))

    assert ErrorCode.NOT_ENOUGH_REPLICAS == produce(world).error


def test_a_registration_that_fails() -> None:
    """Where the coordinator's log does not take the registration the producer tries again."""
    world = CoordinatedBroker(NEWEST)
    world.put(TransactionState.EMPTY)
    world.log.faults.append(AppendFault(NotEnoughReplicas()))

    assert ErrorCode.NOT_ENOUGH_REPLICAS == produce(world, version=12).error


def test_the_empty_transactional_id() -> None:
    """The empty string is no transactional id."""
    assert ErrorCode.INVALID_REQUEST == produce(CoordinatedBroker(KAFKA_3_9), name="").error


def test_the_setting_turns_it_off() -> None:
    """Without verification a late batch opens a transaction that never ends."""
    world = CoordinatedBroker(KAFKA_3_9_UNVERIFIED)
    world.put(TransactionState.EMPTY)

    assert ErrorCode.NONE == produce(world).error
    assert 0 == world.partitions[T0].last_stable


@pytest.mark.parametrize(
    ("profile", "error"),
    [(SNAPSHOT_4_0, ErrorCode.INVALID_TXN_STATE), (NEWEST, ErrorCode.INVALID_PRODUCER_EPOCH)],
    ids=["snapshot", "4.3"],
)
def test_a_stale_epoch_is_reported_first(profile: Profile, error: ErrorCode) -> None:
    """Since 4.1 a partition that knows a higher epoch refuses without asking the coordinator (KAFKA-18042)."""
    world = CoordinatedBroker(profile)
    world.put(TransactionState.EMPTY, 3)
    world.partitions[T0].append(value_batch([b"v"], producer_id=7, epoch=4, base_sequence=0))

    assert error == produce(world, epoch=3).error


def test_an_open_transaction_is_not_verified_again() -> None:
    """Only the first batch of a transaction is verified."""
    world = CoordinatedBroker(KAFKA_3_9)
    world.put(TransactionState.ONGOING)
    produce(world)
    world.coordinator.resign(0)
    batch = value_batch([b"w"], producer_id=7, epoch=5, base_sequence=1, transactional=True)

    assert ErrorCode.NONE == produced(world, {0: (batch,)})[0].error


def test_two_producers_in_one_request() -> None:
    """A request is verified for one producer; with two in it nothing is appended."""
    world = CoordinatedBroker(KAFKA_3_9)
    world.put(TransactionState.ONGOING)
    batches = {
        number: (value_batch([b"v"], producer_id=7 + number, epoch=5, base_sequence=0, transactional=True),)
        for number in NUMBERS
    }

    answers = produced(world, batches)

    assert {ErrorCode.INVALID_PRODUCER_ID_MAPPING} == {answer.error for answer in answers.values()}


def test_the_guard_is_the_coordinators_word() -> None:
    """A marker between question and append takes the guard away, and the batch is refused (KAFKA-14884)."""
    world = CoordinatedBroker(KAFKA_3_9)
    world.put(TransactionState.ONGOING)
    partitions = {0: world.partitions[T0]}
    verify = ProduceVerification(world.profile, world.coordinator, partitions, NUMBERS, 9, world.clock.now)
    batch = value_batch([b"v"], producer_id=7, epoch=5, base_sequence=0, transactional=True)
    guard = verify(ID, 0, batch)
    world.end(identity(7, 5), commit=False, version=0)
    world.coordinator.send_markers()

    answer = handle_produce(world.profile, partitions, ProduceRequest({0: (batch,)}, ID, -1, 9, {0: guard}))[0]

    assert ErrorCode.INVALID_TXN_STATE == answer.error
