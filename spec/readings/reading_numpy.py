"""The NumPy reading: a decision on arrays judges a whole table of steps at once, one element a step."""

from typing import Any

import numpy as np
import numpy.typing as npt

from spec.algebra import Algebra, Term, register


class Folding(np.ndarray[Any, Any]):
    """An array of which a fact that is everywhere the same is a constant, so that a decision carries no trace of it.

    A decision on a table in which nothing unusual happens so costs little more than the comparisons of its guards.
    """


def folding(column: npt.NDArray[Any]) -> Term:
    """A column as an operand that folds; one that is everywhere the same is its value."""
    if column.size and column[0] == column[-1] and (column == column[0]).all():
        return column[0].item()
    return column.view(Folding)


def _folded(fact: Term) -> Term:
    count = np.count_nonzero(fact)
    if count == fact.size:
        return True
    return fact if count else False


def _choice(fact: Term, then: Term, otherwise: Term) -> Term:
    fact = _folded(fact)
    if isinstance(fact, bool):
        return then if fact else otherwise
    return np.asarray(np.where(fact, then, otherwise)).view(Folding)


register(np.ndarray, Algebra(np.logical_and, np.logical_or, np.logical_not, np.where))
register(
    Folding,
    Algebra(
        lambda left, right: _folded(np.logical_and(left, right)),
        lambda left, right: _folded(np.logical_or(left, right)),
        lambda fact: _folded(np.logical_not(fact)),
        _choice,
    ),
)
