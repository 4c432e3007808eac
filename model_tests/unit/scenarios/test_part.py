"""The scenarios as part of the run."""

from dataclasses import replace

import pytest

from model_tests.scenarios import part
from model_tests.scenarios.catalogue import SCENARIOS
from model_tests.verify.results import RunEffort


def test_every_scenario_is_played() -> None:
    """All are as expected, and none is left out."""
    found = part.evidence(RunEffort.QUICK)

    assert found.passed
    assert len(SCENARIOS) == found.extra["scenarios"]


def test_a_scenario_that_shows_something_else_fails_the_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names it, and what was seen."""
    name, scenario = next(iter(SCENARIOS.items()))
    monkeypatch.setattr(part, "SCENARIOS", {name: replace(scenario, expected={"the sky": "green"})})

    found = part.evidence(RunEffort.QUICK)

    assert not found.passed
    assert any(line.startswith(f"{name}: the sky: expected") for line in found.failures)
