"""At the sight of which terms a hypothesis about all arguments is used; and walks through terms."""

from collections.abc import Iterator, Sequence
from itertools import product

import z3

from spec.algebra import Term
from spec.engines.reading_z3 import INTEGERS


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
