"""The partition searched explicitly and bounded: its states, its witnesses, and what breaks it."""

from functools import cache

import pytest

from model_tests.unit.by_default import by_default
from model_tests.verify.model_checking import Instanced, controlled, vacuous
from model_tests.verify.partition_searches import INSTANCES, searched
from model_tests.verify.results import RunEffort
from spec.engines.bmc import search
from spec.engines.explore import Exploration, explore, replayed
from spec.engines.finite import instance_of
from spec.engines.verdict import Happening, Holds, Refuted
from spec.systems.partition.controls import CONTROLS, BrokenPartition
from spec.systems.partition.log import PartitionKnobs
from spec.systems.partition.system import partition, sizes
from spec.systems.system_append import remembered

COUNTS = {
    "two producers": (699, 2637),
    "two epochs": (453, 864),
    "batches of two sizes": (181, 672),
}
"""States and edges of the whole instance."""

DEPTHS = {
    "transactions not yet replicated are ignored": 3,
    "open transactions are ignored": 2,
    "open transactions are ignored until they are decided": 4,
    "the last stable offset is the high watermark": 3,
    "the first unstable offset is not clamped to the log start": 3,
    "the high watermark is no bound": 1,
    "a marker does not end the transaction": 2,
    "stale epoch checks off": 2,
    "expiry on": 3,
    "coordinator check off": 2,
    "unclean election": 5,
    "unclean election, and a lower epoch": 3,
    "a new leader knows nothing of producers": 3,
    "a new leader's high watermark is behind the log start": 4,
    "a failed append changes what is known of its producer": 1,
}
"""Actions of the shortest violation."""

BOUNDED = ("open transactions are ignored", "coordinator check off", "a new leader knows nothing of producers")
"""Controls that bounded search finds by default, too; `make verify` searches some of them within bounds by default."""

WITNESSES = {
    "held_with_two_open": ("two producers", 3),
    "decided_but_not_replicated": ("two producers", 3),
    "held_at_log_start": ("two producers", 4),
    "read_past_a_transaction": ("two producers", 4),
    "epoch_and_coordinator_rose": ("two epochs", 2),
    "high_watermark_lags": ("two producers", 4),
}
"""Where a state of interest is reached, and after how many actions at the least."""


def instance(name: str) -> Instanced:
    return next(each for each in INSTANCES if each.name == name).built()


@cache
def seen(name: str) -> Exploration:
    built = instance(name)
    return explore(built.system, built.finite, built.system.claims)


def broken(change: BrokenPartition) -> Instanced:
    system = partition(change.knobs, remembered(change.knobs.decide))
    return Instanced(change.name, system, partition(change.knobs), instance_of(system, change.sizes))


@pytest.mark.parametrize("name", COUNTS)
def test_an_instance_has_exactly_these_states(name: str) -> None:
    """Every state of the true system was seen, and theorems and lemmas hold in each."""
    found = seen(name)

    assert COUNTS[name] == (found.states, found.edges)
    assert found.verdict == Holds(found.depth, complete=True)


@pytest.mark.parametrize("goal", WITNESSES)
def test_a_state_of_interest_is_reached(goal: str) -> None:
    """What is proved is proved of something: the shortest way there can be replayed."""
    name, depth = WITNESSES[goal]
    built = instance(name)

    trace = seen(name).reached[goal]

    last = replayed(built.system, built.finite, trace)
    reached = next(each for each in built.system.goals if each.name == goal)
    assert depth == len(trace)
    assert any(reached.reached(last, *at) for at in built.finite.points(reached.over))


def test_every_witness_and_every_control_is_here() -> None:
    """A new one has its depth pinned."""
    assert set(WITNESSES) == {goal.name for goal in partition().goals}
    assert set(DEPTHS) == {change.name for change in CONTROLS}


def test_the_whole_instances_leave_nothing_out() -> None:
    """Together every action happens in them, and one alone is not enough."""
    two_producers, two_epochs = instance("two producers"), instance("two epochs")

    assert [] == list(vacuous([two_producers, two_epochs]))
    assert ["epoch_and_coordinator_rose is never reached"] == [
        line for line in vacuous([two_producers]) if "reached" in line
    ]


