from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model_tests.simulate import simulate
from model_tests.traces.schema_types import arrow_schema

NEWEST_PRODUCERS = 53
"""A seed that chooses idempotent producers on the newest release."""


def written(rows: Sequence[dict[str, Any]], directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=arrow_schema()), directory / "steps.parquet")
    return directory


@pytest.fixture
def true_rows() -> list[dict[str, Any]]:
    """A trace of idempotent producers on the newest release."""
    return [dict(row) for row in simulate.trace_of(NEWEST_PRODUCERS, steps=120)]
