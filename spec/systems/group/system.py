"""A group of any number of members, one generation after the other, whose offset moves only with effects."""

from typing import Final

from spec import rules
from spec.algebra import Term, all_of, negate
from spec.systems.group.actions import MemberActions
from spec.systems.group.claims import LEMMAS, THEOREMS
from spec.systems.group.taken import Taken
from spec.systems.group.world import (
    ABORT,
    ASSUMPTIONS,
    COMMIT,
    POSITION,
    RUN,
    VARIABLES,
    GroupKnobs,
    derived,
    is_transactional,
)
from spec.systems.language import Claim, Goal, State, System

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
