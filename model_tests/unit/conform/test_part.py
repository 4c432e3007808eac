from collections import Counter
from typing import Any

import pytest

from model_tests.conform.controls import CORRUPTIONS, GUARDS
from model_tests.conform.decision_log import Attribution, rules_at_stake
from model_tests.conform.files import LEAST, SessionSample, bundled, sample, sessions_in
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.part import RULES, evidence
from model_tests.conform.sessions import FAMILIES, LIVE
from model_tests.conform.side_by_side import SPECIFICATION, outcomes
from model_tests.verify.results import PartResult, RunEffort
from spec.evidence import Layer


@pytest.fixture(scope="module")
def quick() -> PartResult:
    return evidence(RunEffort.QUICK)


@pytest.fixture(scope="module")
def small() -> SessionSample:
    """The least of every family."""
    return sample(10_000)


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


def test_like_steps_are_about_the_same_rules(small: SessionSample) -> None:
    """Asking once for what is alike gives what asking every time gives."""
    attribution = Attribution()
    for recorded in sessions_in(small.lines):
        for outcome in outcomes(recorded, {SPECIFICATION: OnSpecification}):
            requested = (outcome.step, outcome.decided, recorded.profile)

            assert attribution.rules_at_stake(*requested) == rules_at_stake(*requested)


def test_every_family_is_in_every_sample(small: SessionSample) -> None:
    """However small it is, and each file has some of its own."""
    counts = Counter(session.family for session in sessions_in(small.lines))

    assert counts.keys() == FAMILIES.keys() - LIVE
    assert min(counts.values()) >= LEAST
    assert small.of == 15_263


def test_a_sample_is_always_the_same(small: SessionSample) -> None:
    """And in the order of the files."""
    assert small == sample(10_000)
    assert list(small.lines) == sorted(small.lines, key=lambda line: (line.file, line.number))


def test_one_in_one_is_everything() -> None:
    """Nothing is left out, and nothing is there twice."""
    assert sample(1, ("T", "ET")).lines == tuple(bundled(("T", "ET")))


def test_families_select() -> None:
    """By the fields of each line."""
    chosen = sample(20, ("FX", "P"))

    assert {session.family for session in sessions_in(chosen.lines)} == {"FX", "P"}
    assert chosen.of == 59 + 56 + 152 + 86 + 87 + 54
