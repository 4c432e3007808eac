"""Numbers that are only names: what the terms of a system ask of them besides which is which, and if one is absent.

Where nothing more is asked, any run is a run under other names: of names that are all new it may be assumed that each
is larger than those before it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from functools import partial
from typing import Final

import z3

from spec.algebra import Term
from spec.engines.patterns import arguments, is_function, named, subterms, uninterpreted
from spec.protocol.records import flatten
from spec.systems.language import Action, Function, Sort, State, System
from spec.vocabulary import ABSENT

_CHOICE, _EQUAL, _DISTINCT = z3.Z3_OP_ITE, z3.Z3_OP_EQ, z3.Z3_OP_DISTINCT
_ABSENCE: Final = {
    z3.Z3_OP_GE: (ABSENT + 1,),
    z3.Z3_OP_LT: (ABSENT + 1,),
    z3.Z3_OP_GT: (ABSENT,),
    z3.Z3_OP_LE: (ABSENT,),
}
"""Comparisons that say only whether something is absent, by what stands on their right."""


class NameTerms:
    """Which terms of a system are names.

    Args:
        system: whose terms.
        sort: what functions and actions call a name that they are given.
        is_name: of a function of the state, whether its values are names.
    """

    def __init__(self, system: System, sort: Sort, is_name: Callable[[str], bool]) -> None:
        self._system = system
        self._is_name = is_name
        self._sort = sort
        own = {variable.name: uninterpreted(variable) for variable in system.variables}
        derived = {least.name: named(least.name, least.over) for least in system.derived}
        self._state = State(own, {name: partial(_always, function) for name, function in derived.items()})
        self._known: dict[int, tuple[Term, bool]] = {}
        self._over = {least.name: least.over for least in system.derived}
        for variable in system.variables:
            shown = own[variable.name](*arguments(variable.over, "shown"))
            self._over |= {part.decl().name(): variable.over for part in _scalars(shown)}

    def misused_by(self, action: Action, drawn: str = "") -> list[str]:
        """What an action asks of names, a line each.

        Args:
            action: its guard, and every function that it leaves.
            drawn: the function that draws names; the next one may be one more.
        """
        at = arguments(action.over, "for")
        after = action.effect(self._state, *at)
        terms, strange = [action.enabled(self._state, *at)], list[str]()
        for variable in self._system.variables:
            about = arguments(variable.over, "any")
            before, following = (_scalars(getattr(state, variable.name)(*about)) for state in (self._state, after))
            for mine, theirs in zip(before, following, strict=True):
                left = self._next(mine, theirs) if variable.name == drawn else theirs
                terms.append(left)
                if not self._belongs(mine, left):
                    strange.append(f"{mine} becomes {_line(left)}")
        return [*strange, *map(_line, self._misused(terms))]

    def _next(self, drawn: Term, after: Term) -> Term:
        """What is drawn after an action, one more being a name like any other."""
        return z3.substitute(after, (drawn + 1, z3.Int(f"next_{self._sort.name}"))) if z3.is_expr(after) else after

    def _belongs(self, before: Term, after: Term) -> bool:
        """Whether what an action leaves is a name where one belongs, or none, and nowhere else."""
        return self._is(before) == self._is(after) or (self._is(before) and _is_absent(after))

    def misused_by_claims(self) -> list[str]:
        """The same of the theorems, and of what is derived from a state."""
        terms = [claim.holds(self._state, *arguments(claim.over, "any")) for claim in self._system.theorems]
        for least in self._system.derived:
            terms.append(least.value(self._state, *arguments(least.over, "any"), *arguments(least.among, "among")))
        return [_line(one) for one in self._misused(terms)]

    def _misused(self, terms: Sequence[Term]) -> Iterator[Term]:
        shown = [term for term in terms if z3.is_expr(term)]
        return (one for one in subterms(*shown) if z3.is_app(one) and self._misuses(one))

    def _misuses(self, term: Term) -> bool:
        parts, kind = term.children(), term.decl().kind()
        names = [self._is(part) for part in parts]
        if is_function(term):
            return names != [sort == self._sort for sort in self._over[term.decl().name()]]
        if not any(names):
            return False
        if kind in (_EQUAL, _DISTINCT):
            return not all(name or _is_absent(part) for name, part in zip(names, parts, strict=True))
        if kind == _CHOICE:
            return not all(name or _is_absent(part) for name, part in zip(names[1:], parts[1:], strict=True))
        return not (names == [True, False] and _number(parts[1]) in _ABSENCE.get(kind, ()))

    def _is(self, term: Term) -> bool:
        """Whether a term is a name, or a choice of which one part is."""
        if not z3.is_app(term):
            return False
        if term.get_id() not in self._known:
            self._known[term.get_id()] = term, self._looked_at(term)
        return self._known[term.get_id()][1]

    def _looked_at(self, term: Term) -> bool:
        if term.decl().kind() == _CHOICE:
            return any(self._is(part) for part in term.children()[1:])
        if term.decl().kind() != z3.Z3_OP_UNINTERPRETED:
            return False
        called = term.decl().name()
        return bool(self._is_name(called) or (term.num_args() == 0 and called.endswith(f"_{self._sort.name}")))


def _always(function: Function, _: State) -> Function:
    return function


def _scalars(term: Term) -> list[Term]:
    return [scalar for _, scalar in flatten(term)] if is_dataclass(term) else [term]


def _is_absent(term: Term) -> bool:
    if z3.is_app(term) and term.decl().kind() == _CHOICE:
        return all(_is_absent(part) for part in term.children()[1:])
    return _number(term) == ABSENT


def _number(term: Term) -> int | None:
    if isinstance(term, int):
        return term
    return int(term.as_long()) if z3.is_int_value(term) else None


def _line(term: Term, depth: int = 3) -> str:
    if not z3.is_app(term) or term.num_args() == 0:
        return str(term)
    parts = (_line(part, depth - 1) for part in term.children()) if depth else ("...",)
    return f"{term.decl().name()}({', '.join(parts)})"
