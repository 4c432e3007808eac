"""The command that shows a violating step again is one that does."""

import json
from pathlib import Path

import pytest

from model_tests.judging.check_report import StepViolation
from model_tests.monitor.replay_command import command_of, with_commands
from model_tests.simulate import simulate
from model_tests.simulate.trace_directory import BEGUN
from model_tests.traces.schema import Row

SEED = 4
"""Of a trace of one partition, to which anything is sent."""


def begun(directory: Path, steps: int, reference: str) -> Path:
    """A directory of simulated traces, with a folder of a workload."""
    (directory / "raw").mkdir(parents=True)
    (directory / BEGUN).write_text(json.dumps({"steps": steps, "reference": reference}))
    return directory / "raw" / "000000000000-000000000000.parquet"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> int:
    """The first append of a seed's trace, which a defect of the reference has answered with another offset."""
    true = simulate.trace_of(SEED)
    at: int = next(row["step"] for row in true if row["appended"])

    def trace_of(seed: int, steps: int = simulate.STEPS) -> list[Row]:
        wrong = {**true[at], "last_offset": true[at]["last_offset"] + 1}
        return [*true[:at], wrong, *true[at + 1 : steps]]

    monkeypatch.setattr(simulate, "trace_of", trace_of)
    return at


def command(path: str, step: int, rule: str = "fence.stale_epoch") -> str:
    """For a violation in the trace of the seed."""
    (violation,) = with_commands([StepViolation(SEED, step, rule, "", {}, {}, {}, "")], path)
    return violation.replay


def test_what_the_same_reference_made_is_made_again(tmp_path: Path, broken: int) -> None:
    """By its seed and length, wherever in the directory it was found, if the seed shows it."""
    usual = begun(tmp_path / "usual", simulate.STEPS, simulate.reference())
    longer = begun(tmp_path / "longer", 300, simulate.reference())

    for place in (usual, usual.parent, usual.parent.parent):
        assert f"eos replay --seed {SEED} --step {broken}" == command(str(place), broken)
    assert f"eos replay --seed {SEED} --steps 300 --step {broken}" == command(str(longer), broken)


def test_what_its_seed_does_not_show_is_read_where_it_lies(tmp_path: Path, broken: int) -> None:
    """The file was changed: there, another step breaks the rule, or the same one breaks another."""
    file = begun(tmp_path, simulate.STEPS, simulate.reference())

    assert f"eos replay {file} --trace {SEED} --step {broken + 1}" == command(str(file), broken + 1)
    assert f"eos replay {file} --trace {SEED} --step {broken}" == command(str(file), broken, "txn.atomic")


def test_a_number_that_is_no_seed_is_read_where_it_lies(tmp_path: Path) -> None:
    """Traces may have any number; no release has this one among its seeds."""
    file = begun(tmp_path, simulate.STEPS, simulate.reference())

    (violation,) = with_commands([StepViolation(10**12, 3, "fence.stale_epoch", "", {}, {}, {}, "")], str(file))

    assert f"eos replay {file} --trace {10**12} --step 3" == violation.replay


def test_what_another_reference_made_is_read_where_it_lies(tmp_path: Path, broken: int) -> None:
    """Its seed would make another trace."""
    file = begun(tmp_path, simulate.STEPS, "another")

    assert f"eos replay {file} --trace {SEED} --step {broken}" == command(str(file), broken)
    assert f"eos replay {file} --trace {SEED} --step {broken}" == command(f"file://{file}", broken)


@pytest.mark.parametrize(
    ("path", "reported"), [("a b.ndjson", "'a b.ndjson' --trace 7"), ("s3a://b/t", "from s3a://b/t")]
)
def test_a_path_is_said_so_that_it_can_be_typed(path: str, reported: str) -> None:
    """A name with a space is quoted; what is elsewhere is to be fetched first."""
    assert reported in command_of(path)(7, 3)
