"""The results of row cases on arrays: of each kind of row, which rows are of it, and their values."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from spec.readings.formulas_on_arrays import Array, ArrayColumns, ArrayProgram
from spec.readings.row_values import GuardedValue, Integers, NamedValues, PresentRows, RowCases, Value, terms_of


class Guarded(NamedTuple):
    """A value where a fact holds."""

    fact: Array
    value: Any


class CaseValues(NamedTuple):
    """The rows of one kind, and what they have: arrays, lists of them (`Integers`), `Guarded`, names (`NamedValues`).

    Attributes:
        rows: their places in the table.
    """

    rows: Array
    values: dict[str, Any]


def case_values(cases: RowCases, columns: ArrayColumns) -> Iterator[CaseValues]:
    """The rows of each kind with their results; the first kind that applies to a row counts."""
    facts = ArrayProgram(fact for fact, _ in cases.cases).run(columns)
    left = np.ones(columns.length, np.bool_)
    for fact, (_, results) in zip(facts, cases.cases, strict=True):
        here = left & fact
        if here.any():
            yield _values(results, np.flatnonzero(here), columns)
        left &= ~fact
    if left.any():
        yield _values(cases.otherwise, np.flatnonzero(left), columns)


def _values(results: Mapping[str, Value], rows: Array, columns: ArrayColumns) -> CaseValues:
    program = ArrayProgram(term for result in results.values() for term in terms_of(result))
    found = iter(program.run(columns.only(rows)))
    return CaseValues(rows, {name: _composed(result, found) for name, result in results.items()})


def _composed(value: Value, found: Iterator[Array]) -> Any:
    """The value, of the arrays of its formulas in their order."""
    match value:
        case Integers(items):
            return [next(found) for _ in items]
        case GuardedValue(_, inner):
            return Guarded(next(found), _composed(inner, found))
        case NamedValues(fields):
            return {name: _composed(inner, found) for name, inner in fields.items()}
        case PresentRows(members):
            return [Guarded(next(found), _composed(record, found)) for _, record in members]
    return next(found)
