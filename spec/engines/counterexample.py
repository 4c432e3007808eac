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
from spec.engines.bmc import Tables, simplified
from spec.engines.finite import Finite, derived
from spec.engines.reading_z3 import INTEGERS, python_value
from spec.engines.verdict import Happening
from spec.protocol.records import build, flatten
from spec.systems.language import Claim, Function, Sort, State, System

LEAST, MOST = -3, 12
"""The numbers that a state may have."""

SMALL: Final = 2
"""Numbers of a state are at most this, where they can be."""

MOST_REFINED: Final = 60
"""How often a state may turn out to break a lemma outside the instance before the search gives up."""

Point = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellChange:
    """One function at one point, of a record one of its scalars: its value before the action, and after it."""

    function: str
    at: Point
    before: bool | int
    after: bool | int


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
        self._tables = Tables(system, finite, INTEGERS, "before")
        self._derived = derived(system, finite)
        self._solver = z3.SolverFor("QF_FD")
        self._solver.set("random_seed", 0)
        self._questions = 0
        self._solver.add(*(_bounded(scalar) for scalar in self._tables.constants() if z3.is_int(scalar)))
        self._wishes = list(self._wished())
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

    def happens(self, action: str) -> InductionCounterexample | None:
        """A state in which every lemma and theorem holds and a dormant action may happen; None if there is none."""
        act = self._system.action(action)
        at, inside = self._arguments(act.over, "for")
        theorems = all_of(True, *self._instances(self._system.theorems))
        happens = all_of(inside, act.enabled(self._tables.state, *at), theorems)
        never = Claim(action, self._system.lemmas[0].rule, "", (), lambda _: False)
        return self._found(never, (), happens, (action, at))

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
        self._questions += 1
        question = z3.Bool(f"question {self._questions}")
        self._solver.add(*self._terms([implies(question, broken)]))
        for _ in range(MOST_REFINED):
            model = self._smallest(question)
            if model is None:
                return None
            found = self._read(model, claim, about, act)
            lemmas = [lemma.holds(self._tables.state, *at) for lemma, at in self._broken_in(found.before)]
            if not lemmas:
                return self._confirmed(found, claim)
            self._solver.add(*self._terms(lemmas))
        raise ValueError(f"no counterexample to {claim.name} was found that keeps the lemmas outside the instance")

    def _smallest(self, question: Term) -> Any:
        """A model with as many numbers as possible as at the start, and the others small."""
        if not self._sat(question):
            return None
        model, fixed = self._solver.model(), [question]
        for label, wish in self._wishes:
            if z3.is_true(model.eval(wish, model_completion=True)):
                fixed.append(label)
            elif self._sat(*fixed, label):
                fixed.append(label)
                model = self._solver.model()
        return model

    def _wished(self) -> Iterator[tuple[Term, Term]]:
        """What a state should be: scalars as at the start, then numbers small; each with a label that implies it."""
        scalars = self._tables.constants()
        initial = self._tables.values(self._system.initially())
        wishes = [scalar == value for scalar, value in zip(scalars, initial, strict=True)]
        wishes += [z3.And(scalar >= -1, scalar <= SMALL) for scalar in scalars if z3.is_int(scalar)]
        for number, wish in enumerate(wishes):
            label = z3.Bool(f"wish {number}")
            self._solver.add(z3.Implies(label, wish))
            yield label, wish

    def _arguments(self, over: tuple[Sort, ...], role: str) -> tuple[list[Term], Term]:
        at: list[Term] = []
        facts: list[Term] = []
        for number, sort in enumerate(over):
            values = self._finite.of(sort)
            at.append(values[0] if len(values) == 1 else self._unknown(f"{role}.{number}.{sort.name}"))
            facts.append(any_of(*(at[-1] == value for value in values)))
        return at, all_of(True, *facts)

    def _unknown(self, name: str) -> Term:
        """A number of which the solver learns the bounds before anything else: it needs them to decide."""
        constant = INTEGERS.constant(name)
        self._solver.add(_bounded(constant))
        return constant

    def _sat(self, *assumed: Term) -> bool:
        """Whether there is a model.

        Raises:
            ValueError: the solver does not know.
        """
        answer = self._solver.check(*assumed)
        if answer == z3.unknown:
            raise ValueError(f"counterexample to induction: {self._solver.reason_unknown()}")
        return bool(answer == z3.sat)

    def _instances(self, claims: Iterable[Claim]) -> Iterator[Term]:
        for claim in claims:
            yield from (claim.holds(self._tables.state, *at) for at in self._finite.points(claim.over))

    def _terms(self, facts: Iterable[Term]) -> list[Term]:
        return simplified([INTEGERS.value(fact) if isinstance(fact, bool) else fact for fact in facts])

    # --- a state of values --------------------------------------------------------------------------------------------

    def _read(
        self, model: Any, claim: Claim, about: Sequence[Term], act: tuple[str, list[Term]] | None
    ) -> InductionCounterexample:
        before = self._state(model)
        where = _values(model, about)
        if act is None:
            return InductionCounterexample(
                claim.name, where, None, before, before, tuple(self._changes(before, before))
            )
        name, at = act
        happening = Happening(name, _values(model, at))
        after = self._system.action(name).effect(before, *happening.at)
        cells = tuple(self._changes(before, after))
        return InductionCounterexample(claim.name, where, happening, before, after, cells)

    def _state(self, model: Any) -> State:
        return State(
            {variable.name: self._table(model, variable.name) for variable in self._system.variables}, self._derived
        )

    def _table(self, model: Any, name: str) -> Function:
        initial = next(each.initial for each in self._system.variables if each.name == name)
        terms = zip(self._tables.points[name], self._tables.terms[name], strict=True)
        known = {at: _value(model, term) for at, term in terms}
        return lambda *at: known.get(at, initial)

    def _changes(self, before: State, after: State) -> Iterator[CellChange]:
        initial = self._system.initially()
        for variable in self._system.variables:
            for at in self._tables.points[variable.name]:
                values = [
                    _named(variable.name, getattr(state, variable.name)(*at)) for state in (initial, before, after)
                ]
                for name, first in values[0].items():
                    if not first == values[1][name] == values[2][name]:
                        yield CellChange(name, at, values[1][name], values[2][name])

    def _broken_in(self, state: State) -> Iterator[tuple[Claim, Point]]:
        """The lemmas that do not hold in a state, at the points of the instance and at numbers that occur in it."""
        numbers = set(self._numbers_in(state))
        for lemma in self._system.lemmas:
            over = [self._finite.of(s) if s.opaque else sorted({*self._finite.of(s), *numbers}) for s in lemma.over]
            yield from ((lemma, at) for at in product(*over) if not lemma.holds(state, *at))

    def _numbers_in(self, state: State) -> Iterator[int]:
        changes = self._changes(state, state)
        yield from (change.before for change in changes if not isinstance(change.before, bool))

    def _confirmed(self, found: InductionCounterexample, claim: Claim) -> InductionCounterexample:
        """What was found, worked out with values.

        Raises:
            AssertionError: the solver and the values disagree.
        """
        happens = found.happening is None or all(
            self._system.action(found.happening.action).guard(found.before, *found.happening.at)
        )
        if not happens or claim.holds(found.after, *found.about):
            raise AssertionError(f"{found.claim}: the solver's state is no counterexample when it is worked out")
        return found


