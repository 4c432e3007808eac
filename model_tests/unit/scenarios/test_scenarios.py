"""Every scenario ends as expected, shows what it announces, and can fail.

The scenarios are a part of `eos verify`, which plays all of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import pytest

from model_tests.diagrams.events import DrawnMessage
from model_tests.scenarios import part
from model_tests.scenarios.catalogue import CHAPTERS, SCENARIOS
from model_tests.scenarios.judged import judged
from model_tests.scenarios.producer_stage import OfProducers
from model_tests.scenarios.scenario import REGISTERED, scenario
from model_tests.verify.results import RunEffort
from reference.broker import end_txn, group_offsets
from reference.broker.group_offsets import GroupOffsets
from reference.broker.ids import BlockAllocator
from reference.broker.transaction_coordinator import TransactionCoordinator
from reference.client.partition_queue import PartitionQueue
from reference.log.partition import Partition
from reference.log.producer_append import ProducerAppend
from reference.log.producer_entry import ProducerEntry
from reference.replication import kraft_controller
from reference.replication.elections import Elected, ElectionCandidate
from reference.replication.kraft_controller import KRaftController
from reference.replication.leadership import Leadership
from reference.world.authorization import Authorizer

OWED = (1, 2, 3, 5, 8, 9, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23)
"""The subjects that are to be shown by runs."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_ends_as_expected(name: str) -> None:
    """What was observed is what stands beside it, and something was seen to happen."""
    outcome = judged(SCENARIOS[name])

    assert dict(SCENARIOS[name].expected) == dict(outcome.observed)
    assert any(isinstance(event, DrawnMessage) for step in outcome.diagram.steps for event in step)


@pytest.mark.parametrize("item", OWED)
def test_a_subject_is_shown(item: int) -> None:
    """By one scenario at least, and as what it is about first of all."""
    assert any(item == reported.items[0] for reported in SCENARIOS.values())


def test_every_chapter_is_reported_in_the_order_in_which_it_is_written() -> None:
    """No scenario is left out, and the variant without idempotence comes first."""
    names = list(SCENARIOS)

    assert set(REGISTERED) == set(SCENARIOS)
    assert ["lost-acknowledgement", "lost-acknowledgement-idempotent", "lost-request"] == names[:3]
    assert {chapter.__name__ for chapter in CHAPTERS} == {reported.play.__module__ for reported in SCENARIOS.values()}


@pytest.mark.parametrize("name", ["lost-acknowledgement", "coordinator-after-prepare", "compaction"])
def test_a_scenario_is_played_the_same_way_each_time(name: str) -> None:
    """There is no chance in it."""
    assert judged(SCENARIOS[name]).diagram == judged(SCENARIOS[name]).diagram


def nothing(*_: object) -> None:
    """What should decide does not."""


def at_once(leadership: Leadership, _: object) -> bool:
    """The high watermark does not wait for followers."""
    leadership.replica.log.advance_high_watermark(leadership.replica.log.log_end)
    return True


def the_first(candidates: Sequence[ElectionCandidate], *_: object) -> Elected:
    """The first of the assignment that is there leads, in sync or not."""
    return Elected(next((each.broker for each in candidates if each.alive), -1))


def whatever_was_read(allocator: BlockAllocator, _: object, first: int) -> bool:
    """A claim is written whichever version it rests on."""
    allocator._next = first
    return True


DEFECTS = [
    pytest.param(BlockAllocator, "write", whatever_was_read, "block-race", id="compare-and-set"),
    pytest.param(Authorizer, "may_write_as", lambda *_: True, "right-to-an-id", id="right-to-an-id"),
    pytest.param(Authorizer, "may", lambda *_: True, "right-to-a-topic", id="right-to-a-topic"),
    pytest.param(ProducerEntry, "find_duplicate", nothing, "lost-acknowledgement-idempotent", id="window"),
    pytest.param(ProducerAppend, "check_successor", nothing, "lost-request-idempotent", id="successor"),
    pytest.param(Leadership, "raise_high_watermark", at_once, "slow-follower", id="high-watermark"),
    pytest.param(kraft_controller, "present_or_first", the_first, "leader-fails", id="election"),
    pytest.param(KRaftController, "check_proposal", nothing, "zombie-proposal", id="stale-proposal"),
    pytest.param(Partition, "last_stable", property(lambda self: self.high_watermark), "read-uncommitted", id="lso"),
    pytest.param(end_txn, "check_identity", nothing, "zombie-fencing", id="fence-at-coordinator"),
    pytest.param(GroupOffsets, "complete", nothing, "exactly-once-pipeline", id="offsets"),
    pytest.param(group_offsets, "check_member", nothing, "generation-fence", id="generation"),
    pytest.param(GroupOffsets, "is_unstable", nothing, "stable-fetch", id="stable"),
    pytest.param(PartitionQueue, "requeue", PartitionQueue.remove, "batch-too-large", id="parts"),
    pytest.param(Partition, "complete", nothing, "coordinator-after-prepare", id="marker"),
]


@pytest.mark.parametrize(("owner", "name", "instead", "reported"), DEFECTS)
def test_a_defect_of_the_reference_is_seen(owner: object, name: str, instead: object, reported: str) -> None:
    """The facts are those of the run: with a defect they are others."""
    with patch.object(owner, name, instead):
        outcome = judged(SCENARIOS[reported])

    assert not outcome.holds
    assert "the run stops" not in outcome.observed


def test_a_run_that_cannot_go_on_is_not_as_expected() -> None:
    """A coordinator that never reads its log gives out no producer id."""
    with patch.object(TransactionCoordinator, "load", nothing):
        outcome = judged(SCENARIOS["coordinator-after-prepare"])

    assert {"the run stops": "begin while the producer waits for ClientCall.INIT_TRANSACTIONS"} == outcome.observed
    assert not outcome.holds


def test_a_missing_fact_is_a_failure() -> None:
    """As is one that no caller needs."""
    reported = SCENARIOS["lost-acknowledgement"]
    outcome = judged(reported)

    silent = type(outcome)(reported, {"log": ["a", "a"], "weather": "fine"}, outcome.diagram)

    assert not silent.holds
    assert (
        "lost-acknowledgement: acknowledged: expected a, observed (not reported)",
        "lost-acknowledgement: weather: expected (not reported), observed fine",
    ) == silent.failures


@pytest.mark.parametrize(
    ("name", "items", "refused"),
    [("lost-acknowledgement", (1,), "two scenarios are called"), ("another", (1, 99), "not all are subjects")],
)
def test_a_scenario_that_cannot_be_reported(name: str, items: tuple[int, ...], refused: str) -> None:
    """A name that is taken, and a subject that there is not."""
    register = scenario(name, "title", items=items, story="", setting=OfProducers(), expected={})

    with pytest.raises(ValueError, match=refused):
        register(lambda _: {})

    assert "another" not in REGISTERED


# --- the part of `eos verify` -----------------------------------------------------------------------------------------


def test_every_scenario_is_played() -> None:
    """All are as expected, and none is left out."""
    found = part.evidence(RunEffort.QUICK)

    assert found.passed
    assert len(SCENARIOS) == found.extra["scenarios"]


def test_a_scenario_that_shows_something_else_fails_the_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names it, and what was seen."""
    name, scenario = next(iter(SCENARIOS.items()))
    monkeypatch.setattr(part, "SCENARIOS", {name: replace(scenario, expected={"the sky": "green"})})

    found = part.evidence(RunEffort.QUICK)

    assert not found.passed
    assert any(line.startswith(f"{name}: the sky: expected") for line in found.failures)
