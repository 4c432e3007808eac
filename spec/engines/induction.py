"""Proofs without bounds, by induction: one obligation for each lemma at the start and under each action.

The functions of the state before an action are uninterpreted; the state after it is never named: its functions
are substituted into the lemma as terms. A lemma whose formula an action leaves identical is `unchanged`, not
solved. Theorems follow from the lemmas in the same state, and a dormant action is excluded by both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, Final

import z3

from spec.algebra import Term, all_of, negate
from spec.engines.patterns import (
    arguments,
    defined,
    functions,
    in_sight,
    literal,
    named,
    patterns,
    sorts_of,
    uninterpreted,
)
from spec.engines.proof_cache import Digests, ProofCache, key_of
from spec.engines.reading_z3 import INTEGERS, Numbers, python_value, symbolic
from spec.engines.solving import USUAL, Answer, SecondOpinion, SolverSettings, answer_of
from spec.engines.verdict import Proved, Refuted, Unknown, Verdict
from spec.protocol.records import flatten
from spec.rules import Rule
from spec.systems.decision_lemmas import Fact
from spec.systems.language import Action, Claim, Function, Least, State, StepLemma, System

START: Final = "at the start"
ALWAYS: Final = "in every state"
FOR_ALL: Final = "for all inputs"


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing to prove, and what came of it.

    Attributes:
        claim: the lemma or theorem.
        action: under which action, or `START`, or `ALWAYS` for what follows in one state.
        solved: the solver was asked; otherwise the action leaves the formula identical, or the answer was kept.
        needs: names of the claims that the solver took as hypotheses, besides the claim itself before the action.
        kept: the answer is from an earlier run, of the same question.
        second: what another solver says of the proof.
    """

    rule: Rule
    claim: str
    action: str
    verdict: Verdict
    solved: bool
    seconds: float
    needs: frozenset[str] = frozenset()
    kept: bool = False
    second: SecondOpinion = SecondOpinion.NONE

    def __str__(self) -> str:
        return f"{self.claim} {FOR_ALL}" if self.action == FOR_ALL else f"{self.claim} under {self.action}"


