"""The ranking by which a prepared transaction completes speaks of every action, under the fairness of the searches."""

import pytest

from spec.systems.language import System
from spec.systems.transactions.completion import FAULT, completion
from spec.systems.transactions.progress import FAIR, is_fault
from spec.systems.transactions.proof import proved


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
