"""Counterexamples to induction: the lemmas really hold in them, and the claim really fails after the action."""

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, Final

import pytest

from spec import rules
from spec.algebra import Term
from spec.engines.counterexample import InductionSearch, differing
from spec.engines.finite import Finite, instance_of
from spec.systems.language import Claim, State, System
from spec.systems.transactions.broken import NEAR_THE_END
from spec.systems.transactions.proof import UNBOUNDED, proved
from spec.systems.transactions.world import Bounds, finite

FINITE: Final = finite(UNBOUNDED.profile, NEAR_THE_END)
SIZES: Final = replace(UNBOUNDED, bounds=Bounds(instances=2, coordinators=2, producer_ids=2, generations=2)).sizes()

BROKEN: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "a group takes over what is aborted": (
        {"without": frozenset({"aborted"})},
        "visible_was_committed",
        "leader_writes_marker",
    ),
    "the coordinator does not wait": ({"waits_for_log": False}, "log_is_memory_or_ahead", "coordinator_ends"),
    "a late bump at the last epoch": ({"compared": frozenset()}, "epoch_before_was_reported", "coordinator_bumps"),
}
"""Changes of the system, and an obligation that each leaves open."""

UNWAITING: Final = "the coordinator does not wait"
TRUE: Final = ""


@cache
def system(what: str) -> System:
    changed = BROKEN[what][0] if what else {}
    return proved(replace(UNBOUNDED, profile=FINITE, **changed))


def points(what: str) -> Finite:
    return instance_of(system(what), SIZES)


@cache
def search(what: str) -> InductionSearch:
    return InductionSearch(system(what), points(what))


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_system_has_a_state_that_keeps_the_lemmas_and_a_step_that_does_not(what: str) -> None:
    """Worked out with the values of Python, apart from the search: every lemma at every point, guard, effect, claim."""
    _, claim, action = BROKEN[what]
    of = system(what)

    found = search(what).keeps(of.claim(claim), action)

    assert found is not None
    assert found.happening is not None
    assert action == found.happening.action
    where = [(lemma, at) for lemma in of.lemmas for at in points(what).points(lemma.over)]
    assert len(where) > 100
    assert [] == [(lemma.name, at) for lemma, at in where if not lemma.holds(found.before, *at)]
    assert all(of.action(action).guard(found.before, *found.happening.at))
    after = of.action(action).effect(found.before, *found.happening.at)
    assert not of.claim(claim).holds(after, *found.about)


def test_the_table_has_what_is_not_as_at_the_start_and_what_changes() -> None:
    """Its cells are the difference from the state at the start, before or after."""
    of = system(UNWAITING)

    found = search(UNWAITING).keeps(of.claim("log_is_memory_or_ahead"), "coordinator_ends")

    assert found is not None
    start = of.initially()
    states = (found.before, found.after)
    expected = {(name, at) for each in states for name, at, *_ in differing(of, points(UNWAITING), start, each)}
    assert expected == {(cell.function, cell.at) for cell in found.cells}
    assert any(cell.before != cell.after for cell in found.cells)


@pytest.mark.parametrize("what", BROKEN)
def test_the_true_system_has_none(what: str) -> None:
    """What is proved has no counterexample in any instance."""
    _, claim, action = BROKEN[what]

    assert search(TRUE).keeps(system(TRUE).claim(claim), action) is None


def test_a_theorem_that_does_not_follow_is_broken_by_a_state_alone() -> None:
    """No action is needed: every lemma holds, and the theorem does not."""

    def nothing_is_decided(state: State) -> Term:
        return state.decisions() == 0

    found = search(TRUE).follows(Claim("nothing_is_decided", rules.TXN_ATOMIC, "", (), nothing_is_decided))

    assert found is not None
    assert found.happening is None
    assert found.before.decisions() > 0
    where = ((lemma, at) for lemma in system(TRUE).lemmas for at in points(TRUE).points(lemma.over))
    assert all(lemma.holds(found.before, *at) for lemma, at in where)


def test_a_lemma_that_does_not_hold_at_the_start_is_shown_there() -> None:
    """The state is the one at the start."""

    def something_is_decided(state: State) -> Term:
        return state.decisions() > 0

    found = search(TRUE).starts(Claim("something_is_decided", rules.TXN_ATOMIC, "", (), something_is_decided))

    assert found is not None
    assert () == found.cells


def test_a_dormant_action_that_may_happen_has_a_state() -> None:
    """Whatever the lemmas do not exclude."""
    found = search(TRUE).happens("coordinator_ends")

    assert found is not None
    assert found.happening is not None
    assert all(system(TRUE).action("coordinator_ends").guard(found.before, *found.happening.at))


def test_lemmas_hold_of_what_lies_outside_the_instance_too() -> None:
    """A number of the state may name a transaction that the instance does not have; that one is as at the start."""
    of = system(UNWAITING)
    singles = [lemma for lemma in of.lemmas if len(lemma.over) == 1 and not lemma.over[0].opaque]

    found = search(UNWAITING).keeps(of.claim("log_is_memory_or_ahead"), "coordinator_ends")

    assert found is not None
    numbers = {cell.before for cell in found.cells if not isinstance(cell.before, bool)}
    assert len(singles) > 10
    assert all(lemma.holds(found.before, at) for lemma, at in product(singles, numbers))