class Prover:
    """The obligations of one system, over uninterpreted functions.

    Args:
        system: what is proved.
        settings: the solver's settings.
        kept: answers of earlier runs, to which those of this one are added; without it everything is solved.
    """

    def __init__(self, system: System, settings: SolverSettings = USUAL, kept: ProofCache | None = None) -> None:
        self._system = system
        self._settings = settings
        self._answers = kept
        self._digests = Digests(sorts_of(system))
        own = {variable.name: uninterpreted(variable) for variable in system.variables}
        self._before = State(own, {least.name: self._only_before(least) for least in system.derived})
        self._derived = {least.name: defined(least, self._before) for least in system.derived}
        self._happenings: dict[Action, tuple[Term, State]] = {}

    @cached_property
    def _lemmas(self) -> Mapping[str, Term]:
        return {claim.name: self._for_all(claim) for claim in (*self._system.taken, *self._system.lemmas)}

    @cached_property
    def _theorems(self) -> Mapping[str, Term]:
        return {claim.name: self._for_all(claim) for claim in self._system.theorems}

    def _only_before(self, least: Least) -> Callable[[State], Function]:
        function = named(least.name, least.over)

        def of(state: State) -> Function:
            if state is not self._before:
                raise ValueError(f"{least.name} of the state after an action: no lemma may speak of it")
            return function

        return of

    def obligations(self) -> Iterator[Obligation]:
        """Every obligation, proved or not, in the order of the system."""
        yield from self.at_the_start()
        for action in self._system.actions:
            yield from self.under(action)
        yield from self.steps()

    def at_the_start(self) -> Iterator[Obligation]:
        """That the theorems follow from the lemmas, and that the lemmas hold at the start."""
        yield from (self._follows(theorem) for theorem in self._system.theorems)
        yield from (self._starts(lemma) for lemma in self._system.lemmas)

    def under(self, action: Action) -> Iterator[Obligation]:
        """That one action keeps every lemma; of a dormant one, that it never happens."""
        if action.dormant:
            yield self._sleeps(action)
        else:
            yield from (self.keeps(lemma, action) for lemma in self._system.lemmas)

    def steps(self) -> Iterator[Obligation]:
        """That the steps of the system are those which recorded steps are judged by."""
        yield from (self.judged(lemma) for lemma in self._system.steps)

    def keeps(self, lemma: Claim, action: Action) -> Obligation:
        """That one action keeps one lemma."""
        happens, after = self._happening(action)
        about = arguments(lemma.over, "any")
        goal = lemma.holds(after, *about)
        before = lemma.holds(self._before, *about)
        if _identical(goal, before):
            return Obligation(lemma.rule, lemma.name, action.name, Proved(), solved=False, seconds=0.0)
        facts = [before, happens, negate(goal)]
        itself = {lemma.name: self._lemmas[lemma.name]}
        return self._obligation(lemma, action.name, facts, [itself, *self._rested_on(lemma), self._lemmas])

    def _rested_on(self, claim: Claim) -> Iterator[Mapping[str, Term]]:
        """The lemmas that a claim says it rests on, with itself where it is one."""
        if claim.rests_on:
            yield {name: lemma for name, lemma in self._lemmas.items() if name in claim.rests_on | {claim.name}}

    def judged(self, lemma: StepLemma) -> Obligation:
        """That a lemma of steps holds of its action, in whatever state that happens: without quantifiers."""
        at = (*arguments(lemma.action.over, "for"), *arguments(lemma.over, "any"))
        happens, after = self._happening(lemma.action)
        goal = lemma.holds(self._before, after, *at)
        terms = [
            (name, self._system.claim(name).holds(self._before, *(at[place] for place in where)))
            for name, where in lemma.given
        ]
        given = {name: all_of(*(term for of, term in terms if of == name)) for name, _ in terms}
        if _says_nothing(goal) or any(_identical(goal, term) for _, term in terms):
            return Obligation(lemma.rule, lemma.name, lemma.action.name, Proved(), solved=False, seconds=0.0)
        claim = Claim(lemma.name, lemma.rule, lemma.sentence, (), lemma.holds)
        facts = [happens, negate(goal)]
        return self._obligation(claim, lemma.action.name, facts, [given], derived=False)

    def contradictions(self) -> Iterator[str]:
        """What would prove anything: lemmas that contradict each other, or an action that they exclude unsaid."""
        awake = {action.name: self._happening(action)[0] for action in self._system.actions if not action.dormant}
        given = {claim.name: all_of(self._lemmas[claim.name], self._somewhere(claim)) for claim in self._system.lemmas}
        for name, happens in {"": True, **awake}.items():
            answer = answer_of("nothing", [happens], given, self._settings.glance, self._settings.seed)
            if isinstance(answer.verdict, Proved):
                culprits = ", ".join(sorted(answer.needed)) or "nothing at all"
                with_what = f"{name}, which can never happen" if name else "each other, and anything follows from them"
                yield f"{self._system.name}: of the lemmas, {culprits} contradict {with_what}"

    def _somewhere(self, claim: Claim) -> Term:
        """The claim for some arguments: without a term to use it at, no contradiction would be found."""
        return claim.holds(self._before, *arguments(claim.over, "some"))

    def _follows(self, theorem: Claim) -> Obligation:
        goal = theorem.holds(self._before, *arguments(theorem.over, "any"))
        return self._obligation(theorem, ALWAYS, [negate(goal)], [*self._rested_on(theorem), self._lemmas])

    def _starts(self, lemma: Claim) -> Obligation:
        goal = lemma.holds(self._system.initially(literal), *arguments(lemma.over, "any"))
        return self._obligation(lemma, START, [negate(goal)], [{}])

    def _sleeps(self, action: Action) -> Obligation:
        awake = action.enabled(self._before, *arguments(action.over, "for"))
        never = Claim(f"{action.name}_never_happens", self._system.lemmas[0].rule, "", action.over, action.guard)
        return self._obligation(never, ALWAYS, [awake], [{**self._lemmas, **self._theorems}])

    def _happening(self, action: Action) -> tuple[Term, State]:
        """That the action happens, and the state after it: worked out once for all lemmas."""
        if action not in self._happenings:
            chosen = arguments(action.over, "for")
            happens, after = action.enabled(self._before, *chosen), action.effect(self._before, *chosen)
            self._happenings[action] = happens, after
        return self._happenings[action]

    def _obligation(
        self,
        claim: Claim,
        action: str,
        facts: Sequence[Term],
        hypotheses: Sequence[Mapping[str, Term]],
        *,
        derived: bool = True,
    ) -> Obligation:
        started = perf_counter()
        shown = functions(facts) if derived and self._derived else ()
        known = {name: self._derived[name] for name in shown if name in self._derived}
        tries = [{**known, **given} for given in hypotheses]
        content = {name: self._digests.of(term) for name, term in tries[-1].items()} if self._answers else {}
        key = key_of(str(claim.name), map(self._digests.of, facts), self._settings) if self._answers else ""
        answer = self._answers.find(key, content) if self._answers else None
        solved = answer is None
        if answer is None:
            answer = self._solved(claim, facts, tries)
            if self._answers:
                self._answers.keep(key, content, answer)
        needs = answer.needed.difference(self._derived)
        seconds = perf_counter() - started
        contradict = [*facts, *(tries[-1][name] for name in sorted(answer.needed))]
        second = _second(f"{self._system.name}.{claim.name}.{action}", answer, contradict, self._settings)
        return Obligation(claim.rule, claim.name, action, answer.verdict, solved, seconds, needs, not solved, second)

    def _solved(self, claim: Claim, facts: Sequence[Term], tries: Sequence[Mapping[str, Term]]) -> Answer:
        """The answer with the first hypotheses that are enough, or with the last ones.

        A claim that says what it rests on is shown every term that the question has.
        """
        answer = Answer(Unknown("no hypotheses were tried"))
        shown = [*facts, *in_sight(facts)] if claim.rests_on else facts
        for given in tries:
            last = given is tries[-1]
            effort = self._settings.many if last else self._settings.few
            answer = answer_of(claim.name, facts if last else shown, given, effort, self._settings.seed)
            if isinstance(answer.verdict, Proved):
                break
        return answer

    def _for_all(self, claim: Claim) -> Term:
        bound = arguments(claim.over, "all")
        body = claim.holds(self._before, *bound)
        if not bound:
            return body
        if claim.at_sight_of is None:
            return z3.ForAll(bound, body, patterns=patterns(bound, body))
        groups = claim.at_sight_of(self._before, *bound)
        return z3.ForAll(bound, body, patterns=[z3.MultiPattern(*group) for group in groups])


