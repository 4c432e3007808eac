"""Traces in files of this process: one trace read for replay, many written as they are made."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from model_tests.reports import BadInput
from model_tests.traces.coordinator_verdicts import NEEDED as NEEDED_OF_COORDINATORS
from model_tests.traces.history_links import TELLINGS
from model_tests.traces.schema import Row, arrow_schema, complete, ndjson_line, read_ndjson, record_batch, text_of
from model_tests.traces.trace_files import NDJSON, NEEDED, PARQUET
from reference.trace import SCHEMA_VERSION
from spec.protocol.coordinator_steps import DECISIONS
from spec.protocol.judge_history import Telling
from spec.versions import PROFILES

_NAMED: Final = 5
"""Traces and columns that a message names."""


# --- reading --------------------------------------------------------------------------------------------------


def read_trace(path: Path, trace: int | None = None) -> tuple[Row, ...]:
    """The steps of one trace in a file of Parquet or NDJSON, in their order.

    Args:
        path: the file.
        trace: which trace, if the file has several.

    Raises:
        BadInput: there is no such file or trace, it is none of ours, or steps of the trace are missing.
    """
    wanted, others = list[Row](), dict[int, None]()
    for row in rows_of(path):
        others.setdefault(row["trace"])
        if row["trace"] == (next(iter(others)) if trace is None else trace):
            wanted.append(row)
    if not others:
        raise BadInput(f"{path}: no step in it")
    if trace is None and len(others) > 1:
        raise BadInput(f"{path}: {len(others)} traces ({_some(others)}); choose one with --trace")
    if not wanted:
        raise BadInput(f"{path}: no trace {trace}; there are {_some(others)}")
    wanted.sort(key=lambda row: row["step"])
    _require_whole(wanted, path)
    return tuple(wanted)


def rows_of(path: Path) -> Iterator[Row]:
    """Every step of a file of Parquet or NDJSON, as they stand there; a column that is not needed may be missing.

    Raises:
        BadInput: there is no such file, or a step in it cannot be judged.
    """
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file; `eos simulate --local --out FILE.ndjson` makes one")
    if not path.name.endswith((*NDJSON, *PARQUET)):
        raise BadInput(f"{path}: not a trace file, which ends in {', '.join((*PARQUET, *NDJSON))}")
    try:
        for row in read_ndjson(path, NEEDED) if path.name.endswith(NDJSON) else _read_parquet(path):
            _require_known(row, path)
            yield _completed(row, path)
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not text, and so no JSON") from None
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise BadInput(f"{path}: cannot be read: {str(error).partition('.')[0]}") from None


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    schema = arrow_schema()
    with pq.ParquetFile(path) as file:
        here = [name for name in schema.names if name in file.schema_arrow.names]
        missing = [name for name in schema.names if name in NEEDED and name not in here]
        if missing:
            raise BadInput(f"{path}: without {_some(missing)}, which no step can be judged without")
        for batch in file.iter_batches(columns=here):
            table = pa.Table.from_batches([batch]).select(here).cast(pa.schema([schema.field(name) for name in here]))
            empty = [name for name in here if name in NEEDED and table[name].null_count]
            if empty:
                raise BadInput(f"{path}: {_some(empty)} null; what does not apply is said as absent")
            yield from table.to_pylist()


def _completed(row: Row, path: Path) -> Row:
    """The step with every column: what is not needed for it may be missing or null, and is then absent."""
    said = {name: value for name, value in row.items() if value is not None}
    if said.get("transactional_id") and said["api"] in DECISIONS:
        missing = [name for name in NEEDED_OF_COORDINATORS if name not in said]
        if missing:
            where = f"{path}, trace {row['trace']}, step {row['step']}"
            raise BadInput(f"{where}: without {_some(missing)}, which no step of a coordinator can be judged without")
    whole = complete(said)
    if "delivered" not in said and TELLINGS.get(row["api"]) in (Telling.TAKEN, Telling.ANSWERED):
        whole["delivered"] = (
            None  # whether the application was given the batch is not known, which is not that it was not
        )
    return whole


def _require_known(row: Row, path: Path) -> None:
    where = f"{path}, trace {row['trace']}, step {row['step']}"
    if not 1 <= row["schema"] <= SCHEMA_VERSION:
        raise BadInput(f"{where}: schema {row['schema']}; this version reads up to {SCHEMA_VERSION}")
    if row["profile"] not in PROFILES:
        raise BadInput(f"{where}: unknown profile {row['profile']!r}; there are {', '.join(PROFILES)}")


def _require_whole(rows: list[Row], path: Path) -> None:
    for expected, row in enumerate(rows):
        if row["step"] != expected:
            wrong = f"step {expected} is missing" if row["step"] > expected else f"step {row['step']} comes twice"
            raise BadInput(f"{path}: of trace {row['trace']} {wrong}, so that nothing can be said of the others")


def _some(names: Iterable[object]) -> str:
    said = [str(name) for name in names]
    return ", ".join(said[:_NAMED]) + (", ..." if len(said) > _NAMED else "")


# --- writing --------------------------------------------------------------------------------------------------

Write: TypeAlias = Callable[[Iterable[Row]], None]
"""Adds steps."""


@contextmanager
def trace_writer(path: Path) -> Iterator[Write]:
    """A file of traces that is written trace by trace: NDJSON or Parquet, as its name ends; what was there is replaced.

    Raises:
        BadInput: the name ends in neither, or the file cannot be written.
    """
    if not path.name.endswith((*NDJSON, *PARQUET)):
        raise BadInput(f"{path}: the name of a trace file ends in {', '.join((*PARQUET, *NDJSON))}")
    try:
        with _ndjson_writer(path) if path.name.endswith(NDJSON) else _parquet_writer(path) as write:
            yield write
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def _ndjson_writer(path: Path) -> Iterator[Write]:
    with text_of(path, "w") as lines:
        yield lambda rows: lines.writelines(map(ndjson_line, rows))


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Write]:
    with pq.ParquetWriter(path, arrow_schema()) as file:
        yield lambda rows: file.write_batch(record_batch(list(rows)))
