"""Traces in files of this process: one trace read for replay, many written as they are made."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from model_tests.common.reports import BadInput, writing
from model_tests.judging.coordinator_verdicts import NEEDED as NEEDED_OF_COORDINATORS
from model_tests.judging.history_links import EVENT_KINDS
from model_tests.judging.local_files import UNREADABLE, steps_in
from model_tests.judging.step_fitness import INTEGERS, NEEDED, TOO_WIDE, UNJUDGEABLE, WIDEST
from model_tests.judging.step_table import CORRUPT, rows_in
from model_tests.traces.files_at import NDJSON, PARQUET, trace_files
from model_tests.traces.schema import BY_NAME, Row, complete, ndjson_line, read_ndjson, text_of
from model_tests.traces.schema_types import arrow_schema, record_batch
from spec.judging.judge_history import EventKind
from spec.protocol.coordinator_steps import DECISIONS
from spec.versions import PROFILES

_NAMED: Final = 5
"""Traces and columns that a message names."""

AT_ONCE: Final = 256 << 20
"""Bytes of files that are read into memory as a whole, some three times as many there; larger ones row by row."""

_ANSWERS: Final = tuple(api for api, event in EVENT_KINDS.items() if event in (EventKind.TAKEN, EventKind.ANSWERED))
"""Steps in which a reader is answered: they may leave out whether the application was given the batch."""


# --- reading --------------------------------------------------------------------------------------------------


def read_trace(path: Path, trace: int | None = None) -> tuple[Row, ...]:
    """The steps of one trace in a file of Parquet or NDJSON, or a directory of them, in their order.

    Args:
        path: the file or directory.
        trace: which trace, if there are several.

    Raises:
        BadInput: there is no such file or trace, it is none of ours, or steps of the trace are missing.
    """
    files = trace_files(path) if path.is_dir() else [path]
    wanted = _at_once(files, trace) or _row_by_row(path, files, trace)
    _require_whole(wanted, path)
    return tuple(wanted)


def _at_once(files: Sequence[Path], trace: int | None) -> Sequence[Row]:
    """The steps of the trace as arrays give them; none where anything is not well, which row by row is named."""
    if not all(file.is_file() and file.name.endswith((*NDJSON, *PARQUET)) for file in files):
        return ()
    if sum(file.stat().st_size for file in files) > AT_ONCE:
        return ()
    try:
        if trace is not None and _is_in_some_groups_alone(files, trace):
            return ()
        steps = steps_in(files)
    except UNREADABLE:
        return ()
    numbers = steps.columns.values["trace"]
    wanted = numbers == trace if trace is not None else np.ones(len(numbers), np.bool_)
    is_one = wanted.any() and (trace is not None or (numbers == numbers[0]).all())
    if not is_one or steps.steps[CORRUPT].null_count < len(numbers) or not steps.fit[wanted].all():
        return ()
    return rows_in(_with_delivered(steps.table(wanted, BY_NAME, all_fit=True).select(list(BY_NAME))))


def _with_delivered(table: pa.Table) -> pa.Table:
    """The table in which it is unknown only of batches that a reader was answered whether they were delivered."""
    place = table.column_names.index("delivered")
    may_be_unknown = pc.is_in(table["api"], pa.array(_ANSWERS))
    known = pc.if_else(may_be_unknown, table["delivered"], pc.fill_null(table["delivered"], False))
    return table.set_column(place, "delivered", known)


def _row_by_row(path: Path, files: Sequence[Path], trace: int | None) -> Sequence[Row]:
    if trace is None:
        trace = _only(path, _traces_of(files))
    wanted = [row for file in files for row in rows_of(file, trace)]
    if not wanted:
        raise BadInput(f"{path}: no trace {trace}; there are {_some(_traces_of(files))}")
    return sorted(wanted, key=lambda row: row["step"])


def _traces_of(files: Iterable[Path]) -> dict[int, None]:
    """Their numbers, as they come."""
    return dict.fromkeys(row["trace"] for file in files for row in rows_of(file))


def _only(path: Path, traces: Mapping[int, None]) -> int:
    if not traces:
        raise BadInput(f"{path}: no step in it")
    if len(traces) > 1:
        raise BadInput(f"{path}: {len(traces)} traces ({_some(traces)}); choose one with --trace")
    return next(iter(traces))


def rows_of(path: Path, trace: int | None = None) -> Iterator[Row]:
    """Every step of a file of Parquet or NDJSON, as they stand there; a column that is not needed may be missing.

    Args:
        path: the file.
        trace: only the steps of this one; those of others may then be such that they cannot be judged.

    Raises:
        BadInput: there is no such file, or a step in it cannot be judged.
    """
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file; `eos simulate --local --out FILE.ndjson` makes one")
    if not path.name.endswith((*NDJSON, *PARQUET)):
        raise BadInput(f"{path}: not a trace file, which ends in {', '.join((*PARQUET, *NDJSON))}")
    try:
        for row in read_ndjson(path, NEEDED) if path.name.endswith(NDJSON) else _read_parquet(path, trace):
            if trace is None or row["trace"] == trace:
                _require_known(row, path)
                yield _completed(row, path)
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not text, and so no JSON") from None
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise BadInput(f"{path}: cannot be read: {str(error).partition('.')[0]}") from None


def _read_parquet(path: Path, trace: int | None) -> Iterator[dict[str, Any]]:
    """The steps of a file, or of one trace in it; of row groups without that trace nothing is read."""
    schema = arrow_schema()
    with pq.ParquetFile(path) as file:
        here = [name for name in schema.names if name in file.schema_arrow.names]
        missing = [name for name in schema.names if name in NEEDED and name not in here]
        if missing:
            raise BadInput(f"{path}: without {_some(missing)}, which no step can be judged without")
        groups = [group for group in range(file.num_row_groups) if _may_hold(file.metadata.row_group(group), trace)]
        for batch in file.iter_batches(columns=here, row_groups=groups):
            table = pa.Table.from_batches([batch]).select(here).cast(pa.schema([schema.field(name) for name in here]))
            empty = [name for name in here if name in NEEDED and table[name].null_count]
            if empty:
                raise BadInput(f"{path}: {_some(empty)} null; a value that does not apply is absent")
            yield from (table if trace is None else table.filter(pc.field("trace") == trace)).to_pylist()


def _is_in_some_groups_alone(files: Sequence[Path], trace: int) -> bool:
    """Whether row groups without the trace need not be read, as their statistics say."""
    for path in files:
        if path.name.endswith(PARQUET):
            with pq.ParquetFile(path) as file:
                numbered = "trace" in file.schema_arrow.names
                groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
            if numbered and not all(_may_hold(group, trace) for group in groups):
                return True
    return False


def _may_hold(group: pq.RowGroupMetaData, trace: int | None) -> bool:
    """Whether the group may have steps of the trace, as far as its statistics say."""
    columns = (group.column(place) for place in range(group.num_columns))
    recorded = next(column.statistics for column in columns if column.path_in_schema == "trace")
    return trace is None or recorded is None or not recorded.has_min_max or recorded.min <= trace <= recorded.max


def _completed(row: Row, path: Path) -> Row:
    """The step with every column: what is not needed for it may be missing or null, and is then absent."""
    recorded = {name: value for name, value in row.items() if value is not None}
    if recorded.get("transactional_id") and recorded["api"] in DECISIONS:
        missing = [name for name in NEEDED_OF_COORDINATORS if name not in recorded]
        if missing:
            where = f"{path}, trace {row['trace']}, step {row['step']}"
            raise BadInput(f"{where}: without {_some(missing)}, which no step of a coordinator can be judged without")
    whole = complete(recorded)
    if "delivered" not in recorded and row["api"] in _ANSWERS:
        whole["delivered"] = (
            None  # whether the application was given the batch is not known, which is not that it was not
        )
    return whole


def _require_known(row: Row, path: Path) -> None:
    where = f"{path}, trace {row['trace']}, step {row['step']}"
    if row["profile"] not in PROFILES:
        raise BadInput(f"{where}: unknown profile {row['profile']!r}; there are {', '.join(PROFILES)}")
    if any(abs(row.get(name) or 0) > WIDEST for name in INTEGERS):
        raise BadInput(f"{where}: {TOO_WIDE}")
    reason = next((reason for reason, is_so in UNJUDGEABLE.items() if is_so(row.__getitem__)), None)
    if reason is not None:
        raise BadInput(f"{where}: {reason}")


def _require_whole(rows: Sequence[Row], path: Path) -> None:
    for expected, row in enumerate(rows):
        if row["step"] != expected:
            wrong = f"step {expected} is missing" if row["step"] > expected else f"step {row['step']} comes twice"
            raise BadInput(f"{path}: of trace {row['trace']} {wrong}, so the others cannot be judged")


def _some(names: Iterable[object]) -> str:
    recorded = [str(name) for name in names]
    return ", ".join(recorded[:_NAMED]) + (", ..." if len(recorded) > _NAMED else "")


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
    writer = _ndjson_writer(path) if path.name.endswith(NDJSON) else _parquet_writer(path)
    with writing(path), writer as write:
        yield write


@contextmanager
def _ndjson_writer(path: Path) -> Iterator[Write]:
    with text_of(path, "w") as lines:
        yield lambda rows: lines.writelines(map(ndjson_line, rows))


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Write]:
    with pq.ParquetWriter(path, arrow_schema()) as file:
        yield lambda rows: file.write_batch(record_batch(list(rows)))
