"""The replicas of a partition searched explicitly and bounded: their states, their witnesses, and what breaks them."""

from dataclasses import replace
from functools import cache

import pytest

from model_tests.verify.model_checking import Instanced, controlled, vacuous
from model_tests.verify.replication_searches import DEEPEST, INSTANCES, built, searched
from model_tests.verify.results import RunEffort
from spec.engines.bmc import search
from spec.engines.explore import Exploration, explore, replayed
from spec.engines.verdict import Happening, Holds, Refuted
from spec.systems.replication.controls import CONTROLS, BrokenReplication
from spec.systems.replication.system import replication
from spec.systems.replication.world import ReplicationKnobs
from spec.versions import NEWEST

COUNTS = {
    "two batches": (1889, 6075, 20),
    "a broker loses records": (3498, 11556, 25),
    "three leader epochs": (6313, 21537, 23),
}
"""States and edges of the whole instance, and the actions to its deepest state."""

DEPTHS = {
    "unclean election": 5,
    "acks 1": 2,
    "before KIP-101, records are lost: truncation at the high watermark": 8,
    "before KIP-101, logs diverge: truncation at the high watermark": 12,
    "before KIP-279: the leader does not name the epoch that ends": 8,
    "KAFKA-7128: a follower returns at a new leader's high watermark": 13,
    "a follower returns before it has caught up": 8,
    "before KIP-903: a follower returns on the word of its former incarnation": 10,
    "the high watermark does not wait for who is about to return": 8,
    "the high watermark is that of the majority": 6,
    "the high watermark of the majority is not in every in-sync log": 5,
    "the high watermark may fall": 10,
    "min.insync.replicas is 1": 6,
    "min.insync.replicas holds for producers alone (before KAFKA-15583)": 5,
    "the last replica standing loses records (before KIP-966)": 7,
    "as many brokers lose records as min.insync.replicas": 8,
    "the leader epoch is not raised, and records are lost": 8,
    "the leader epoch is not raised, and logs diverge": 9,
    "before KIP-380: a restarted broker learns of an election from before": 8,
    "an answer to a Fetch of an earlier epoch is taken": 7,
}
"""Actions of the shortest violation."""

DEEPEST_HERE = 5
"""Deeper violations are confirmed by bounded search in the deep effort."""

WITNESSES = {"zombie_appends": 2, "logs_diverge": 4, "high_watermark_lags": 7}
"""Actions of the shortest way to a state of interest."""


def instance(name: str) -> Instanced:
    return next(each for each in INSTANCES if each.name == name).built()


@cache
def seen(name: str) -> Exploration:
    looked_at = instance(name)
    return explore(looked_at.system, looked_at.finite, looked_at.system.claims)


def shortest(name: str) -> Refuted:
    change = next(each for each in CONTROLS if each.name == name)
    broken = built(change.name, change.knobs)
    verdict = explore(broken.system, broken.finite, [broken.system.claim(change.violates)]).verdict
    assert isinstance(verdict, Refuted)
    return verdict


@pytest.mark.parametrize("name", COUNTS)
def test_an_instance_has_exactly_these_states(name: str) -> None:
    """Every state of the true system was seen, and theorems and lemmas hold in each."""
    found = seen(name)

    assert COUNTS[name] == (found.states, found.edges, found.depth)
    assert Holds(found.depth, complete=True) == found.verdict


@pytest.mark.parametrize("goal", WITNESSES)
def test_a_state_of_interest_is_reached(goal: str) -> None:
    """There are zombies, logs that diverge, and leaders that do not know what is committed."""
    looked_at = instance("two batches")

    trace = seen("two batches").reached[goal]

    last = replayed(looked_at.system, looked_at.finite, trace)
    reached = next(each for each in looked_at.system.goals if each.name == goal)
    assert WITNESSES[goal] == len(trace)
    assert any(reached.reached(last, *at) for at in looked_at.finite.points(reached.over))


def test_everything_happens() -> None:
    """Each action does in some instance; the whole instance reaches every goal."""
    everything = replication(ReplicationKnobs(restarts=True, hears_late=True)).actions

    happened = {name for instance_name in COUNTS for name in seen(instance_name).happened}

    assert {action.name for action in everything} == happened
    assert [] == list(vacuous(each.built() for each in INSTANCES if each.whole))


def test_bounded_search_finds_nothing_in_the_true_system() -> None:
    """Nor does explicit search."""
    looked_at = instance("two batches")

    assert Holds(4) == search(looked_at.plain, looked_at.finite, 4, stride=4).verdict


