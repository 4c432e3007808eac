"""Formulas on arrays: every part is computed for many rows at once, without Java and without a function for each row.

Texts are numbers here (`Texts`): equal texts have the same one. An array of facts that is everywhere the same is a
constant from there on, so that what depends on something unusual costs nothing where nothing unusual happens.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spec.algebra import Term
from spec.readings.formulas import DecisionFormula, Sheet, parts_of

Array = npt.NDArray[Any]

AT_ONCE: Final = 8192
"""Rows that are computed together: so few that the arrays of a formula's parts stay in a processor's cache."""

_MIXED: Final = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS: Final = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST: Final = np.uint64(31)
"""The constants of SplitMix64, which mixes the bits of an integer."""


class Texts:
    """Numbers of texts, given out as they come; the empty text is 0."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        """The number of a text."""
        return self._numbers.setdefault(text, len(self._numbers))

    def named(self) -> list[str]:
        """The texts by their numbers."""
        return list(self._numbers)


@dataclass(frozen=True, slots=True)
class ArrayColumns:
    """Columns of one length.

    Attributes:
        length: number of rows.
        values: by name, integers, facts, or numbers of texts; what a row leaves out is what the schema calls absent.
        given: by name, of columns that some row leaves out, the rows that do not.
    """

    length: int
    values: Mapping[str, Array]
    texts: Texts
    given: Mapping[str, Array] = field(default_factory=dict)

    def only(self, rows: Array) -> "ArrayColumns":
        """Some of the rows, in this order."""
        return ArrayColumns(
            len(rows),
            _Chosen(self.values, rows),
            self.texts,
            {name: given[rows] for name, given in self.given.items()},
        )


class _Chosen(dict[str, Array]):
    """Some rows of columns, each taken when it is needed."""

    def __init__(self, columns: Mapping[str, Array], rows: Array) -> None:
        super().__init__()
        self._columns, self._rows = columns, rows

    def __missing__(self, name: str) -> Array:
        found = self[name] = self._columns[name][self._rows]
        return found


class ArrayProgram:
    """Some formulas, ready to be computed: their parts in order, and of each when it is needed last."""

    def __init__(self, terms: Iterable[Term]) -> None:
        sheet = Sheet()
        self._results = [sheet.constant(term) for term in terms]
        self._parts = parts_of(self._results)
        last = {operand: part for part in self._parts for operand in part.operands}
        kept = set(self._results)
        self._over: dict[DecisionFormula, list[DecisionFormula]] = {}
        for operand, part in last.items():
            if operand not in kept:
                self._over.setdefault(part, []).append(operand)

    def run(self, columns: ArrayColumns) -> list[Array]:
        """The value of each formula on every row."""
        if columns.length <= AT_ONCE:
            return self._run(columns)
        starts = range(0, columns.length, AT_ONCE)
        chunks = [self._run(columns.only(np.arange(s, min(s + AT_ONCE, columns.length)))) for s in starts]
        return [np.concatenate(parts) for parts in zip(*chunks, strict=True)]

    def _run(self, columns: ArrayColumns) -> list[Array]:
        known: dict[DecisionFormula, Any] = {}
        for part in self._parts:
            known[part] = _value(part, [known[operand] for operand in part.operands], columns)
            for over in self._over.get(part, ()):
                del known[over]
        return [np.broadcast_to(known[result], columns.length) for result in self._results]


def _value(part: DecisionFormula, operands: Sequence[Any], columns: ArrayColumns) -> Any:
    """The value of a part: an array, or a constant where it is the same on every row."""
    match part.operator, operands:
        case "column", _:
            return _folded(columns.values[part.value])
        case "constant", _:
            return columns.texts.number(part.value) if isinstance(part.value, str) else _plain(part.value)
        case "among", [value]:
            return _folded(_is_among(value, [columns.texts.number(text) for text in part.value]))
        case "given", _:
            return _folded(columns.given.get(part.operands[0].value, True))
        case "beyond", values:
            return _folded(_any([fact for value in values for fact in (value > part.value, value < -part.value)]))
        case "hash", values:
            return _hash(values)
        case "not", [fact]:
            return not fact if isinstance(fact, bool) else np.logical_not(fact)
        case "choose", [fact, then, otherwise]:
            return _choice(fact, then, otherwise)
        case "and", [left, right]:
            return _both(left, right)
        case "or", [left, right]:
            return _either(left, right)
        case operator, [left, right]:
            return _folded(_joined(operator, left, right))
    raise ValueError(f"no operator {part.operator!r} of {len(operands)}")


def _plain(value: Any) -> Any:
    """A constant; a member of an enumeration is its number."""
    return value if isinstance(value, bool) else int(value)


def _joined(operator: str, left: Any, right: Any) -> Any:
    match operator:
        case "==":
            return left == right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    raise ValueError(f"no operator {operator!r}")


def _both(left: Any, right: Any) -> Any:
    if left is False or right is False:
        return False
    if left is True:
        return right
    return left if right is True else _folded(np.logical_and(left, right))


def _either(left: Any, right: Any) -> Any:
    if left is True or right is True:
        return True
    if left is False:
        return right
    return left if right is False else _folded(np.logical_or(left, right))


def _choice(fact: Any, then: Any, otherwise: Any) -> Any:
    if isinstance(fact, bool):
        return then if fact else otherwise
    return _folded(np.where(fact, then, otherwise))


def _any(facts: Sequence[Any]) -> Any:
    found: Any = False
    for fact in facts:
        found = _either(found, fact if isinstance(fact, np.ndarray) else bool(fact))
    return found


def _is_among(value: Any, numbers: Sequence[int]) -> Any:
    return np.isin(value, numbers) if isinstance(value, np.ndarray) else value in numbers


def _folded(value: Any) -> Any:
    """Facts that are everywhere the same as a constant; anything else as it is."""
    if isinstance(value, np.bool_):
        return bool(value)
    if not isinstance(value, np.ndarray) or value.dtype != np.bool_:
        return value
    count = np.count_nonzero(value)
    return True if count == value.size else value if count else False


def _hash(values: Iterable[Any]) -> Any:
    """An integer of 64 bits that distinguishes these values, in this order, from others."""
    found: Any = np.zeros(1, np.uint64)
    with np.errstate(over="ignore"):
        for value in values:
            found = _mixed((found + _MIXED) ^ np.asarray(value).astype(np.int64).view(np.uint64))
    return found.view(np.int64)


def _mixed(bits: Array) -> Array:
    for shift, factor in _ROUNDS:
        bits = (bits ^ (bits >> shift)) * factor
    mixed: Array = bits ^ (bits >> _LAST)
    return mixed
