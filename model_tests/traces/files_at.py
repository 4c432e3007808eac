"""The trace files at a path of this machine, and which of them cannot be read."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from model_tests.common.reports import BadInput
from model_tests.traces.schema import BY_NAME, Quarantined
from reference.recording.trace import ColumnType

_LINES: Final = (".ndjson", ".jsonl", ".json")
NDJSON: Final = (*_LINES, *(f"{ending}.gz" for ending in _LINES))
PARQUET: Final = (".parquet",)

_BLOCK: Final = 1 << 20
"""Bytes of a compressed file that are read at once."""


def is_elsewhere(path: str) -> bool:
    """Whether a path is a URL of another file system."""
    return "://" in path and not path.startswith("file://")


def trace_files(path: Path) -> list[Path]:
    """The trace files at a path, in order.

    Raises:
        BadInput: there is none.
    """
    if not path.exists():
        raise BadInput(f"{path}: there is no such file or directory; `eos simulate --out DIR` makes traces")
    found = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _is_data(file, path))
    traces = [file for file in found if file.name.endswith((*NDJSON, *PARQUET))]
    if not traces:
        raise BadInput(f"{path}: no traces here, which are files that end in {', '.join((*PARQUET, *NDJSON))}")
    return traces


def _is_data(file: Path, root: Path) -> bool:
    is_file = file.is_file() or (file.is_symlink() and not file.exists())  # a dangling link is reported
    return is_file and not any(part.startswith(("_", ".")) for part in file.relative_to(root).parts)


def damaged_among(files: Iterable[Path], *, thoroughly: bool = False) -> Iterator[Quarantined]:
    """The files that cannot be read, and why.

    Args:
        files: of traces.
        thoroughly: every page of Parquet is read, too.
    """
    for file in files:
        try:
            if file.stat().st_size == 0:
                yield Quarantined("the file is empty", 1, str(file))
            elif file.name.endswith(PARQUET):
                wrong = _of_another_type(pq.read_schema(file))
                if wrong:
                    yield Quarantined(f"columns of another type than a trace's: {', '.join(wrong)}", 1, str(file))
                elif thoroughly:
                    _read_pages(file)
            else:
                _read_through(file)
        except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
            yield Quarantined(f"cannot be read: {_first_sentence(error)}", 1, str(file))


def _first_sentence(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return reason.partition(". ")[0].partition("\n")[0].strip().rstrip(".") or type(error).__name__


def _read_pages(file: Path) -> None:
    with pq.ParquetFile(file) as pages:
        here = [name for name in pages.schema_arrow.names if name in BY_NAME]
        for _ in pages.iter_batches(columns=here):
            pass


def _read_through(file: Path) -> None:
    """A compressed file is read to its end: Spark would give up all files for one that is not whole."""
    if not file.name.endswith(".gz"):
        with file.open("rb") as lines:
            lines.read(1)
        return
    with gzip.open(file) as packed:
        while packed.read(_BLOCK):
            pass


def _of_another_type(schema: pa.Schema) -> list[str]:
    """Columns that Spark would not read as those of a trace."""
    return [
        field.name for field in schema if field.name in BY_NAME and not _is_of(BY_NAME[field.name].kind, field.type)
    ]


def _is_of(kind: ColumnType, found: pa.DataType) -> bool:
    if pa.types.is_dictionary(found):  # how a file's writer kept texts in memory, not how the file has them
        found = found.value_type
    if kind is ColumnType.TEXT:
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found))
    if kind is ColumnType.BOOLEAN:
        return bool(pa.types.is_boolean(found))
    return bool(pa.types.is_integer(found) and not pa.types.is_uint64(found))
