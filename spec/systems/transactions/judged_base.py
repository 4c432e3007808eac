"""The common part of the lemmas that put the steps of the system of transactions to the judges of recorded steps."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

from spec.algebra import Term, all_of, implies
from spec.judging.judge import RuleCheck
from spec.rules import Rule
from spec.systems.language import Action, Sort, StepLemma, in_turn
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.view import TransactionsView
from spec.systems.transactions.world import TransactionKnobs

Sentence: TypeAlias = Callable[..., Term]
"""From the states before and after a step, and the arguments, to whether the judge agrees with the step."""

Given: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Names of lemmas of the system, each with the places of its arguments among those of the sentence."""


class JudgedActions:
    """Lemmas of steps, each made of a sentence and of the actions that are the step."""

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
        sentence: from the states before and after, and all arguments, to whether the judge agrees.
        rule: whose it is.
        step: the action, or two in turn.
        over: the sorts of the arguments besides those of the step.
        given: lemmas of the system that it takes for granted.
    """
    return StepLemma(f"{sentence.__name__}_as_judged", rule, str(sentence.__doc__), step, over, given, sentence)


def unbroken(checks: Iterable[RuleCheck]) -> Term:
    """No rule is at stake that does not hold."""
    return all_of(*(implies(check.at_stake, check.holds) for check in checks))
