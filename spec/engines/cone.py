"""What of a transition relation matters to a question: not what never changes, nor what nothing asks about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import z3

from spec.algebra import Term


@dataclass(frozen=True, slots=True)
class Relation:
    """One step of a system, as terms about its scalars before.

    Attributes:
        guard: when some step is possible.
        before: the scalars, constants of which nothing is known.
        initial: their values at the start.
        after: their values after the step.
        claims: what is asked of the state before.
    """

    guard: Term
    before: Sequence[Term]
    initial: Sequence[Term]
    after: Sequence[Term]
    claims: Sequence[Term]

    def given(self, known: Sequence[tuple[Term, Term]]) -> "Relation":
        """The relation where these scalars have these values."""
        guard, *reported = simplified([self.guard, *self.after, *self.claims], known)
        return replace(self, guard=guard, after=reported[: len(self.after)], claims=reported[len(self.after) :])

    def only(self, kept: Sequence[int]) -> "Relation":
        """The relation of the scalars at these places."""
        return replace(
            self,
            before=[self.before[k] for k in kept],
            initial=[self.initial[k] for k in kept],
            after=[self.after[k] for k in kept],
        )


def narrowed(relation: Relation) -> Relation:
    """The same question about fewer scalars; it has the same answer."""
    fixed = _fixed(relation)
    reported = relation.given([(relation.before[k], relation.initial[k]) for k in fixed])
    return reported.only(sorted(_asked_about(reported)))


def _fixed(relation: Relation) -> set[int]:
    """Places of the scalars that keep their initial value: if all of these have it, they have it after any step."""
    fixed = set(range(len(relation.before)))
    while True:
        places = sorted(fixed)
        known = [(relation.before[k], relation.initial[k]) for k in places]
        after = simplified([relation.after[k] for k in places], known)
        changed = {k for k, term in zip(places, after, strict=True) if not term.eq(relation.initial[k])}
        if not changed:
            return fixed
        fixed -= changed


def simplified(terms: Sequence[Term], known: Sequence[tuple[Term, Term]] = ()) -> list[Term]:
    """The terms where these constants have these values, simplified together: what they share, once."""
    if not terms:
        return []
    together = z3.Function("together", *(term.sort() for term in terms), z3.BoolSort())
    return list(z3.simplify(z3.substitute(together(*terms), *known)).children())


def _asked_about(relation: Relation) -> set[int]:
    """Places of the scalars that guard or question speak of, or that such a scalar's next value speaks of."""
    place = {scalar.get_id(): k for k, scalar in enumerate(relation.before)}
    found: set[int] = set()
    waiting = [relation.guard, *relation.claims]
    while waiting:
        new = {place[one] for one in _constants(waiting) if one in place} - found
        found |= new
        waiting = [relation.after[k] for k in new]
    return found


def _constants(terms: Iterable[Term]) -> set[int]:
    seen: set[int] = set()
    constants: set[int] = set()
    waiting = list(terms)
    while waiting:
        one = waiting.pop()
        if one.get_id() not in seen:
            seen.add(one.get_id())
            waiting.extend(one.children())
            if z3.is_const(one):
                constants.add(one.get_id())
    return constants
