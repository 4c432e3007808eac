"""The judge finds out for itself what a step rests on; what the reference found out of the same values is not asked."""

from collections.abc import Iterator
from itertools import product
from typing import Any
from unittest.mock import patch

import pytest

from model_tests.judging.chains import CHAINS
from model_tests.judging.coordinator_links import hands_out_new_id, loaded_as_written
from model_tests.judging.replication_verdicts import judged
from model_tests.monitor.monitor import DecisionMismatch, Monitor
from model_tests.monitor.runs import run_of
from model_tests.mutants.defects.of_coordinator import OF_COORDINATOR
from model_tests.mutants.defects.of_small_inputs import STOPPED_IS_WRITTEN
from model_tests.traces.schema import BY_NAME, Row, complete
from model_tests.unit.reference.world.scenes import (
    BY_VERSION,
    BY_VERSION_IDS,
    began,
    decided,
    deliver_replies,
    is_marker,
    new_world,
    started,
)
from reference.broker import marker_channel
from reference.recording.trace import ColumnType
from reference.world.transaction_world import TransactionWorld
from spec import rules
from spec.judging.judge import RuleCheck
from spec.versions import NEWEST, Profile
from spec.vocabulary import ErrorCode, TransactionState

NONE, REFUSED = ErrorCode.NONE.value, ErrorCode.INVALID_REQUEST.value
INELIGIBLE = ErrorCode.INELIGIBLE_REPLICA.value

PROPOSAL: dict[str, Any] = {
    "api": "AlterPartition",
    "profile": NEWEST.name,
    "node": "controller",
    "broker": 1,
    "leader": 1,
    "asked_leader_epoch": 3,
    "leader_epoch": 3,
    "asked_partition_epoch": 5,
    "partition_epoch": 5,
    "asked_broker_epoch": 11,
    "broker_epoch": 11,
    "proposed_size": 2,
}
"""Broker 1, which leads, proposes itself and broker 2."""


def replica(place: int, broker: int, *, alive: bool = True, proposed: bool = True, counted: int = 0) -> dict[str, Any]:
    """The columns of a replica that is registered under the epoch that is ten more than its number."""
    registered = 10 + broker
    facts = {"broker": broker, "alive": alive, "proposed": proposed}
    epochs = {"counted_epoch": counted or registered, "registered_epoch": registered}
    return {f"replica_{place}_{name}": value for name, value in (facts | epochs).items()}


LEADER = replica(0, 1)
BOTH = LEADER | replica(1, 2)


@pytest.mark.parametrize(
    ("columns", "answer"),
    [
        (BOTH, NONE),
        (LEADER | replica(1, 2, alive=False), INELIGIBLE),
        (LEADER | replica(1, 2, counted=7), INELIGIBLE),
        (LEADER | replica(1, 2, counted=-1), NONE),
        (LEADER | replica(1, 2, alive=False, proposed=False) | {"proposed_size": 1}, NONE),
        (BOTH | {"proposed_size": 3}, REFUSED),
        (replica(0, 1, proposed=False) | replica(1, 2) | {"proposed_size": 1}, REFUSED),
        (BOTH | {"leader": 2, "broker": 2, "asked_broker_epoch": 12, "broker_epoch": 12}, NONE),
    ],
)
def test_a_proposal_is_judged_by_the_set_that_it_has(columns: dict[str, Any], answer: int) -> None:
    """Whatever the controller says that it found: whether the set is ill-formed, and whether a member may join."""
    for ill_formed, ineligible, leads in product((False, True), repeat=3):
        found = {"ill_formed": ill_formed, "ineligible": ineligible, "sender_leads": leads}
        for error in (NONE, INELIGIBLE, REFUSED):
            row = complete(PROPOSAL | columns | found | {"error": error})
            assert [error != answer] == [not check.holds for check in checks_of(row)]


@pytest.mark.parametrize(("counted", "registered"), [(4, 4), (4, 5), (4, -1), (-1, 4)])
def test_a_return_is_judged_by_the_incarnation(counted: int, registered: int) -> None:
    """A follower that has caught up is proposed if it fetched in its present incarnation."""
    caught_up = {"api": "IsrExpansion", "profile": NEWEST.name, "follower_end": 8, "before_high_watermark": 8}
    epochs = {"epoch_start": 2, "asked_broker_epoch": counted, "broker_epoch": registered}
    for ineligible, proposed in product((False, True), repeat=2):
        row = complete(caught_up | epochs | {"ineligible": ineligible, "proposed": proposed})
        assert [proposed == (counted == registered)] == [bool(check.holds) for check in checks_of(row)]


