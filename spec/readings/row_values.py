"""The result of judging a row: formulas, and the arrays and records that are made of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from spec.algebra import Term


@dataclass(frozen=True, slots=True)
class Integers:
    """An array of integers."""

    items: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class GuardedValue:
    """A value where a fact holds; null elsewhere."""

    fact: Term
    value: "Value"


@dataclass(frozen=True, slots=True)
class NamedValues:
    """Values by name."""

    fields: Mapping[str, "Value"]


@dataclass(frozen=True, slots=True)
class PresentRows:
    """An array of the records whose facts hold, in this order; there is at least one, and all have the same fields."""

    members: tuple[tuple[Term, NamedValues], ...]


Value: TypeAlias = Term | Integers | GuardedValue | NamedValues | PresentRows
"""What a result can be."""


@dataclass(frozen=True, slots=True)
class RowCases:
    """Results that depend on what kind of row it is.

    Attributes:
        cases: of each kind, whether a row is of it, and the results there; the first that applies counts.
        otherwise: the results where none does.
    """

    cases: Sequence[tuple[Term, Mapping[str, Value]]]
    otherwise: Mapping[str, Value]


def terms_of(value: Value) -> Iterator[Term]:
    """The formulas that a value is made of."""
    match value:
        case Integers(items):
            yield from items
        case GuardedValue(fact, inner):
            yield fact
            yield from terms_of(inner)
        case NamedValues(fields):
            for inner in fields.values():
                yield from terms_of(inner)
        case PresentRows(members):
            for fact, record in members:
                yield fact
                yield from terms_of(record)
        case _:
            yield value


class Element(NamedTuple):
    """Where a value stands that is no column of its own: in a column of arrays of integers.

    Attributes:
        array: the column.
        at: the position.
        is_fact: whether 1 says yes and any other integer no.
        absent: what it is where there is no such element.
    """

    array: str
    at: int
    is_fact: bool
    absent: Term
