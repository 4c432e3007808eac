"""`eos simulate --local`: the same traces as everywhere, in one file, judged while they are made on request."""

from pathlib import Path

import pytest

from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.monitor.files import read_trace
from model_tests.monitor.local import FILE, run
from model_tests.mutants.reference import PLANTED
from model_tests.simulate.simulate import trace_of

GAP = next(planted for planted in PLANTED if planted.name == "gap of one accepted")


@pytest.mark.parametrize("name", ["traces.ndjson", "out"])
def test_the_traces_of_the_seeds_are_written(name: str, tmp_path: Path) -> None:
    """In the file that is named, or as Parquet in the directory that is named."""
    report = run(3, 4, tmp_path / name, steps=15)

    assert (HOLDS, 3, 45) == (report.exit_code, report.traces, report.steps)
    assert trace_of(5, 15) == list(read_trace(Path(report.out), trace=5))
    assert (tmp_path / name / FILE if name == "out" else tmp_path / name) == Path(report.out)


def test_the_monitor_stops_at_the_first_disagreement(tmp_path: Path) -> None:
    """The trace is written up to the step that is wrong, and the command that shows it again is said."""
    with GAP.in_place():
        report = run(30, 0, tmp_path / "traces.ndjson", workload="raw", monitored=True)

    first = report.violations[0]
    assert (VIOLATED, "seq.successor") == (report.exit_code, first.rule)
    assert report.traces < 30
    assert first.step == read_trace(tmp_path / "traces.ndjson", first.trace)[-1]["step"]
    assert f"eos replay --seed {first.trace} --step {first.step}" == first.replay


def test_true_traces_are_counted_by_rule(tmp_path: Path) -> None:
    """The report has what was at stake, and nothing is broken."""
    report = run(3, 0, tmp_path / "traces.ndjson", monitored=True)

    assert (HOLDS, ()) == (report.exit_code, report.violations)
    assert {count.rule: count.judged for count in report.rules}["seq.successor"] > 0


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path) -> None:
    """Traces of another run would be judged with these."""
    (tmp_path / "part-0.parquet").touch()

    with pytest.raises(BadInput, match=r"part-0\.parquet"):
        run(1, 0, tmp_path)


def test_seeds_end_where_numbers_of_traces_do(tmp_path: Path) -> None:
    """The last of the seeds must be one too."""
    with pytest.raises(BadInput, match="no seed"):
        run(5, 2**63 - 2, tmp_path / "traces.ndjson")
