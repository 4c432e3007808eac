"""From a decision to Spark columns: every shared part of it is computed once a row, whatever it is used for.

A decision called on columns directly is a tree in which a shared part stands as often as it is used, thousands
of times for the branch of an append. Called on `Formula`s it is a graph; `evaluate` turns the parts that are used
more than once into columns of their own, in as few selects as their order allows.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from spec.algebra import Reading, Term, register
from spec.vocabulary import ABSENT

_MATERIALISED: Final = "_part_"

_WORTH_A_COLUMN: Final = 3
"""Operators that a shared part must save to be computed apart; measured with `model_tests.bench`."""


_ABSENT: Final[Mapping[str, Term]] = {"bigint": ABSENT, "boolean": False, "string": ""}


class Formula:
    """One part of a decision: an operator on parts, a column of the table, or a constant."""

    __slots__ = ("operands", "operator", "sheet", "value")

    def __init__(self, sheet: "Sheet", operator: str, operands: tuple["Formula", ...], value: Term) -> None:
        self.sheet = sheet
        self.operator = operator
        self.operands = operands
        self.value = value

    def __eq__(self, other: object) -> "Formula":  # type: ignore[override]  # a fact, as with columns
        return self._join("==", other)

    def __lt__(self, other: Term) -> "Formula":
        return self._join("<", other)

    def __le__(self, other: Term) -> "Formula":
        return self._join("<=", other)

    def __gt__(self, other: Term) -> "Formula":
        return self._join(">", other)

    def __ge__(self, other: Term) -> "Formula":
        return self._join(">=", other)

    def __add__(self, other: Term) -> "Formula":
        return self._join("+", other)

    def __radd__(self, other: Term) -> "Formula":
        return self._join("+", other)

    def __sub__(self, other: Term) -> "Formula":
        return self._join("-", other)

    def __rsub__(self, other: Term) -> "Formula":
        return self.sheet.join("-", self.sheet.constant(other), self)

    def __hash__(self) -> int:
        return id(self)

    def _join(self, operator: str, other: object) -> "Formula":
        return self.sheet.join(operator, self, self.sheet.constant(other))


class Sheet:
    """The parts of the decisions on one table; equal parts are the same part."""

    def __init__(self) -> None:
        self._parts: dict[tuple[object, ...], Formula] = {}

    def column(self, name: str) -> Formula:
        """The column of this name."""
        return self._part("column", (), name)

    def among(self, name: str, values: Iterable[str]) -> Formula:
        """The column of this name has one of these values."""
        return self._part("among", (self.column(name),), tuple(sorted(values)))

    def constant(self, value: object) -> Formula:
        """A constant; what is a part already stays it."""
        return value if isinstance(value, Formula) else self._part("constant", (), value)

    def join(self, operator: str, *operands: Formula) -> Formula:
        """The part that joins these."""
        return self._part(operator, operands, None)

    def _part(self, operator: str, operands: tuple[Formula, ...], value: object) -> Formula:
        key = (operator, *map(id, operands), type(value), value)
        return self._parts.setdefault(key, Formula(self, operator, operands, value))


def _choice(fact: Formula, then: Term, otherwise: Term) -> Formula:
    sheet = fact.sheet
    chosen, other = sheet.constant(then), sheet.constant(otherwise)
    return chosen if chosen is other else sheet.join("choose", fact, chosen, other)


register(
    Formula,
    Reading(
        conjunction=lambda left, right: left.sheet.join("and", left, right),
        disjunction=lambda left, right: left.sheet.join("or", left, right),
        negation=lambda fact: fact.sheet.join("not", fact),
        choice=_choice,
    ),
)

_FUNCTION: Final[Mapping[str, str]] = {
    **{name: f"`{name}`" for name in ("==", "<", "<=", ">", ">=", "+", "-", "and", "or", "not")},
    "choose": "if",
}
"""Spark's functions by operator. Their calls are quick to parse, nested parentheses are not."""


def columns_read(*facts: Term) -> frozenset[str]:
    """Names of the columns that the facts depend on."""
    return frozenset(part.value for part in parts_of(facts) if part.operator == "column")


