"""Known bugs judged: found, drawn, carried out, and red where an expectation is wrong."""

import random
from contextlib import nullcontext
from dataclasses import replace
from unittest.mock import patch

import pytest

from model_tests.bugs import part
from model_tests.bugs.command import BugsReport
from model_tests.bugs.judged import judged
from model_tests.bugs.on_reference import MENDINGS, profile_of, replayed, staged
from model_tests.bugs.script import carry_out
from model_tests.bugs.searching import searched
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.diagrams.events import DrawnMessage, Mark, Note
from model_tests.diagrams.sequence import text_of
from model_tests.verify.results import RunEffort
from spec import rules
from spec.bugs.bug import Bug, ExpectedAnswer, SearchCase
from spec.bugs.catalogue import BUGS
from spec.engines.cells import StateLayout
from spec.engines.explore import InstanceSteps
from spec.engines.finite import instance_of
from spec.engines.verdict import Happening, Trace

LATE_END = BUGS["KAFKA-17754"]


def test_the_late_end_is_found_at_its_depth_and_drawn() -> None:
    """The shortest counterexample has ten steps; in the last one the request comes again, and ends the next one."""
    found = judged(LATE_END)
    assert found.diagram is not None
    drawn = text_of(found.diagram)

    assert (ExpectedAnswer.VIOLATED, 10) == (found.found[0].got, found.found[0].depth)
    late = DrawnMessage("client 0", "coordinator 0", "EndTxn payments 0/0 abort of transaction 0", Mark.AGAIN)
    assert late in found.diagram.steps[-2]
    assert "EndTxn of transaction 0 ends transaction 1" in drawn
    assert "txn.no_crosstalk is violated" in drawn
    assert () == found.failures


def test_under_version_2_the_same_search_is_closed() -> None:
    """No state of three transactions violates it, however deep."""
    newest = searched(LATE_END.mended[-1])

    assert ExpectedAnswer.HOLDS == newest.got
    assert newest.complete
    assert 24 <= newest.depth


def test_the_true_reference_refuses_the_late_end() -> None:
    """It names the guard."""
    replay = replayed(LATE_END, searched(LATE_END.broken).trace)
    assert replay is not None

    assert replay.defective.broken is not None
    assert rules.TXN_NO_CROSSTALK is replay.defective.broken.rule
    assert "EndTxn is answered PRODUCER_FENCED [fence.stale_epoch] current=1, got=0" in replay.true.refused
    assert replay.shown


@pytest.mark.parametrize("bug", BUGS.values(), ids=lambda bug: bug.name)
def test_every_counterexample_shows_on_the_defective_reference_alone(bug: Bug) -> None:
    """With the defect the bug's rule is broken; without it nothing is, and the report has the difference.

    Where the true reference refuses nothing, the reason why the consequence is right is given. No step is left out of
    the drawing.
    """
    trace = searched(bug.broken).trace
    replay = replayed(bug, trace)
    assert replay is not None
    assert len(trace) <= len(replay.defective.script.story.rows)

    assert replay.shown, (replay.defective, replay.true)
    assert replay.true.refused
    if replay.true.happened:
        assert bug.mended[-1].why
        assert replay.true.refused.endswith(bug.mended[-1].why)


@pytest.mark.parametrize("bug", BUGS.values(), ids=lambda bug: bug.name)
def test_random_runs_break_nothing_without_the_bug(bug: Bug) -> None:
    """Each is what the system may do in a release that has mended it; the reference does it, or refuses a step.

    On average at least two steps of a run happen.
    """
    case = bug.mended[-1]
    staging = staged(bug, case)
    assert staging is not None
    mending, steps = MENDINGS.get(case.profile), 0

    for seed in range(12):
        run = random_run(case, seed)
        with mending.in_place() if mending else nullcontext():
            carried_out = carry_out(staging.script(profile_of(case)), run)
        assert carried_out.broken is None, [str(step) for step in run]
        steps += carried_out.steps
    assert steps >= 12 * 2


def random_run(case: SearchCase, seed: int, most: int = 25) -> Trace:
    """Some run of the system of a case; each action that is possible is as likely as any other."""
    system, choose = case.instance.searched(), random.Random(seed)
    finite = instance_of(system, case.instance.sizes)
    layout = StateLayout(system, finite)
    steps, cells, run = InstanceSteps(system, finite, layout), layout.initial(system), list[Happening]()
    while len(run) < most and (possible := list(steps.possible(cells))):
        action = choose.choice(sorted({happening.action for happening, _ in possible}))
        happening, cells = choose.choice([step for step in possible if step[0].action == action])
        run.append(happening)
    return tuple(run)


