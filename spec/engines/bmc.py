"""Bounded search: a finite instance unrolled step by step, over bit-vectors, in Z3's finite-domain solver.

The transition relation is built once and instantiated for each step. The search deepens one action at a time, so
that the first violation found is at the end of a shortest trace.

A question needs only a part of the relation. Scalars that never change are left out, and so are scalars on which
neither the question nor a scalar that it needs depends.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from itertools import count
from typing import Any, Final

import z3

from spec.algebra import Term, all_of, any_of, implies, negate
from spec.engines.finite import Finite, derived
from spec.engines.reading_z3 import Numbers, fitted, python_value, scalars_of, without_integers
from spec.engines.verdict import Happening, Holds, Refuted, Trace, Unknown, Verdict
from spec.protocol.records import flatten
from spec.systems.language import Action, Claim, Function, Sort, State, System, Variable, pick

# --- the part of the relation that a question needs -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relation:
    """One step of a system, as terms about its scalars before.

    Attributes:
        guard: when some step is possible.
        before: the scalars before the step, as free constants.
        initial: their values at the start.
        after: their values after the step.
        claims: the claims about the state before.
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
    """Places of the scalars that never change: if all of them have their initial values, they keep them in any step."""
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
    """The terms with these values for these constants, simplified together: a shared part is simplified once."""
    if not terms:
        return []
    together = z3.Function("together", *(term.sort() for term in terms), z3.BoolSort())
    return list(z3.simplify(z3.substitute(together(*terms), *known)).children())


def _asked_about(relation: Relation) -> set[int]:
    """Places of the scalars on which guard or question depend, directly or by the next value of such a scalar."""
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


# --- the search -------------------------------------------------------------------------------------------------------


ACTIONS: Final = Numbers(16)
"""Bits enough for the number of an action."""

WIDTH: Final = 5
"""Bits of every number, by default: the range from -16 to 15 suffices for an instance of six batches."""

Point = tuple[int, ...]


class Tables:
    """The functions of one state as tables of terms, over the points of the instance."""

    def __init__(self, system: System, finite: Finite, numbers: Numbers, name: str) -> None:
        variables = system.variables
        self._numbers = numbers
        self.points = {v.name: list(finite.points(v.over)) for v in variables}
        self.terms = {
            v.name: [scalars_of(v.initial, f"{name}.{v.name}{at}", numbers.constant) for at in self.points[v.name]]
            for v in variables
        }
        self.state = State({v.name: self._function(v) for v in variables}, derived(system, finite))

    def _function(self, variable: Variable) -> Function:
        outside = _literal(variable.initial, self._numbers)
        known = dict(zip(self.points[variable.name], self.terms[variable.name], strict=True))

        def value(*at: Term) -> Term:
            if all(isinstance(part, int) for part in at):
                return known.get(at, outside)
            result = outside
            for point, term in known.items():
                here = all_of(*(left == right for left, right in zip(at, point, strict=True)))
                result = pick(here, term, result)
            return result

        return value

    def constants(self) -> list[Term]:
        """Every scalar of the state, in order."""
        return [scalar for terms in self.terms.values() for term in terms for scalar in _scalars(term)]

    def values(self, state: State) -> list[Term]:
        """The values of these scalars in another state, in the same order."""
        return [
            fitted(theirs if z3.is_expr(theirs) else self._numbers.value(theirs), mine.sort())
            for name, terms in self.terms.items()
            for at, term in zip(self.points[name], terms, strict=True)
            for mine, theirs in zip(_scalars(term), _scalars(getattr(state, name)(*at)), strict=True)
        ]


def _scalars(term: Term) -> list[Term]:
    return [scalar for _, scalar in flatten(term)] if is_dataclass(term) else [term]


def _literal(value: Any, numbers: Numbers) -> Any:
    if is_dataclass(value):
        scalars = iter([numbers.value(scalar) for scalar in _scalars(value)])
        return scalars_of(value, "", lambda *_: next(scalars))
    return numbers.value(value)