def prove(system: System) -> tuple[Obligation, ...]:
    """Every obligation of the system."""
    return tuple(Prover(system).obligations())


def prove_fact(
    fact: Fact, numbers: Numbers = INTEGERS, settings: SolverSettings = USUAL, kept: ProofCache | None = None
) -> Obligation:
    """A fact of a decision, for all inputs: without quantifiers, so that a refutation is an input that shows it.

    Args:
        fact: the sentence, and the records that it is about.
        numbers: whether they hold integers or bit-vectors.
        settings: the solver's settings.
        kept: answers of earlier runs, taken where the formula is the same; none where it has to be solved.
    """
    started = perf_counter()
    records: list[Any] = [symbolic(kind, numbers, f"{name}.") for name, kind in fact.about]
    negated = negate(fact.holds(*records))
    key = key_of(f"{fact.name} {numbers} {fact.effort}", [Digests("").of(negated)], settings) if kept else ""
    answer = kept.find(key, {}) if kept else None
    solved = answer is None
    if answer is None:
        answer = Answer(_decided(fact, negated, records, numbers, settings))
        if kept:
            kept.keep(key, {}, answer)
    seconds = perf_counter() - started
    second = _second(f"facts.{fact.name}", answer, [negated], settings)
    return Obligation(fact.rule, fact.name, FOR_ALL, answer.verdict, solved, seconds, kept=not solved, second=second)


def _second(name: str, answer: Answer, facts: Sequence[Term], settings: SolverSettings) -> SecondOpinion:
    """What another solver says where this one has found a proof, if it is to be asked."""
    if settings.second is None or not isinstance(answer.verdict, Proved):
        return SecondOpinion.NONE
    return settings.second.on(name, facts)


def _decided(fact: Fact, negated: Term, records: Sequence[Any], numbers: Numbers, settings: SolverSettings) -> Verdict:
    solver = z3.SolverFor("QF_BV") if numbers.width else z3.Solver()
    solver.set("random_seed", settings.seed)
    solver.set("rlimit", fact.effort)
    solver.add(negated)
    answer = solver.check()
    if answer == z3.unknown:
        return Unknown(f"{fact.name}: {solver.reason_unknown()}")
    if answer == z3.sat:
        return Refuted(f"{fact.name} where {_shown(solver.model(), records)}", ())
    return Proved()


def _shown(model: Any, records: Sequence[Any]) -> str:
    scalars = [term for record in records for _, term in flatten(record) if model[term] is not None]
    return ", ".join(f"{term}={python_value(model[term])}" for term in scalars)


def _says_nothing(goal: Term) -> bool:
    """The sentence is of the form that holds of everything."""
    return bool(z3.is_true(z3.simplify(goal))) if z3.is_expr(goal) else goal is True


def _identical(left: Term, right: Term) -> bool:
    if z3.is_expr(left) and z3.is_expr(right):
        return bool(left.eq(right))
    return left is right
