"""A group of any number of members, one generation after the other, whose offset moves only with effects.

Lemmas tie it to the transactions and its readers: each states one thing that the group takes from them, and that it
takes no more. The action of such a lemma is the system's, without the guard that says what is taken. The formula,
which the other system proves, then has to let the action happen.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, implies, negate
from spec.protocol import lso
from spec.systems.group.actions import MemberActions
from spec.systems.group.claims import LEMMAS, THEOREMS
from spec.systems.group.world import (
    ABORT,
    ASSUMPTIONS,
    COMMIT,
    GENERATION,
    POSITION,
    RUN,
    VARIABLES,
    GroupKnobs,
    derived,
    fetched,
    is_transactional,
)
from spec.systems.language import Action, Claim, Goal, Guard, Sort, State, StepLemma, System
from spec.systems.links import is_of_its_generation, is_withheld, outcomes_agree

# --- what the group takes from other systems --------------------------------------------------------------------------


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


# --- the system -------------------------------------------------------------------------------------------------------


TRUE_SYSTEM: Final = GroupKnobs()


def next_generation_goes_on(state: State, one: Term, other: Term) -> Term:
    """Runs of two generations are committed in transactions."""
    committed = (all_of(state.outcome(run) == COMMIT, is_transactional(state, run)) for run in (one, other))
    return all_of(*committed, state.by(one) < state.by(other), state.accepted(one) < state.accepted(other))


def done_again_after_abort(state: State, one: Term, other: Term) -> Term:
    """What a run did that was aborted, another run of the same member has done again."""
    same_records = all_of(state.by(one) == state.by(other), state.begins(one) == state.begins(other))
    worked = all_of(state.accepted(one) > state.begins(one), state.accepted(other) >= state.accepted(one))
    return all_of(same_records, worked, state.outcome(one) == ABORT, state.outcome(other) == COMMIT)


def past_member_is_refused(state: State, run: Term) -> Term:
    """A commit waits whose generation is past, while the next one has begun."""
    waits = all_of(state.requested(run) >= 0, negate(state.requested(run) == state.accepted(run)))
    return all_of(waits, state.by(run) >= 0, state.by(run) < state.latest())


def committed_without_transaction(state: State, run: Term, position: Term) -> Term:
    """A commit without a transaction has moved the offset past a committed record."""
    plain = all_of(state.outcome(run) == COMMIT, negate(is_transactional(state, run)))
    return all_of(plain, state.given(run, position), state.committed().present)


GOALS: Final = (
    (next_generation_goes_on, (RUN, RUN)),
    (done_again_after_abort, (RUN, RUN)),
    (past_member_is_refused, (RUN,)),
    (committed_without_transaction, (RUN, POSITION)),
)


def group(knobs: GroupKnobs = TRUE_SYSTEM) -> System:
    """The system with these knobs.

    Args:
        knobs: what is in it; by default the true system, without bounds.
    """

    def said(sentence: object) -> str:
        return str(sentence.__doc__).partition("\n")[0]

    actions = MemberActions(knobs).all()
    return System(
        name="group",
        variables=VARIABLES,
        actions=actions,
        theorems=tuple(Claim(holds.__name__, rule, said(holds), over, holds) for holds, rule, over in THEOREMS),
        lemmas=tuple(Claim(holds.__name__, rules.OFFSETS_ATOMIC, said(holds), over, holds) for holds, over in LEMMAS),
        goals=tuple(Goal(reached.__name__, said(reached), over, reached) for reached, over in GOALS),
        assumptions=ASSUMPTIONS,
        derived=derived(),
        steps=tuple(Taken(knobs, actions).steps()),
    )
