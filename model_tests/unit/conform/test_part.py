from typing import Any

import pytest

from model_tests.conform.attribution import Attribution, rules_at_stake
from model_tests.conform.broken_guards import GUARDS
from model_tests.conform.bundled import sample, sessions_in
from model_tests.conform.controls import CORRUPTIONS
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.part import RULES, evidence
from model_tests.conform.side_by_side import SPECIFICATION, outcomes
from model_tests.verify.results import PartResult, RunEffort
from spec.evidence import Layer


@pytest.fixture(scope="module")
def quick() -> PartResult:
    return evidence(RunEffort.QUICK)


@pytest.mark.slow
def test_every_rule_holds_on_steps_that_are_about_it(quick: PartResult) -> None:
    """A result for each rule, with a count above zero."""
    assert [result.rule for result in quick.results] == list(RULES)
    assert all(result.passed and result.layer is Layer.CONFORMANCE for result in quick.results)
    assert quick.failures == ()


@pytest.mark.slow
def test_a_quick_run_takes_a_thirtieth(quick: PartResult) -> None:
    """The sample is said, and the report's figures are of what ran; sessions that wait are counted apart."""
    waiting: Any = quick.extra["unsupported"]

    assert quick.sampled == "ran 599 of 15,263 sessions"
    assert quick.extra["sessions"] == 599 - waiting["sessions"]


@pytest.mark.slow
def test_every_corrupted_recording_is_disagreed_with(quick: PartResult) -> None:
    """Both sides name the corrupted step, and nothing else; then come the guards that are missing."""
    missing = [guard.name for guard in GUARDS]

    assert [control.name for control in quick.controls] == [each.name for each in CORRUPTIONS] + missing
    assert [control.detail for control in quick.controls if not control.passed] == []


def test_like_steps_are_about_the_same_rules() -> None:
    """Asking once for what is alike gives what asking every time gives."""
    attribution = Attribution()
    for recorded in sessions_in(sample(200).lines):
        for outcome in outcomes(recorded, {SPECIFICATION: OnSpecification}):
            requested = (outcome.step, outcome.decided, recorded.profile)

            assert attribution.rules_at_stake(*requested) == rules_at_stake(*requested)
