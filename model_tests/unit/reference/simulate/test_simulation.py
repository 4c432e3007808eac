"""A coordinator under arbitrary requests: it stays within the specification, and is seen in every state."""

import gc
import json
from collections import Counter

import pytest

from model_tests.monitor.monitor import Monitor
from reference.event import STATE_RETAINED
from reference.recording.recorder import Row
from reference.recording.trace import AFTER, BEFORE, CACHED, COLUMNS, Column
from reference.simulate.simulation import raw_coordinator, raw_partition, run, simulate
from reference.tape import Tape
from spec.versions import NEWEST, PROFILES, Profile
from spec.vocabulary import ABSENT, MAX_EPOCH, TransactionState

WORKLOADS = ("producers", "raw")
ENTRY_COLUMNS = 3 + 3 * CACHED


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
def test_every_row_has_exactly_the_columns(profile: Profile, workload: str) -> None:
    """Rows of every version and workload are rows of the schema, with values of the columns' kinds."""
    rows = simulate(1, profile, 60, workload=workload)

    assert 60 == len(rows)
    for row in rows:
        assert [column.name for column in COLUMNS] == list(row)
        assert all(type(row[column.name]) is type(column.absent) or type(column.absent) is int for column in COLUMNS)


@pytest.mark.parametrize("workload", [*WORKLOADS, "transactions", "replicas"])
def test_rows_are_kept_only_on_request(workload: str) -> None:
    """The memory of many traces is that of one: what is left of a world waits for the collector without its rows."""
    gc.disable()
    try:
        rows = simulate(5, steps=60, workload=workload)

        assert [] == [holder for holder in gc.get_referrers(rows[0]) if holder is not rows]
    finally:
        gc.enable()


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_seed_and_its_tape_give_the_same_rows(workload: str) -> None:
    """A trace is rebuilt from its seed, and from the tape that the seed made."""
    tape = Tape.seeded(7)
    first = simulate(7, steps=150, workload=workload, tape=tape)

    assert json.dumps(first) == json.dumps(simulate(7, steps=150, workload=workload))
    assert first == simulate(7, steps=150, workload=workload, tape=Tape.recorded(tape.drawn))


def values(row: Row, columns: tuple[Column, ...]) -> list[object]:
    return [row[column.name] for column in columns]


def test_a_refused_append_changes_nothing() -> None:
    """Before and after are equal in every row with an error."""
    rows = [row for seed in range(12) for row in simulate(seed, steps=200, workload="raw")]
    refused = [row for row in rows if row["origin"] != ABSENT and row["error"] != 0]

    assert len(refused) > 100
    for row in refused:
        assert values(row, BEFORE) == values(row, AFTER)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("seed", range(5))
def test_the_steps_of_a_replica_and_a_producer_are_linked(seed: int, workload: str) -> None:
    """What a step leaves of a producer and of the log on a replica is what the next step there finds."""
    producers: dict[tuple[object, ...], list[object]] = {}
    logs: dict[tuple[object, ...], object] = {}
    rows = simulate(seed, steps=400, workload=workload)
    for row in (row for row in rows if row["after_log_end"] != ABSENT and row["api"] != "ConsumerFetchAborted"):
        replica = (row["node"], row["partition"])
        producer = (*replica, row["producer_id"])
        if row["partition"] != -1:
            assert logs.get(replica, 0) == row["before_log_end"]
            logs[replica] = row["after_log_end"]
        if producer in producers:
            assert producers[producer] == values(row, BEFORE)[:ENTRY_COLUMNS]
        producers[producer] = values(row, AFTER)[:ENTRY_COLUMNS]


def test_an_unknown_workload_is_named() -> None:
    """The message lists the workloads."""
    with pytest.raises(ValueError, match="producers"):
        simulate(0, workload="other")


def test_the_raw_workload_reaches_every_refusal() -> None:
    """A few seeds meet every answer of the append path of the newest version."""
    tape = Tape.seeded(3)
    scheduler = raw_partition(NEWEST, tape, STATE_RETAINED)

    for _ in range(3000):
        scheduler.turn()

    assert {0, 45, 47, 48, 52, 53, 87} == {row["error"] for row in scheduler.recorder.rows}


def rows_of(seed: int, profile: str, steps: int = 400) -> list[Row]:
    return run(raw_coordinator(PROFILES[profile], Tape.seeded(seed), seed), steps, Monitor())


@pytest.mark.parametrize("profile", PROFILES)
def test_whatever_it_is_asked_it_decides_as_the_specification_does(profile: str) -> None:
    """A monitor watches; every kind of step comes, and the ends of the epochs with them."""
    rows = [row for seed in range(3) for row in rows_of(seed, profile)]

    apis = Counter(row["api"] for row in rows)
    assert min(apis[api] for api in ("InitProducerId", "EndTxn", "AddPartitionsToTxn")) > 50
    assert (apis["VerifyPartitions"] > 50) is PROFILES[profile].partition_verification
    assert {"MarkersSent", "TransactionTimeout", "TransactionalIdExpiry", "CoordinatorLoad"} <= apis.keys()
    assert max(int(row["after_txn_epoch"]) for row in rows) >= MAX_EPOCH - 1
    assert {state.value for state in TransactionState} - {row["after_txn_state"] for row in rows} == {
        TransactionState.DEAD.value,
        TransactionState.PREPARE_EPOCH_FENCE.value,
    }


def test_the_same_tape_makes_the_same_rows() -> None:
    """All chance is the tape's."""
    assert rows_of(7, "4.3") == rows_of(7, "4.3")
    assert rows_of(7, "4.3") != rows_of(8, "4.3")
