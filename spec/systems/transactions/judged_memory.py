"""Lemmas that put the steps of the system of transactions to the judges of recorded steps: their common part.

The coordinator's memory before and after a step is put in the form that the judge takes. The system has no times: those
before the step are arbitrary, those of the request are any that it can have, and those of the entry afterwards are the
judge's.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from spec.algebra import Term, all_of, implies
from spec.judging.judge import RuleCheck
from spec.judging.judge_coordinator import agrees, judge
from spec.protocol import ids
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.coordinator_steps import DECISIONS, CoordinatorStep, StepInput
from spec.protocol.ending import IdAndEpoch
from spec.rules import Rule
from spec.systems.language import Action, Sort, State, StepLemma, in_turn, pick
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.recording import NONE
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import NO_IDENTITY, TransactionKnobs
from spec.vocabulary import ABSENT

Sentence: TypeAlias = Callable[..., Term]
"""Whether the judge agrees with a step, as a formula of the states before and after it, and the arguments."""

Given: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Names of lemmas of the system, each with the places of its arguments among those of the sentence."""


class JudgedActions:
    """Lemmas of steps, each made of a sentence and of the actions that make the step."""

    def __init__(self, knobs: TransactionKnobs, taken: ReleaseDecisions, actions: Iterable[Action]) -> None:
        self.knobs = knobs
        self.of = partial(TransactionsView, knobs, taken)
        self._actions = {action.name: action for action in actions}

    def _lemmas(self, *rows: tuple[Sentence, Rule, tuple[str, ...], tuple[Sort, ...], Given]) -> tuple[StepLemma, ...]:
        """The lemmas whose actions are in the system: of a sentence, its rule, actions, further sorts and premises."""
        return tuple(self._lemma(*row) for row in rows if all(name in self._actions for name in row[2]))

    def _lemma(
        self, sentence: Sentence, rule: Rule, actions: tuple[str, ...], over: tuple[Sort, ...], given: Given
    ) -> StepLemma:
        step = self._actions[actions[0]]
        for name in actions[1:]:
            step = in_turn(f"{step.name}, {name}", step, self._actions[name])
        return judged(sentence, rule, step, over, given)


def judged(sentence: Sentence, rule: Rule, step: Action, over: tuple[Sort, ...], given: Given = ()) -> StepLemma:
    """The lemma of a step, by the name of its sentence.

    Args:
        sentence: whether the judge agrees, as a formula of the states before and after, and all arguments.
        rule: the rule of the lemma.
        step: the action, or two in turn.
        over: the sorts of the arguments besides those of the step.
        given: lemmas of the system that the lemma takes for granted.
    """
    return StepLemma(f"{sentence.__name__}_as_judged", rule, str(sentence.__doc__), step, over, given, sentence)


def unbroken(checks: Iterable[RuleCheck]) -> Term:
    """Every rule at stake holds."""
    return all_of(*(implies(check.at_stake, check.holds) for check in checks))


# --- the memory of coordinators ---------------------------------------------------------------------------------------


NOW: Final = Sort("now")
TIMEOUT: Final = Sort("timeout")
VERSION: Final = Sort("version")
REFUSAL: Final = Sort("refusal")
COUNT: Final = Sort("partitions")

NO_INPUT: Final = StepInput(0, 0, NO_IDENTITY, NO_IDENTITY, ABSENT, commits=False, registered=False)
"""The input of a step of a coordinator that acts by itself."""


class JudgedMemory(JudgedActions):
    """Steps of the coordinators, made of the memory before and after."""

    def _may_ask(self, inputs: StepInput) -> Term:
        """The timeout of the request is one that a broker accepts."""
        return all_of(inputs.timeout > 0, inputs.timeout <= ids.LARGEST_TIMEOUT)

    def _timed(self, state: State) -> TransactionEntry:
        """The coordinator's memory, with any times."""
        entry: TransactionEntry = state.memory()
        return _with_times(self.knobs.settled(entry), entry)

    def _keeping(
        self,
        before: State,
        after: State,
        api: str,
        inputs: StepInput,
        error: Term,
        answered: IdAndEpoch,
        count: Term,
        partition: Term,
    ) -> Term:
        """The step is judged to be right, and no partition joins or leaves."""
        kept = after.registered(partition) == before.registered(partition)
        return all_of(kept, self._judged(before, after, api, inputs, error, answered, count=count, count_after=count))

    def _judged(
        self,
        before: State,
        after: State,
        api: str,
        inputs: StepInput,
        error: Term,
        answered: IdAndEpoch,
        *,
        heard: Term = True,
        count: Term = 0,
        count_after: Term = 0,
        registered_after: Term = False,
    ) -> Term:
        """The judge expects this step, and none of its rules is broken; a lost answer is arbitrary."""
        profile = self.knobs.profile
        memory = replace(self.knobs.settled(after.memory()), update_time=inputs.now)
        step = self._step(self._timed(before), memory, inputs, error, count, count_after, registered_after)
        first = DECISIONS[api](step, profile)
        known: IdAndEpoch = pick(heard, answered, first.answered)
        recorded = replace(step, answered=known, after=_with_times(memory, first.entry))
        expected, checks = judge(api, recorded, profile)
        return all_of(agrees(expected, recorded), unbroken(checks))

    def _refused(self, before: State, after: State, api: str, inputs: StepInput) -> Term:
        """The judge expects this step, for which no record is written; the answer is the judge's."""
        memory, profile = self._timed(before), self.knobs.profile
        step = self._step(memory, _with_times(self.knobs.settled(after.memory()), memory), inputs, NONE)
        first = DECISIONS[api](step, profile)
        recorded = replace(step, error=first.error, answered=first.answered)
        expected, checks = judge(api, recorded, profile)
        return all_of(agrees(expected, recorded), unbroken(checks))

    def _step(
        self,
        before: TransactionEntry,
        after: TransactionEntry,
        inputs: StepInput,
        error: Term,
        count: Term = 0,
        count_after: Term = 0,
        registered_after: Term = False,
    ) -> CoordinatorStep:
        return CoordinatorStep(before, inputs, error, NO_IDENTITY, after, count, count_after, registered_after)


def _with_times(entry: TransactionEntry, times: TransactionEntry) -> TransactionEntry:
    """The entry with the times of another one."""
    return replace(entry, timeout=times.timeout, start_time=times.start_time, update_time=times.update_time)
