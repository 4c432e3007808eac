from pathlib import Path
from typing import Any

import pytest

from model_tests.common.reports import BadInput
from model_tests.judging.trace_files import spark_schema
from model_tests.traces.schema import read_ndjson, write_ndjson
from model_tests.traces.schema_types import arrow_schema
from reference.recording.trace import COLUMNS


def test_every_storage_has_the_same_columns_in_order() -> None:
    """Arrow and Spark are made of the one list of columns."""
    names = [column.name for column in COLUMNS]

    assert names == arrow_schema().names
    assert names == spark_schema().names


def test_ndjson_gives_back_what_was_written(true_rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """Rows survive the way through a file."""
    count = write_ndjson(true_rows, tmp_path / "steps.ndjson")

    assert len(true_rows) == count
    assert true_rows == list(read_ndjson(tmp_path / "steps.ndjson"))


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "not JSON"), ("[1]", "a list"), ('{"trace": "1"}', "trace is '1'"), ('{"trace": 1}', "without schema")],
    ids=["half", "list", "text for a number", "columns missing"],
)
def test_a_bad_line_is_reported_with_its_number(line: str, message: str, tmp_path: Path) -> None:
    """The reader reports where and what, and does not guess."""
    (tmp_path / "bad.ndjson").write_text(line + "\n")

    with pytest.raises(BadInput, match=f"line 1: {message}"):
        list(read_ndjson(tmp_path / "bad.ndjson"))
