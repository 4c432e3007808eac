"""The reading of unknowns: a decision on unknown values shows the guards and the answers that a release has.

A guard that never applies under a release is a constant already, since what looks like one is folded. Of a term only
the constants that it may be are kept.
"""

from dataclasses import dataclass
from typing import Final

from spec.algebra import Algebra, Term, register


@dataclass(frozen=True, slots=True, eq=False)
class UnknownSource:
    """A term or a fact of which nothing is known.

    Attributes:
        constants: those that it may be, where it is a choice.
        open: it may be something else too.
    """

    constants: frozenset[int] = frozenset()
    open: bool = True

    def __eq__(self, other: object) -> "UnknownSource":  # type: ignore[override]
        return ANYTHING

    def __ne__(self, other: object) -> "UnknownSource":  # type: ignore[override]
        return ANYTHING

    def __lt__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __le__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __gt__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __ge__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __add__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __radd__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __sub__(self, other: object) -> "UnknownSource":
        return ANYTHING

    def __rsub__(self, other: object) -> "UnknownSource":
        return ANYTHING


ANYTHING: Final = UnknownSource()
"""A term of which not even one possible value is known."""


def constants_of(term: Term) -> frozenset[int]:
    """The constants that a term may be."""
    return term.constants if isinstance(term, UnknownSource) else frozenset({int(term)})


def is_open(term: Term) -> bool:
    """Whether a term may be something else than its constants."""
    return isinstance(term, UnknownSource) and term.open


def _either(_fact: Term, then: Term, otherwise: Term) -> Term:
    return UnknownSource(constants_of(then) | constants_of(otherwise), is_open(then) or is_open(otherwise))


register(UnknownSource, Algebra(lambda *_: ANYTHING, lambda *_: ANYTHING, lambda _: ANYTHING, _either))
