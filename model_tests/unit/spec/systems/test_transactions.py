"""Transactions searched explicitly and bounded: their states, their witnesses, and what breaks them."""

from dataclasses import replace
from functools import cache

import pytest

from model_tests.verify.model_checking import Instanced, controlled
from spec.algebra import any_of
from spec.engines.bmc import search
from spec.engines.explore import Exploration, explore, replayed
from spec.engines.finite import demand_all_happen, instance_of
from spec.engines.verdict import Happening, Holds, Refuted
from spec.systems.transactions.broken import NOTHING, BrokenTransactions, quiet
from spec.systems.transactions.controls import CONTROLS, OF_VERSIONS
from spec.systems.transactions.decisions import decisions, remembered
from spec.systems.transactions.instances import INSTANCES
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import EVERYTHING, Bounds, TransactionKnobs
from spec.versions import KAFKA_3_9, KAFKA_3_9_UNVERIFIED, NEWEST, SNAPSHOT_4_0

COUNTS = {
    "two transactions": (430, 1336, 19),
    "timeouts, and leaders that fail": (1467, 6315, 23),
    "records that fail": (675, 3567, 19),
    "coordinators that fail": (253, 949, 12),
    "epochs that run out": (1132, 3771, 23),
    "version 0, requests in order": (515, 1029, 24),
    "version 1, requests in order": (515, 1029, 24),
    "bumps by the client": (499, 1508, 19),
    "version 0, bumps by the client": (218, 329, 21),
    "readers of two batches": (455, 1689, 18),
    "offsets of a group": (236, 611, 13),
    "one transaction on two partitions": (274, 850, 16),
}
"""States and edges of the whole instance, and the actions to its deepest state."""

DEPTHS = {
    "KAFKA-17754: a late EndTxn ends the next transaction": 10,
    "KAFKA-17754: the torn transaction": 19,
    "KAFKA-17754: half of a transaction": 24,
    "a late AddPartitionsToTxn opens a transaction that the next one joins": 10,
    "a late Produce joins the next transaction": 16,
    "a late Produce opens a transaction that hangs": 9,
    "a late Produce of a zombie is committed by its successor": 16,
    "a late commit of offsets becomes the group's with the next transaction": 16,
    "KIP-447: no commit is held against the group's generation": 6,
    "KAFKA-15784: the group is looked at before the coordinator is asked": 6,
    "a refused commit of offsets takes with it what is pending": 16,
    "a fenced zombie's commit takes with it what its successor has pending": 20,
    "KAFKA-18575: a transaction of another epoch counts as ongoing": 10,
    "KAFKA-18654: a marker takes the next transaction's guard": 13,
    "KAFKA-18660: the identity is looked at before the pending transition": 7,
    "KAFKA-19367: a fence bumps twice": 6,
    "KAFKA-19446: a late marker ends the next transaction": 14,
    "KAFKA-20310: the next producer id is not in the log": 8,
    "KAFKA-20090: a fence at the last epoch draws no producer id": 13,
    "KAFKA-6119: a timeout does not raise the epoch": 14,
    "KAFKA-9144: producer state expires by the time of its data": 10,
    "KAFKA-9666: a failed fence is forgotten": 7,
    "KAFKA-14884: the guard is not compared": 10,
    "KAFKA-14920: a later sequence is verified first": 9,
    "KAFKA-16352: a late completion takes the next one's place": 6,
    "KAFKA-19999: a repeated marker is refused": 7,
    "KIP-360: a late bump ends the next transaction": 7,
    "KIP-360: a zombie's bump ends its successor's transaction": 7,
    "a deposed coordinator answers from its cache": 5,
    "a client sends a later batch first": 5,
    "a resend is taken for the next batch": 7,
    "before version 2, a batch overtakes the first one": 8,
    "a guard that a repeated marker takes counts as taken wrongly": 17,
    "a group takes over what is aborted": 8,
    "a group has the offset of aborted outputs": 8,
    "a stable fetch does not wait": 5,
    "a reader does not stop at what is open": 6,
    "a reader is given what is aborted later": 9,
    "a reader gets no list of aborted transactions": 9,
    "a late Produce is read although its client got an abort": 17,
    "the coordinator does not wait for its log": 4,
    "markers before Prepare is durable": 4,
    "an identity before it is durable": 5,
}
"""Actions of the shortest violation."""

