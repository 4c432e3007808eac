"""Transactions are proved without bounds under version 2, and transactions with something changed are not.

The ranking by which a prepared transaction completes covers every action, under the fairness of the searches.
"""

from dataclasses import replace
from functools import cache

import pytest

from model_tests.unit.support.obligations import obligation as obligation_of
from spec.algebra import any_of
from spec.engines.explore import explore, replayed
from spec.engines.finite import instance_of
from spec.engines.induction import Obligation, Prover, prove
from spec.engines.solving import FEW, contradiction
from spec.engines.verdict import Holds, Proved, passed
from spec.systems.language import System
from spec.systems.transactions.broken import NEAR_THE_END, quiet
from spec.systems.transactions.completion import FAULT, completion
from spec.systems.transactions.decisions import decisions, remembered
from spec.systems.transactions.progress import FAIR, is_fault
from spec.systems.transactions.proof import PROVED, UNBOUNDED, proved
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import EXHAUSTED, ONGOING, Bounds, TransactionKnobs
from spec.versions import NEWEST, SNAPSHOT_4_0


@pytest.fixture(scope="module")
def found() -> tuple[Obligation, ...]:
    return prove(proved())


@cache
def prover(knobs: TransactionKnobs) -> Prover:
    return Prover(proved(knobs))


def obligation(knobs: TransactionKnobs, name: str) -> Obligation:
    """The one obligation of this name, without the others."""
    return obligation_of(prover(knobs), proved(knobs), name)


@pytest.mark.slow
def test_every_obligation_is_proved(found: tuple[Obligation, ...]) -> None:
    """No lemma and no theorem is open."""
    assert [] == [str(o) for o in found if not isinstance(o.verdict, Proved)]


@pytest.mark.slow
def test_there_is_an_obligation_for_each_lemma_and_action(found: tuple[Obligation, ...]) -> None:
    """Theorems follow in one state; lemmas hold at the start and under each action; steps are apart."""
    system = proved()

    by_induction = len(system.theorems) + len(system.lemmas) * (1 + len(system.actions))
    assert len(found) == by_induction + len(system.steps)
    assert len(system.lemmas) < sum(o.solved for o in found) < len(found)


def test_the_proof_has_every_fault_and_no_limit() -> None:
    """Of the actions of version 2 only forgetting producers and the late completion are left out, being defects."""
    everything = replace(UNBOUNDED, state_expires=True, completion_is_of_operation=False)

    without = {a.name for a in transactions(everything).actions} - {a.name for a in proved().actions}

    assert {"leader_forgets", "late_completion_arrives"} == without
    assert not UNBOUNDED.limited
    assert replace(NEWEST, max_sequence=None) == UNBOUNDED.profile


