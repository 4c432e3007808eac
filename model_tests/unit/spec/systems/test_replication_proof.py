"""Replication is proved without bounds: what is committed survives, replicas agree on it, watermarks are within."""

from dataclasses import replace
from functools import cache

import pytest

from model_tests.verify import breaking
from model_tests.verify.breaking import open_along, proved_instance, violating_run
from spec import rules
from spec.algebra import Term, implies
from spec.engines.explore import explore
from spec.engines.finite import instance_of
from spec.engines.induction import Obligation, Prover
from spec.engines.solving import FEW, SolverSettings
from spec.engines.verdict import Holds, passed
from spec.systems.language import Claim, State
from spec.systems.replication.controls import CONTROLS, BrokenReplication
from spec.systems.replication.history import LOSSES_ARE_COUNTED
from spec.systems.replication.lemmas import LEMMAS, RESTS_ON
from spec.systems.replication.proof import UNBOUNDED, proved
from spec.systems.replication.system import replication
from spec.systems.replication.world import REPLICA, ReplicationKnobs

SHORT = SolverSettings(few=FEW // 4, many=FEW // 4)
"""Enough for what is refuted at once, and to see that the solver does not find a proof of what is false."""

RULES = frozenset({rules.REPL_HW_BOUNDS, rules.REPL_COMMITTED_SURVIVES, rules.REPL_PREFIX_AGREEMENT})


@cache
def prover() -> Prover:
    return Prover(proved())


@cache
def run() -> tuple[Obligation, ...]:
    return tuple(prover().obligations())


def unbounded(change: BrokenReplication) -> ReplicationKnobs:
    """A control as it is, with as many of everything as a run has."""
    bounds = {name: getattr(UNBOUNDED, name) for name in ("replicas", "appends", "elections", "hears_late")}
    return replace(change.knobs, **bounds)


@pytest.mark.slow
def test_every_obligation_is_proved() -> None:
    """Each lemma at the start and under each action, each theorem in one state."""
    system = proved()

    assert [] == [str(each) for each in run() if not passed(each.verdict)]
    assert len(LEMMAS) * (len(system.actions) + 1) + len(system.theorems) == len(run())


@pytest.mark.slow
def test_no_lemma_is_idle() -> None:
    """Each is a hypothesis of another one's proof, or of a theorem's."""
    needed = {name for each in run() for name in each.needs - {each.claim}}

    assert {lemma.name for lemma in LEMMAS} == needed


@pytest.mark.slow
def test_the_lemmas_do_not_contradict_each_other() -> None:
    """Nor do they exclude an action."""
    assert [] == list(prover().contradictions())


def test_states_of_true_instances_show_that_the_lemmas_are_about_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every lemma holds in each of them, and every action happens; without an instance an action is missed by name."""
    assert [] == list(breaking.lacking())

    monkeypatch.setattr(breaking, "TRUE", breaking.TRUE[:1])

    assert ["replica_learns_past_election" in line for line in breaking.lacking()] == [True]


def test_the_theorems_are_those_that_are_searched() -> None:
    """One definition: the proof says of them only that what an instance has is numbered from 0."""
    searched, system = replication(), proved()

    assert [theorem.name for theorem in searched.theorems] == [theorem.name for theorem in system.theorems]
    assert [sentence.__name__ for sentence in RESTS_ON] == [theorem.name for theorem in searched.theorems]
    assert searched.assumptions == system.assumptions


@pytest.mark.parametrize("theorem", [sentence.__name__ for sentence in RESTS_ON])
def test_a_theorem_follows_from_the_lemmas(theorem: str) -> None:
    """In every state."""
    assert passed(prover()._follows(prover()._system.claim(theorem)).verdict)


def test_a_high_watermark_rises_no_further_than_every_heir_has() -> None:
    """The step in which a leader, perhaps of a past epoch, commits: every heir of its epoch has it."""
    system = proved()
    rises = system.action("leader_raises_high_watermark")

    found = [prover().keeps(system.claim(lemma), rises) for lemma in ("heir_has_committed_records", "heir_is_counted")]

    assert [] == [str(each) for each in found if not passed(each.verdict)]
    assert any(each.solved for each in found)


KNOBS = ReplicationKnobs(appends=1, elections=1, min_in_sync=2, losses=1, restarts=True, hears_late=True)


def last_one_loses(knobs: ReplicationKnobs) -> Claim:
    """That whoever may lose records is not the last that may be elected."""
    system = replication(knobs)

    def holds(state: State, replica: Term) -> Term:
        loses = system.action("broker_restarts").enabled(state, replica, state.length(replica) - 1)
        return implies(loses, state.other_candidate(replica) >= 0)

    return Claim("one_log_is_kept", rules.REPL_COMMITTED_SURVIVES, "", (REPLICA,), holds)


def test_the_lemmas_hold_in_every_state_of_an_instance() -> None:
    """They are about the system that is searched; there, losses are counted, and that is what the proof assumes."""
    system = proved(KNOBS, LOSSES_ARE_COUNTED)

    found = explore(system, instance_of(system, KNOBS.sizes()), [*system.claims, last_one_loses(KNOBS)])

    assert isinstance(found.verdict, Holds)
    assert found.verdict.complete


@pytest.mark.slow
def test_the_lemmas_hold_where_elections_are_learned_of_late() -> None:
    """Everything happens there but a loss."""
    knobs = ReplicationKnobs(appends=1, elections=2, restarts=True, hears_late=True)
    system = proved(knobs, LOSSES_ARE_COUNTED)

    found = explore(system, instance_of(system, knobs.sizes()), system.claims)

    assert isinstance(found.verdict, Holds)
    assert found.verdict.complete
    assert {action.name for action in system.actions} == found.happened


def test_too_many_losses_are_not_what_the_proof_assumes() -> None:
    """The claim above is about something."""
    knobs = replace(KNOBS, min_in_sync=1)
    system = proved(knobs, LOSSES_ARE_COUNTED)

    verdict = explore(system, instance_of(system, knobs.sizes()), [last_one_loses(knobs)]).verdict

    assert not passed(verdict)


def test_losses_without_an_assumption_are_not_proved() -> None:
    """Whoever may be elected could be the one that loses records."""
    system = proved(UNBOUNDED, LOSSES_ARE_COUNTED)
    keeps = Prover(system, SHORT).keeps(system.claim("keeper_may_be_elected"), system.action("broker_restarts"))

    assert not passed(keeps.verdict)
    assert passed(prover().keeps(system.claim("keeper_may_be_elected"), proved().action("broker_restarts")).verdict)


@pytest.mark.slow
def test_every_control_loses_a_lemma() -> None:
    """Along a shortest run to a violated theorem."""
    found = list(breaking.lemma_controls(RULES))

    assert len(CONTROLS) == len(found)
    assert [] == [control.name for control in found if not control.passed]


FIRST_LOST = {
    "unclean election": "heir_is_counted under controller_elects",
    "acks 1": "heir_has_committed_records under producer_appends",
    "before KIP-101, records are lost: truncation at the high watermark": (
        "shared_is_of_the_epoch under replica_learns_newest_election"
    ),
    "KAFKA-7128: a follower returns at a new leader's high watermark": (
        "proposed_has_caught_up under leader_proposes_return"
    ),
    "before KIP-903: a follower returns on the word of its former incarnation": (
        "known_end_is_shared under broker_restarts"
    ),
}
"""By control, an obligation of the first step that loses one."""


@pytest.mark.parametrize("name", FIRST_LOST)
def test_a_control_is_not_proved(name: str) -> None:
    """The solver leaves open what a run of the same system loses."""
    change = next(each for each in CONTROLS if each.name == name)
    instance = proved_instance(change)
    trace = violating_run(change, instance)

    found = [str(each) for each in open_along(proved(unbounded(change)), instance, trace, SHORT)]

    assert FIRST_LOST[name] in found
