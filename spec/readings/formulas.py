"""Decisions as graphs: the parts of a decision, before it becomes text of some language.

A decision called on Spark's columns directly is a tree in which a shared part stands as often as it is used, thousands
of times for the branch of an append. Called on `DecisionFormula`s it is a graph, in which equal parts are the same
part.

One formula serves many profiles. A decision is called once for each behaviour. The formulas that it returns have the
same shape except for the parts that the behaviour changes. Shared parts stand once, and a choice by profile stands only
where the formulas differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final

from spec.algebra import Algebra, Term, choose, register


class DecisionFormula:
    """One part of a decision: an operator on parts, a column of the table, or a constant."""

    __slots__ = ("operands", "operator", "sheet", "value")

    def __init__(self, sheet: "Sheet", operator: str, operands: tuple["DecisionFormula", ...], value: Term) -> None:
        self.sheet = sheet
        self.operator = operator
        self.operands = operands
        self.value = value

    def __eq__(self, other: object) -> "DecisionFormula":  # type: ignore[override]  # a fact, as with columns
        return self._join("==", other)

    def __lt__(self, other: Term) -> "DecisionFormula":
        return self._join("<", other)

    def __le__(self, other: Term) -> "DecisionFormula":
        return self._join("<=", other)

    def __gt__(self, other: Term) -> "DecisionFormula":
        return self._join(">", other)

    def __ge__(self, other: Term) -> "DecisionFormula":
        return self._join(">=", other)

    def __add__(self, other: Term) -> "DecisionFormula":
        return self._join("+", other)

    def __radd__(self, other: Term) -> "DecisionFormula":
        return self._join("+", other)

    def __sub__(self, other: Term) -> "DecisionFormula":
        return self._join("-", other)

    def __rsub__(self, other: Term) -> "DecisionFormula":
        return self.sheet.join("-", self.sheet.constant(other), self)

    def __rmul__(self, other: int) -> "DecisionFormula":
        return self.sheet.join("*", self.sheet.constant(other), self)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        """A formula is neither true nor false; Python would take it for true in a condition.

        Raises:
            TypeError: always.
        """
        raise TypeError("a formula has no truth value: join facts with the connectives of spec.algebra")

    def _join(self, operator: str, other: object) -> "DecisionFormula":
        return self.sheet.join(operator, self, self.sheet.constant(other))


class Sheet:
    """The parts of the decisions on one table; equal parts are the same part."""

    def __init__(self) -> None:
        self._parts: dict[tuple[object, ...], DecisionFormula] = {}

    def column(self, name: str) -> DecisionFormula:
        """The column of this name."""
        return self._part("column", (), name)

    def among(self, name: str, values: Iterable[str]) -> DecisionFormula:
        """The column of this name has one of these values."""
        return self._part("among", (self.column(name),), tuple(sorted(values)))

    def given(self, name: str) -> DecisionFormula:
        """The column of this name has a value: it is not null."""
        return self._part("given", (self.column(name),), None)

    def beyond(self, widest: int, names: Iterable[str]) -> DecisionFormula:
        """Some column of these names holds an integer that is greater than `widest` or less than its negative."""
        return self._part("beyond", tuple(self.column(name) for name in names), widest)

    def hashed(self, *values: object) -> DecisionFormula:
        """An integer that distinguishes these integers and texts, in this order, from others."""
        return self._part("hash", tuple(self.constant(value) for value in values), None)

    def applied(self, function: str, *at: object) -> DecisionFormula:
        """The value of a function of this name at these arguments."""
        return self._part("applied", tuple(self.constant(each) for each in at), function)

    def constant(self, value: object) -> DecisionFormula:
        """A constant as a part; a value that is a part already is returned as it is."""
        return value if isinstance(value, DecisionFormula) else self._part("constant", (), value)

    def join(self, operator: str, *operands: DecisionFormula) -> DecisionFormula:
        """The part that applies the operator to these parts."""
        return self._part(operator, operands, None)

    def _part(self, operator: str, operands: tuple[DecisionFormula, ...], value: object) -> DecisionFormula:
        key = (operator, *map(id, operands), type(value), value)
        return self._parts.setdefault(key, DecisionFormula(self, operator, operands, value))


def _choice(fact: DecisionFormula, then: Term, otherwise: Term) -> DecisionFormula:
    sheet = fact.sheet
    chosen, other = sheet.constant(then), sheet.constant(otherwise)
    return chosen if chosen is other else sheet.join("choose", fact, chosen, other)


register(
    DecisionFormula,
    Algebra(
        conjunction=lambda left, right: left.sheet.join("and", left, right),
        disjunction=lambda left, right: left.sheet.join("or", left, right),
        negation=lambda fact: fact.sheet.join("not", fact),
        choice=_choice,
    ),
)


def columns_read(*facts: Term) -> frozenset[str]:
    """Names of the columns that the facts depend on."""
    return frozenset(part.value for part in parts_of(facts) if part.operator == "column")


def parts_of(facts: Iterable[Term]) -> list[DecisionFormula]:
    """Every part of the facts, each after its operands."""
    seen: dict[DecisionFormula, None] = {}

    def visit(part: DecisionFormula) -> None:
        if part not in seen:
            for operand in part.operands:
                visit(operand)
            seen[part] = None

    for fact in facts:
        if isinstance(fact, DecisionFormula):
            visit(fact)
    return list(seen)


def used_again(results: Iterable[DecisionFormula]) -> set[DecisionFormula]:
    """The parts of the results that are used more than once."""
    results = tuple(results)
    once: set[DecisionFormula] = set()
    again: set[DecisionFormula] = set()
    for used in (*(operand for part in parts_of(results) for operand in part.operands), *results):
        (again if used in once else once).add(used)
    return again


# --- one formula for many profiles ------------------------------------------------------------------------------------


PROFILE: Final = "profile"
"""The column that names the profile of a step."""


class Merge:
    """Joins the formulas of all behaviours on one sheet; each behaviour has the names of its profiles."""

    def __init__(self, sheet: Sheet, behaviours: Sequence[Sequence[str]]) -> None:
        self._sheet = sheet
        self._behaviours = behaviours
        self._merged: dict[tuple[DecisionFormula, ...], DecisionFormula] = {}

    def results(self, by_behaviour: Sequence[Mapping[str, Term]]) -> dict[str, Term]:
        """Each result as one formula for all profiles."""
        return {name: self.formulas([results[name] for results in by_behaviour]) for name in by_behaviour[0]}

    def formulas(self, terms: Sequence[Term]) -> DecisionFormula:
        """One formula that equals the k-th of these on a step of the k-th behaviour."""
        parts = tuple(self._sheet.constant(term) for term in terms)
        if parts not in self._merged:
            self._merged[parts] = self._join(parts)
        return self._merged[parts]

    def _join(self, parts: tuple[DecisionFormula, ...]) -> DecisionFormula:
        first = parts[0]
        if all(part is first for part in parts):
            return first
        alike = all(part.operator == first.operator and len(part.operands) == len(first.operands) for part in parts)
        if alike and first.operands:
            operands = zip(*(part.operands for part in parts), strict=True)
            return self._sheet.join(first.operator, *(self.formulas(same) for same in operands))
        return self._by_profile(parts)

    def _by_profile(self, parts: tuple[DecisionFormula, ...]) -> DecisionFormula:
        profiles: dict[DecisionFormula, list[str]] = {}
        for part, names in zip(parts, self._behaviours, strict=True):
            profiles.setdefault(part, []).extend(names)
        *some, last = profiles.items()
        cases = ((self._sheet.among(PROFILE, names), part) for part, names in some)
        return reduce(lambda other, case: choose(case[0], case[1], other), cases, last[0])
