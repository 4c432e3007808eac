"""At the sight of which terms a hypothesis about all arguments is used; and walks through terms."""

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from itertools import product
from typing import Any

import z3

from spec.algebra import Term, all_of, any_of, implies
from spec.engines.reading_z3 import INTEGERS
from spec.protocol.records import build, flatten
from spec.systems.language import Function, Least, Sort, State, System, Variable


def _sort(sort: Sort) -> Term:
    return z3.DeclareSort(sort.name) if sort.opaque else INTEGERS.sort


def arguments(over: tuple[Sort, ...], role: str) -> list[Term]:
    """A constant for each sort, called by its role."""
    return [z3.Const(f"{role}_{position}_{sort.name}", _sort(sort)) for position, sort in enumerate(over)]


def named(name: str, over: tuple[Sort, ...], to: Term = INTEGERS.sort) -> Function:
    """The function of this name without meaning."""
    declared = z3.Function(name, *(_sort(sort) for sort in over), to)
    return lambda *at: declared(*at)


def defined(least: Least, state: State) -> Term:
    """What is known of a derived function: no value is less, and some point has it."""
    own, every = arguments(least.over, "least"), arguments(least.among, "among")
    it: Term = getattr(state, least.name)(*own)
    some = [named(f"{least.name}_at_{k}", least.over, _sort(sort))(*own) for k, sort in enumerate(least.among)]
    value = least.value(state, *own, *every)
    bound = z3.ForAll([*own, *every], implies(value >= 0, all_of(it >= 0, it <= value)))
    found = all_of(it >= 0, it == least.value(state, *own, *some))
    some_or_none = any_of(it == -1, found)
    return all_of(bound, z3.ForAll(own, some_or_none, patterns=[it]) if own else some_or_none)


def uninterpreted(variable: Variable) -> Function:
    """A function of the state; one of records is a function for each of their scalars."""

    def function(name: str, kind: type) -> Function:
        return named(name, variable.over, INTEGERS.sort_of(kind))

    if not is_dataclass(variable.initial):
        return function(variable.name, type(variable.initial))
    parts = {name: function(f"{variable.name}_{name}", type(value)) for name, value in flatten(variable.initial)}
    kind: Any = type(variable.initial)
    return lambda *at: build(kind, lambda name: parts[name](*at))


def literal(value: Any) -> Any:
    """A value of Python as terms."""
    if is_dataclass(value):
        scalars = dict(flatten(value))
        kind: Any = type(value)
        return build(kind, lambda name: INTEGERS.value(scalars[name]))
    return INTEGERS.value(value)


def sorts_of(system: System) -> str:
    """What the functions of a system are over: terms do not show it when they are written."""
    variables = {each.name: each.over for each in system.variables}
    over = variables | {each.name: each.over for each in system.derived}
    sorts = {sort for each in over.values() for sort in each} | {s for one in system.claims for s in one.over}
    opaque = sorted(f"{sort.name}:{sort.opaque}" for sort in sorts)
    return "; ".join((*opaque, *(f"{name}({', '.join(sort.name for sort in at)})" for name, at in over.items())))


def patterns(bound: Sequence[Term], body: Term) -> list[Term]:
    """The terms at whose sight a hypothesis is used: for each number it speaks of, any function at that number.

    A function of everything it speaks of is enough by itself. Without them the solver chooses, and not always the
    same.
    """
    seen: dict[Term, list[Term]] = {}
    alone: list[Term] = []
    for term in subterms(body):
        about = _variables(bound, term)
        if is_function(term) and len(about) == term.num_args():
            whole = len(about) == len(bound)
            (alone if whole else seen.setdefault(about[-1], [])).append(term)
    numbers = [variable for variable in bound if variable.sort() == INTEGERS.sort] or list(bound)
    for about in (numbers, list(bound)):
        together = product(*(seen.get(variable, []) for variable in about))
        parts = [chosen for chosen in together if len(_variables(bound, *chosen)) == len(bound)]
        if parts or alone:
            return [z3.MultiPattern(*chosen) for chosen in (*((term,) for term in alone), *parts)]
    return []


def _variables(bound: Sequence[Term], *terms: Term) -> list[Term]:
    return [variable for variable in bound if any(variable.eq(child) for term in terms for child in term.children())]


def subterms(*terms: Term) -> Iterator[Term]:
    """Everything that some terms are made of, each once."""
    seen, waiting = set(), list(terms)
    while waiting:
        one = waiting.pop()
        if one.get_id() not in seen:
            seen.add(one.get_id())
            yield one
            waiting.extend(one.children())


def functions(terms: Sequence[Term]) -> list[str]:
    """Names of the functions in some terms, in order; those without arguments, too."""
    shown = [term for term in terms if z3.is_expr(term)]
    return sorted({one.decl().name() for one in subterms(*shown) if is_function(one) or z3.is_const(one)})


def in_sight(terms: Sequence[Term]) -> list[Term]:
    """Facts that say nothing, and show the solver every number in some terms.

    It uses a hypothesis at the sight of terms, and does not look at those in a condition before it decides that.
    """
    shown = [term for term in terms if z3.is_expr(term)]
    seen = z3.Function("is in sight", INTEGERS.sort, z3.BoolSort())
    return [seen(one) for one in subterms(*shown) if is_function(one) and one.sort() == INTEGERS.sort]


def is_function(term: Term) -> bool:
    """Whether a term is a function without meaning at some arguments."""
    return bool(z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED and term.num_args() > 0)
