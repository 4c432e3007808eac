"""Ordered guards: the shape of every decision that may refuse.

Guards stand in the order in which Kafka checks them; the first that applies decides. Each has a name and
a rule, so that every wrong answer is reported with both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spec.algebra import Term, choose
from spec.rules import Rule
from spec.vocabulary import ErrorCode

PASSED = 0
"""Number of the branch on which no guard applies; guard k is branch k+1."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One check: its name, its rule, the condition under which it applies, and its answer."""

    name: str
    rule: Rule
    applies: Term
    error: Term


def branch(guards: Sequence[Guard]) -> Term:
    """Number of the first guard that applies, from 1; 0 where none does."""
    number: Term = PASSED
    for position in range(len(guards), 0, -1):
        number = choose(guards[position - 1].applies, position, number)
    return number


def number(guards: Sequence[Guard], name: str) -> int:
    """Number of the branch of the guard with this name."""
    return [guard.name for guard in guards].index(name) + 1


def error_of(guards: Sequence[Guard], decided: Term) -> Term:
    """The answer of the guard that decided; no error where none did."""
    answer: Term = ErrorCode.NONE.value
    for position, guard in enumerate(guards, start=1):
        answer = choose(decided == position, guard.error, answer)
    return answer


def dropped(guards: Sequence[Guard], without: frozenset[str]) -> tuple[Guard, ...]:
    """The same guards, except that those with these names never apply: to see what breaks without them."""
    return tuple(replace(guard, applies=False) if guard.name in without else guard for guard in guards)
