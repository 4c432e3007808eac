"""What runs here runs on a cluster: its executors are processes of their own, without the project."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pyspark
import pytest

from model_tests.simulate.simulate import trace_of
from model_tests.simulate.simulation_job import write_piece
from model_tests.simulate.trace_directory import Piece
from model_tests.spark.session import ARCHIVE, PACKAGES
from model_tests.unit.traces.on_cluster import LIBRARY

pytestmark = pytest.mark.xdist_group("spark")

PATIENCE = 300
"""Seconds that a cluster may take on a shared machine."""

MASTER = "local-cluster[2,1,2048]"


def foreign(directory: Path) -> dict[str, str]:
    """An environment whose executors have a Python with the libraries of this one, and without the project."""
    python = directory / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    home = directory / "spark"  # where it keeps what it works on, beside its own files
    home.mkdir()
    for installed in Path(pyspark.__file__).parent.iterdir():
        (home / installed.name).symlink_to(installed)
    libraries = sysconfig.get_paths()["purelib"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = f"--conf spark.executorEnv.PYTHONPATH=libraries:{libraries}"
    arguments = f"--archives {archived(directory)}#libraries {path} pyspark-shell"
    spark = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": str(python), "PYSPARK_SUBMIT_ARGS": arguments}
    return environment | spark


def archived(directory: Path) -> Path:
    """An archive of a library, made as the documentation describes."""
    module, archive = directory / f"{LIBRARY}.py", directory / "libraries.tar.gz"
    module.write_text("")
    with tarfile.open(archive, "w:gz") as content:
        content.add(module, f"./{module.name}")
    module.unlink()
    return archive


def test_the_environment_of_the_executors_is_without_the_project(tmp_path: Path) -> None:
    """Or the next test would say nothing: their Python finds the libraries and none of our packages."""
    environment = foreign(tmp_path)
    tried = f"import pyarrow, importlib.util as u; print([p for p in {PACKAGES} if u.find_spec(p)])"

    found = subprocess.run(
        [environment["PYSPARK_PYTHON"], "-c", tried],
        env=environment | {"PYTHONPATH": sysconfig.get_paths()["purelib"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "[]" == found.stdout.strip()


@pytest.mark.slow
def test_executors_get_the_code_and_one_that_is_lost_changes_nothing(tmp_path: Path) -> None:
    """The code that they run is what was sent, and so is a library; one of them is killed; the traces are the same."""
    out = tmp_path / "out"

    subprocess.run(
        [sys.executable, "-m", "model_tests.unit.traces.on_cluster", MASTER, str(out)],
        env=foreign(tmp_path),
        cwd=Path(__file__).parents[3],
        check=True,
        timeout=PATIENCE,
    )

    reported = json.loads((out / "_reported.json").read_text())
    before, after = ({executor for executor, *_ in reported[moment]} for moment in ("executors", "after"))
    assert 2 == len(before)
    assert min(before) not in after
    assert reported["driver"] not in before | after
    assert all(ARCHIVE in source and source.endswith("/spec/__init__.py") for _, source, _ in reported["executors"])
    assert all(library.endswith(f"libraries/{LIBRARY}.py") for *_, library in reported["executors"])
    assert 160 * 150 == reported["report"]["steps"]
    files = sorted(out.glob("*/*.parquet"))
    assert 8 == len(files)
    for file in files:
        first, last = (int(seed) for seed in file.stem.split("-"))
        again = Piece(file.parent.name, range(first, last + 1, 4))
        write_piece(again, tmp_path / "again", lambda seed: trace_of(seed, steps=150))
        assert (tmp_path / "again" / again.name).read_bytes() == file.read_bytes()
