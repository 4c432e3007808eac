"""A prepared transaction completes under fairness, without bounds: every lemma of the ranking is proved."""

import pytest

from spec.engines.induction import Obligation, Prover
from spec.engines.verdict import Proved
from spec.systems.language import System
from spec.systems.transactions.completion import FAULT, completion
from spec.systems.transactions.progress import FAIR, is_fault
from spec.systems.transactions.proof import proved

RANKING = {"rank_never_rises", "waits_until_marked", "marker_lowers_rank", "completion_ends_it", "rank_is_finite"}


@pytest.fixture(scope="module")
def system() -> System:
    return completion()


@pytest.fixture(scope="module")
def found(system: System) -> tuple[Obligation, ...]:
    return tuple(Prover(system).obligations())


def test_every_obligation_is_proved(found: tuple[Obligation, ...]) -> None:
    """The theorem, the two lemmas, and the ranking."""
    assert [] == [str(o) for o in found if not isinstance(o.verdict, Proved)]
    assert RANKING | {"prepared_completes", "marker_is_possible"} < {o.claim for o in found}


def test_no_action_is_left_out(system: System) -> None:
    """The rank is finite under all of them, and does not rise under any but the one that is a fault."""
    actions = {action.name for action in proved().actions}
    about = {name: {each.action.name for each in system.steps if each.name == name} for name in RANKING}

    assert actions < about["rank_is_finite"]
    for name in ("rank_never_rises", "waits_until_marked"):
        assert actions - {FAULT} == about[name]


def test_fairness_is_that_of_the_searches(system: System) -> None:
    """What is fair here is fair where finite instances are searched, and what is a fault here is one there."""
    fair = {each.action.name for each in system.steps if each.name in ("marker_lowers_rank", "completion_ends_it")}

    assert fair < FAIR
    assert is_fault(FAULT, ())
