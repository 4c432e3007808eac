"""Traces in files: what is written is read again, and what is damaged or foreign is reported in one line."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model_tests.common.reports import BadInput
from model_tests.monitor.files import read_trace, trace_writer
from model_tests.monitor.monitor import Monitor
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema import Row, ndjson_line
from model_tests.traces.schema_types import arrow_schema
from reference.recording.trace import HISTORY

ROWS: list[Row] = trace_of(2, steps=12)
OTHERS: list[Row] = trace_of(5, steps=6)


def with_line(change: Callable[[dict[str, object]], dict[str, object]]) -> Callable[[Path], None]:
    """A file in which one step is another."""

    def write(file: Path) -> None:
        lines = [ndjson_line(row) for row in ROWS]
        lines[4] = json.dumps(change(json.loads(lines[4]))) + "\n"
        file.write_text("".join(lines))

    return write


def without_end(file: Path) -> None:
    lines = "".join(map(ndjson_line, ROWS))
    file.write_text(lines[:-40])


def without_step(file: Path) -> None:
    file.write_text("".join(ndjson_line(row) for row in ROWS if row["step"] != 4))


def with_step_twice(file: Path) -> None:
    file.write_text("".join(map(ndjson_line, [*ROWS, ROWS[3]])))


def several(file: Path) -> None:
    file.write_text("".join(map(ndjson_line, [*ROWS, *OTHERS])))


def parquet_of(table: pa.Table) -> Callable[[Path], None]:
    return lambda file: pq.write_table(table, file)


def cut_parquet(file: Path) -> None:
    pq.write_table(TABLE, file)
    file.write_bytes(file.read_bytes()[:-100])


def cut_gzip(file: Path) -> None:
    whole = file.with_name("whole.ndjson.gz")
    with trace_writer(whole) as write:
        write(ROWS)
    file.write_bytes(whole.read_bytes()[:-100])


TABLE = pa.Table.from_pylist(ROWS, schema=arrow_schema())
NO_EPOCHS = TABLE.set_column(
    TABLE.schema.get_field_index("producer_epoch"), "producer_epoch", pa.nulls(len(TABLE), pa.int64())
)


@pytest.mark.parametrize("name", ["traces.ndjson", "traces.ndjson.gz", "traces.parquet"])
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    """One trace of several, in the order of its steps."""
    with trace_writer(tmp_path / name) as write:
        write(ROWS)
        write(reversed(OTHERS))

    assert ROWS == list(read_trace(tmp_path / name, trace=2))
    assert OTHERS == list(read_trace(tmp_path / name, trace=5))


@pytest.mark.parametrize(
    ("name", "write", "reported"),
    [
        ("cut.ndjson", without_end, "line 12: not JSON"),
        ("list.ndjson", lambda file: file.write_text("[1]\n"), "line 1: a list, not an object"),
        ("other.ndjson", lambda file: file.write_text('{"a": 1}\n'), "line 1: without schema, trace, step"),
        ("bytes.ndjson", lambda file: file.write_bytes(b"\x7fELF\xff\xfe"), "not text"),
        ("empty.ndjson", lambda file: file.write_text(""), "no step in it"),
        (
            "type.ndjson",
            with_line(lambda row: {**row, "error": "none"}),
            "line 5: error is 'none', not of type integer",
        ),
        ("newer.ndjson", with_line(lambda row: {**row, "schema": 99}), "step 4: a newer schema than 1"),
        ("minus.ndjson", with_line(lambda row: {**row, "trace": -1}), "trace -1, step 4: not numbered as steps are"),
        ("wide.ndjson", with_line(lambda row: {**row, "before_log_end": 2**63}), r"step 4: an integer beyond 2\^62"),
        (
            "origin.ndjson",
            with_line(lambda row: {**row, "appended": True, "origin": -1}),
            "step 4: an append without the origin of its request",
        ),
        (
            "refused.ndjson",
            with_line(lambda row: {**row, "api": "Produce", "appended": False, "origin": -1}),
            "step 4: an append without the origin of its request",
        ),
        ("profile.ndjson", with_line(lambda row: {**row, "profile": "9.9"}), "step 4: unknown profile '9.9'"),
        ("gap.ndjson", without_step, "of trace 2 step 4 is missing"),
        ("twice.ndjson", with_step_twice, "of trace 2 step 3 comes twice"),
        ("several.ndjson", several, r"2 traces \(2, 5\); choose one with --trace"),
        ("cut.parquet", cut_parquet, "cannot be read"),
        ("cut.ndjson.gz", cut_gzip, "cannot be read"),
        ("text.ndjson.gz", lambda file: file.write_text("{}\n"), "cannot be read"),
        ("text.parquet", lambda file: file.write_text("PAR1, or so"), "cannot be read"),
        ("null.parquet", parquet_of(NO_EPOCHS), "producer_epoch null"),
        ("part.parquet", parquet_of(TABLE.drop_columns(["error"])), "without error"),
        ("trace.csv", lambda file: file.write_text("a,b\n"), "not a trace file"),
        ("nothing.ndjson", lambda file: None, "no such file"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value and " " not in value else "",
)
def test_a_damaged_or_foreign_file_is_one_clear_line(
    name: str, write: Callable[[Path], None], reported: str, tmp_path: Path
) -> None:
    """It names the file, the place in it, and what is wrong."""
    write(tmp_path / name)

    with pytest.raises(BadInput, match=reported) as bad:
        read_trace(tmp_path / name)

    assert name in str(bad.value)


@pytest.mark.parametrize("name", ["several.ndjson", "several.parquet"])
def test_a_trace_is_read_from_whichever_files_of_a_directory(name: str, tmp_path: Path) -> None:
    """Its steps may stand in several; what is wrong in another trace is no matter."""
    with trace_writer(tmp_path / name) as write:
        write([*ROWS[:5], *({**row, "profile": "9.9"} for row in OTHERS)])
    with trace_writer(tmp_path / f"rest-{name}") as write:
        write(ROWS[5:])

    assert ROWS == list(read_trace(tmp_path, trace=2))
    with pytest.raises(BadInput, match=r"trace 5, step 0: unknown profile '9\.9'"):
        read_trace(tmp_path, trace=5)


def test_of_groups_without_the_trace_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their statistics say so."""
    with trace_writer(tmp_path / "traces.parquet") as write:
        for number in (2, 5, 7):
            write([{**row, "trace": number} for row in ROWS])
    requested: list[list[int]] = []
    iterated = pq.ParquetFile.iter_batches

    def noted(file: pq.ParquetFile, **given: Any) -> Any:
        requested.append(given["row_groups"])
        return iterated(file, **given)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)

    assert len(ROWS) == len(read_trace(tmp_path / "traces.parquet", trace=5))
    assert [[1]] == requested