@pytest.mark.parametrize("name", ["KAFKA-14884", "KAFKA-19999", "KAFKA-9144", "librdkafka#4953"])
def test_a_planted_defect_is_what_breaks_the_rule(name: str) -> None:
    """In the same release without the defect the counterexample does no harm."""
    bug = BUGS[name]
    staging = staged(bug)
    assert staging is not None
    assert staging.planted is not None

    assert carry_out(staging.script(staging.defective), searched(bug.broken).trace).broken is None


@pytest.mark.parametrize("name", ["KAFKA-17754", "KAFKA-17507", "KAFKA-20310", "KAFKA-8483"])
def test_bounded_search_finds_the_same_depth(name: str) -> None:
    """Two engines over one text of the system."""
    found = judged(BUGS[name], unrolls=True)
    assert found.unrolled is not None

    assert (ExpectedAnswer.VIOLATED, found.found[0].depth) == (found.unrolled.got, found.unrolled.depth)
    assert () == found.failures


def test_searches_that_disagree_are_red() -> None:
    """A depth that only one of them finds is named."""
    found = judged(BUGS["KAFKA-17507"], unrolls=True)
    assert found.unrolled is not None

    wrong = replace(found, unrolled=replace(found.unrolled, depth=3))

    assert "bounded search says violated at depth 3, explicit search violated at 4" in wrong.failures[0]


def test_a_wrong_expectation_is_red() -> None:
    """A bug that is expected where it was mended fails, by name and release, and so does the part."""
    bug = BUGS["KAFKA-17507"]
    wrong = replace(bug, cases=(bug.broken, replace(bug.mended[0], expected=ExpectedAnswer.VIOLATED)))

    report = BugsReport((judged(wrong),))

    assert ("KAFKA-17507 in 4.0: expected violated, got holds",) == report.failures
    assert VIOLATED == report.exit_code
    with patch.object(part, "BUGS", {**BUGS, bug.name: wrong}):
        assert not part.evidence(RunEffort.QUICK).passed


def test_a_counterexample_that_is_none_is_red() -> None:
    """A trace that does no harm on the defective reference does not count as carried out."""
    replay = replayed(LATE_END, (Happening("coordinator_initializes", (0, 0)),))
    assert replay is not None

    assert not replay.shown


def test_a_true_reference_that_breaks_is_red() -> None:
    """With the defect in the newest release as well, the counterexample is not refused, and does not count."""
    bug = BUGS["KAFKA-19999"]
    staging = staged(bug)
    assert staging is not None
    assert staging.planted is not None

    with staging.planted.in_place():
        replay = replayed(bug, searched(bug.broken).trace)

    assert replay is not None
    assert replay.defective.broken is not None
    assert not replay.withstood
    assert not replay.shown


def test_the_diagram_says_which_epoch_is_kept() -> None:
    """The last epoch is given out by a repetition, whose first answer was lost: as the reference did it."""
    diagram = judged(BUGS["KAFKA-20310"]).diagram
    assert diagram is not None

    events = [event for step in diagram.steps for event in step]

    assert Note("coordinator 0", "the epoch kept for fencing is 32767") in events
    answers = [(event.text, event.mark) for event in events if isinstance(event, DrawnMessage)]
    assert ("NONE 1/0", Mark.LOST) in answers
    assert [("EndTxn payments 0/32766 abort", Mark.PLAIN), ("NONE 0/32767", Mark.PLAIN)] == answers[-2:]
    assert 2 == answers.count(("EndTxn payments 0/32766 abort", Mark.PLAIN))


def test_the_entries_are_those_of_the_report() -> None:
    """One for the bug, one for each release that mended it."""
    entries = list(judged(BUGS["KAFKA-15784"]).entries())

    assert [("before-3.7", "violated"), ("3.6", "holds"), ("3.9.0", "holds"), ("4.4", "holds")] == [
        (e["profile"], e["got"]) for e in entries
    ]
    assert {"name", "rule", "profile", "expected", "got", "depth", "seconds", "replayed"} == entries[0].keys()
    assert all(entry["replayed"] for entry in entries)


def test_the_quick_part_runs_three_and_says_so() -> None:
    """All as expected."""
    found = part.evidence(RunEffort.QUICK)

    assert found.passed
    assert f"ran 3 of {len(BUGS)} bugs" == found.sampled
    assert 3 == found.extra["carried_out"]
    assert HOLDS == BugsReport(()).exit_code
