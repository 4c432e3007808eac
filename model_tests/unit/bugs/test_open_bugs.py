"""Bugs that no release has fixed: violated in the newest one too, and compared with what would fix them."""

from dataclasses import replace

import pytest

from model_tests.bugs.judged import judged
from model_tests.bugs.on_reference import MENDINGS, profile_of, staged
from model_tests.bugs.script import carry_out
from model_tests.bugs.searching import searched
from model_tests.diagrams.sequence import text_of
from spec.bugs.bug import Bug, ExpectedAnswer
from spec.bugs.catalogue import BUGS
from spec.versions import NEWEST, PROFILES

OPEN = tuple(bug for bug in BUGS.values() if NEWEST.name in {case.profile for case in bug.violated})

each_open = pytest.mark.parametrize("bug", OPEN, ids=lambda bug: bug.name)


def test_three_are_open() -> None:
    """The newest release has these."""
    assert {"KAFKA-20734", "lowered-version", "late-bump"} == {bug.name for bug in OPEN}


@each_open
def test_an_open_bug_is_held_against_what_would_mend_it(bug: Bug) -> None:
    """A profile that no release has."""
    staging = staged(bug)
    assert staging is not None

    assert bug.mended[-1].profile not in PROFILES
    assert profile_of(bug.mended[-1]) == staging.true
    assert () == judged(bug).failures


@pytest.mark.parametrize("name", ["lowered-version", "late-bump"])
def test_a_mending_is_what_mends(name: str) -> None:
    """On the same profile without it the rule of the bug breaks."""
    bug = BUGS[name]
    staging = staged(bug)
    assert staging is not None
    assert staging.mending is MENDINGS[bug.mended[-1].profile]
    trace = searched(bug.broken).trace

    broken = carry_out(staging.script(staging.true), trace).broken

    assert broken is not None
    assert bug.rule is broken.rule


@each_open
def test_a_release_that_is_wrongly_said_to_have_the_bug_is_red(bug: Bug) -> None:
    """Every case that must be violated is checked, not the first alone."""
    wrong = replace(
        bug, cases=(*bug.violated, replace(bug.mended[-1], expected=ExpectedAnswer.VIOLATED), *bug.mended[:-1])
    )
    if not wrong.mended:
        wrong = replace(wrong, cases=(*wrong.cases, bug.mended[-1]))

    profile = bug.mended[-1].profile

    assert f"{bug.name} in {profile}: expected violated, got holds" in judged(wrong).failures


def test_the_drawing_shows_the_torn_commit() -> None:
    """One partition is marked, the other one's marker goes nowhere, and its broker is back in the end."""
    diagram = judged(BUGS["KAFKA-20734"]).diagram
    assert diagram is not None

    drawn = text_of(diagram)

    assert "marker COMMIT" in drawn
    assert "no endpoint for invoices-0: it has no leader" in drawn
    assert "has a leader again" in drawn
    assert "txn.atomic is violated" in drawn


def test_the_drawing_shows_the_locked_id() -> None:
    """The open transaction has a transition pending that never ends."""
    diagram = judged(BUGS["lowered-version"]).diagram
    assert diagram is not None

    drawn = text_of(diagram)

    assert "UNSUPPORTED_VERSION (refused)" in drawn
    assert "PREPARE_ABORT" in drawn