class Unrolling:
    """A system's finite instance as formulas: its start, one step, and what violates each claim.

    Scalars that no claim depends on are left out.
    """

    def __init__(self, system: System, finite: Finite, claims: Sequence[Claim], width: int = WIDTH) -> None:
        self._system = system
        self._finite = finite
        self._numbers = Numbers(width)
        self._before = Tables(system, finite, self._numbers, "before")
        self._chosen = ACTIONS.constant("chosen")
        self._arguments: dict[tuple[str, int], Term] = {}
        self._relation = narrowed(self._whole([self._violation(claim) for claim in claims]))
        self._after = [z3.Const(f"after:{scalar}", scalar.sort()) for scalar in self._relation.before]
        self._step = all_of(self._relation.guard, *_equal(self._after, self._relation.after))
        self._start = all_of(True, *_equal(self._relation.before, self._relation.initial))
        self.violations = {claim.name: term for claim, term in zip(claims, self._relation.claims, strict=True)}

    def start(self) -> Term:
        """The state of step 0 is the initial one."""
        return self.at(self._start, 0)

    def step(self, number: int) -> Term:
        """Some action leads from the state of this step to the next one, or the run has ended.

        Without an end, a search of several depths at once would miss a violation after which no action is possible.
        """
        return self.at(self._step, number)

    def at(self, formula: Term, number: int) -> Term:
        """A formula about a step and the next one, for the step with this number."""
        local = [self._chosen, *self._arguments.values()]
        renamed = [(c, self._at_step(c, number)) for c in local]
        before = self._relation.before
        renamed += [(c, self._at_step(c, number)) for c in before]
        renamed += [(c, self._at_step(b, number + 1)) for c, b in zip(self._after, before, strict=True)]
        return z3.substitute(formula, *renamed)

    def size(self) -> int:
        """The number of scalars of one state that the claims depend on."""
        return len(self._relation.before)

    def trace(self, model: Any, depth: int) -> Trace:
        """The trace of a model with so many steps."""
        happenings = (self._happening(model, number) for number in range(depth))
        return tuple(happening for happening in happenings if happening is not None)

    def _happening(self, model: Any, number: int) -> Happening | None:
        def value(constant: Term) -> int:
            return int(python_value(model.eval(self._at_step(constant, number), model_completion=True)))

        if value(self._chosen) == len(self._system.actions):
            return None
        action = self._system.actions[value(self._chosen)]
        at, _ = self._points(action.over)
        return Happening(action.name, tuple(part if isinstance(part, int) else value(part) for part in at))

    def _at_step(self, constant: Term, number: int) -> Term:
        return z3.Const(f"{number}:{constant}", constant.sort())

    def _points(self, over: tuple[Sort, ...]) -> tuple[list[Term], Term]:
        seen: dict[str, Any] = {}
        at = [self._argument(sort, next(seen.setdefault(sort.name, count()))) for sort in over]
        inside = all_of(
            *(any_of(*(part == value for value in self._finite.of(sort))) for part, sort in zip(at, over, strict=True))
        )
        return at, inside

    def _argument(self, sort: Sort, number: int) -> Term:
        values = self._finite.of(sort)
        if len(values) == 1:
            return values[0]
        return self._arguments.setdefault((sort.name, number), self._numbers.constant(f"{sort.name}.{number}"))

    def _violation(self, claim: Claim) -> Term:
        """The claim does not hold for some arguments, in the state before."""
        at, inside = self._points(claim.over)
        violated = all_of(inside, negate(claim.holds(self._before.state, *at)))
        return self._numbers.value(violated) if isinstance(violated, bool) else violated

    def _whole(self, claims: Sequence[Term]) -> Relation:
        facts: list[Term] = [any_of(*(self._chosen == k for k in range(len(self._system.actions) + 1)))]
        after = self._before.state
        for number, action in enumerate(self._system.actions):
            guard, state = self._taken(action)
            facts.append(implies(self._chosen == number, guard))
            after = self._chosen_state(self._chosen == number, state, after)
        initial = self._before.values(self._system.initially())
        following = self._before.values(after)
        guard, *plain = simplified(without_integers([all_of(*facts), *following, *claims]))
        count = len(following)
        return Relation(guard, self._before.constants(), initial, plain[:count], plain[count:])

    def _taken(self, action: Action) -> tuple[Term, State]:
        at, inside = self._points(action.over)
        before = self._before.state
        return all_of(inside, action.enabled(before, *at)), action.effect(before, *at)

    def _chosen_state(self, fact: Term, then: State, otherwise: State) -> State:
        return otherwise.but(
            **{
                variable.name: _either(fact, getattr(then, variable.name), getattr(otherwise, variable.name))
                for variable in self._system.variables
                if getattr(then, variable.name) is not getattr(self._before.state, variable.name)
            }
        )


def _equal(left: Iterable[Term], right: Iterable[Term]) -> Iterator[Term]:
    return (one == other for one, other in zip(left, right, strict=True))


def _either(fact: Term, then: Function, otherwise: Function) -> Function:
    return lambda *at: pick(fact, then(*at), otherwise(*at))


@dataclass(frozen=True, slots=True)
class Search:
    """What a bounded search found, and how large its last question was."""

    verdict: Verdict
    variables: int


def search(
    system: System, finite: Finite, depth: int, claims: Iterable[Claim] | None = None, stride: int = 1
) -> Search:
    """Look for a violation that takes at most so many actions, the shortest first.

    Args:
        system: what is unrolled.
        finite: its instance.
        depth: most actions.
        claims: what must hold; by default the theorems.
        stride: how many depths one question covers; it changes the time, not the answer.
    """
    unrolling = Unrolling(system, finite, list(system.theorems if claims is None else claims))
    solver = z3.SolverFor("QF_FD")
    solver.set("random_seed", 0)
    solver.add(unrolling.start())
    steps = 0
    for depths in _strides(depth, stride):
        while steps < depths[-1]:
            solver.add(unrolling.step(steps))
            steps += 1
        answer = _shortest(solver, unrolling, depths)
        if answer is not None:
            return Search(answer, unrolling.size() * (steps + 1))
    return Search(Holds(depth), unrolling.size() * (depth + 1))


def _strides(depth: int, stride: int) -> Iterator[range]:
    """The depths in groups, the last one alone."""
    yield from (range(low, min(low + stride, depth)) for low in range(0, depth, stride))
    yield range(depth, depth + 1)


def _shortest(solver: Any, unrolling: Unrolling, depths: range) -> Refuted | Unknown | None:
    """The shortest violation of these depths, if there is one."""
    violations = {(d, name): unrolling.at(term, d) for d in depths for name, term in unrolling.violations.items()}
    first = _check(solver, any_of(*violations.values()), f"{depths[0]}..{depths[-1]}")
    if first is None or isinstance(first, Unknown):
        return first
    for (number, name), violation in violations.items():
        answer = _check(solver, violation, f"{number}?{name}")
        if answer is not None:
            return answer if isinstance(answer, Unknown) else Refuted(name, unrolling.trace(answer, number))
    return Unknown("bounded search: a violation was found, and then was not")


def _check(solver: Any, violation: Term, label: str) -> Any:
    """A model of the violation; `None` if there is none; or the reason why the solver does not know."""
    claims = z3.Bool(label)
    solver.add(implies(claims, violation))
    answer = solver.check(claims)
    if answer == z3.sat:
        return solver.model()
    return None if answer == z3.unsat else Unknown(f"bounded search: {solver.reason_unknown()}")
