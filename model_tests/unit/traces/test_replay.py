"""`eos replay`: one trace of a seed, a file or a tape, judged and drawn; what fails is shrunk first."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.monitor.files import trace_writer
from model_tests.monitor.runs import run_of
from model_tests.mutants.reference import PLANTED
from model_tests.replay import replay
from model_tests.replay.replay import AROUND, ReplayReport, run
from model_tests.simulate.simulate import WORKLOADS, trace_of
from model_tests.traces.schema import complete

GAP = next(planted for planted in PLANTED if planted.name == "gap of one accepted")


def printed(report: ReplayReport) -> str:
    text = StringIO()
    report.print(Console(width=100, file=text))
    return text.getvalue()


def test_a_replayed_trace_is_the_simulated_one_and_holds() -> None:
    """The seed determines everything: the same rows come again, and the decision agrees with each."""
    report = run(seed=5, step=3)

    assert trace_of(5) == list(report.rows)
    assert (0, ()) == (report.exit_code, report.violations)
    assert 3 in [row["step"] for row in report.shown]
    assert {count.rule: count.judged for count in report.rules}["seq.successor"] > 0


def test_a_step_past_the_end_is_named() -> None:
    """Asking for a step that the trace has not is one clear line."""
    with pytest.raises(BadInput, match="none numbered 100000"):
        run(seed=7, step=100_000)


def test_a_failing_seed_is_shrunk_drawn_and_made_again_by_its_tape(tmp_path: Path) -> None:
    """The diagram has the steps that matter and ends with the rule; the report's tape alone shows it again."""
    with GAP.in_place():
        seed = next(seed for seed in range(0, 300, len(WORKLOADS)) if run_of(seed).play().violations)
        report = run(seed=seed)
        (tmp_path / "report.json").write_text(json.dumps(report.to_json()))
        again = run(tape=tmp_path / "report.json")

    assert (VIOLATED, 2) == (report.exit_code, len(report.rows))
    assert report.steps > 2
    assert "seq.successor is violated: at step 1, by successor" in printed(report)
    assert f"shrunk from {report.steps} steps to 2" in printed(report)
    assert (report.rows, report.exit_code) == (again.rows, again.exit_code)
    assert HOLDS == run(tape=tmp_path / "report.json").exit_code


def test_a_file_is_judged_as_it_is(tmp_path: Path) -> None:
    """No run is repeated: the rows of the file are compared with the decisions, and every violation is reported."""
    rows = [{**row, "error": 999} if row["step"] in (3, 5) else row for row in trace_of(0, steps=10)]
    with trace_writer(tmp_path / "traces.ndjson") as write:
        write(rows)

    report = run(tmp_path / "traces.ndjson")

    assert VIOLATED == report.exit_code
    assert {3, 5} == {violation.step for violation in report.violations}
    assert "999" in printed(report)
    file = tmp_path / "traces.ndjson"
    assert {f"eos replay {file} --trace 0 --step {step}" for step in (3, 5)} == {v.replay for v in report.violations}
    assert report.violations == run(file, trace=0, step=3).violations


@pytest.mark.parametrize("wrong", [(65, 74), ()], ids=["its first violation", "its end"])
def test_of_a_long_trace_the_steps_around_one_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: tuple[int, ...]
) -> None:
    """The first violation, or the end; how to see others is said, and `--step` shows them."""
    monkeypatch.setattr(replay, "LONGEST", 100)
    file = tmp_path / "traces.ndjson"
    with trace_writer(file) as write:
        write({**row, "error": 999} if row["step"] in wrong else row for row in trace_of(0, steps=120))

    report, other = run(file), run(file, step=20)

    assert [each.step for each in report.violations] == list(wrong)
    middle = min(wrong, default=119)
    shown = [row["step"] for row in report.shown]
    assert shown == list(range(middle - AROUND, min(middle + AROUND, 119) + 1))
    assert f"shown: steps {shown[0]} to {shown[-1]} of 120; --step shows others" in printed(report)
    assert ("999" in printed(report)) == bool(wrong)
    assert [row["step"] for row in other.shown] == list(range(20 - AROUND, 20 + AROUND + 1))
    assert "--step shows others" not in printed(other)
    assert report.to_json()["rows"] == [dict(row) for row in report.shown]


def test_a_trace_that_is_not_long_is_shown_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to that length."""
    monkeypatch.setattr(replay, "LONGEST", 100)
    with trace_writer(tmp_path / "traces.ndjson") as write:
        write(trace_of(0, steps=100))

    report = run(tmp_path / "traces.ndjson")

    assert len(report.shown) == 100
    assert "--step shows others" not in printed(report)


def test_a_trace_of_which_nothing_is_at_stake_is_no_success(tmp_path: Path) -> None:
    """Steps that nothing judges are counted by name, and where there is nothing else, nothing was judged."""
    names = ("schema", "trace", "step", "profile", "transaction_version")
    rows = [{**{name: row[name] for name in names}, "api": "EndTxnRequest"} for row in trace_of(0, steps=3)]
    with trace_writer(tmp_path / "traces.ndjson") as write:
        write(map(complete, rows))

    report = run(tmp_path / "traces.ndjson")

    assert (NOTHING_JUDGED, {"EndTxnRequest": 3}) == (report.exit_code, report.to_json()["passed_over"])
    assert "steps that no rule judges: 3 x EndTxnRequest" in printed(report)
    assert "0 steps judged, 0 rules at stake" in printed(report)


def test_a_trace_is_drawn_into_a_file_too(tmp_path: Path) -> None:
    """`--svg FILE` has the same diagram."""
    run(seed=2, step=10, svg=tmp_path / "trace.svg")

    assert "InitProducerId" in (tmp_path / "trace.svg").read_text()


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("{", "not JSON"),
        ("[]", "has no run"),
        ('{"run": null}', "has no run"),
        ('{"run": {"seed": 1}}', "workload is not what it should be"),
        ("tape", "the tape is not what it should be"),
        ("workload", "no workload 'other'"),
    ],
    ids=["cut", "list", "file", "part", "tape", "workload"],
)
def test_a_report_without_a_run_is_one_clear_line(text: str, reported: str, tmp_path: Path) -> None:
    """The error names what is missing."""
    whole: dict[str, Any] = {"seed": 1, "workload": "raw", "profile": "4.3", "transaction_version": 2, "steps": 5}
    changed = {"tape": {**whole, "tape": [1, "a"]}, "workload": {**whole, "workload": "other", "tape": [1]}}
    (tmp_path / "report.json").write_text(json.dumps({"run": changed[text]}) if text in changed else text)

    with pytest.raises(BadInput, match=reported):
        run(tape=tmp_path / "report.json")
