from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model_tests.check.check import run
from model_tests.judging.check_report import CheckReport
from model_tests.simulate import simulate
from model_tests.traces.schema_types import arrow_schema

NEWEST_PRODUCERS = 53
"""A seed that chooses idempotent producers on the newest release."""


def written(rows: Sequence[dict[str, Any]], directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=arrow_schema()), directory / "steps.parquet")
    return directory


def judged_alike(path: Path) -> CheckReport:
    """The report on the traces at a path, which is the same whether this process judges them or Spark does."""
    here, on_spark = (replace(run(str(path), master=master), seconds=0.0) for master in ("", "local[*]"))

    assert on_spark.to_json() == here.to_json()
    return here


@pytest.fixture
def true_rows() -> list[dict[str, Any]]:
    """A trace of idempotent producers on the newest release."""
    return [dict(row) for row in simulate.trace_of(NEWEST_PRODUCERS, steps=120)]