def checks_of(row: Row) -> Iterator[RuleCheck]:
    """Those at stake."""
    _, checks = judged(str(row["api"]), row.__getitem__, NEWEST)
    return (check for check in checks if check.at_stake)


@pytest.fixture
def world(profile: Profile) -> TransactionWorld:
    """Every step is judged as it is made."""
    world = new_world(profile)
    world.recorder.observer = Monitor()
    return world


def replaced_while_its_markers_are_under_way(world: TransactionWorld) -> None:
    """The next coordinator's markers are written first, so that those of the one before are refused for good."""
    decided(world, began(world, started(world)))
    world.coordinator_sends_markers(0)
    late = tuple(world.wires.requests.in_transit)
    world.coordinator_fails_over(0, 1)
    world.coordinator_sends_markers(1)
    for message in (*(m for m in tuple(world.wires.requests.in_transit) if m not in late), *late):
        if is_marker(message.payload):
            world.broker_receives(message)
    deliver_replies(world)


@pytest.mark.parametrize("profile", BY_VERSION, ids=BY_VERSION_IDS)
def test_a_marker_that_is_refused_for_good_is_not_written(world: TransactionWorld) -> None:
    """The answer is in the step, and the judge knows what it means."""
    replaced_while_its_markers_are_under_way(world)

    answers = [row["marker_error"] for row in world.recorder.rows if row["api"] == "MarkerAnswered"]
    assert answers
    assert set(answers) == {NONE}


@pytest.mark.parametrize("profile", BY_VERSION, ids=BY_VERSION_IDS)
def test_a_coordinator_that_takes_a_refusal_for_a_marker_is_stopped(world: TransactionWorld) -> None:
    """By the rule of markers."""
    stops = patch.object(marker_channel, "MEANING", STOPPED_IS_WRITTEN)
    with stops, pytest.raises(DecisionMismatch) as stopped:
        replaced_while_its_markers_are_under_way(world)

    assert stopped.value.rules == {rules.TXN_MARKER_ONCE.id}


LOADED_WRONG = ("the first record of an id is loaded", "partitions are not loaded", "one partition is loaded")

OPEN: dict[str, Any] = {
    "txn_state": TransactionState.ONGOING.value,
    "txn_producer_id": 5,
    "txn_epoch": 3,
    "txn_partitions": 2,
    "txn_timeout_ms": 60_000,
    "txn_started_ms": 100,
    "txn_updated_ms": 120,
}
"""An open transaction of two partitions."""

PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT.value, TransactionState.PREPARE_ABORT.value
COMMITTING = OPEN | {"txn_state": PREPARE_COMMIT, "txn_pending": TransactionState.COMPLETE_COMMIT.value}


@pytest.mark.parametrize(
    ("last", "loaded", "holds"),
    [
        (OPEN, {}, True),
        (OPEN, {"txn_partitions": 1}, False),
        (OPEN, {"txn_partitions": 3, "txn_updated_ms": 140}, True),
        (OPEN, {"txn_epoch": 2}, False),
        (OPEN, {"txn_timeout_ms": 1}, False),
        (OPEN, {"txn_started_ms": 99}, False),
        (OPEN, {"txn_state": PREPARE_ABORT, "txn_updated_ms": 140, "txn_epoch": 4}, True),
        (OPEN, {"txn_state": TransactionState.EMPTY.value, "txn_partitions": 0}, False),
        (COMMITTING, {}, True),
        (COMMITTING, {"txn_state": TransactionState.COMPLETE_COMMIT.value, "txn_partitions": 0}, True),
        (COMMITTING, {"txn_state": PREPARE_ABORT}, False),
        (COMMITTING, {"txn_state": TransactionState.ONGOING.value}, False),
    ],
)
def test_what_is_loaded_is_what_was_written(last: dict[str, Any], loaded: dict[str, Any], holds: bool) -> None:
    """Or more, where the coordinator before took a record for lost; never less."""
    before = {f"previous_after_{name}": value for name, value in last.items()}
    after = {f"after_{name}": value for name, value in (last | loaded).items()}
    row = before | after | {"has_previous": True}
    check = loaded_as_written(lambda name: row[name] if name in row else BY_NAME[name.removeprefix("previous_")].absent)

    assert check.at_stake
    assert holds == bool(check.holds)


