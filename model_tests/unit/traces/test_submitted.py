"""The command under `spark-submit`, whose JVM is up before anything of ours runs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pyspark
import pytest

from model_tests.common.reports import VIOLATED
from model_tests.simulate import simulate
from model_tests.unit.source_files import ROOT
from model_tests.unit.traces.conftest import NEWEST_PRODUCERS, written

SUBMIT: Final = Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.mark.slow
def test_a_violation_under_spark_submit_is_reported_by_the_exit_code_and_nothing_else_is_said(tmp_path: Path) -> None:
    """Master and memory are those of `spark-submit`; Spark does not log what it compiles."""
    rows = [dict(row) for row in simulate.trace_of(NEWEST_PRODUCERS, steps=120)]
    next(row for row in rows if row["appended"])["first_offset"] += 5
    path = written(rows, tmp_path)
    command = [str(SUBMIT), "--master", "local[2]", str(ROOT / "model_tests" / "__main__.py"), "check", str(path)]
    python = {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": sys.executable}

    done = subprocess.run(command, env=os.environ | python, capture_output=True, text=True, check=False)

    assert VIOLATED == done.returncode
    assert "seq.successor" in done.stdout
    assert "CodeGenerator" not in done.stdout + done.stderr
