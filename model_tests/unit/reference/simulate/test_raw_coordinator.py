"""A coordinator under arbitrary requests: it stays within the specification, and is seen in every state."""

from collections import Counter

import pytest

from model_tests.monitor.monitor import Monitor
from reference.recording.recorder import Row
from reference.simulate.simulation import raw_coordinator, run
from reference.tape import Tape
from spec.versions import PROFILES
from spec.vocabulary import MAX_EPOCH, TransactionState


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
