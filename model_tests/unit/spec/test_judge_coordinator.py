"""Blame among a coordinator's decisions: which rule a wrong step is held to break."""

from dataclasses import replace

import pytest

from model_tests.unit.spec.transactional import EPOCH, FRESH, LAST, PRODUCER, entry
from model_tests.unit.support.coordinator_judging import (
    ADDED,
    ASKED,
    COMMITTED,
    COMMITTING,
    EMPTY,
    LATE,
    ONGOING,
    broken,
    decided,
    step,
)
from spec.judging.judge_coordinator import judge
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.coordinator_steps import CoordinatorStep, StepInput
from spec.protocol.ending import IdAndEpoch
from spec.versions import NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode, TransactionState

EXHAUSTED = replace(EMPTY, producer_epoch=LAST - 1)


TRUE = [
    ("InitProducerId", TransactionEntry(), ASKED, 0),
    ("InitProducerId", COMMITTED, ASKED, 0),
    ("InitProducerId", EXHAUSTED, ASKED, 0),
    ("InitProducerId", ONGOING, ASKED, 1),
    ("AddPartitionsToTxn", EMPTY, replace(ADDED, version=3), 2),
    ("VerifyPartitions", ONGOING, ADDED, 1),
    ("AddOffsetsToTxn", EMPTY, replace(ADDED, version=3), 2),
    ("EndTxn", ONGOING, ASKED, 1),
    ("EndTxn", COMMITTED, replace(ASKED, producer=IdAndEpoch(PRODUCER, EPOCH - 1)), 1),
    ("TransactionTimeout", ONGOING, LATE, 1),
    ("MarkerAnswered", COMMITTING, ASKED, 0),
    ("TransactionalIdExpiry", EMPTY, LATE, -1),
]


@pytest.mark.parametrize("profile", [NEWEST, NEWEST.under(0), SNAPSHOT_4_0], ids=["newest", "version-0", "snapshot"])
@pytest.mark.parametrize(("api", "before", "requested", "left"), TRUE)
def test_the_decisions_own_outcome_breaks_nothing(
    api: str, before: TransactionEntry, requested: StepInput, left: int, profile: Profile
) -> None:
    """A step that shows the decision holds, and a rule is at stake in it."""
    known = replace(before, client_version=before.client_version and profile.transaction_version)
    found = replace(decided(api, step(known, requested), profile), partitions_after=left)

    assert broken(api, found, profile) == set()
    assert any(check.at_stake for check in judge(api, found, profile)[1])


FIELDS = {
    "previous_producer_id": FRESH,
    "client_version": 1,
    "fence_failed": True,
    "last_epoch": 3,
    "next_producer_id": FRESH,
    "start_time": 7,
    "update_time": 7,
    "timeout": 7,
    "pending": TransactionState.EMPTY.value,
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("api", "before", "requested"), [("EndTxn", ONGOING, ASKED), ("InitProducerId", COMMITTED, ASKED)]
)
def test_no_scalar_of_an_id_is_left_out(api: str, before: TransactionEntry, requested: StepInput, field: str) -> None:
    """Whatever is not as the decision has it breaks a rule, also what no next request depends on."""
    found = replace(decided(api, step(before, requested)), partitions_after=1 if api == "EndTxn" else 0)
    wrong = replace(found.after, **{field: FIELDS[field]})

    assert broken(api, found) == set()
    assert broken(api, replace(found, after=wrong))


@pytest.mark.parametrize(
    ("found", "partitions_after"),
    [
        (step(ONGOING, replace(ADDED, producer=IdAndEpoch(PRODUCER, EPOCH - 1)), error=90, registered_after=False), 2),
        (step(ONGOING, replace(ADDED, registered=True)), 0),
        (step(ONGOING, ASKED, error=ErrorCode.COORDINATOR_NOT_AVAILABLE.value), 2),
    ],
    ids=["refused", "there already", "not logged"],
)
def test_partitions_do_not_come_or_go_by_themselves(found: CoordinatorStep, partitions_after: int) -> None:
    """Where nothing joins and nothing ends, a transaction has as many partitions as before."""
    assert broken("AddPartitionsToTxn", found) == set()
    assert broken("AddPartitionsToTxn", replace(found, partitions_after=partitions_after))


STALE = replace(ASKED, producer=IdAndEpoch(PRODUCER, EPOCH - 1))
STALE_ADDED = replace(ADDED, producer=STALE.producer)
FENCED = ErrorCode.PRODUCER_FENCED.value
WRONG = [
    ("a stale epoch ends", "EndTxn", step(ONGOING, STALE), "fence.stale_epoch"),
    ("the current epoch is fenced", "EndTxn", step(ONGOING, ASKED, error=FENCED), "fence.stale_epoch"),
    ("a stale epoch registers", "AddPartitionsToTxn", step(ONGOING, STALE_ADDED), "fence.stale_epoch"),
    ("a commit becomes an abort", "EndTxn", step(ONGOING, ASKED, after=COMMITTED), "txn.legal_transition"),
    (
        "an outcome is turned",
        "MarkerAnswered",
        step(COMMITTING, ASKED, after=entry(TransactionState.COMPLETE_ABORT), partitions_after=0),
        "txn.one_outcome",
    ),
    (
        "a transaction is complete without a marker",
        "MarkerAnswered",
        step(COMMITTING, ASKED, after=replace(COMMITTED, update_time=150), partitions=2, partitions_after=0),
        "txn.legal_transition",
    ),
    (
        "the last epoch is counted on",
        "InitProducerId",
        step(EXHAUSTED, ASKED, answered=IdAndEpoch(PRODUCER, LAST), after=replace(EXHAUSTED, producer_epoch=LAST)),
        "fence.epoch_exhaustion",
    ),
    (
        "an identity is handed out again",
        "InitProducerId",
        step(COMMITTED, ASKED, answered=IdAndEpoch(PRODUCER, EPOCH)),
        "ids.identity_never_repeats",
    ),
    (
        "a transaction within its timeout is aborted",
        "TransactionTimeout",
        step(ONGOING, ASKED, after=entry(TransactionState.PREPARE_ABORT)),
        "txn.timeout",
    ),
    ("an open id expires", "TransactionalIdExpiry", step(ONGOING, LATE, after=TransactionEntry()), "txn.expiry"),
    (
        "a failover remembers the epoch before",
        "CoordinatorLoad",
        step(TransactionEntry(), ASKED, after=replace(COMMITTED, last_epoch=4)),
        "txn.failover",
    ),
]


@pytest.mark.parametrize(("api", "found", "rule"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_wrong_step_breaks_the_rule_of_the_earliest_check(api: str, found: CoordinatorStep, rule: str) -> None:
    """Whatever else is wrong with the step, the rule of the check that comes first is named."""
    assert rule in broken(api, found)


def test_a_record_that_the_log_does_not_take_leaves_the_id_as_it_was() -> None:
    """The append failed: an error with memory unchanged is right; with the transition in memory it is not."""
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE.value
    kept = step(ONGOING, ASKED, error=error)

    assert set() == broken("EndTxn", kept)
    assert broken("EndTxn", replace(kept, after=decided("EndTxn", step(ONGOING, ASKED)).after))


def test_a_node_that_does_not_coordinate_an_id_is_held_to_nothing() -> None:
    """NOT_COORDINATOR of a node that does not know the id: no rule is at stake."""
    elsewhere = step(TransactionEntry(), ASKED, error=ErrorCode.NOT_COORDINATOR.value)

    assert not any(check.at_stake for check in judge("EndTxn", elsewhere, NEWEST)[1])
