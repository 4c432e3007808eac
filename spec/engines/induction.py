"""Proofs without bounds, by induction: one obligation for each lemma at the start and under each action.

The functions of the state before an action are uninterpreted; the state after it is never named: its functions
are substituted into the lemma as terms. A lemma whose formula an action leaves identical is `unchanged`, not
solved. Theorems follow from the lemmas in the same state, and a dormant action is excluded by both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import product
from time import perf_counter
from typing import Any, Final

import z3

from spec.algebra import Term, all_of, any_of, implies, negate
from spec.engines.reading_z3 import INTEGERS, Numbers, python_value, symbolic
from spec.engines.verdict import Proved, Refuted, Unknown, Verdict
from spec.protocol.records import build, flatten
from spec.rules import Rule
from spec.systems.decision_facts import Fact
from spec.systems.language import Action, Claim, Function, Least, Sort, State, System, Variable

START: Final = "at the start"
ALWAYS: Final = "in every state"
FEW: Final = 1_000_000
MANY: Final = 10_000_000
"""How much the solver may work on one question, in its own units: the same on every machine."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing to prove, and what came of it.

    Attributes:
        claim: the lemma or theorem.
        action: under which action, or `START`, or `ALWAYS` for what follows in one state.
        solved: the solver was asked; otherwise the action leaves the formula identical.
        resting_on: how many claims were taken as hypotheses.
    """

    rule: Rule
    claim: str
    action: str
    verdict: Verdict
    solved: bool
    seconds: float
    resting_on: int = 0

    def __str__(self) -> str:
        return f"{self.claim} under {self.action}"


class Prover:
    """The obligations of one system, over uninterpreted functions."""

    def __init__(self, system: System) -> None:
        self._system = system
        functions = {variable.name: _uninterpreted(variable) for variable in system.variables}
        self._before = State(functions, {least.name: self._only_before(least) for least in system.derived})
        self._derived = {least.name: _defined(least, self._before) for least in system.derived}
        self._lemmas = {claim.name: self._for_all(claim) for claim in system.lemmas}
        self._theorems = {claim.name: self._for_all(claim) for claim in system.theorems}
        self._happenings: dict[str, tuple[Term, State]] = {}

    def _only_before(self, least: Least) -> Callable[[State], Function]:
        function = _named(least.name, least.over)

        def of(state: State) -> Function:
            if state is not self._before:
                raise ValueError(f"{least.name} of the state after an action: no lemma may speak of it")
            return function

        return of

    def obligations(self) -> Iterator[Obligation]:
        """Every obligation, proved or not, in the order of the system."""
        for theorem in self._system.theorems:
            yield self._follows(theorem)
        for lemma in self._system.lemmas:
            yield self._starts(lemma)
        for action in self._system.actions:
            if action.dormant:
                yield self._sleeps(action)
            else:
                yield from (self._kept(lemma, action) for lemma in self._system.lemmas)

    def _follows(self, theorem: Claim) -> Obligation:
        goal = theorem.holds(self._before, *_arguments(theorem.over, "any"))
        return self._obligation(theorem, ALWAYS, [negate(goal)], [self._lemmas])

    def _starts(self, lemma: Claim) -> Obligation:
        goal = lemma.holds(self._system.initially(_literal), *_arguments(lemma.over, "any"))
        return self._obligation(lemma, START, [negate(goal)], [{}])

    def _sleeps(self, action: Action) -> Obligation:
        awake = action.enabled(self._before, *_arguments(action.over, "for"))
        never = Claim(f"{action.name}_never_happens", self._system.lemmas[0].rule, "", action.over, action.guard)
        return self._obligation(never, ALWAYS, [awake], [self._lemmas | self._theorems])

    def _kept(self, lemma: Claim, action: Action) -> Obligation:
        happens, after = self._happening(action)
        about = _arguments(lemma.over, "any")
        goal = lemma.holds(after, *about)
        before = lemma.holds(self._before, *about)
        if _identical(goal, before):
            return Obligation(lemma.rule, lemma.name, action.name, Proved(), solved=False, seconds=0.0)
        facts = [before, happens, negate(goal)]
        itself = {lemma.name: self._lemmas[lemma.name]}
        return self._obligation(lemma, action.name, facts, [itself, self._lemmas])

    def _happening(self, action: Action) -> tuple[Term, State]:
        """That the action happens, and the state after it: worked out once for all lemmas."""
        if action.name not in self._happenings:
            chosen = _arguments(action.over, "for")
            happens, after = action.enabled(self._before, *chosen), action.effect(self._before, *chosen)
            self._happenings[action.name] = happens, after
        return self._happenings[action.name]

    def _obligation(
        self, claim: Claim, action: str, facts: Sequence[Term], hypotheses: Sequence[Mapping[str, Term]]
    ) -> Obligation:
        started = perf_counter()
        known = [self._derived[name] for name in _functions(facts) if name in self._derived]
        verdict: Verdict = Unknown("no hypotheses were tried")
        used = 0
        for tried in hypotheses:
            effort = MANY if tried is hypotheses[-1] else FEW
            verdict, used = contradiction(claim.name, [*tried.values(), *known, *facts], effort), len(tried)
            if isinstance(verdict, Proved):
                break
        return Obligation(claim.rule, claim.name, action, verdict, True, perf_counter() - started, used)

    def _for_all(self, claim: Claim) -> Term:
        bound = _arguments(claim.over, "all")
        body = claim.holds(self._before, *bound)
        if not bound:
            return body
        return z3.ForAll(bound, body, patterns=_patterns(bound, body))


def _patterns(bound: Sequence[Term], body: Term) -> list[Term]:
    """The terms at whose sight a hypothesis is used: for each number it speaks of, any function at that number.

    A function of everything it speaks of is enough by itself. Without them the solver chooses, and not always the
    same.
    """
    seen: dict[Term, list[Term]] = {}
    alone: list[Term] = []
    for term in _subterms(body):
        about = _variables(bound, term)
        if _is_function(term) and len(about) == term.num_args():
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


def _subterms(*terms: Term) -> Iterator[Term]:
    seen, waiting = set(), list(terms)
    while waiting:
        one = waiting.pop()
        if one.get_id() not in seen:
            seen.add(one.get_id())
            yield one
            waiting.extend(one.children())


def _functions(terms: Sequence[Term]) -> list[str]:
    """Names of the functions in some terms, in order."""
    shown = [term for term in terms if z3.is_expr(term)]
    return sorted({one.decl().name() for one in _subterms(*shown) if _is_function(one)})


def _is_function(term: Term) -> bool:
    return bool(z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED and term.num_args() > 0)


def contradiction(claim: str, facts: Sequence[Term], effort: int = MANY) -> Verdict:
    """`Proved` where the facts, the claim's negation among them, contradict each other."""
    solver = z3.Solver()
    solver.set("auto_config", False)
    solver.set(
        "mbqi", False
    )  # hypotheses are used where their terms occur; what is not proved so is searched elsewhere
    solver.set("random_seed", 0)
    solver.set("rlimit", effort)
    solver.add(*facts)
    answer = solver.check()
    if answer == z3.unsat:
        return Proved()
    if answer == z3.sat:
        return Refuted(claim, ())
    return Unknown(f"not proved by induction: {solver.reason_unknown()}")