@pytest.mark.parametrize("change", CONTROLS, ids=lambda change: change.name)
def test_every_change_breaks_its_claim(change: BrokenReplication) -> None:
    """The two searches find the same shortest depth, where it is not too deep for this test."""
    depth = DEPTHS[change.name]

    control = controlled(built(change.name, change.knobs), change.violates, DEEPEST_HERE)

    by = "explicit and bounded search" if depth <= DEEPEST_HERE else "explicit search"
    assert control.passed, control.detail
    assert control.detail.startswith(f"depth {depth} by {by}: {change.violates} is violated")


def test_every_control_is_here_and_in_the_report() -> None:
    """A new one has its depth pinned; the deep effort confirms the deepest by bounded search."""
    assert list(DEPTHS) == [change.name for change in CONTROLS]
    assert len(CONTROLS) == len(searched().broken)
    assert max(DEPTHS.values()) == DEEPEST[RunEffort.DEEP]


@pytest.mark.parametrize(
    "unfenced",
    [
        ReplicationKnobs(without=frozenset({"fenced_leader_epoch"}), hears_late=True),
        ReplicationKnobs(profile=replace(NEWEST, fetch_names_leader_epoch=False), hears_late=True),
    ],
    ids=["not compared", "before KIP-320"],
)
def test_a_leader_of_a_past_epoch_must_not_answer_followers_of_a_later_one(unfenced: ReplicationKnobs) -> None:
    """It would count them, and take for committed what an in-sync replica does not have."""
    broken = built("unfenced", unfenced)

    verdict = explore(broken.system, broken.finite, broken.system.theorems).verdict

    assert isinstance(verdict, Refuted)
    assert ("high_watermark_is_in_every_in_sync_log", 12) == (verdict.claim, verdict.depth)


def test_a_leader_still_waits_for_a_restarted_follower_that_joined() -> None:
    """A past leader's proposal was granted, the follower was elected and restarts: the leader must not commit alone."""
    small = built("restarts, and one in sync is enough", ReplicationKnobs(appends=1, elections=1, restarts=True))

    verdict = explore(small.system, small.finite, small.system.claims).verdict

    assert Holds(16, complete=True) == verdict


STALE_PROPOSAL = (
    Happening("replica_leaves_in_sync_set", (2,)),
    Happening("replica_learns_newest_election", (0,)),
    Happening("leader_answers_fetch", (0, 2)),
    Happening("leader_proposes_return", (0, 2)),
    Happening("producer_appends", (0,)),
    Happening("leader_answers_fetch", (0, 1)),
    Happening("follower_takes_reply", (1,)),
    Happening("controller_elects", (1,)),
    Happening("replica_leaves_in_sync_set", (0,)),
    Happening("replica_learns_newest_election", (1,)),
    Happening("leader_raises_high_watermark", (1,)),
    Happening("controller_lets_return", (0,)),
    Happening("controller_elects", (2,)),
)
"""A leader proposes a follower that lags; another is elected, commits alone, and the proposal arrives."""


def test_the_proposal_of_a_past_leader_is_refused() -> None:
    """Three replicas are too many to search in a test: the run is given step by step."""
    three = built("three replicas", ReplicationKnobs(replicas=3, appends=1))

    with pytest.raises(ValueError, match=r"controller_lets_return\(0\) cannot happen"):
        replayed(three.system, three.finite, STALE_PROPOSAL)


def test_the_proposal_of_a_past_leader_would_lose_records() -> None:
    """With none of the controller's comparisons who lacks what is committed is let in, and elected."""
    comparisons = frozenset({"stale_leader_epoch", "not_the_leader", "stale_in_sync_set"})
    three = built("three replicas", ReplicationKnobs(replicas=3, appends=1, without=comparisons))

    last = replayed(three.system, three.finite, STALE_PROPOSAL)

    survives = three.system.claim("leader_has_committed_records")
    assert not all(survives.holds(last, *at) for at in three.finite.points(survives.over))


def test_a_replica_that_restarts_cuts_off_what_was_committed_before_kip_101() -> None:
    """The follower does not know yet that its batch is committed, restarts, goes back, and is elected."""
    trace = shortest("before KIP-101, records are lost: truncation at the high watermark").trace

    happened = [happening.action for happening in trace]
    assert ["broker_restarts", "replica_learns_newest_election", "controller_elects"] == happened[-3:]


def test_a_majority_is_not_enough() -> None:
    """The third replica is in sync, lacks the batch, and is elected."""
    trace = shortest("the high watermark is that of the majority").trace

    assert ("controller_elects", (2,)) == (trace[-1].action, trace[-1].at)


def test_the_last_replica_standing_takes_the_committed_with_it() -> None:
    """The other replica left the in-sync set with everything that was committed, and may not lead."""
    trace = shortest("the last replica standing loses records (before KIP-966)").trace

    assert ["replica_leaves_in_sync_set(1)", "broker_restarts(0, 0)"] == [str(each) for each in trace[-2:]]
