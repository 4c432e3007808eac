"""`make` on a machine that lacks something: one line with what and how to get it, before anything else."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from model_tests.unit.source_files import ROOT

SETTINGS: Final = ("JAVA_HOME", "PYTHON", "PROFILE", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
"""What the surroundings of this very run, a `make test` perhaps, may have set."""

GOOD_PYTHON: Final = "#!/bin/sh\necho 3.12\n"
OLD_PYTHON: Final = "#!/bin/sh\necho 3.9\n"
NO_PYTHON: Final = "#!/bin/sh\nexit 127\n"
OLD_JAVA: Final = "#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the Makefile alone: nothing has been set up in it."""
    return Path(shutil.copy(ROOT / "Makefile", tmp_path / "Makefile")).parent


def make(clone: Path, target: str, *settings: str, **commands: str) -> subprocess.CompletedProcess[str]:
    """Run a target with these commands first on the path."""
    fakes = clone / "fakes"
    fakes.mkdir()
    for name, script in commands.items():
        (fakes / name).write_text(script)
        (fakes / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment["PATH"] = f"{fakes}:{environment['PATH']}"
    return subprocess.run(
        ["make", target, *settings], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("python", "found"), [(OLD_PYTHON, "3.9"), (NO_PYTHON, "none")], ids=["too old", "missing"])
@pytest.mark.parametrize("target", ["setup", "test", "verify", "docs", "screens", "lint", "bench"])
def test_python_is_asked_for_first(clone: Path, target: str, python: str, found: str) -> None:
    """Every target that needs Python reports it, and makes nothing."""
    done = make(clone, target, python3=python)

    assert done.returncode
    assert done.stderr.splitlines()[0].startswith(f"Python >= 3.11 is needed; 'python3' is: {found}. Try apt-get")
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("target", ["test", "verify", "bench"])
def test_java_is_asked_for_before_anything_is_installed(clone: Path, target: str) -> None:
    """Every target that starts Spark asks for Java before it makes the environment."""
    done = make(clone, target, python3=GOOD_PYTHON, java=OLD_JAVA)

    assert done.returncode
    assert done.stderr.splitlines()[0].startswith("Java >= 17 is needed; 'java' is: 11.0.2. Try apt-get")
    assert not (clone / ".venv").exists()


def test_an_unknown_profile_is_reported_with_those_that_exist(clone: Path) -> None:
    """A typo in PROFILE is one line, before anything else."""
    done = make(clone, "verify", "PROFILE=fast")

    assert "PROFILE is quick, default or deep, not 'fast'" == done.stderr.splitlines()[0]


def test_help_lists_every_target(clone: Path) -> None:
    """`make` alone lists the targets."""
    done = make(clone, "help")

    listed = {line.split()[0] for line in done.stdout.splitlines()[1:]}
    assert " ".join(sorted(listed)) == "bench clean docs help lint mutants screens setup tables test verify"
