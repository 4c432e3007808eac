"""The rows of a run: each step of a coordinator begins where the one before it ended, and has the request."""

from collections.abc import Iterator

import pytest

from model_tests.unit.reference.world.scenes import BY_VERSION, BY_VERSION_IDS, ID, T0, began, ended, new_world, started
from reference.recording.recorder import Row, Value
from reference.recording.trace import COLUMNS
from reference.world.settling import settle
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import Profile
from spec.vocabulary import ErrorCode, TransactionState

versions = pytest.mark.parametrize("profile", BY_VERSION, ids=BY_VERSION_IDS)
OF_ID = ("txn_state", "txn_producer_id", "txn_epoch", "txn_last_epoch", "txn_partitions", "txn_pending")


@pytest.fixture
def world(profile: Profile) -> TransactionWorld:
    """A world in which everything has happened that a coordinator does: ends, a timeout, a failover, an expiry."""
    world = new_world(profile, TransactionShape(replicas=2))
    producer = started(world)
    for commit in (True, False):
        ended(world, began(world, producer), commit)
    began(world, producer, T0)
    world.clock.advance(world.shape.transaction_timeout_ms + 1)
    world.coordinator_aborts_timed_out(0)
    settle(world)
    world.coordinator_fails_over(0, 1)
    world.coordinator_resigns(0, 0)
    ended(world, began(world, started(world)))
    world.clock.advance(world.shape.id_expiration_ms)
    world.coordinator_expires_ids(1)
    return world


def of_coordinators(world: TransactionWorld) -> Iterator[Row]:
    """The steps that show the transactional id before or after."""
    return (row for row in world.recorder.rows if {row["before_txn_state"], row["after_txn_state"]} != {-1})


@versions
def test_the_steps_of_an_id_are_linked(world: TransactionWorld) -> None:
    """On one node the id is before a step what it was after the one before."""
    known: dict[Value, list[Value]] = {}
    count = 0
    for row in of_coordinators(world):
        before = [row[f"before_{column}"] for column in OF_ID]
        assert known.setdefault(row["node"], before) == before, row["api"]
        known[row["node"]] = [row[f"after_{column}"] for column in OF_ID]
        count += 1

    assert count > 20


@versions
def test_every_change_of_state_has_a_step(world: TransactionWorld) -> None:
    """All states are passed in rows, up to the id's end."""
    path = [row["after_txn_state"] for row in of_coordinators(world) if row["transactional_id"] == ID]

    stored = {*TransactionState} - {TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE}
    assert (stored | {-1}, -1) == (set(path), path[-1])


@versions
def test_rows_are_of_the_schema(world: TransactionWorld) -> None:
    """Every row has exactly the columns of the trace, in any run."""
    names = {column.name for column in COLUMNS}

    assert {frozenset(names)} == {frozenset(row) for row in world.recorder.rows}


@versions
def test_what_a_row_says(world: TransactionWorld) -> None:
    """The first EndTxn: its sender and its request, its answer, and its effect."""
    row = next(row for row in world.recorder.rows if row["api"] == "EndTxn")

    reported = ("client", "transactional_id", "producer_id", "producer_epoch", "committed", "error")
    assert ["instance-0", ID, 0, 0, True, ErrorCode.NONE] == [row[column] for column in reported]
    assert [TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT] == [
        row["before_txn_state"],
        row["after_txn_state"],
        row["after_txn_pending"],
    ]
    identity = [0, 1] if world.profile.transaction_version == 2 else [-1, -1]
    assert identity == [row["reply_producer_id"], row["reply_epoch"]]


@versions
def test_a_copy_is_not_missed(profile: Profile) -> None:
    """Losing a copy of a request is no reason to send it again."""
    world = new_world(profile)
    instance = world.application_starts(ID)
    world.application_initializes(instance)
    world.producer_asks(instance)
    (message,) = world.wires.requests.in_transit
    world.broker_receives(message, leave_copy=True)
    (copy,) = world.wires.requests.in_transit

    world.request_is_lost(copy)

    assert [message.payload] == list(world.wires.open.values())
