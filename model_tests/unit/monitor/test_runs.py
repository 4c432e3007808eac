"""What a seed chooses and what is given instead, and what there is not."""

from pathlib import Path
from typing import Any

import pytest

from model_tests.common.reports import HOLDS, VIOLATED, BadInput
from model_tests.monitor.files import read_trace
from model_tests.monitor.local import FILE, run
from model_tests.monitor.runs import run_of
from model_tests.mutants.reference import PLANTED
from model_tests.simulate.simulate import trace_of


@pytest.mark.parametrize("seed", [0, 1, 2], ids=["raw", "producers", "transactions"])
def test_a_run_is_the_trace_of_its_seed(seed: int) -> None:
    """Watching a run does not change it, and the tape that it leaves makes it again."""
    played = run_of(seed).play()

    assert trace_of(seed) == list(played.rows)
    assert trace_of(seed) == list(run_of(seed).play(monitored=False).rows)
    assert played.ends[-1] <= len(played.choices)


def test_what_is_given_takes_the_place_of_what_the_seed_chooses() -> None:
    """Workload, profile and transaction version, in the rows and in the command that shows the run again."""
    run = run_of(0, 20, "transactions", "4.3", 1)

    rows = run.play().rows

    assert {("4.3", 1)} == {(row["profile"], row["transaction_version"]) for row in rows}
    assert "eos replay --seed 0 --workload transactions --profile 4.3 --transaction-version 1 --steps 20" == run.command


def test_what_the_seed_chooses_anyway_is_not_said() -> None:
    """The seed is enough."""
    assert "eos replay --seed 7" == run_of(7).command


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"seed": -1}, "no seed -1"),
        ({"seed": 2**63}, "no seed 9223372036854775808"),
        ({"seed": 1, "workload": "consumers"}, "no workload 'consumers'; there are raw"),
        ({"seed": 1, "profile": "5.0"}, "no profile '5.0'; there are 0.11"),
        ({"seed": 1, "profile": "3.9.0", "transaction_version": 2}, "3.9.0 has transaction versions 0 to 0, not 2"),
    ],
    ids=["negative seed", "seed too large", "workload", "profile", "transaction version"],
)
def test_what_there_is_not_is_one_clear_line(given: dict[str, Any], reported: str) -> None:
    """The error has the requested name, and those that exist."""
    with pytest.raises(BadInput, match=reported):
        run_of(**given)


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
