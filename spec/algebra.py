"""The connectives that every decision is written with, over any reading.

A decision takes scalars and returns scalars. In the Python reading these are `int` and `bool`; a solver's
terms, Spark's columns and NumPy's arrays are further readings, which register themselves with `register`.
Comparisons and `+`, `-` are the operands' own; only what Python does not let a type overload is here.

A Python constant among the operands is folded, so that a decision specialised to a profile costs nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Term: TypeAlias = Any
"""A scalar of some reading: a Python int or bool, a solver's term, a column, an array."""


@dataclass(frozen=True, slots=True)
class Algebra:
    """How one kind of term joins: conjunction, disjunction, negation, and choice between two terms."""

    conjunction: Callable[[Term, Term], Term]
    disjunction: Callable[[Term, Term], Term]
    negation: Callable[[Term], Term]
    choice: Callable[[Term, Term, Term], Term]


_READINGS: dict[type, Algebra] = {}


def register(kind: type, reading: Algebra) -> None:
    """Let terms of `kind` and its subclasses be operands of the connectives."""
    _READINGS[kind] = reading


def all_of(*facts: Term) -> Term:
    """Every fact holds; with none, true."""
    terms = []
    for fact in facts:
        if fact is False:
            return False
        if fact is not True:
            terms.append(fact)
    return _join(terms, lambda r: r.conjunction, neutral=True)


def any_of(*facts: Term) -> Term:
    """Some fact holds; with none, false."""
    terms = []
    for fact in facts:
        if fact is True:
            return True
        if fact is not False:
            terms.append(fact)
    return _join(terms, lambda r: r.disjunction, neutral=False)


def negate(fact: Term) -> Term:
    """The fact does not hold."""
    return (not fact) if isinstance(fact, bool) else _reading_of(fact).negation(fact)


def implies(fact: Term, then: Term) -> Term:
    """If the fact holds, so does `then`."""
    return any_of(negate(fact), then)


def choose(fact: Term, then: Term, otherwise: Term) -> Term:
    """`then` where the fact holds, `otherwise` where it does not."""
    if fact is True:
        return then
    if fact is False:
        return otherwise
    return _reading_of(fact).choice(fact, then, otherwise)


def same(left: Term, right: Term) -> Term:
    """Two facts are both true or both false."""
    return choose(left, right, negate(right))


def _join(facts: list[Term], joining: Callable[[Algebra], Callable[[Term, Term], Term]], *, neutral: bool) -> Term:
    """One fact of several; what a reading makes a constant on the way is folded like any other."""
    joined: Term = neutral
    for fact in facts:
        joined = fact if isinstance(joined, bool) else joining(_reading_of(joined))(joined, fact)
        if joined is (not neutral):
            break
    return joined


def _reading_of(term: Term) -> Algebra:
    for kind in type(term).__mro__:
        if kind in _READINGS:
            return _READINGS[kind]
    raise TypeError(f"no reading for {type(term).__name__}: register one with spec.algebra.register")
