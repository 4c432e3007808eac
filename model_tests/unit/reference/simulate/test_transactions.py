"""Randomized traces of transactions: rebuilt from their seeds, linked, and of everything that a coordinator does."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import product

import pytest

from reference.event import NO_FAULTS
from reference.recording.recorder import Row
from reference.recording.trace import CACHED, COLUMNS
from reference.simulate.simulation import simulate
from reference.tape import Tape
from spec.versions import NEWEST, PROFILES, Profile
from spec.vocabulary import ErrorCode, TransactionState

BY_VERSION = [NEWEST.under(0), NEWEST.under(1), NEWEST, PROFILES["3.9.0"], PROFILES["0.11"]]
CACHED_COLUMNS = [
    f"cached_{place}_{name}" for place, name in product(range(CACHED), ("last_sequence", "last_offset", "offset_delta"))
]
ENTRY = ("epoch", "coordinator_epoch", "txn_first_offset", *CACHED_COLUMNS)
OF_ID = tuple(column.name.removeprefix("before_") for column in COLUMNS if column.name.startswith("before_txn_"))[1:]


def transactions(seed: int, profile: Profile = NEWEST, steps: int = 300) -> list[Row]:
    return simulate(seed, profile, steps, workload="transactions")


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
def test_every_row_has_exactly_the_columns(profile: Profile) -> None:
    """Rows of every version are rows of the schema, with values of the columns' kinds."""
    rows = transactions(1, profile, 80)

    assert 80 == len(rows)
    for row in rows:
        assert [column.name for column in COLUMNS] == list(row)
        assert all(type(row[column.name]) is type(column.absent) or type(column.absent) is int for column in COLUMNS)


def test_a_seed_and_its_tape_give_the_same_rows() -> None:
    """A trace is rebuilt from its seed, and from the tape that the seed made."""
    tape = Tape.seeded(7)
    first = simulate(7, steps=200, workload="transactions", tape=tape)

    assert json.dumps(first) == json.dumps(transactions(7, steps=200))
    assert first == simulate(7, steps=200, workload="transactions", tape=Tape.recorded(tape.drawn))


def _linked(rows: list[Row], key: tuple[str, ...], columns: tuple[str, ...]) -> int:
    """How many rows begin where the one before them on their key ended; any other is an error."""
    left: dict[tuple[object, ...], Sequence[object]] = {}
    count = 0
    for row in rows:
        place, before = tuple(row[name] for name in key), [row[f"before_{name}"] for name in columns]
        count += place in left
        assert left.setdefault(place, before) == before, (row["step"], row["api"])
        left[place] = [row[f"after_{name}"] for name in columns]
    return count


@pytest.mark.parametrize("profile", BY_VERSION, ids=str)
def test_the_steps_of_an_id_at_a_coordinator_are_linked(profile: Profile) -> None:
    """What a step leaves of a transactional id at a node is what the next step there finds, failovers included."""
    counts = []
    for seed in range(6):
        rows = [row for row in transactions(seed, profile) if row["transactional_id"] and row["api"] != "Produce"]
        counts.append(_linked(rows, ("node", "transactional_id"), OF_ID))

    assert all(count > 50 for count in counts)


@pytest.mark.parametrize("profile", BY_VERSION, ids=str)
def test_the_steps_of_a_replica_and_a_producer_are_linked(profile: Profile) -> None:
    """What a step leaves of a producer on a replica is what the next step there finds."""
    counts = []
    for seed in range(6):
        rows = [row for row in transactions(seed, profile) if row["after_log_end"] != -1]
        counts.append(_linked(rows, ("node", "partition", "producer_id"), ENTRY))

    assert all(count > 20 for count in counts)


def test_a_few_seeds_meet_what_can_happen_to_an_id() -> None:
    """Every request and every fault, all states, rotations, and each refusal that a coordinator has."""
    rows = [row for seed in range(40) for row in transactions(seed, NEWEST.under(seed % 3))]

    apis = Counter(str(row["api"]) for row in rows)
    of_coordinators = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn")
    errors = {row["error"] for row in rows if row["api"] in of_coordinators}
    rotated = [row for row in rows if -1 != row["before_txn_producer_id"] != row["after_txn_producer_id"] != -1]
    by_itself = {"TransactionTimeout", "TransactionalIdExpiry", "MarkersSent", "MarkerAnswered", "CoordinatorLoad"}
    assert {*of_coordinators, *by_itself, "CoordinatorElection", "CoordinatorResignation", "Sessions"} < apis.keys()
    wanted = {ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert wanted | {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS} < errors
    assert {*TransactionState} - {TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE} <= {
        row["after_txn_state"] for row in rows
    }
    assert rotated


def test_a_batch_that_its_coordinator_refuses_leaves_the_log_alone() -> None:
    """Rows of verified batches have the guard that they came with, or that the log was not read."""
    produced = [row for seed in range(12) for row in transactions(seed) if row["api"] == "Produce"]

    refused = [row for row in produced if row["verification_refused"]]
    assert refused
    assert any(row["verification_guarded"] and row["appended"] for row in produced)
    assert [] == [row for row in refused if row["appended"] or row["before_log_end"] != row["after_log_end"]]


def test_without_faults_transactions_come_to_their_ends() -> None:
    """Where nothing fails, commits and aborts are completed, and no coordinator changes."""
    rows = simulate(3, steps=1000, workload="transactions", faults=NO_FAULTS)

    ended = Counter(row["after_txn_state"] for row in rows if row["api"] == "MarkerAnswered")
    assert ended[TransactionState.COMPLETE_COMMIT] > 5
    assert ended[TransactionState.COMPLETE_ABORT] > 2
    assert not {row["api"] for row in rows} & {"CoordinatorResignation", "TransactionTimeout", "BrokerRestart"}