DEEPEST = 14
"""Deeper violations are left to explicit search, but where there is time."""

LONG_TO_FIND = ("a fenced zombie", "KIP-360: a late bump of one")

LARGE_WHEN_MENDED = (
    "a late Produce of a zombie",
    "KAFKA-9666",
    "an identity before",
    "a late AddPartitionsToTxn",
    "a fenced zombie",
    "a refused commit",
)


def built(knobs: TransactionKnobs, name: str = "") -> Instanced:
    system = transactions(knobs, remembered(decisions(knobs)))
    return Instanced(name, system, transactions(knobs), instance_of(system, knobs.sizes()))


@cache
def seen(name: str) -> Exploration:
    instance = built(next(each for each in INSTANCES if each.name == name).knobs)
    return explore(instance.system, instance.finite)


def sought(knobs: TransactionKnobs, claim: str) -> Holds | Refuted:
    instance = built(knobs)
    verdict = explore(instance.system, instance.finite, [instance.system.claim(claim)]).verdict
    assert isinstance(verdict, Holds | Refuted)
    return verdict


def named(*changes: BrokenTransactions, slow: tuple[str, ...] = ()) -> list[object]:
    def marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
        return (pytest.mark.slow,) if name.startswith(slow or ("none",)) else ()

    return [pytest.param(change, id=change.name, marks=marks(change.name)) for change in changes]


@pytest.mark.parametrize("name", COUNTS)
def test_an_instance_has_exactly_these_states(name: str) -> None:
    """Every state of the true system was seen, and every theorem holds in each."""
    found = seen(name)

    assert COUNTS[name] == (found.states, found.edges, found.depth)
    assert found.verdict == Holds(found.depth, complete=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in INSTANCES if each.large])
def test_a_large_instance_holds_in_every_state(name: str) -> None:
    """A successor, another coordinator, two batches, two partitions."""
    found = seen(name)

    assert found.verdict == Holds(found.depth, complete=True)


def test_every_small_instance_is_pinned() -> None:
    """And every control."""
    assert set(COUNTS) == {each.name for each in INSTANCES if not each.large}
    assert list(DEPTHS) == [change.name for change in CONTROLS]


def test_every_action_happens_somewhere() -> None:
    """Nothing that is held to hold rests on an action that cannot happen."""
    happened = frozenset[str]().union(*(seen(name).happened for name in COUNTS))
    knobs = TransactionKnobs(times_out=True, bounds=Bounds(coordinators=2))
    late = built(quiet(NEWEST, clients_bump=True))
    met = explore(late.system, late.finite, []).happened

    demand_all_happen(transactions(knobs), happened | met)
    demand_all_happen(transactions(quiet(KAFKA_3_9)), happened)


def test_a_commit_after_another_transaction_is_reached() -> None:
    """The shortest way there can be replayed."""
    instance = built(quiet(NEWEST))
    goal = next(each for each in instance.system.goals if each.name == "committed_after_another")

    trace = seen("two transactions").reached[goal.name]

    last = replayed(instance.system, instance.finite, trace)
    assert 12 == len(trace)
    assert any_of(*(goal.reached(last, *at) for at in instance.finite.points(goal.over)))


def test_a_group_takes_the_offset_of_a_transaction_over() -> None:
    """The witness: what is claimed of offsets is claimed of something."""
    assert "offset_is_taken_over" in seen("offsets of a group").reached


def test_a_reader_of_everything_has_what_is_aborted() -> None:
    """The contrast: a reader of committed data has passed over the same batch."""
    assert "aborted_is_read_by_one" in seen("readers of two batches").reached


@pytest.mark.slow
@pytest.mark.parametrize("change", named(*CONTROLS, slow=LONG_TO_FIND))
def test_both_searches_find_the_violation_at_the_same_depth(change: BrokenTransactions) -> None:
    """It is of the claim written beside the change."""
    control = controlled(built(change.knobs, change.name), change.violates, DEEPEST)

    assert control.passed, control.detail
    assert control.detail.startswith(f"depth {DEPTHS[change.name]} by explicit")
    assert f": {change.violates} is violated" in control.detail


