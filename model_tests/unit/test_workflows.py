"""Workflows, for each change, each night, the pages and a release: they name what there is, and may do no more."""

import re
import shutil
import subprocess
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

GRANTED: Final = {
    "pages": {"publish": {"pages": "write", "id-token": "write"}},
    "release": {"publish": {"contents": "write"}},
}
"""By workflow the jobs that may write, and what."""

FORMS: Final = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")

workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return found


def commands(path: Path) -> Iterator[str]:
    return (step["run"] for job in jobs(path).values() for step in job["steps"] if "run" in step)


def targets() -> set[str]:
    """Those of the Makefile."""
    return set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))


def test_there_are_four() -> None:
    """On every change, every night, for the pages, and for a release."""
    assert ["ci", "nightly", "pages", "release"] == [path.stem for path in WORKFLOWS]


@workflow
def test_every_target_that_is_made_is_one(path: Path) -> None:
    """A target that was renamed is seen here, not on the day that it is wanted."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    made = [name for command in (*commands(path), script) for name in MADE.findall(command)]

    assert made
    assert [] == [name for name in made if name not in targets()]


def test_a_change_is_checked_by_jobs_that_run_beside_each_other() -> None:
    """Each target of `.ci/run` but the setup is a job of its own, on the oldest Python and on a newer one."""
    (job,) = jobs(ROOT / ".github" / "workflows" / "ci.yml").values()
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    matrix = job["strategy"]["matrix"]
    assert {*MADE.findall(script)} - {"setup"} == set(matrix["target"])
    assert ["3.11", "3.13"] == matrix["python"]
    assert "needs" not in job


@workflow
def test_every_action_is_pinned_to_a_commit(path: Path) -> None:
    """With its version beside it: a tag may be moved."""
    uses = [line for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]

    assert uses
    assert [] == [line for line in uses if not PINNED.search(line)]


@workflow
def test_every_job_may_read_alone_and_ends(path: Path) -> None:
    """Only a job that publishes may write, and only what it publishes; each that runs ours has a limit of time."""
    text = yaml.safe_load(path.read_text(encoding="utf-8"))

    assert {"contents": "read"} == text["permissions"]
    granted = {name: job["permissions"] for name, job in text["jobs"].items() if "permissions" in job}
    assert GRANTED.get(path.stem, {}) == granted
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


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with what release notes are made from: version 1.2.3, and its section among others."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "release-notes", tmp_path / ".ci")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.3 - 2026-01-01\n\n- new\n\n## 1.2.2\n\n- old\n"
    )
    return tmp_path


def notes(clone: Path, version: str) -> subprocess.CompletedProcess[str]:
    command = [str(clone / ".ci" / "release-notes"), version]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_notes_of_a_release_are_its_section(clone: Path) -> None:
    """And nothing of the sections before and after it."""
    assert "- new" == notes(clone, "1.2.3").stdout.strip()


def test_a_tag_of_another_version_makes_no_release(clone: Path) -> None:
    """The version stands in `pyproject.toml`."""
    done = notes(clone, "1.2.2")

    assert done.returncode
    assert "1.2.2 is not the version in pyproject.toml\n" == done.stderr


def test_a_version_without_a_section_makes_no_release(clone: Path) -> None:
    """The changelog is written first."""
    (clone / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- new\n")

    done = notes(clone, "1.2.3")

    assert done.returncode
    assert "CHANGELOG.md has no section '## 1.2.3'\n" == done.stderr


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_of_an_issue_has_what_it_needs(path: Path) -> None:
    """A name, a description, and questions that each have an id and a label of their own."""
    form = yaml.safe_load(path.read_text(encoding="utf-8"))

    questions = [each for each in form["body"] if each["type"] != "markdown"]
    assert form["name"]
    assert form["description"]
    assert questions
    assert (
        len(questions)
        == len({each["id"] for each in questions})
        == len({each["attributes"]["label"] for each in questions})
    )


def test_hooks_before_a_commit_run_the_versions_of_the_project() -> None:
    """They take nothing from elsewhere: each is a command of `.venv`."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))

    assert {"local"} == {repository["repo"] for repository in config["repos"]}
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert hooks
    assert [] == [hook["id"] for hook in hooks if not hook["entry"].startswith(".venv/bin/")]
