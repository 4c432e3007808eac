"""Counterexamples to induction: a state in which every lemma holds, and one action after which a claim does not.

The functions of the state are tables of unknown numbers over the points of a finite instance; outside it they have
their initial values. A state that is found is made as small as it can be, and is worked out again with the values of
Python: every lemma holds in it at every point, the action may happen, and the claim fails.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import product
from typing import Any, Final

import z3

from spec.algebra import Term, all_of, any_of, implies, negate
from spec.engines.bmc import Tables
from spec.engines.cone import simplified
from spec.engines.finite import Finite, derived
from spec.engines.reading_z3 import Numbers, python_value, without_integers
from spec.engines.verdict import Happening
from spec.protocol.records import build, flatten
from spec.systems.language import Claim, Function, Sort, State, System

NUMBERS: Final = Numbers(6)
"""Wide enough for the sum of two numbers of a state."""

LEAST, MOST = -4, 14
"""The numbers that a state may have."""

MOST_REFINED: Final = 60
"""How often a state may turn out to break a lemma outside the instance before the search gives up."""

Point = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellChange:
    """One function at one point: its value before the action, and after it."""

    function: str
    at: Point
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class InductionCounterexample:
    """A state in which every lemma holds, and an action that breaks a claim; without an action the state breaks it.

    Attributes:
        about: the arguments for which the claim fails.
        happening: the action with its arguments; None where a theorem fails in the state itself.
        before: the state, as functions of values.
        after: the state after the action; the same state where there is none.
        cells: what is not as at the start, and what the action changes.
    """

    claim: str
    about: Point
    happening: Happening | None
    before: State
    after: State
    cells: tuple[CellChange, ...]


class InductionSearch:
    """Counterexamples to induction of one system, in one finite instance.

    Args:
        system: whose lemmas are the hypotheses.
        finite: the points at which functions may have other values than at the start.
    """

    def __init__(self, system: System, finite: Finite) -> None:
        self._system = system
        self._finite = finite
        self._tables = Tables(system, finite, NUMBERS, "before")
        self._derived = derived(system, finite)
        self._solver = z3.SolverFor("QF_FD")
        self._solver.set("random_seed", 0)
        self._asked = 0
        self._cells = list(self._initial_cells())
        self._solver.add(*(_bounded(scalar) for scalar in self._tables.constants() if z3.is_bv(scalar)))
        self._solver.add(*self._terms(self._instances(system.lemmas)))

    def keeps(self, claim: Claim, action: str) -> InductionCounterexample | None:
        """A state in which every lemma holds and the claim does, and after one action does not; None if there is none.

        Raises:
            ValueError: the search gave up.
        """
        act = self._system.action(action)
        at, inside = self._arguments(act.over, "for")
        about, within = self._arguments(claim.over, "any")
        before = self._tables.state
        after = act.effect(before, *at)
        broken = all_of(inside, within, act.enabled(before, *at), negate(claim.holds(after, *about)))
        return self._found(claim, about, broken, (action, at))

    def follows(self, theorem: Claim) -> InductionCounterexample | None:
        """A state in which every lemma holds and a theorem does not; None if there is none."""
        about, within = self._arguments(theorem.over, "any")
        broken = all_of(within, negate(theorem.holds(self._tables.state, *about)))
        return self._found(theorem, about, broken, None)

    def starts(self, lemma: Claim) -> InductionCounterexample | None:
        """The state at the start, where a lemma does not hold in it; None if it does."""
        state = State(self._system.initially().functions, self._derived)
        failing = (at for at in self._finite.points(lemma.over) if not lemma.holds(state, *at))
        about = next(failing, None)
        return None if about is None else InductionCounterexample(lemma.name, about, None, state, state, ())

    # --- the search ---------------------------------------------------------------------------------------------------

    def _found(
        self, claim: Claim, about: Sequence[Term], broken: Term, act: tuple[str, list[Term]] | None
    ) -> InductionCounterexample | None:
        if broken is False:
            return None
        self._asked += 1
        asked = z3.Bool(f"asked {self._asked}")
        self._solver.add(*self._terms([implies(asked, broken)]))
        for _ in range(MOST_REFINED):
            model = self._smallest(asked)
            if model is None:
                return None
            found = self._read(model, claim, about, act)
            lemmas = [lemma.holds(self._tables.state, *at) for lemma, at in self._broken_in(found.before)]
            if not lemmas:
                return self._confirmed(found)
            self._solver.add(*self._terms(lemmas))
        raise ValueError(f"no counterexample to {claim.name} was found that keeps the lemmas outside the instance")

    def _smallest(self, asked: Term) -> Any:
        """A model with as many cells as possible as at the start."""
        if self._solver.check(asked) != z3.sat:
            return None
        model = self._solver.model()
        fixed = [label for label, same in self._cells if z3.is_true(model.eval(same, model_completion=True))]
        for label, same in self._cells:
            if z3.is_true(model.eval(same, model_completion=True)):
                fixed.append(label)
            elif self._solver.check(asked, *fixed, label) == z3.sat:
                fixed.append(label)
                model = self._solver.model()
        return model

    def _initial_cells(self) -> Iterator[tuple[Term, Term]]:
        """Of each cell a label, which implies that it is as at the start, and that it is."""
        initial = iter(self._tables.values(self._system.initially()))
        scalars = iter(self._tables.constants())
        for name, terms in self._tables.terms.items():
            for number, term in enumerate(terms):
                count = len(_scalars(term))
                same = all_of(True, *(next(scalars) == next(initial) for _ in range(count)))
                label = z3.Bool(f"initial {name} {number}")
                self._solver.add(z3.Implies(label, same))
                yield label, same

    def _arguments(self, over: tuple[Sort, ...], role: str) -> tuple[list[Term], Term]:
        at: list[Term] = []
        facts: list[Term] = []
        for number, sort in enumerate(over):
            values = self._finite.of(sort)
            one = values[0] if len(values) == 1 else NUMBERS.constant(f"{role}.{number}.{sort.name}")
            at.append(one)
            facts.append(any_of(*(one == value for value in values)))
        return at, all_of(True, *facts)

    def _instances(self, claims: Iterable[Claim]) -> Iterator[Term]:
        for claim in claims:
            yield from (claim.holds(self._tables.state, *at) for at in self._finite.points(claim.over))

    def _terms(self, facts: Iterable[Term]) -> list[Term]:
        whole = [NUMBERS.value(fact) if isinstance(fact, bool) else fact for fact in facts]
        return simplified(without_integers(whole))

    # --- a state of values --------------------------------------------------------------------------------------------

    def _read(
        self, model: Any, claim: Claim, about: Sequence[Term], act: tuple[str, list[Term]] | None
    ) -> InductionCounterexample:
        before = self._state(model)
        where = _values(model, about)
        if act is None:
            return InductionCounterexample(claim.name, where, None, before, before, tuple(self._changes(before, before)))
        name, at = act
        happening = Happening(name, _values(model, at))
        after = self._system.action(name).effect(before, *happening.at)
        cells = tuple(self._changes(before, after))
        return InductionCounterexample(claim.name, where, happening, before, after, cells)

    def _state(self, model: Any) -> State:
        return State({variable.name: self._table(model, variable.name) for variable in self._variables}, self._derived)

    @property
    def _variables(self) -> Iterable[Any]:
        return self._system.variables

    def _table(self, model: Any, name: str) -> Function:
        initial = next(each.initial for each in self._variables if each.name == name)
        terms = zip(self._tables.points[name], self._tables.terms[name], strict=True)
        known = {at: _value(model, term) for at, term in terms}
        return lambda *at: known.get(at, initial)

    def _changes(self, before: State, after: State) -> Iterator[CellChange]:
        initial = self._system.initially()
        for variable in self._variables:
            for at in self._tables.points[variable.name]:
                values = [getattr(state, variable.name)(*at) for state in (initial, before, after)]
                if not values[0] == values[1] == values[2]:
                    yield CellChange(variable.name, at, values[1], values[2])

    def _broken_in(self, state: State) -> Iterator[tuple[Claim, Point]]:
        """The lemmas that do not hold in a state, at the points of the instance and at numbers that occur in it."""
        numbers = set(self._numbers_in(state))
        for lemma in self._system.lemmas:
            over = [self._finite.of(s) if s.opaque else sorted({*self._finite.of(s), *numbers}) for s in lemma.over]
            yield from ((lemma, at) for at in product(*over) if not lemma.holds(state, *at))

    def _numbers_in(self, state: State) -> Iterator[int]:
        for change in self._changes(state, state):
            scalars = [v for _, v in flatten(change.before)] if is_dataclass(change.before) else [change.before]
            yield from (value for value in scalars if not isinstance(value, bool))

    def _confirmed(self, found: InductionCounterexample) -> InductionCounterexample:
        """What was found, worked out with values.

        Raises:
            AssertionError: the solver and the values disagree.
        """
        claim = self._system.claim(found.claim)
        happens = found.happening is None or all(
            self._system.action(found.happening.action).guard(found.before, *found.happening.at)
        )
        if not happens or claim.holds(found.after, *found.about):
            raise AssertionError(f"{found.claim}: the solver's state is no counterexample when it is worked out")
        return found


def _bounded(scalar: Term) -> Term:
    return z3.And(scalar >= LEAST, scalar <= MOST)


def _scalars(term: Term) -> list[Term]:
    return [scalar for _, scalar in flatten(term)] if is_dataclass(term) else [term]


def _values(model: Any, terms: Sequence[Term]) -> Point:
    return tuple(term if isinstance(term, int) else int(_value(model, term)) for term in terms)


def _value(model: Any, term: Term) -> Any:
    if is_dataclass(term):
        scalars: Mapping[str, Term] = dict(flatten(term))
        kind: Any = type(term)
        return build(kind, lambda name: _value(model, scalars[name]))
    return python_value(model.eval(term, model_completion=True))
