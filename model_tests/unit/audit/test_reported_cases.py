"""Situations of public reports, and texts as people paste them: what the commands say of each."""

import json
import re
import shlex
import tarfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from model_tests.cli import app

TABLE: Final = Path(__file__).parent / "reported"
CASES: Final[list[dict[str, Any]]] = tomllib.loads((TABLE / "cases.toml").read_text(encoding="utf-8"))["case"]
EXPECTED: Final = {"exit", "findings", "classes", "damage", "bounds", "offsets", "says", "never"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of all cases, a folder each."""
    folder = tmp_path_factory.mktemp("reported")
    with tarfile.open(TABLE / "cases.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_each_case_has_its_inputs_and_each_input_its_case(inputs: Path) -> None:
    """No case is without its folder, no folder without a case, and no run without an expectation."""
    assert sorted(case["name"] for case in CASES) == sorted(folder.name for folder in inputs.iterdir())
    for run in (run for case in CASES for run in case["run"]):
        assert run.keys() & EXPECTED, run
        assert run.keys() <= {"command", *EXPECTED}, run


def _runs() -> Iterator[Any]:
    """Each run of each case."""
    for case in CASES:
        for number, one in enumerate(case["run"]):
            yield pytest.param(case["name"], one, id=f"{case['name']}-{number}")


@pytest.mark.parametrize(("name", "run"), list(_runs()))
def test_a_reported_case_is_judged_as_its_situation_demands(
    name: str, run: Mapping[str, Any], inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code, findings, damage, bounds, offsets and words are those of the table."""
    monkeypatch.chdir(inputs / name)
    arguments = shlex.split(run["command"])
    json_file = inputs.parent / "report.json"
    written = ["--json", str(json_file)] if arguments[0] == "audit" else []
    result = CliRunner().invoke(app, [*arguments, *written], env={"COLUMNS": "1000"})
    shown = result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert run.get("exit", result.exit_code) == result.exit_code, shown
    assert [] == [pattern for pattern in run.get("says", ()) if not re.search(pattern, shown)], shown
    assert [] == [pattern for pattern in run.get("never", ()) if re.search(pattern, shown)], shown
    for expected in REPORTED.keys() & run.keys():
        found = REPORTED[expected](json.loads(json_file.read_text(encoding="utf-8")))
        kept = [one for one in found if one in run[expected]] if expected == "bounds" else found
        assert run[expected] == kept, shown


def _findings(report: Mapping[str, Any]) -> list[str]:
    return sorted(
        f"{one['severity']} {one['rule']} {one['topic']}-{one['partition']} {one['offset']}"
        for one in report["findings"]
    )


def _classes(report: Mapping[str, Any]) -> list[str]:
    found = report["clients"]["classes"]
    severities = ("violation", "suspicious")
    return sorted(f"{each} {one['class']} {one[each]}" for one in found for each in severities if one[each])


def _bounds(report: Mapping[str, Any]) -> list[str]:
    return [f"{one['topic']}-{one['partition']} {one['lso']} {one['log_end']}" for one in report["partitions"]]


REPORTED: Final[dict[str, Any]] = {
    "findings": _findings,
    "classes": _classes,
    "damage": lambda report: len(report["damage"]) + sum(report["clients"]["damage"].values()),
    "bounds": _bounds,
    "offsets": lambda report: [str(one["offset"]) for one in report["groups"]["offsets"]],
}
"""What a run may expect of the report, and where it has it."""