def test_a_trace_that_the_file_has_not_is_named(tmp_path: Path) -> None:
    """With those that it has."""
    several(tmp_path / "traces.ndjson")

    with pytest.raises(BadInput, match="no trace 7; there are 2, 5"):
        read_trace(tmp_path / "traces.ndjson", trace=7)


@pytest.mark.parametrize("name", ["traces.csv", "missing/traces.ndjson", "missing/traces.parquet"])
def test_where_nothing_can_be_written_is_one_clear_line(name: str, tmp_path: Path) -> None:
    """An unknown ending, or a directory that does not exist."""
    with pytest.raises(BadInput, match=name), trace_writer(tmp_path / name) as write:
        write(ROWS)


@pytest.mark.parametrize("name", ["old.ndjson", "old.parquet"])
def test_columns_that_were_added_later_may_be_missing(name: str, tmp_path: Path) -> None:
    """A column that no judgement needs is absent where a file does not have it, as for `eos check`."""
    added = ["world_ms", "offset_pending", "replica_0_broker"]
    table = pa.Table.from_pylist([dict(row) for row in trace_of(5, 12)], schema=arrow_schema()).drop_columns(added)
    if name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))

    rows = read_trace(tmp_path / name)

    assert {(-1, False, -1)} == {tuple(row[column] for column in added) for row in rows}
    assert [row["error"] for row in trace_of(5, 12)] == [row["error"] for row in rows]


def test_a_coordinators_step_needs_the_columns_of_coordinators(tmp_path: Path) -> None:
    """It could not be known what is right without them, and nothing is made up."""
    rows = [dict(row) for row in trace_of(2, 60) if row["api"] == "EndTxn"][:1]
    del rows[0]["before_txn_state"]
    (tmp_path / "one.ndjson").write_text(json.dumps({**rows[0], "step": 0}) + "\n")

    with pytest.raises(BadInput, match="step of a coordinator"):
        read_trace(tmp_path / "one.ndjson")


def test_what_is_not_said_of_a_reader_is_not_held_against_it(tmp_path: Path) -> None:
    """A file without the columns of clients does not say that records were withheld."""
    later = {column.name for column in HISTORY}
    rows = trace_of(3)
    file = tmp_path / "older.ndjson"
    file.write_text("".join(json.dumps({k: v for k, v in row.items() if k not in later}) + "\n" for row in rows))

    older = read_trace(file)

    assert set() == broken(older)
    assert "lso.read_committed" in broken([{**row, "delivered": False} for row in older])


def broken(rows: Iterable[Row]) -> set[str]:
    """The rules that steps and client events break."""
    monitor = Monitor()
    of_steps = [violation for row in rows for violation in monitor.judge(row)]
    return {violation.rule for violation in (*of_steps, *monitor.finish())}
