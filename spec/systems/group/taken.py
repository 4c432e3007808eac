"""What a group takes from the transactions and from its readers, and that it takes no more: a lemma for each.

The action is the one of the system without the guard that says what is taken; the formula, which the other system
proves, then has to let it happen.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from spec import rules
from spec.algebra import Term, implies, negate
from spec.protocol import lso
from spec.systems.group.actions import MemberActions
from spec.systems.group.world import GENERATION, GroupKnobs, fetched
from spec.systems.language import Action, Guard, Sort, State, StepLemma
from spec.systems.links import is_of_its_generation, is_withheld, outcomes_agree

Given: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]


class Taken:
    """The lemmas of a group's steps.

    Args:
        knobs: of the group.
        actions: those of the group with these knobs, and maybe with a defect.
    """

    def __init__(self, knobs: GroupKnobs, actions: Iterable[Action]) -> None:
        self._knobs = knobs
        self._of = MemberActions(knobs)
        self._actions = {action.name: action for action in actions}

    def steps(self) -> Iterator[StepLemma]:
        """Every lemma."""
        yield self._no_more(
            "commit_is_of_its_generation_and_no_more",
            "A commit is let in whose generation is the group's; nothing else is taken of it.",
            self._unguarded("group_accepts", self._of.commit_arrives),
            lambda state, run, _: is_of_its_generation(state.generation(), state.by(run)),
        )
        yield self._no_more(
            "outcome_is_the_same_and_no_more",
            "The marker of the offsets has the outcome of the outputs; nothing else is taken of it.",
            self._unguarded("marker_comes", self._of.marker_is_due),
            lambda state, run, outcome: outcomes_agree(outcome, state.outcome(run)),
        )
        yield self._no_more(
            "read_is_decided_and_no_more",
            "What is below the bound of a member's fetch is decided; nothing else is taken of the bound.",
            self._unguarded("member_reads", self._of.may_read),
            lambda state, generation, _, bound: _is_decided(state, generation, bound),
        )
        yield self._begins_with_nothing_pending()

    def _unguarded(self, name: str, guard: Guard) -> Action:
        return replace(self._actions[name], guard=guard)

    def _no_more(self, name: str, sentence: str, action: Action, formula: Callable[..., Term]) -> StepLemma:
        guarded = self._actions[action.name]

        def holds(before: State, _: State, *at: Term) -> Term:
            return implies(formula(before, *at), guarded.enabled(before, *at))

        return _lemma(name, sentence, action, (), (("latest_has_come", ()),), holds)

    def _begins_with_nothing_pending(self) -> StepLemma:
        def holds(before: State, _: State, __: Term, other: Term) -> Term:
            pends = before.pending(other).present
            return implies(is_withheld(pends, fetched(self._knobs, before)), negate(pends))

        said = "A member begins with nothing pending, as its fetch would be withheld otherwise."
        return _lemma("begins_with_nothing_pending", said, self._actions["member_begins"], (GENERATION,), (), holds)


def _is_decided(state: State, generation: Term, bound: Term) -> Term:
    position = state.position(generation)
    return lso.is_decided_below(position, bound, state.verdict(position) >= 0)


def _lemma(
    name: str, sentence: str, action: Action, over: tuple[Sort, ...], given: Given, holds: Callable[..., Term]
) -> StepLemma:
    return StepLemma(name, rules.OFFSETS_ATOMIC, sentence, action, over, given, holds)
