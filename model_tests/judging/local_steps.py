"""Traces in this process: the steps of some files as a table of Arrow, and their columns as arrays."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import spec.readings.reading_numpy  # noqa: F401  # arrays are operands of the formulas from here on
from model_tests.judging.step_fitness import (
    INTEGERS,
    NEEDED,
    NEEDED_OF_COORDINATORS,
    TOO_WIDE,
    UNJUDGEABLE,
    WIDEST,
    is_coordinators,
    is_fit,
)
from model_tests.judging.step_table import CORRUPT, CUT, DUPLICATE, FILE, LATE, NO_OBJECT, filled
from model_tests.traces.schema import BY_NAME, Quarantined
from reference.recording.trace import ColumnType
from spec.algebra import Term
from spec.readings.formulas import Sheet
from spec.readings.formulas_on_arrays import Array, ArrayColumns, ArrayProgram, Texts
from spec.versions import PROFILES

_NO_STEP: Final = (FILE, CORRUPT)
"""Columns that are not a step's own."""


class LocalSteps:
    """Every step of some files, as this process has them.

    Attributes:
        steps: every step; a null is what a step leaves out. Beside its columns those of `_NO_STEP`.
        columns: the same as arrays.
    """

    def __init__(self, steps: pa.Table) -> None:
        """The steps of a table with every column of the schema."""
        self.steps = steps
        texts = Texts()
        given = {name: _facts(steps[name].is_valid()) for name in BY_NAME if steps[name].null_count}
        self.columns = ArrayColumns(len(steps), _ReadColumns(steps, texts), texts, given)

    @cached_property
    def fit(self) -> Array:
        """Whether each step can be judged by itself."""
        (fit,) = ArrayProgram([is_fit(Sheet())]).run(self.columns)
        return fit

    def filled(self, name: str) -> Term:
        """A column, with what is absent where a step leaves it out."""
        values = self.columns.values[name]
        return _TextColumn(values, self.columns.texts) if BY_NAME[name].kind is ColumnType.TEXT else values

    def among(self, name: str, values: Iterable[Any]) -> Array:
        """Whether that column has one of these values."""
        texts = self.columns.texts
        numbers = [texts.number(value) if isinstance(value, str) else int(value) for value in values]
        found: Array = np.isin(self.columns.values[name], numbers)
        return found

    def table(self, wanted: Term, columns: Iterable[str], *, all_fit: bool = False) -> pa.Table:
        """The steps that are wanted and can be judged, by trace and in order."""
        rows = np.flatnonzero(np.broadcast_to(wanted if all_fit else wanted & self.fit, len(self.steps)))
        chosen = self.steps.select(list(dict.fromkeys(("trace", "step", *columns))))
        return filled(chosen if len(rows) == len(self.steps) else chosen.take(rows))

    def unfit(self) -> Iterator[Quarantined]:
        """For each reason why a step cannot be judged: their number, their file, and the first."""
        by_reason = defaultdict[str, list[Mapping[str, Any]]](list)
        for row in self.steps.take(np.flatnonzero(~self.fit)).to_pylist():
            by_reason[_reason(row)].append(row)
        for reason in sorted(by_reason):
            yield _set_aside(reason, by_reason[reason])

    def duplicates(self) -> Iterator[Quarantined]:
        """Steps of one number in one trace: none of them is judged, since it is not known which is true."""
        numbered = self.steps.select(["trace", "step", FILE]).drop_null()
        counts = numbered.group_by(["trace", "step"]).aggregate([([], "count_all")])
        twice = counts.filter(pc.field("count_all") > 1)
        found = numbered.join(twice, ["trace", "step"], join_type="inner").to_pylist() if len(twice) else []
        if found:
            yield _set_aside(DUPLICATE, found)

    def late(self) -> Iterator[Quarantined]:
        """Steps that came before the step before them: the trace is not in the order in which it came about."""
        rows = np.flatnonzero(self.fit)
        trace, step, world_ms = (self.columns.values[name][rows] for name in ("trace", "step", "world_ms"))
        order = np.lexsort((step, trace))
        trace, world_ms = trace[order], world_ms[order]
        late = (trace[1:] == trace[:-1]) & (world_ms[:-1] > world_ms[1:]) & (world_ms[1:] >= 0)
        found = self.steps.select(["trace", "step", FILE]).take(rows[order][1:][late]).to_pylist()
        if found:
            yield _set_aside(LATE, found)

    def cut(self) -> Iterator[Quarantined]:
        """Traces of which steps are missing: what they have is judged, but for what only a whole trace shows."""
        steps = self.steps.select(["trace", "step", FILE]).append_column("fit", pa.array(self.fit))
        measures = [("step", "count_distinct"), ("step", "max"), ("fit", "min"), (FILE, "min")]
        traces = steps.group_by("trace").aggregate(measures).to_pylist()
        missing = [one for one in traces if one["fit_min"] and one["step_max"] + 1 != one["step_count_distinct"]]
        if missing:
            first = min(missing, key=lambda one: int(one["trace"]))
            yield Quarantined(CUT, len(missing), f"first: trace {first['trace']}, {first[f'{FILE}_min']}")


