"""What runs on every change, every night and for the published pages: it names what there is, and may do no more."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from model_tests.unit.source_files import ROOT

yaml = import_module("yaml")

WORKFLOWS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGET: Final = re.compile(r"^([a-z]+):", re.MULTILINE)
MADE: Final = re.compile(r"\b(?:make|step) ([a-z]+)")
PINNED: Final = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")

workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return found


def commands(path: Path) -> Iterator[str]:
    return (step["run"] for job in jobs(path).values() for step in job["steps"] if "run" in step)


def test_there_are_three() -> None:
    """On every change, every night, and for the pages."""
    assert ["ci", "nightly", "pages"] == [path.stem for path in WORKFLOWS]


@workflow
def test_every_target_that_is_made_is_one(path: Path) -> None:
    """A target that was renamed is seen here, not on the day that it is wanted."""
    targets = set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    made = [name for command in (*commands(path), script) for name in MADE.findall(command)]

    assert made
    assert [] == [name for name in made if name not in targets]


@workflow
def test_every_action_is_pinned_to_a_commit(path: Path) -> None:
    """With its version beside it: a tag may be moved."""
    uses = [line for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]

    assert uses
    assert [] == [line for line in uses if not PINNED.search(line)]


@workflow
def test_every_job_may_read_alone_and_ends(path: Path) -> None:
    """Only the job that publishes may write, and to the pages alone; each that runs ours has a limit of time."""
    text = yaml.safe_load(path.read_text(encoding="utf-8"))

    assert {"contents": "read"} == text["permissions"]
    granted = {name: job["permissions"] for name, job in text["jobs"].items() if "permissions" in job}
    assert ({"publish": {"pages": "write", "id-token": "write"}} if path.stem == "pages" else {}) == granted
    assert [] == [name for name, job in text["jobs"].items() if name != "publish" and "timeout-minutes" not in job]


@workflow
def test_every_file_that_is_kept_is_made(path: Path) -> None:
    """What is kept, published or run is in the repository or in the folder that everything is made in."""
    kept = [
        line
        for job in jobs(path).values()
        for step in job["steps"]
        for line in str(step.get("with", {}).get("path", "")).split()
    ]
    run = [word for command in commands(path) for word in command.split() if word.startswith(".ci/")]

    assert [] == [name for name in kept if name != ".hypothesis" and not name.startswith("build/")]
    assert [] == [name for name in run if not (ROOT / name).is_file()]