CHANGED = {
    "KAFKA-19446: a late marker ends the next transaction": (
        replace(UNBOUNDED, profile=replace(NEWEST, marker_epoch_strict=False)),
        "decided_by_its_own under leader_writes_marker",
    ),
    "KAFKA-18654: a marker takes the next transaction's guard": (
        replace(UNBOUNDED, profile=replace(NEWEST, marker_keeps_next_guard=False)),
        "taken_guard_is_stale under leader_writes_marker",
    ),
    "KAFKA-20310: the next producer id is not in the log": (
        replace(UNBOUNDED, profile=replace(NEWEST, rotation_persisted=False)),
        "reported_follows under coordinator_fails_over",
    ),
    "KAFKA-20090: a fence at the last epoch draws no producer id": (
        replace(UNBOUNDED, profile=replace(NEWEST, fence_rotates=False, last_epoch_recovers=False)),
        "identity_is_in_range under coordinator_aborts",
    ),
    "KAFKA-19367: a fence bumps twice": (
        replace(UNBOUNDED, profile=replace(NEWEST, fence_bumps_once=False)),
        "decision_is_of_its_opener under coordinator_aborts",
    ),
    "KAFKA-9144: producer state expires by the time of its data": (
        replace(UNBOUNDED, state_expires=True),
        "consent_is_current under leader_forgets",
    ),
    "KAFKA-14884: the guard is not compared": (
        replace(UNBOUNDED, guard_compared=False),
        "open_is_due under leader_appends",
    ),
    "KAFKA-18575: a transaction of another epoch counts as ongoing": (
        replace(UNBOUNDED, profile=replace(NEWEST, ongoing_compares_epoch=False)),
        "open_data_is_of_entry under leader_appends",
    ),
    "KAFKA-18660: the identity is looked at before the pending transition": (
        replace(UNBOUNDED, profile=replace(NEWEST, pending_checked_first=False)),
        "no_current_identity_is_fenced under coordinator_verifies",
    ),
    "a late bump of one producer id comes at the last epoch of the next one": (
        replace(UNBOUNDED, compared=frozenset()),
        "overtaken_was_reported_and_used under coordinator_bumps",
    ),
    "KAFKA-16352: a late completion takes the next one's place": (
        replace(UNBOUNDED, completion_is_of_operation=False),
        "complete_is_always_awaited under late_completion_arrives",
    ),
    "KAFKA-18202: the first sequence after a bump is any": (
        replace(UNBOUNDED, profile=replace(UNBOUNDED.profile, first_after_bump_is_zero=False)),
        "log_has_no_gap under leader_appends",
    ),
    "KIP-447: no commit is held against the group's generation": (
        replace(UNBOUNDED, profile=replace(UNBOUNDED.profile, commits_fenced_by_generation=False)),
        "written_is_of_its_generation under group_appends_commit",
    ),
    "a refused commit of offsets takes with it what is pending": (
        replace(UNBOUNDED, profile=replace(UNBOUNDED.profile, refused_commit_drops_pending=True)),
        "open_is_pending under group_appends_commit",
    ),
    "a group takes over what is aborted": (
        replace(UNBOUNDED, without=frozenset({"aborted"})),
        "visible_was_committed under leader_writes_marker",
    ),
    "a reader does not stop at what is open": (
        replace(UNBOUNDED, readers_wait=False),
        "passed_was_decided under reader_fetches",
    ),
    "a reader gets no list of aborted transactions": (
        replace(UNBOUNDED, aborted_filtered=False),
        "received_was_committed under reader_fetches",
    ),
    "a sequence need not follow the last one": (
        replace(UNBOUNDED, without=frozenset({"successor"})),
        "log_has_the_sequences under leader_appends",
    ),
    "the coordinator does not wait for its log": (
        replace(UNBOUNDED, waits_for_log=False),
        "log_is_memory_or_ahead under coordinator_ends",
    ),
}
"""What is changed, and an obligation that is then open."""


@pytest.mark.parametrize("name", CHANGED)
def test_a_broken_system_is_not_proved(name: str) -> None:
    """The obligation that is open is one that the change breaks."""
    knobs, wanted = CHANGED[name]

    assert not passed(obligation(knobs, wanted).verdict)


BEFORE = replace(UNBOUNDED, profile=SNAPSHOT_4_0.under(1))

OPEN_BEFORE = (
    "open_is_due under leader_appends",
    "open_data_is_of_entry under leader_appends",
    "decided_by_its_own under leader_writes_marker",
    "registered_is_of_open under coordinator_adds",
    "decision_is_of_its_opener under coordinator_ends",
)


@pytest.mark.parametrize("name", OPEN_BEFORE)
def test_before_version_2_late_requests_break_the_proof(name: str) -> None:
    """A late Produce, AddPartitionsToTxn or EndTxn acts on the next transaction, as in KAFKA-17754."""
    assert not passed(obligation(BEFORE, name).verdict)


SMALL = {
    "two transactions": quiet(NEWEST),
    "timeouts, and leaders that fail": quiet(NEWEST, times_out=True, leaders_fail=True),
    "records that fail": quiet(NEWEST, appends_fail=True),
    "coordinators that fail": quiet(NEWEST, appends_fail=True, bounds=Bounds(transactions=1, coordinators=2)),
    "bumps by the client, which may be late": quiet(NEWEST, clients_bump=True),
    "offsets of a group, read": quiet(NEWEST, readers=True, groups=True, bounds=Bounds(transactions=1, generations=2)),
    "epochs that run out": quiet(
        NEWEST, NEAR_THE_END, first_epoch=NEAR_THE_END - 2, bounds=Bounds(decisions=3, producer_ids=3)
    ),
    "another coordinator, epochs that run out": quiet(
        NEWEST, NEAR_THE_END, first_epoch=NEAR_THE_END - 1, bounds=Bounds(coordinators=2, producer_ids=2)
    ),
}


