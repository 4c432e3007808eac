"""The steps of traces as the check needs them, whether Spark holds them or this process."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, Generic, Protocol, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from model_tests.judging.step_fitness import MAY_BE_UNSAID
from model_tests.traces.schema import BY_NAME, Quarantined, Row
from spec.algebra import Term

REASON: Final = "reason"
FILE: Final = "_file"
"""The column with the file that a step stands in."""

CORRUPT: Final = "_corrupt_record"
"""The column with the text of a line that is no step."""

NO_OBJECT: Final = "not a JSON object with the columns of a step"

UNFIT: Final = "unfit"
DUPLICATE: Final = "the step stands there more than once"
"""Why a step is set aside: by itself, or for what its trace has besides."""

LATE: Final = "the step follows one that is later by the world's clock (world_ms); judged where it stands"

CUT: Final = "steps of the trace are missing: its client events are not judged"


class StepTable(Protocol):
    """Every step of some files."""

    def filled(self, name: str) -> Term:
        """A column, with what is absent where a step leaves it out."""

    def among(self, name: str, values: Iterable[Any]) -> Term:
        """Whether that column has one of these values."""

    def table(self, wanted: Term, columns: Iterable[str], *, all_fit: bool = False) -> pa.Table:
        """The steps that are wanted and can be judged, by trace and in order; what one leaves out is absent.

        Args:
            wanted: which of them.
            columns: that are wanted, beside the numbers of trace and step.
            all_fit: whether it is known that each can be judged, so that no other column need be read.
        """

    def unfit(self) -> Iterator[Quarantined]:
        """For each reason why a step cannot be judged: their number, their file, and the first."""

    def duplicates(self) -> Iterator[Quarantined]:
        """Steps of one number in one trace: none of them is judged, since it is not known which is true."""

    def late(self) -> Iterator[Quarantined]:
        """Steps that came before the step before them: the trace is not in the order in which it came about."""

    def cut(self) -> Iterator[Quarantined]:
        """Traces of which steps are missing: what they have is judged, but for what only a whole trace shows."""


Steps = TypeVar("Steps", bound=StepTable, covariant=True)


@dataclass(frozen=True, slots=True)
class PathContents(Generic[Steps]):
    """What was found at a path.

    Attributes:
        steps: every step.
        files: those that hold no step.
    """

    steps: Steps
    files: tuple[Quarantined, ...]


def filled(table: pa.Table) -> pa.Table:
    """The table by trace and step; of what a step leaves out, what is absent."""
    columns = {name: table[name] for name in table.column_names}
    here = (name for name in columns if columns[name].null_count and name in BY_NAME and name not in MAY_BE_UNSAID)
    columns |= {name: pc.fill_null(columns[name], BY_NAME[name].absent) for name in here}
    whole = pa.table(columns)
    return whole if _is_in_order(whole) else whole.sort_by([("trace", "ascending"), ("step", "ascending")])


def _is_in_order(table: pa.Table) -> bool:
    """Whether it is sorted by trace and step already, as whoever writes a trace leaves it."""
    trace, step = (table[name].to_numpy() for name in ("trace", "step"))
    later = (trace[1:] > trace[:-1]) | ((trace[1:] == trace[:-1]) & (step[1:] >= step[:-1]))
    return bool(later.all())


def rows_in(table: pa.Table) -> list[Row]:
    """The steps of a table, each by the names of its columns; a row is a copy of one in which most is as everywhere."""
    alike = {name: table[name][0].as_py() for name in table.column_names if _is_alike(table[name])}
    names = [name for name in table.column_names if name not in alike]
    pattern: dict[str, Any] = {name: alike.get(name) for name in table.column_names}
    values = zip(*(_values(table[name]) for name in names), strict=True) if names else repeat((), len(table))
    with _uncollected():
        return [_changed(pattern.copy(), zip(names, of_row, strict=True)) for of_row in values]


def _changed(row: dict[str, Any], values: Iterable[tuple[str, Any]]) -> Row:
    row.update(values)
    return row


def _is_alike(column: pa.ChunkedArray) -> bool:
    """Whether it has one value in all rows."""
    if column.null_count or not len(column):
        return len(column) > 0 and bool(column.null_count == len(column))
    first = column[0]
    return bool(column[-1] == first and pc.all(pc.equal(column, first)).as_py())


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without collections of garbage: to look for cycles among many rows, which have none, takes as long as they do."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The values as Python has them; Arrow itself makes a scalar of each, which takes ten times as long."""
    if column.null_count:
        return cast("list[Any]", column.to_pylist())
    if pa.types.is_string(column.type):
        encoded = column.combine_chunks().dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        return [texts[place] for place in encoded.indices.to_numpy(zero_copy_only=False).tolist()]
    return cast("list[Any]", column.to_numpy().tolist())