@pytest.mark.parametrize("name", LOADED_WRONG)
def test_a_defect_of_loading_is_seen_in_traces(name: str) -> None:
    """The rule of failover stops the run, whatever the new coordinator itself makes of what it has loaded."""
    planted = next(each for each in OF_COORDINATOR if each.name == name)

    with planted.in_place():
        runs = (run_of(seed, workload="transactions").play() for seed in range(40))
        broken = next(run.rules for run in runs if run.violations)

    assert broken == {rules.TXN_FAILOVER.id}


@pytest.mark.parametrize(
    ("columns", "is_new"),
    [
        ({}, False),
        ({"reply_producer_id": 5}, False),
        ({"reply_producer_id": 6}, False),
        ({"reply_producer_id": 7}, True),
        ({"reply_producer_id": 7, "error": REFUSED}, False),
        ({"reply_producer_id": 7, "api": "AddPartitionsToTxn"}, False),
        ({"reply_producer_id": 7, "api": "InitProducerId"}, True),
    ],
)
def test_an_end_hands_out_a_new_producer_id(columns: dict[str, Any], is_new: bool) -> None:
    """One that neither the id had nor its transaction was to rotate to: no other id may have been given it."""
    known = {"before_txn_producer_id": 5, "before_txn_next_producer_id": 6}
    row = complete({"api": "EndTxn", "node": "broker-0", "error": NONE} | known | columns)

    assert is_new == bool(hands_out_new_id(row.__getitem__))


ABORTED = OPEN | {"txn_state": PREPARE_ABORT, "txn_pending": TransactionState.COMPLETE_ABORT.value}
ENDED = OPEN | {"txn_state": TransactionState.COMPLETE_ABORT.value, "txn_partitions": 0}


def step(number: int, api: str, before: dict[str, Any], after: dict[str, Any], **columns: Any) -> Row:
    """A step of a coordinator about an id."""
    moments = {"before": before, "after": after}
    state = {f"{moment}_{name}": value for moment, known in moments.items() for name, value in known.items()}
    of = {"trace": 0, "step": number, "profile": NEWEST.name, "transaction_version": 2, "error": NONE}
    return complete({**of, "api": api, "node": "broker-0", "transactional_id": "id", **state, **columns})


def linked(*rows: Row) -> set[tuple[str, int]]:
    """Links that steps break, one after another, each with its step."""
    monitor = Monitor()
    return {(found.guard, found.step) for row in rows for found in monitor.judge(row)}


@pytest.mark.parametrize(("drawn", "repeats"), [(5, True), (6, True), (7, False), (-1, False)])
def test_an_id_that_an_abort_draws_is_new(drawn: int, repeats: bool) -> None:
    """Neither the one that its id has nor the one of another id; no step that hands it out is needed to see it."""
    first = step(0, "InitProducerId", {}, OPEN, reply_producer_id=5, reply_epoch=3)
    other = step(1, "InitProducerId", {}, OPEN, reply_producer_id=6, reply_epoch=0, transactional_id="other")
    aborted = step(2, "TransactionTimeout", OPEN, ABORTED | {"txn_next_producer_id": drawn})

    found = linked(first, other, aborted)

    assert repeats == (("producer_id", 2) in found)


@pytest.mark.parametrize(("updated", "wrong"), [(140, False), (139, True), (0, True), (141, True)])
def test_a_transaction_is_complete_as_of_the_time_at_which_that_began(updated: int, wrong: bool) -> None:
    """By the clock of its coordinator: not earlier, as a judge of the single step cannot see, and not later."""
    begun = step(0, "TransactionTimeout", OPEN, ABORTED, time_ms=140)
    ended = step(1, "MarkersSent", ABORTED, ENDED | {"txn_updated_ms": updated}, time_ms=150)

    assert wrong == (("completion_time", 1) in linked(begun, ended))
    assert "completion_time" not in dict(linked(ended))


def test_links_read_no_texts() -> None:
    """What a step leaves to the next is numbers: a text would pass the local check, and no check on Spark."""
    read = {
        name.removeprefix("previous_").removeprefix("accepted_") for chain in CHAINS.values() for name in chain.read
    }

    assert read
    assert set() == {name for name in read if BY_NAME[name].kind is ColumnType.TEXT}
