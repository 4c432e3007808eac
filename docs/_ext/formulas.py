"""The reading in words: a decision on symbols gives the formula that it is, as text.

What looks like a constant is one already, so that a formula for one release says nothing of the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar

from spec.algebra import Algebra, register
from spec.vocabulary import ErrorCode, GroupState, Origin, TransactionState

OR, AND, NOT, COMPARED, SUM, ATOM = range(1, 7)
"""How strongly a formula binds: a weaker one stands in brackets inside a stronger one."""

NAMED: Final[Mapping[str, Mapping[int, str]]] = {
    "state": {item.value: item.name for item in TransactionState},
    "pending": {item.value: item.name for item in TransactionState},
    "group.state": {item.value: item.name for item in GroupState},
    "origin": {item.value: item.name for item in Origin},
    "verification_error": {item.value: item.name for item in ErrorCode},
    "acks": {-1: "all"},
}
"""Fields whose numbers have names."""

OPPOSITE: Final = {"=": "≠", "≠": "=", "<": "≥", "≥": "<", ">": "≤", "≤": ">"}

PRIME: Final = "\N{PRIME}"
"""Marks a second name of a kind."""

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, eq=False)
class TextFormula:
    """A term or a fact as text.

    Attributes:
        binding: how strongly it binds.
        opposite: the text of its negation where there is a shorter one than with a `not`.
        names: the names of its numbers, where they have some.
        parts: the facts of a conjunction; the values of a choice.
        equal: what is compared with which values, where the fact is that it is one of them.
        denied: what a negation denies.
        implied: what follows from what, where the fact is that it does.
    """

    text: str
    binding: int = ATOM
    opposite: str = ""
    names: Mapping[int, str] = field(default_factory=dict)
    parts: tuple[object, ...] = ()
    equal: tuple[str, ...] = ()
    denied: object = None
    implied: tuple[object, ...] = ()

    def within(self, binding: int) -> str:
        """The text inside something that binds so strongly."""
        return self.text if self.binding >= binding else f"({self.text})"

    def __eq__(self, other: object) -> "TextFormula":  # type: ignore[override]
        return _compared(self, "=", other)

    def __ne__(self, other: object) -> "TextFormula":  # type: ignore[override]
        return _compared(self, "≠", other)

    def __lt__(self, other: object) -> "TextFormula":
        return _compared(self, "<", other)

    def __le__(self, other: object) -> "TextFormula":
        return _compared(self, "≤", other)

    def __gt__(self, other: object) -> "TextFormula":
        return _compared(self, ">", other)

    def __ge__(self, other: object) -> "TextFormula":
        return _compared(self, "≥", other)

    def __add__(self, other: object) -> "TextFormula":
        return _summed(self, "+", other)

    def __radd__(self, other: object) -> "TextFormula":
        return _summed(other, "+", self)

    def __sub__(self, other: object) -> "TextFormula":
        return _summed(self, "−", other)  # noqa: RUF001  # the sign of subtraction

    def __rsub__(self, other: object) -> "TextFormula":
        return _summed(other, "−", self)  # noqa: RUF001


def symbol(place: str, name: str) -> TextFormula:
    """A field of a record, as `entry.state`."""
    return TextFormula(f"{place}.{name}", names=NAMED.get(f"{place}.{name}", NAMED.get(name, {})))


def symbols(kind: type[Record], place: str, **given: Any) -> Record:
    """A record of symbols, except for what is given."""
    names = (part.name for part in fields(kind))  # type: ignore[arg-type]
    return kind(**{name: given.get(name, symbol(place, name)) for name in names})


def worded(term: object) -> str:
    """A term or a fact of this reading as text; constants included."""
    if isinstance(term, TextFormula):
        return term.text
    return {True: "always", False: "never"}[term] if isinstance(term, bool) else str(term)


def claimed(term: object) -> str:
    """The same, with an arrow where one fact follows from another."""
    if isinstance(term, TextFormula) and term.implied:
        premise, conclusion = term.implied
        return f"{_inside(premise, AND)} ⇒ {claimed(conclusion)}"
    return worded(term)


def _inside(term: object, binding: int, names: Mapping[int, str] | None = None) -> str:
    if isinstance(term, TextFormula):
        return term.within(binding)
    return (names or {}).get(int(str(term)), str(term)) if isinstance(term, int) else str(term)


def _compared(left: TextFormula, sign: str, right: object) -> TextFormula:
    there, absent = f"{left.within(SUM)} given", f"{left.within(SUM)} absent"
    named = isinstance(right, int) and right in left.names
    if isinstance(right, int) and (sign, right) == ("≥", 0):
        return TextFormula(there, COMPARED, absent)
    if isinstance(right, int) and (sign, right) == ("=", -1) and not named:
        return TextFormula(absent, COMPARED, there)
    ends = left.within(SUM), _inside(right, SUM, left.names)
    equal = ends if sign == "=" else ()
    return TextFormula(f"{ends[0]} {sign} {ends[1]}", COMPARED, f"{ends[0]} {OPPOSITE[sign]} {ends[1]}", equal=equal)


def _summed(left: object, sign: str, right: object) -> TextFormula:
    return TextFormula(f"{_inside(left, SUM)} {sign} {_inside(right, ATOM)}", SUM)


def _and(left: object, right: object) -> TextFormula:
    parts = tuple(dict.fromkeys((*_conjuncts(left), *_conjuncts(right))))
    return TextFormula(" and ".join(str(part) for part in parts), AND, parts=parts)


def _conjuncts(fact: object) -> tuple[object, ...]:
    return fact.parts if isinstance(fact, TextFormula) and fact.binding == AND else (_inside(fact, AND),)


def _or(left: object, right: object) -> TextFormula:
    if (
        isinstance(left, TextFormula)
        and isinstance(right, TextFormula)
        and left.equal
        and left.equal[:1] == right.equal[:1]
    ):
        name, *values = equal = (*left.equal, *right.equal[1:])
        within = "{" + ", ".join(values) + "}"
        return TextFormula(f"{name} ∈ {within}", COMPARED, f"{name} ∉ {within}", equal=equal)
    implied = (left.denied, right) if isinstance(left, TextFormula) and left.denied is not None else ()
    return TextFormula(f"{_inside(left, OR)} or {_inside(right, OR)}", OR, implied=implied)


def _not(fact: TextFormula) -> TextFormula:
    if fact.opposite:
        return TextFormula(fact.opposite, COMPARED, fact.text, denied=fact)
    opposite = fact.within(NOT) if fact.binding >= NOT else ""
    return TextFormula(f"not {fact.within(NOT)}", NOT, opposite, denied=fact)


def _choice(fact: TextFormula, then: object, otherwise: object) -> object:
    if worded(then) == worded(otherwise):
        return then
    if isinstance(then, bool) or isinstance(otherwise, bool) or _is_fact(then) or _is_fact(otherwise):
        return _chosen_fact(fact, then, otherwise)
    text = f"{_inside(then, SUM)} if {fact.within(AND)} else {_inside(otherwise, SUM)}"
    return TextFormula(text, OR, parts=(*_values(then), *_values(otherwise)))


def _values(term: object) -> tuple[object, ...]:
    return term.parts if isinstance(term, TextFormula) and term.parts else (term,)


def _chosen_fact(fact: TextFormula, then: object, otherwise: object) -> TextFormula:
    parts = []
    if then is not False:
        parts.append(fact if then is True else _and(fact, then))
    if otherwise is not False:
        parts.append(_not(fact) if otherwise is True else _and(_not(fact), otherwise))
    return parts[0] if len(parts) == 1 else _or(*parts)


def _is_fact(term: object) -> bool:
    return isinstance(term, TextFormula) and term.binding in (AND, NOT, COMPARED)


register(TextFormula, Algebra(_and, _or, _not, _choice))
