"""Samples of a batch: appends to the solver, traces to the reference; the one that does not agree is named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model_tests.check import on_spark, sample_judges
from model_tests.check.check import run
from model_tests.check.sample_judges import VERDICT, differing_verdicts, disagreements
from model_tests.common.reports import VIOLATED
from model_tests.judging import trace_files
from model_tests.judging.check_report import CheckReport, JudgeSample
from model_tests.judging.judges import append_judge
from model_tests.simulate.simulate import trace_of
from model_tests.spark.session import session
from model_tests.unit.traces.conftest import NEWEST_PRODUCERS, written
from spec.engines.reading_z3 import INTEGERS
from spec.protocol.append import append


def test_a_trace_that_comes_again_differs_in_nothing(true_rows: list[dict[str, Any]]) -> None:
    """The seed determines every byte of it."""
    assert (-1, "") == sample_judges.difference(true_rows, trace_of(NEWEST_PRODUCERS, len(true_rows)))


@pytest.mark.parametrize("step", [0, 57, 119])
def test_a_changed_step_is_named_with_what_the_reference_has(true_rows: list[dict[str, Any]], step: int) -> None:
    """The first step that differs, its column, and both values."""
    true_rows[step]["time_ms"] += 1
    true = true_rows[step]["time_ms"] - 1

    found = sample_judges.difference(true_rows, trace_of(NEWEST_PRODUCERS, len(true_rows)))

    assert (step, f"time_ms is {true + 1}, the reference has {true}") == found


def test_a_trace_of_another_length_is_named(true_rows: list[dict[str, Any]]) -> None:
    """Further steps of the reference are reported by their number."""
    again = trace_of(NEWEST_PRODUCERS, len(true_rows))

    assert (119, "119 steps, the reference makes 120") == sample_judges.difference(true_rows[:-1], again)


def test_a_trace_whose_number_is_no_seed_is_not_made_again(true_rows: list[dict[str, Any]]) -> None:
    """The reference makes none of it, and the check goes on to the next."""
    found = sample_judges.made_again([row | {"trace": 10**12} for row in true_rows])

    assert (10**12, 0, "120 steps, the reference makes 0") == found


def test_a_sample_that_differs_is_a_violation() -> None:
    """Whatever the rules say of it."""
    sample = JudgeSample("z3", 10, 9, 1, ("trace 1, step 2: the solver decides otherwise than Python",))
    report = CheckReport(1, 1, 0.0, (), (), (), (), samples=(sample,))

    assert VIOLATED == report.exit_code
    assert "appends judged by the solver: 9 of 10 requested, 1 differ" == str(sample)


def test_the_solver_disagrees_with_a_decision_that_is_not_the_one(true_rows: list[dict[str, Any]]) -> None:
    """The comparison can fail: a decision that never accepts is found out on every append that is accepted."""
    appends = [row for row in true_rows if row["origin"] >= 0 and row["appended"]][:3]

    def refusing(entry: Any, request: Any, profile: Any, verification: Any) -> Any:
        decided = append(entry, request, profile, verification)
        return replace(decided, branch=decided.branch + 1)

    assert [] == disagreements(appends, INTEGERS)
    assert appends == disagreements(appends, INTEGERS, refusing)


def test_the_solver_disagrees_with_a_verdict_that_is_not_the_one(true_rows: list[dict[str, Any]]) -> None:
    """A branch, a rule that was not at stake, and a violation that is none: each is reported, with both values."""
    appends = [row for row in true_rows if row["origin"] >= 0][:4]
    judge = append_judge(appends[0]["profile"])
    true = [{**row, **dict(zip(VERDICT, judge(row), strict=True))} for row in appends]
    false = [{**row, name: row[name] + 1} for row, name in zip(true, VERDICT, strict=False)]

    assert [] == list(differing_verdicts(true))
    reported = [output for _, output in differing_verdicts(false)]
    assert [
        f"{name} is {row[name]}, the solver has {row[name] - 1}" for row, name in zip(false, VERDICT, strict=True)
    ] == reported


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_samples_are_drawn_and_judged_on_the_executors(true_rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """Of a true and a false trace the reference names the false one; the solver agrees on every append."""
    false = [dict(row) for row in trace_of(NEWEST_PRODUCERS + 4, steps=60)]
    false[30]["world_ms"] += 7
    steps = trace_files.read(session(), str(written([*true_rows, *false], tmp_path))).steps.steps

    again = on_spark.to_the_reference(steps, 5)
    solved = on_spark.to_the_solver(steps, 12)

    assert (2, 1) == (again.put, again.differing)
    assert again.reported[0].startswith(f"trace {NEWEST_PRODUCERS + 4}, step 30: world_ms is ")
    assert (12, 0, ()) == (solved.put, solved.differing, solved.reported)


def test_samples_are_drawn_and_judged_in_this_process(true_rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """Of a true and a false trace the reference names the false one; the solver agrees on every append."""
    false = [dict(row) for row in trace_of(NEWEST_PRODUCERS + 4, steps=60)]
    false[30]["world_ms"] += 7

    solved, again = run(str(written([*true_rows, *false], tmp_path)), z3_sample=12, reference_sample=5).samples

    assert (2, 1) == (again.put, again.differing)
    assert again.reported[0].startswith(f"trace {NEWEST_PRODUCERS + 4}, step 30: world_ms is ")
    assert ("z3", 12, 0, ()) == (solved.judge, solved.put, solved.differing, solved.reported)
