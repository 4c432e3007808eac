import pytest

from model_tests.conformance.broken_guards import GUARDS, broken_guards
from model_tests.conformance.files import sessions
from model_tests.conformance.part import RECORDINGS
from model_tests.conformance.sessions import Session
from model_tests.verify.results import Control


@pytest.fixture(scope="module")
def recorded() -> list[Session]:
    return list(sessions(RECORDINGS))


@pytest.fixture(scope="module")
def found(recorded: list[Session]) -> tuple[Control, ...]:
    return broken_guards(recorded)


def test_every_missing_guard_turns_a_recorded_step_red(found: tuple[Control, ...]) -> None:
    """And the first such step names the rule of the guard."""
    assert [control.name for control in found] == [f"guard {guard} missing" for guard in GUARDS]
    assert [control.detail for control in found if not control.passed] == []


def test_a_guard_that_nothing_meets_is_no_control(recorded: list[Session]) -> None:
    """Sessions without groups decide nothing about them."""
    without = broken_guards([session for session in recorded if session.family == "A"][:3])

    assert {control.got for control in without} == {"not run: no such step"}
    assert not any(control.passed for control in without)
