from itertools import chain
from types import ModuleType

import pytest

from model_tests.conform.broken_guards import GUARDS, broken_guards
from model_tests.conform.bundled import bundled, sample, sessions_in
from model_tests.conform.part import SELDOM_MET_IN
from model_tests.verify.results import Control
from spec.protocol import append, ending, ids, registering


@pytest.fixture(scope="module")
def found() -> tuple[Control, ...]:
    return broken_guards(sessions_in(chain(sample(60).lines, bundled(SELDOM_MET_IN))))


@pytest.mark.slow
def test_every_missing_guard_turns_a_recorded_step_red(found: tuple[Control, ...]) -> None:
    """And the first such step names the rule of the guard."""
    assert [control.name for control in found] == [guard.name for guard in GUARDS]
    assert [control.detail for control in found if not control.passed] == []


@pytest.mark.parametrize("decision", [ids, registering, ending, append], ids=lambda decision: str(decision.__name__))
def test_a_guard_is_missing_for_the_time_of_its_control_only(decision: ModuleType, found: tuple[Control, ...]) -> None:
    """Afterwards the decision is what it was."""
    assert found
    assert decision.guards.__module__ == decision.__name__


def test_a_guard_that_nothing_meets_is_no_control() -> None:
    """Sessions of appends decide nothing about groups and transactions."""
    without = broken_guards(sessions_in(sample(600, ("A",)).lines))

    assert {control.got for control in without} == {"not run: no such step"}
    assert not any(control.passed for control in without)
