"""The solver's reading of the algebra: terms of Z3, over integers or over bit-vectors.

Comparisons of bit-vectors are signed; their width is the caller's to choose, and must hold every number that
occurs. Importing this module registers the reading.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from operator import sub as subtract
from typing import Final, TypeVar

import z3

from spec.algebra import Algebra, Term, register
from spec.protocol.records import build, flatten, scalars

Record = TypeVar("Record")


def fitted(term: Term, sort: Term) -> Term:
    """A choice between Python's numbers, which have no width of their own, in the sort of what it stands beside."""
    if not z3.is_int(term) or not z3.is_bv_sort(sort):
        return term
    if z3.is_int_value(term):
        return z3.BitVecVal(term.as_long(), sort)
    if not _is_choice(term):
        return reduce(_ARITHMETIC[term.decl().kind()], (fitted(part, sort) for part in term.children()))
    fact, then, otherwise = term.children()
    return z3.If(fact, fitted(then, sort), fitted(otherwise, sort))


_ARITHMETIC: Final[Mapping[int, Callable[[Term, Term], Term]]] = {z3.Z3_OP_ADD: add, z3.Z3_OP_SUB: subtract}


def _is_choice(term: Term) -> bool:
    return bool(z3.is_app_of(term, z3.Z3_OP_ITE))


def without_integers(terms: Sequence[Term]) -> list[Term]:
    """Equal terms in which no choice between Python's numbers is compared: their conditions are, instead."""
    cases = _Cases()
    return [cases.of(term) for term in terms]


class _Cases:
    """Rewrites terms, each once: a comparison of two choices becomes the choice of the comparisons."""

    def __init__(self) -> None:
        self._rewritten: dict[int, Term] = {}
        self._compared: dict[tuple[int, int, int], Term] = {}
        self._kept: list[Term] = []  # terms are known by number, and numbers of terms that are gone are used again

    def of(self, term: Term) -> Term:
        waiting = [term]
        while waiting:
            one = waiting[-1]
            unknown = [part for part in self._parts(one) if part.get_id() not in self._rewritten]
            if one.get_id() in self._rewritten or not unknown:
                waiting.pop()
                self._rewritten.setdefault(one.get_id(), self._rewrite(one))
            waiting += unknown
        return self._rewritten[term.get_id()]

    def _parts(self, term: Term) -> list[Term]:
        return list(self._conditions(term)) if _compares_integers(term) else term.children()

    def _conditions(self, term: Term) -> Iterator[Term]:
        waiting = [part for part in term.children() if part.num_args()]
        while waiting:
            one = waiting.pop()
            sides = one.children()
            if _is_choice(one):
                yield sides.pop(0)
            waiting += (side for side in sides if side.num_args())

    def _rewrite(self, term: Term) -> Term:
        if _compares_integers(term):
            return self._compare(term, *term.children())
        parts = [self._rewritten[part.get_id()] for part in term.children()]
        return term.decl()(*parts) if parts else term

    def _compare(self, how: Term, left: Term, right: Term) -> Term:
        key = (how.decl().get_id(), left.get_id(), right.get_id())
        if key not in self._compared:
            self._compared[key] = self._by_case(how, left, right)
        return self._compared[key]

    def _by_case(self, how: Term, left: Term, right: Term) -> Term:
        if left.num_args():
            fact, then, otherwise = self._split(left)
            cases = self._compare(how, then, right), self._compare(how, otherwise, right)
        elif right.num_args():
            fact, then, otherwise = self._split(right)
            cases = self._compare(how, left, then), self._compare(how, left, otherwise)
        else:
            return z3.simplify(how.decl()(left, right))
        return z3.simplify(z3.If(self._rewritten[fact.get_id()], *cases))

    def _split(self, term: Term) -> tuple[Term, Term, Term]:
        """A choice by its parts; a sum with a choice in it as a choice between sums."""
        if _is_choice(term):
            fact, then, otherwise = term.children()
            return fact, then, otherwise
        parts = term.children()
        place = next(number for number, part in enumerate(parts) if part.num_args())
        fact, *sides = self._split(parts[place])
        then, otherwise = (self._sum(term, [*parts[:place], side, *parts[place + 1 :]]) for side in sides)
        return fact, then, otherwise

    def _sum(self, of: Term, parts: Sequence[Term]) -> Term:
        whole = of.decl()(*parts)
        found = whole if any(part.num_args() for part in parts) else z3.simplify(whole)
        self._kept.append(found)
        return found


def _compares_integers(term: Term) -> bool:
    return bool(z3.is_bool(term) and term.num_args() == 2 and z3.is_int(term.arg(0)))


def _choice(fact: Term, then: Term, otherwise: Term) -> Term:
    sort = next((side.sort() for side in (then, otherwise) if z3.is_bv(side)), None)
    return z3.If(fact, then, otherwise) if sort is None else z3.If(fact, _in(then, sort), _in(otherwise, sort))


def _in(side: Term, sort: Term) -> Term:
    return fitted(side, sort) if z3.is_expr(side) else side


register(z3.BoolRef, Algebra(conjunction=z3.And, disjunction=z3.Or, negation=z3.Not, choice=_choice))


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
    """The Python value of a literal of the solver; bit-vectors are signed.

    Raises:
        ValueError: the term is no literal, but has a variable or a function in it.
    """
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
