"""Trace files read in this process, as Spark would read them: a null is read, and then set aside."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from model_tests.common.reports import BadInput
from model_tests.judging.local_steps import LocalSteps
from model_tests.judging.step_table import CORRUPT, FILE, PathContents
from model_tests.traces.files_at import PARQUET, damaged_among, trace_files
from model_tests.traces.schema import BY_NAME, Quarantined
from model_tests.traces.schema_types import arrow_schema
from reference.recording.trace import ColumnType

UNREADABLE: Final = (OSError, EOFError, zlib.error, pa.ArrowException)
"""What is raised where a file cannot be read."""

_WIDEST: Final = 2**63
_AT_ONCE: Final = 16 << 20
"""Bytes of lines that are read together."""


def read_here(path: str) -> PathContents[LocalSteps]:
    """Every step of the trace files at a path; a file that turns out to be damaged is set aside as a whole.

    Raises:
        BadInput: there is no trace file, or none that can be read.
    """
    files = trace_files(Path(path.removeprefix("file://")))
    damaged = tuple(damaged_among(files))
    try:
        return _whole(path, files, damaged)
    except UNREADABLE as error:
        damaged = tuple(damaged_among(files, thoroughly=True))
        if not damaged:
            raise BadInput(f"{path}: cannot be read: {str(error).partition('.')[0]}") from error
        return _whole(path, files, damaged)


def steps_in(files: Iterable[Path]) -> LocalSteps:
    """Every step of these files.

    Raises:
        OSError: one cannot be read; likewise the others of `UNREADABLE`.
    """
    return LocalSteps(pa.concat_tables(map(_table, files)))


def _whole(path: str, files: Sequence[Path], damaged: tuple[Quarantined, ...]) -> PathContents[LocalSteps]:
    out = {bad.where for bad in damaged}
    whole = [file for file in files if str(file) not in out]
    if not whole:
        raise BadInput(f"{path}: no trace file can be read ({damaged[0].where}: {damaged[0].reason})")
    return PathContents(steps_in(whole), damaged)


def _table(file: Path) -> pa.Table:
    """The steps of a file, with every column of the schema, the file, and the text of a line that is none."""
    table = _parquet(file) if file.name.endswith(PARQUET) else _lines(file)
    count, names = len(table), set(table.column_names)
    columns = [table[each.name] if each.name in names else pa.nulls(count, each.type) for each in _schema()]
    here = pa.repeat(pa.scalar(file.absolute().as_uri(), pa.string()), count)
    return pa.Table.from_arrays([*columns, here], schema=_schema().append(pa.field(FILE, pa.string())))


def _schema() -> pa.Schema:
    return arrow_schema().append(pa.field(CORRUPT, pa.string()))


def _parquet(file: Path) -> pa.Table:
    schema = arrow_schema()
    with pq.ParquetFile(file) as content:
        here = [name for name in schema.names if name in content.schema_arrow.names]
        return content.read(columns=here).select(here).cast(pa.schema([schema.field(name) for name in here]))


def _lines(file: Path) -> pa.Table:
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    explicit = pj.ParseOptions(explicit_schema=arrow_schema(), unexpected_field_behavior="ignore")
    try:
        return pj.read_json(pa.BufferReader(content), pj.ReadOptions(block_size=_AT_ONCE), explicit)
    except pa.ArrowInvalid:  # some line is not as it should be: each is looked at by itself
        return pa.Table.from_pylist(list(_rows(content)), schema=_schema())


def _rows(content: bytes) -> Iterator[dict[str, Any]]:
    for line in content.decode("utf-8", "replace").splitlines():
        if line.strip():
            yield from _objects(line)


def _objects(line: str) -> Iterator[dict[str, Any]]:
    """The steps of a line: one object, or an array of them; what is none is kept as text."""
    try:
        reported = json.loads(line)
    except (ValueError, RecursionError):
        reported = None
    for one in reported if isinstance(reported, list) else [reported]:
        row: dict[str, Any] = {CORRUPT: None}
        if isinstance(one, dict):
            for name, value in one.items():
                if name in BY_NAME and value is not None:
                    row[name] = _value(value, BY_NAME[name].kind)
                    row[CORRUPT] = line if row[name] is None else row[CORRUPT]
        else:
            row[CORRUPT] = line
        yield row


def _value(value: Any, kind: ColumnType) -> Any:
    """The value as the column has it; none if it is of another type. What stands for a text is its text."""
    if kind is ColumnType.TEXT:
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if kind is ColumnType.BOOLEAN:
        return value if isinstance(value, bool) else None
    return value if type(value) is int and -_WIDEST <= value < _WIDEST else None
