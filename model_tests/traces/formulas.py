"""Decisions as graphs: what a decision is made of, before it becomes the text of some language.

A decision called on Spark's columns directly is a tree in which a shared part stands as often as it is used, thousands
of times for the branch of an append. Called on `Formula`s it is a graph, in which equal parts are the same part.
"""

from collections.abc import Iterable

from spec.algebra import Reading, Term, register


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

    def __rmul__(self, other: int) -> "Formula":
        return self.sheet.join("*", self.sheet.constant(other), self)

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

    def given(self, name: str) -> Formula:
        """The column of this name says something: it is not null."""
        return self._part("given", (self.column(name),), None)

    def beyond(self, widest: int, names: Iterable[str]) -> Formula:
        """Some column of these names holds an integer that is greater than `widest` or less than its negative."""
        return self._part("beyond", tuple(self.column(name) for name in names), widest)

    def hashed(self, *values: object) -> Formula:
        """An integer by which these integers and texts, in this order, are told from others."""
        return self._part("hash", tuple(self.constant(value) for value in values), None)

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


def columns_read(*facts: Term) -> frozenset[str]:
    """Names of the columns that the facts depend on."""
    return frozenset(part.value for part in parts_of(facts) if part.operator == "column")


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


def used_again(results: Iterable[Formula]) -> set[Formula]:
    """The parts of the results that are used more than once."""
    results = tuple(results)
    once: set[Formula] = set()
    again: set[Formula] = set()
    for used in (*(operand for part in parts_of(results) for operand in part.operands), *results):
        (again if used in once else once).add(used)
    return again