LARGER = {
    "readers of two batches": quiet(NEWEST, readers=True, bounds=Bounds(transactions=1, batches=2)),
    "a successor": quiet(NEWEST, times_out=True, bounds=Bounds(instances=2)),
    "a successor, epochs that run out": quiet(
        NEWEST, NEAR_THE_END, first_epoch=NEAR_THE_END - 2, bounds=Bounds(instances=2, producer_ids=3)
    ),
    "a successor, bumps by the client, epochs that run out": quiet(
        NEWEST,
        NEAR_THE_END,
        first_epoch=NEAR_THE_END - 1,
        clients_bump=True,
        compared=frozenset({EXHAUSTED}),
        bounds=Bounds(instances=2, producer_ids=3),
    ),
    "offsets of two transactions": quiet(NEWEST, groups=True, bounds=Bounds(generations=2)),
    "bumps by the client, and records that fail": quiet(
        NEWEST, clients_bump=True, appends_fail=True, bounds=Bounds(decisions=1, coordinators=2)
    ),
    "another coordinator": quiet(NEWEST, times_out=True, bounds=Bounds(coordinators=2)),
}


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGER)])
def test_every_claim_holds_in_every_state_of_an_instance(name: str) -> None:
    """What is proved of all is true of the small ones, so that the lemmas do not contradict each other."""
    knobs = (SMALL | LARGER)[name]
    system = proved(knobs, remembered(decisions(knobs)))

    found = explore(system, instance_of(system, knobs.sizes()), system.claims)

    assert found.states > 200
    assert isinstance(found.verdict, Holds)
    assert found.verdict.complete


@pytest.mark.parametrize("action", [action.name for action in proved().actions])
def test_no_action_contradicts_the_lemmas(action: str) -> None:
    """The solver takes no action for impossible in a state of the lemmas, so that nothing is proved for that reason."""
    one = prover(UNBOUNDED)
    happens, _ = one._happening(proved().action(action))

    verdict = contradiction("nothing", [*one._lemmas.values(), happens], FEW)

    assert not isinstance(verdict, Proved)


def test_a_whole_identity_would_be_enough() -> None:
    """Were all of what a bump expects compared, it would never come to an open transaction: that is proved."""
    whole = replace(UNBOUNDED, compared=frozenset({ONGOING, EXHAUSTED}))
    one = prover(whole)

    happens, _ = one._happening(proved(whole).action("bump_meets_open_transaction"))

    assert isinstance(contradiction("nothing", [*one._lemmas.values(), happens], FEW), Proved)


def test_a_commit_after_another_transaction_keeps_every_lemma() -> None:
    """The proof is not empty: a state of interest is reached in which all lemmas hold."""
    knobs = SMALL["two transactions"]
    system = proved(knobs, remembered(decisions(knobs)))
    finite = instance_of(system, knobs.sizes())
    goal = next(each for each in system.goals if each.name == "committed_after_another")

    last = replayed(system, finite, explore(system, finite).reached[goal.name])

    assert any_of(*(goal.reached(last, *at) for at in finite.points(goal.over)))
    assert all(lemma.holds(last, *at) for lemma in system.lemmas for at in finite.points(lemma.over))


def test_one_theorem_is_only_searched() -> None:
    """The one that no release keeps when a client's bump is late."""
    left = {claim.name for claim in transactions().theorems} - set(PROVED)

    assert {"bump_ends_no_other"} == left


# --- the ranking by which a prepared transaction completes ------------------------------------------------------------


@pytest.fixture(scope="module")
def system() -> System:
    return completion()


def test_no_action_is_left_out(system: System) -> None:
    """The rank is finite under all of them, and does not rise under any but the one that is a fault."""
    actions = {action.name for action in proved().actions}
    ranking = ("rank_is_finite", "rank_never_rises", "waits_until_marked")
    about = {name: {each.action.name for each in system.steps if each.name == name} for name in ranking}

    assert actions < about["rank_is_finite"]
    assert actions - {FAULT} == about["rank_never_rises"] == about["waits_until_marked"]


def test_fairness_is_that_of_the_searches(system: System) -> None:
    """What is fair here is fair where finite instances are searched, and what is a fault here is one there."""
    fair = {each.action.name for each in system.steps if each.name in ("marker_lowers_rank", "completion_ends_it")}

    assert fair < FAIR
    assert is_fault(FAULT, ())