@pytest.mark.slow
@pytest.mark.parametrize("change", named(*(each for each in CONTROLS if DEPTHS[each.name] > DEEPEST)))
def test_bounded_search_finds_the_deep_ones_too(change: BrokenTransactions) -> None:
    """At the same depth as explicit search."""
    control = controlled(built(change.knobs, change.name), change.violates, DEPTHS[change.name])

    assert control.passed, control.detail
    assert "by explicit and bounded search" in control.detail


@pytest.mark.parametrize("change", named(*CONTROLS, slow=LARGE_WHEN_MENDED))
def test_mended_it_holds(change: BrokenTransactions) -> None:
    """In the same instance, in every state."""
    verdict = sought(change.mended, change.violates)

    assert isinstance(verdict, Holds)
    assert verdict.complete


@pytest.mark.parametrize("change", named(*OF_VERSIONS))
def test_what_mends_a_version_is_one_thing(change: BrokenTransactions) -> None:
    """A behaviour, or that requests are no longer late."""
    behaviours = [name for name in change.knobs.profile.__slots__ if differs(name, change)]

    assert 1 == len(behaviours) + (change.knobs.outlive != change.mended.outlive)
    assert change.mended == replace(change.knobs, profile=change.mended.profile, outlive=change.mended.outlive)


def differs(behaviour: str, change: BrokenTransactions) -> bool:
    return bool(getattr(change.knobs.profile, behaviour) != getattr(change.mended.profile, behaviour))


@pytest.mark.slow
def test_bounded_search_finds_nothing_in_the_true_system() -> None:
    """Nor does explicit search."""
    instance = built(quiet(NEWEST))

    assert Holds(8) == search(instance.plain, instance.finite, 8, stride=8).verdict


@pytest.mark.parametrize("profile", [KAFKA_3_9, SNAPSHOT_4_0.under(1)], ids=["version 0", "version 1"])
def test_before_version_2_requests_act_on_the_next_transaction(profile: object) -> None:
    """Version 1 changes how records are written, and nothing else."""
    late = quiet(profile, outlive=EVERYTHING, bounds=Bounds(decisions=3))  # type: ignore[arg-type]

    assert isinstance(sought(late, "ends_its_own"), Refuted)
    assert isinstance(sought(replace(late, outlive=NOTHING), "ends_its_own"), Holds)


def test_the_late_end_ends_the_next_transaction() -> None:
    """The story of KAFKA-17754: its last request was sent before the second transaction began, and arrives again."""
    change = CONTROLS[0]

    verdict = sought(change.knobs, change.violates)

    assert isinstance(verdict, Refuted)
    actions = [happening.action for happening in verdict.trace]
    assert Happening("coordinator_ends", (0, 0)) == verdict.trace[-1]
    assert 2 == actions.count("coordinator_ends")
    assert 1 == actions.count("client_ends")


def test_a_late_bump_does_no_other_harm() -> None:
    """Of everything that is claimed, only that it ends no other transaction is false."""
    late = built(quiet(NEWEST, clients_bump=True))
    others = [claim for claim in late.system.theorems if claim.name != "bump_ends_no_other"]

    found = explore(late.system, late.finite, others)

    assert Holds(found.depth, complete=True) == found.verdict
    assert "bump_meets_open_transaction" in found.happened


def test_verification_stops_what_hangs_only_with_its_guard() -> None:
    """Asked too early, the coordinator's consent is worth nothing."""
    one = Bounds(transactions=1)
    claim = "open_data_will_be_decided"

    assert isinstance(sought(quiet(KAFKA_3_9_UNVERIFIED, bounds=one), claim), Refuted)
    assert isinstance(sought(quiet(KAFKA_3_9, bounds=one, guard_compared=False), claim), Refuted)
    assert isinstance(sought(quiet(KAFKA_3_9, bounds=one), claim), Holds)


def test_every_action_is_left_in_or_out_by_its_knob() -> None:
    """Where nothing fails nothing fails over; version 2 adds no partitions by itself."""
    calm = {action.name for action in transactions(quiet(NEWEST)).actions}
    loud = {action.name for action in transactions(replace(TransactionKnobs(), state_expires=True)).actions}

    assert not calm & {"leader_fails_over", "transaction_times_out", "coordinator_fails_over", "client_adds_partition"}
    assert {"leader_fails_over", "leader_forgets", "coordinator_aborts"} <= loud
    assert "client_adds_partition" in {action.name for action in transactions(quiet(KAFKA_3_9)).actions}
