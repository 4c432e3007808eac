"""The solver's reading of the algebra: terms of Z3, over integers or over bit-vectors.

Comparisons of bit-vectors are signed; their width is the caller's to choose, and must hold every number that
occurs. Importing this module registers the reading.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import z3

from spec.algebra import Reading, Term, register
from spec.protocol.records import build, flatten, scalars

Record = TypeVar("Record")

register(z3.BoolRef, Reading(conjunction=z3.And, disjunction=z3.Or, negation=z3.Not, choice=z3.If))


@dataclass(frozen=True, slots=True)
class Numbers:
    """How numbers are represented: as integers, or as bit-vectors of a width."""

    width: int | None = None

    @property
    def sort(self) -> Term:
        """The solver's sort of these numbers."""
        return z3.IntSort() if self.width is None else z3.BitVecSort(self.width)

    def sort_of(self, kind: type) -> Term:
        """The solver's sort of a scalar of a Python type, `bool` or `int`."""
        return z3.BoolSort() if kind is bool else self.sort

    def constant(self, name: str, kind: type = int) -> Term:
        """A number or a fact of which nothing is known but its name."""
        return z3.Const(name, self.sort_of(kind))

    def value(self, number: bool | int) -> Term:
        """The term of a Python value."""
        if isinstance(number, bool):
            return z3.BoolVal(number)
        return z3.IntVal(number) if self.width is None else z3.BitVecVal(number, self.width)


INTEGERS: Final = Numbers()
WIDE: Final = Numbers(64)
"""Bit-vectors that hold every number on the wire, and sums of two."""

WIRE: Final = Numbers(32)
"""Bit-vectors as wide as a sequence on the wire."""


def symbolic(kind: type[Record], numbers: Numbers = INTEGERS, prefix: str = "") -> Record:
    """A record of which nothing is known: each scalar a constant, called by its name after the prefix."""
    types = dict(scalars(kind))
    return build(kind, lambda name: numbers.constant(prefix + name, bool if types[name] is bool else int))


def evaluate(term: Term, assignment: Mapping[str, bool | int], numbers: Numbers = INTEGERS) -> bool | int:
    """The Python value of a term once its constants have these values, worked out by the solver's simplifier."""
    if not z3.is_expr(term):
        return bool(term) if isinstance(term, bool) else int(term)
    known = [(numbers.constant(name, type(value)), numbers.value(value)) for name, value in assignment.items()]
    return python_value(z3.simplify(z3.substitute(term, *known)))


def evaluate_record(record: Record, assignment: Mapping[str, bool | int], numbers: Numbers = INTEGERS) -> Record:
    """The record of Python values that a record of terms becomes."""
    values = {name: evaluate(term, assignment, numbers) for name, term in flatten(record)}
    return build(type(record), lambda name: values[name])


def python_value(value: Term) -> bool | int:
    """The Python value of a literal of the solver; bit-vectors are signed."""
    if z3.is_true(value) or z3.is_false(value):
        return bool(z3.is_true(value))
    if z3.is_bv_value(value):
        return int(value.as_signed_long())
    if z3.is_int_value(value):
        return int(value.as_long())
    raise ValueError(f"not a literal: {value}")


def scalars_of(value: object, name: str, constant: Callable[[str, type], Term]) -> Term:
    """A scalar or a record shaped like `value`, its scalars made by name and type."""
    if isinstance(value, bool | int):
        return constant(name, bool if isinstance(value, bool) else int)
    kinds = {part: type(scalar) for part, scalar in flatten(value)}
    return build(type(value), lambda part: constant(f"{name}_{part}", bool if kinds[part] is bool else int))
