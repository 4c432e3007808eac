"""The command that shows a violating step again is one that does."""

import json
from pathlib import Path

import pytest

from model_tests.traces import simulate
from model_tests.traces.seen_again import command_of
from model_tests.traces.trace_directory import BEGUN


def begun(directory: Path, steps: int, reference: str) -> Path:
    """A directory of simulated traces, with a folder of a workload."""
    (directory / "raw").mkdir(parents=True)
    (directory / BEGUN).write_text(json.dumps({"steps": steps, "reference": reference}))
    return directory / "raw" / "000000000000-000000000000.parquet"


def test_what_the_same_reference_made_is_made_again(tmp_path: Path) -> None:
    """By its seed and length, wherever in the directory it was found."""
    usual = begun(tmp_path / "usual", simulate.STEPS, simulate.reference())
    longer = begun(tmp_path / "longer", 300, simulate.reference())

    for place in (usual, usual.parent, usual.parent.parent):
        assert "eos replay --seed 7 --step 3" == command_of(str(place))(7, 3)
    assert "eos replay --seed 7 --steps 300 --step 3" == command_of(str(longer))(7, 3)


def test_what_another_reference_made_is_read_where_it_lies(tmp_path: Path) -> None:
    """Its seed would make another trace."""
    file = begun(tmp_path, simulate.STEPS, "another")

    assert f"eos replay {file} --trace 7 --step 3" == command_of(str(file))(7, 3)
    assert f"eos replay {file} --trace 7 --step 3" == command_of(f"file://{file}")(7, 3)


@pytest.mark.parametrize(("path", "told"), [("a b.ndjson", "'a b.ndjson' --trace 7"), ("s3a://b/t", "from s3a://b/t")])
def test_a_path_is_said_so_that_it_can_be_typed(path: str, told: str) -> None:
    """A name with a space is quoted; what is elsewhere is to be fetched first."""
    assert told in command_of(path)(7, 3)