class _ReadColumns(dict[str, Array]):
    """The columns of a table, each as an array when it is first needed."""

    def __init__(self, table: pa.Table, texts: Texts) -> None:
        super().__init__()
        self._table, self._texts = table, texts

    def __missing__(self, name: str) -> Array:
        column, kind = self._table[name], BY_NAME[name].kind
        found = self[name] = _numbers(column, self._texts) if kind is ColumnType.TEXT else _filled(column, name)
        return found


class _TextColumn:
    """A column of texts, which is compared with texts."""

    def __init__(self, numbers: Array, texts: Texts) -> None:
        self._numbers, self._texts = numbers, texts

    def __eq__(self, other: object) -> Array:  # type: ignore[override]  # facts, as with columns
        if isinstance(other, _TextColumn):
            return np.equal(self._numbers, other._numbers)
        return np.equal(self._numbers, self._texts.number(str(other)))

    __hash__ = None  # type: ignore[assignment]  # it is no key


def _filled(column: pa.ChunkedArray, name: str) -> Array:
    found: Array = pc.fill_null(column, BY_NAME[name].absent).to_numpy()
    return found


def _numbers(column: pa.ChunkedArray, texts: Texts) -> Array:
    """The numbers of the texts of a column."""
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    numbers = np.array([texts.number(text) for text in encoded.dictionary.to_pylist()], np.int64)
    return numbers[encoded.indices.to_numpy(zero_copy_only=False)] if len(numbers) else np.zeros(0, np.int64)


def _facts(column: pa.ChunkedArray) -> Array:
    found: Array = column.to_numpy()
    return found


def _reason(row: Mapping[str, Any]) -> str:
    """Why a step cannot be judged: the first reason that applies."""
    if row[CORRUPT] is not None:
        return NO_OBJECT

    def of(name: str) -> Any:
        return BY_NAME[name].absent if row[name] is None else row[name]

    def given(name: str) -> bool:
        return row[name] is not None

    of_coordinators = NEEDED_OF_COORDINATORS if is_coordinators(of, given) else ()
    lacking = next((name for name in (*NEEDED, *of_coordinators) if row[name] is None), None)
    if lacking is not None:
        return f"{lacking} is null"
    if row["profile"] not in PROFILES:
        return f"unknown profile {row['profile']}"
    if any(abs(row[name] or 0) > WIDEST for name in INTEGERS):
        return TOO_WIDE
    return next(reason for reason, is_so in UNJUDGEABLE.items() if is_so(of))


def _set_aside(reason: str, rows: list[Mapping[str, Any]]) -> Quarantined:
    """So many steps with the first of them; a number that is missing comes before any other."""
    places = ((row["trace"], row["step"], row[FILE]) for row in rows)
    trace, step, file = min(places, key=lambda place: [(value is not None, value or 0) for value in place[:2]])
    return Quarantined(reason, len(rows), f"first: trace {trace}, step {step}, {file}")
