"""The wheel, installed into an empty environment: every command runs there, away from the clone."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

from model_tests.unit.source_files import PACKAGES, ROOT
from spec.versions import NEWEST

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]  # one worker installs it

SOURCE: Final = (*PACKAGES, "pyproject.toml", "README.md", "LICENSE")
"""What a wheel is built from."""

VERSION: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

PIP: Final = ("-m", "pip", "--quiet", "--disable-pip-version-check")
CONSTRAINTS: Final = ("--constraint", str(ROOT / "constraints.txt"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: setuptools would leave its own folders in the clone, and read them again."""
    copy, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in SOURCE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, copy / name)
    python(sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", str(made), str(copy))
    (found,) = made.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an environment that has the wheel and what it depends on."""
    environment = tmp_path_factory.mktemp("environment")
    python(sys.executable, "-m", "venv", str(environment))
    programs = environment / "bin"
    python(str(programs / "python"), *PIP, "install", *CONSTRAINTS, str(wheel))
    return programs


@pytest.fixture(scope="module")
def traces(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two traces of each workload, simulated and judged by the installed command in one process."""
    directory = tmp_path_factory.mktemp("traces")
    output = eos(installed, directory, "simulate", "--local", "--monitor", "--traces", "8", "--out", "traces")

    assert "every step judged" in output
    return directory


def python(*command: str) -> None:
    """Run a command of Python's, with all that it says where it fails."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=outside())
    assert 0 == done.returncode, done.stdout + done.stderr


def eos(programs: Path, directory: Path, *arguments: str) -> str:
    """What the installed command says in a directory; it must find that all holds."""
    command = [str(programs / "eos"), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=directory, env=outside())
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout + done.stderr


def outside() -> dict[str, str]:
    """The environment without what leads to the clone."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "EOS_PROFILE")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {"COLUMNS": "160"}


def value_in(programs: Path, module: str, expression: str, directory: Path) -> str:
    """A value of an installed module, as text."""
    program = f"import {module} as module; print({expression})"
    command = [str(programs / "python"), "-c", program]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=directory, env=outside()
    ).stdout.strip()


def test_the_wheel_has_what_commands_read_and_no_tests(wheel: Path) -> None:
    """Recordings, tables, templates and sources of behaviours; no test, and nothing beside the packages."""
    with ZipFile(wheel) as content:
        names = content.namelist()

    assert f"kafka_exactly_once-{VERSION}-" in wheel.name
    assert {*PACKAGES, f"kafka_exactly_once-{VERSION}.dist-info"} == {name.partition("/")[0] for name in names}
    assert [] == [name for name in names if name.startswith("model_tests/unit/")]
    for ending in (".toml", ".j2", ".json", ".ndjson.xz", ".tar.xz", ".ndjson.gz"):
        kept = {
            path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob(f"*{ending}")
        }
        assert {name for name in kept if not name.startswith("model_tests/unit/")} <= {*names}


def test_the_modules_are_those_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    """Nothing of the clone is imported."""
    for package in PACKAGES:
        place = Path(value_in(installed, package, "module.__file__", tmp_path))

        assert place.is_relative_to(installed.parent.resolve())


def test_help_names_every_command(installed: Path, tmp_path: Path) -> None:
    """`eos --help`."""
    output = eos(installed, tmp_path, "--help")

    commands = (
        "rules",
        "prove",
        "audit",
        "conform",
        "simulate",
        "serve",
        "record",
        "replay",
        "check",
        "bugs",
        "scenarios",
    )
    for command in commands:
        assert f" {command} " in output


def test_rules(installed: Path, tmp_path: Path) -> None:
    """`eos rules` and one of them."""
    assert "seq.successor" in eos(installed, tmp_path, "rules")
    assert "seq.successor" in eos(installed, tmp_path, "rules", "seq.successor")


def test_a_bundled_log_is_audited(installed: Path, tmp_path: Path) -> None:
    """`eos audit` on the recording of a healthy broker, unpacked from the wheel."""
    folder = value_in(installed, "model_tests.audit", "module.__path__[0]", tmp_path)
    shutil.unpack_archive(Path(folder) / "recordings" / "kafka-4.3-tv2.tar.xz", tmp_path / "log", filter="data")

    output = eos(installed, tmp_path, "audit", "log", "--html", "report.html")

    assert "0 violation" in output
    assert (tmp_path / "report.html").exists()


def test_recorded_sessions_conform(installed: Path, tmp_path: Path) -> None:
    """`eos conform` on the sessions of one build."""
    folder = value_in(installed, "model_tests.conform.files", "module.RECORDINGS", tmp_path)

    output = eos(installed, tmp_path, "conform", f"{folder}/4.3-tv2-P.ndjson.xz")

    assert "0 disagreed" in output


def test_traces_are_judged(installed: Path, traces: Path) -> None:
    """`eos replay` judges one in its own process, `eos check` all of them on Spark, with the class that it compiles."""
    assert eos(installed, traces, "replay", "--seed", "3").startswith("seed 3: replicas on 0.11")
    assert eos(installed, traces, "check", "traces").startswith("8 traces, 1600 steps")


def test_a_server_serves_and_ends(installed: Path, tmp_path: Path) -> None:
    """`eos serve` listens and stops by itself. Nobody asked, so nothing was judged, and the command says so."""
    command = [str(installed / "eos"), "serve", "--listen", "127.0.0.1:0", "--seconds", "1"]

    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=outside())

    assert 2 == done.returncode, done.stdout + done.stderr
    assert f"{NEWEST.name} at 127.0.0.1:" in done.stdout + done.stderr