def prove(system: System) -> tuple[Obligation, ...]:
    """Every obligation of the system."""
    return tuple(Prover(system).obligations())


def prove_fact(fact: Fact, numbers: Numbers = INTEGERS) -> Obligation:
    """A fact of a decision, for all inputs: without quantifiers, so that a refutation is an input that shows it."""
    started = perf_counter()
    records: list[Any] = [symbolic(kind, numbers, f"{name}.") for name, kind in fact.about]
    solver = z3.SolverFor("QF_BV") if numbers.width else z3.Solver()
    solver.set("random_seed", 0)
    solver.set("rlimit", fact.effort)
    solver.add(negate(fact.holds(*records)))
    answer = solver.check()
    verdict: Verdict = Proved()
    if answer == z3.unknown:
        verdict = Unknown(f"{fact.name}: {solver.reason_unknown()}")
    elif answer == z3.sat:
        verdict = Refuted(f"{fact.name} where {_shown(solver.model(), records)}", ())
    return Obligation(fact.rule, fact.name, "for all inputs", verdict, True, perf_counter() - started)


def _shown(model: Any, records: Sequence[Any]) -> str:
    scalars = [term for record in records for _, term in flatten(record) if model[term] is not None]
    return ", ".join(f"{term}={python_value(model[term])}" for term in scalars)


def _sort(sort: Sort) -> Term:
    return z3.DeclareSort(sort.name) if sort.opaque else INTEGERS.sort


def _arguments(over: tuple[Sort, ...], role: str) -> list[Term]:
    return [z3.Const(f"{role}_{position}_{sort.name}", _sort(sort)) for position, sort in enumerate(over)]


def _named(name: str, over: tuple[Sort, ...], to: Term = INTEGERS.sort) -> Function:
    declared = z3.Function(name, *(_sort(sort) for sort in over), to)
    return lambda *at: declared(*at)


def _defined(least: Least, state: State) -> Term:
    """What is known of a derived function: no value is less, and some point has it."""
    own, every = _arguments(least.over, "least"), _arguments(least.among, "among")
    it: Term = getattr(state, least.name)(*own)
    some = [_named(f"{least.name}_at_{k}", least.over, _sort(sort))(*own) for k, sort in enumerate(least.among)]
    value = least.value(state, *own, *every)
    bound = z3.ForAll([*own, *every], implies(value >= 0, all_of(it >= 0, it <= value)))
    found = all_of(it >= 0, it == least.value(state, *own, *some))
    return all_of(bound, z3.ForAll(own, any_of(it == -1, found), patterns=[it]))


def _uninterpreted(variable: Variable) -> Function:
    def function(name: str, kind: type) -> Function:
        return _named(name, variable.over, INTEGERS.sort_of(kind))

    if not is_dataclass(variable.initial):
        return function(variable.name, type(variable.initial))
    parts = {name: function(f"{variable.name}_{name}", type(value)) for name, value in flatten(variable.initial)}
    kind: Any = type(variable.initial)
    return lambda *at: build(kind, lambda name: parts[name](*at))


def _literal(value: Any) -> Any:
    if is_dataclass(value):
        scalars = dict(flatten(value))
        kind: Any = type(value)
        return build(kind, lambda name: INTEGERS.value(scalars[name]))
    return INTEGERS.value(value)


def _identical(left: Term, right: Term) -> bool:
    if z3.is_expr(left) and z3.is_expr(right):
        return bool(left.eq(right))
    return left is right