@dataclass(frozen=True, slots=True)
class Lowered:
    """Results as Spark's expressions, in its own language: what is told to it in one text costs one call of its JVM.

    Attributes:
        columns: names of those that are read.
        levels: the shared parts, by the select in which each is evaluated.
        outputs: the results.
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...]


def lowered(results: Mapping[str, Term]) -> Lowered:
    """The value of each result under its name."""
    formulas = [result for result in results.values() if isinstance(result, Formula)]
    parts = parts_of(formulas)
    levels = _levels(parts, _shared(parts, formulas))
    known = {part: f"{_MATERIALISED}{number}" for number, part in enumerate(levels)}
    return Lowered(
        columns=tuple(str(part.value) for part in parts if part.operator == "column"),
        levels=tuple(
            tuple(f"{_call(part, known)} as {known[part]}" for part in levels if levels[part] == level)
            for level in range(1, max(levels.values(), default=0) + 1)
        ),
        outputs=tuple(f"{_text(result, known)} as {_name(name)}" for name, result in results.items()),
    )


def evaluate(table: DataFrame, kept: Iterable[str], results: Lowered) -> DataFrame:
    """The table's `kept` columns, and the value of each result as a column of its name."""
    kept = tuple(kept)
    table = present(table.select(*sorted({*kept, *results.columns})))
    for level in results.levels:
        table = table.selectExpr("*", *level)
    return table.selectExpr(*map(_name, kept), *results.outputs)


def present(table: DataFrame, nullable: Container[str] = ()) -> DataFrame:
    """The table with what is absent in place of nulls, so that no code is made for them.

    Args:
        table: integers, facts and text; what is of another kind stays as it is.
        nullable: names of columns that stay as they are.
    """
    kinds = {field.name: field.dataType.simpleString() for field in table.schema.fields}
    return table.selectExpr(*(_name(name) if name in nullable else _present(name, kinds[name]) for name in kinds))


def parts_of(facts: Iterable[Term]) -> list[Formula]:
    """Every part of the facts, each after its operands."""
    seen: dict[Formula, None] = {}

    def visit(part: Formula) -> None:
        if part not in seen:
            for operand in part.operands:
                visit(operand)
            seen[part] = None

    for fact in facts:
        if isinstance(fact, Formula):
            visit(fact)
    return list(seen)


def _shared(parts: list[Formula], results: Iterable[Formula]) -> set[Formula]:
    """The parts that are worth a column: used more than once, and more work than reading it back."""
    uses: dict[Formula, int] = dict.fromkeys(parts, 0)
    for used in (*(operand for part in parts for operand in part.operands), *results):
        uses[used] += 1
    shared: set[Formula] = set()
    work: dict[Formula, int] = {}
    for part in parts:
        own = sum(0 if operand in shared else work[operand] for operand in part.operands)
        work[part] = own + (1 if part.operands else 0)
        if uses[part] > 1 and work[part] >= _WORTH_A_COLUMN:
            shared.add(part)
    return shared


def _levels(parts: list[Formula], shared: set[Formula]) -> dict[Formula, int]:
    """For each shared part, in which select it is computed: after those that it is made of."""
    depth: dict[Formula, int] = {}
    for part in parts:
        below = max((depth[operand] for operand in part.operands), default=0)
        depth[part] = below + 1 if part in shared else below
    return {part: depth[part] for part in parts if part in shared}


def _present(name: str, kind: str) -> str:
    """The column, known to hold no null."""
    return f"coalesce({_name(name)}, {_constant(_ABSENT[kind])}) as {_name(name)}" if kind in _ABSENT else _name(name)


def _name(column: str) -> str:
    return f"`{column}`"


def _text(term: Term, known: Mapping[Formula, str]) -> str:
    """The expression of one part, made of the columns known already."""
    if not isinstance(term, Formula):
        return _constant(term)
    return known[term] if term in known else _call(term, known)


def _call(part: Formula, known: Mapping[Formula, str]) -> str:
    if part.operator == "column":
        return _name(str(part.value))
    if part.operator == "constant":
        return _constant(part.value)
    operands = [_text(operand, known) for operand in part.operands]
    if part.operator == "among":
        return f"{operands[0]} in ({', '.join(map(_constant, part.value))})"
    return f"{_FUNCTION[part.operator]}({', '.join(operands)})"


def _constant(value: Term) -> str:
    """An integer has the 64 bits that every integer column has."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{int(value)}L"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
