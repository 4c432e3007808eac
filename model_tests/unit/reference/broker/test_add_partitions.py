"""AddPartitionsToTxn and AddOffsetsToTxn, row by row; and the answers to a broker that only verifies."""

import pytest

from model_tests.unit.reference.broker.coordinated import ID, T0, T1, CoordinatedBroker, identity
from reference.broker.coordinator_errors import ConcurrentTransactions, InvalidProducerIdMapping
from reference.broker.transaction_api import (
    AddPartitionsRequest,
    handle_add_offsets,
    handle_add_partitions,
    list_transactions,
    offsets_partition_of,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.errors import InvalidRequest, ProducerFenced
from spec.versions import NEWEST, SNAPSHOT_4_0
from spec.vocabulary import ErrorCode, TransactionState

ONE = identity(7, 5)
AT_REST = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def by_name(state: TransactionState) -> str:
    return state.name.lower()


def test_unknown_id() -> None:
    """An id that no producer has begun with is unknown."""
    with pytest.raises(InvalidProducerIdMapping):
        CoordinatedBroker().begin(ONE)


def test_empty_id() -> None:
    """The empty string is no transactional id."""
    with pytest.raises(InvalidRequest):
        CoordinatedBroker().coordinator.add_partitions("", ONE, (T0,))


def test_pending() -> None:
    """A pending change is answered first since 4.0; before, producer id and epoch are checked first."""
    newest, older = CoordinatedBroker(NEWEST), CoordinatedBroker(SNAPSHOT_4_0)
    for world in (newest, older):
        world.put(TransactionState.EMPTY).pending = TransactionState.ONGOING

    with pytest.raises(ConcurrentTransactions):
        newest.begin(identity(7, 1))
    with pytest.raises(ProducerFenced):
        older.begin(identity(7, 1))
    with pytest.raises(ConcurrentTransactions):
        older.begin(ONE)


def test_another_producer_id() -> None:
    """The id has another producer id now."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)

    with pytest.raises(InvalidProducerIdMapping):
        world.begin(identity(8, 5))


@pytest.mark.parametrize("epoch", [4, 6], ids=["stale", "unknown"])
def test_another_epoch(epoch: int) -> None:
    """A producer with any other epoch than the newest is fenced."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)

    with pytest.raises(ProducerFenced):
        world.begin(identity(7, epoch))


@pytest.mark.parametrize("state", PREPARED, ids=by_name)
def test_prepared(state: TransactionState) -> None:
    """The transaction before is completed first."""
    world = CoordinatedBroker()
    world.put(state)

    with pytest.raises(ConcurrentTransactions):
        world.begin(ONE)


def test_known_partitions_are_not_written_again() -> None:
    """What is in the transaction already costs no record."""
    world = CoordinatedBroker()
    world.put(TransactionState.ONGOING)

    world.begin(ONE, (T0,))

    assert () == world.written()


def test_more_partitions() -> None:
    """More partitions join the open transaction, which keeps its start."""
    world = CoordinatedBroker()
    world.put(TransactionState.ONGOING)
    world.clock.advance(500)

    world.begin(ONE, (T1,))

    assert [(frozenset({T0, T1}), 1000, 1500)] == [
        (each.partitions, each.started_ms, each.updated_ms) for each in world.written()
    ]


@pytest.mark.parametrize("state", AT_REST, ids=by_name)
def test_the_first_partition_begins_a_transaction(state: TransactionState) -> None:
    """A transaction begins with its first partition."""
    world = CoordinatedBroker()
    world.put(state)
    world.clock.advance(500)

    world.begin(ONE)

    found = world.metadata()
    assert (TransactionState.ONGOING, frozenset({T0}), 1500) == (found.state, found.partitions, found.started_ms)


def test_a_missing_partition_fails_the_request() -> None:
    """If one partition does not exist, none is added."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)
    missing = TopicPartition("nope", 0)

    answer = handle_add_partitions(world.coordinator, AddPartitionsRequest(3, ID, ONE, (T0, missing)), {T0, T1})

    assert {T0: ErrorCode.OPERATION_NOT_ATTEMPTED, missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION} == answer
    assert TransactionState.EMPTY == world.metadata().state


@pytest.mark.parametrize(
    ("version", "error"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
    ids=["1", "2"],
)
def test_old_clients_know_no_fence(version: int, error: ErrorCode) -> None:
    """Before version 2 a fenced producer gets the error of an invalid epoch."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)

    answer = handle_add_partitions(world.coordinator, AddPartitionsRequest(version, ID, identity(7, 1), (T0,)), {T0})

    assert {T0: error} == answer


@pytest.mark.parametrize(("version", "client_version"), [(3, 0), (4, 2)], ids=["client", "broker"])
def test_the_version_says_who_asks(version: int, client_version: int) -> None:
    """Up to version 3 a client of version 0 adds partitions, from 4 on a broker for a client of version 2."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)

    handle_add_partitions(world.coordinator, AddPartitionsRequest(version, ID, ONE, (T0,)), {T0})

    assert client_version == world.metadata().client_version


def test_offsets_join_as_a_partition() -> None:
    """AddOffsetsToTxn adds the group's partition of the offsets topic."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)

    answer = handle_add_offsets(world.coordinator, 3, ID, ONE, offsets_partition_of("g", 50))

    assert ErrorCode.NONE == answer
    assert frozenset({TopicPartition("__consumer_offsets", 3)}) == world.metadata().partitions


def test_offsets_of_a_fenced_producer() -> None:
    """AddOffsetsToTxn fences as AddPartitionsToTxn does."""
    world = CoordinatedBroker()
    world.put(TransactionState.EMPTY)

    answers = [handle_add_offsets(world.coordinator, version, ID, identity(7, 1), T0) for version in (1, 2)]

    assert [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED] == answers


def test_verification_says_what_is_in_the_transaction() -> None:
    """A verification gets, for each partition, whether it is in the transaction."""
    world = CoordinatedBroker()
    world.put(TransactionState.ONGOING)

    answer = world.coordinator.verify_partitions(ID, ONE, (T0, T1))

    assert {T0: ErrorCode.NONE, T1: ErrorCode.TRANSACTION_ABORTABLE} == answer


@pytest.mark.parametrize("state", PREPARED, ids=by_name)
def test_verification_of_a_decided_transaction(state: TransactionState) -> None:
    """A decided transaction takes no more data."""
    world = CoordinatedBroker()
    world.put(state)

    with pytest.raises(ConcurrentTransactions):
        world.coordinator.verify_partitions(ID, ONE, (T0,))


def test_verification_ignores_a_pending_change() -> None:
    """A partition that is about to join does not stop data of one that has joined (KAFKA-14904)."""
    world = CoordinatedBroker()
    world.put(TransactionState.ONGOING).pending = TransactionState.ONGOING

    assert {T0: ErrorCode.NONE} == world.coordinator.verify_partitions(ID, ONE, (T0,))


def test_listing() -> None:
    """ListTransactions filters by state and producer id, and names the states that are none."""
    world = CoordinatedBroker()
    world.put(TransactionState.ONGOING)

    found = [list_transactions(world.coordinator, states, ids) for states, ids in ((["Ongoing"], [7]), (["Empty"], []))]

    assert [(ID, 7, TransactionState.ONGOING)] == list(found[0][0])
    assert () == found[1][0]
    assert ((), ("Nowhere",)) == list_transactions(world.coordinator, ["Nowhere"], [])