@pytest.mark.parametrize("change", CONTROLS, ids=lambda change: change.name)
def test_explicit_search_finds_the_shortest_violation(change: BrokenPartition) -> None:
    """It is of the claim written beside the change."""
    control = controlled(broken(change), change.violates, 0)

    assert control.passed, control.detail
    assert control.detail.startswith(f"depth {DEPTHS[change.name]} by explicit search: {change.violates}")


@pytest.mark.parametrize("change", by_default({each.name: each for each in CONTROLS}, BOUNDED))
def test_both_searches_find_the_violation_at_the_same_depth(change: BrokenPartition) -> None:
    """It is of the claim written beside the change."""
    built = broken(change)

    control = controlled(built, change.violates, DEPTHS[change.name])

    assert control.passed, control.detail
    assert control.detail.startswith(f"depth {DEPTHS[change.name]} by explicit and bounded search: {change.violates}")


def test_a_change_that_breaks_nothing_is_no_control() -> None:
    """The true system is not violated, and the verdict shows it."""
    built = instance("batches of two sizes")

    control = controlled(built, "below_stable_is_decided", 5)

    assert not control.passed
    assert "holds" in control.got


@pytest.mark.parametrize("name", [pytest.param("two producers", marks=pytest.mark.slow), "two epochs"])
def test_bounded_search_finds_nothing_in_the_true_system(name: str) -> None:
    """Nor does explicit search."""
    built = instance(name)

    assert Holds(3) == search(built.plain, built.finite, 3, stride=3).verdict


def test_the_last_stable_offset_waits_below_the_high_watermark() -> None:
    """Two transactions are open, one ends: readers wait for the older, and then for the marker's replication."""
    knobs = PartitionKnobs(appends=4, plain_data=False)
    system = partition(knobs, remembered(knobs.decide))
    finite = instance_of(system, sizes(knobs, producers=2))

    def stable_after(*happenings: tuple[str, tuple[int, ...]]) -> int:
        state = replayed(system, finite, tuple(Happening(name, at) for name, at in happenings))
        return int(min(state.first_ongoing(0) % 9, state.first_unreplicated(0) % 9, state.end(0, state.visible(0))))

    both = (("producer_appends", (0, 0, 0, 0, 0)), ("producer_appends", (0, 1, 0, 0, 0)))
    younger_ends = (*both, ("coordinator_writes_marker", (0, 1, 0, 0)))
    older_ends = (*younger_ends, ("coordinator_writes_marker", (0, 0, 0, 0)))

    assert 0 == stable_after(*younger_ends, ("followers_copy", (0, 3)))
    assert 0 == stable_after(*older_ends, ("followers_copy", (0, 3)))
    assert 4 == stable_after(*older_ends, ("followers_copy", (0, 4)))


def test_an_unbounded_partition_has_no_finite_instance() -> None:
    """Its log could grow for ever."""
    with pytest.raises(ValueError, match="bound"):
        sizes(PartitionKnobs())


def test_every_action_is_left_in_or_out_by_its_knob() -> None:
    """Without faults nothing fails."""
    names = {action.name for action in partition(PartitionKnobs(fails_over=False, log_start_rises=False)).actions}

    assert not names & {"leader_fails_over", "records_are_deleted", "leader_forgets"}
    assert "leader_forgets" in {action.name for action in partition(PartitionKnobs(state_expires=True)).actions}


@pytest.mark.slow
def test_the_report_names_every_control() -> None:
    """Each has what was expected and what came."""
    assert [change.name for change in CONTROLS] == [control.name for control in searched().controls(RunEffort.QUICK)]


def test_the_quick_run_is_part_of_the_deeper_ones() -> None:
    """An instance is explored by every effort from its first one on."""
    for each in INSTANCES:
        efforts = [effort for effort in RunEffort if effort in each.depth]
        assert efforts == list(RunEffort)[len(RunEffort) - len(efforts) :]


def test_a_refutation_is_a_trace() -> None:
    """What is not safe is read, and lost: the story of an unclean election."""
    change = next(each for each in CONTROLS if each.name == "unclean election")
    built = broken(change)

    verdict = explore(built.system, built.finite, [built.system.claim(change.violates)]).verdict

    assert isinstance(verdict, Refuted)
    assert ["readers_fetch", "leader_fails_over"] == [happening.action for happening in verdict.trace[-2:]]