def _bounded(scalar: Term) -> Term:
    return z3.And(scalar >= LEAST, scalar <= MOST)


def differing(system: System, finite: Finite, one: State, other: State) -> Iterator[tuple[str, Point, Any, Any]]:
    """Each scalar of a state at each point where another state has another value: its name, the point, both values.

    Args:
        system: whose states they are.
        finite: the instance.
        one: a state.
        other: the state that it is compared with.
    """
    for variable in system.variables:
        for at in finite.points(variable.over):
            here, there = (_named(variable.name, getattr(state, variable.name)(*at)) for state in (one, other))
            yield from ((name, at, value, there[name]) for name, value in here.items() if value != there[name])


def _named(name: str, value: Any) -> dict[str, Any]:
    """The scalars of a value by name."""
    return {f"{name}.{part}": one for part, one in flatten(value)} if is_dataclass(value) else {name: value}


def _values(model: Any, terms: Sequence[Term]) -> Point:
    return tuple(term if isinstance(term, int) else int(_value(model, term)) for term in terms)


def _value(model: Any, term: Term) -> Any:
    if is_dataclass(term):
        scalars: Mapping[str, Term] = dict(flatten(term))
        kind: Any = type(term)
        return build(kind, lambda name: _value(model, scalars[name]))
    return python_value(model.eval(term, model_completion=True))
