"""The members of two generations of a group that commit offsets in transactions, while a rebalance may come between.

A commit is held against the group, and asked about at the transaction's coordinator, which takes time. What matters
is which comes first (KAFKA-15784).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, negate
from spec.protocol import committing, groups
from spec.protocol.committing import CommitRequest
from spec.protocol.groups import Claim as Member
from spec.protocol.groups import GroupEntry
from spec.systems.language import Action, Claim, Goal, Sort, State, System, Variable, update
from spec.versions import NEWEST, Profile
from spec.vocabulary import ErrorCode, GroupState

GENERATION: Final = Sort("generation")
JOIN_VERSION: Final = 3
"""Of JoinGroup: a member comes with the id that it was given."""

COMMIT_VERSION: Final = 3
"""Of TxnOffsetCommit: the first one that names member and generation (KIP-447)."""

ASSUMPTIONS: Final = (
    "A1 a member keeps its id across generations, so that only the generation tells a past one",
    "A2 the offsets partition is in the member's transaction, and the coordinator confirms it in the end",
)


@dataclass(frozen=True, slots=True)
class Knobs:
    """What the system is made of: the release, and how many generations a finite instance has."""

    profile: Profile = NEWEST
    generations: int = 3


VARIABLES: Final = (
    Variable("group", (), GroupEntry(known=True, state=GroupState.STABLE.value, generation=1)),
    Variable("asking", (GENERATION,), initial=False),
    Variable("confirmed", (GENERATION,), initial=False),
    Variable("written", (GENERATION,), initial=False),
    # a ghost: offsets of a generation were written when it was past
    Variable("written_when_past", (GENERATION,), initial=False),
)


def sizes(knobs: Knobs) -> dict[str, int]:
    """How many values each sort has; generation 0 is before the first."""
    return {GENERATION.name: knobs.generations}


def past_generations_write_nothing(state: State, generation: Term) -> Term:
    """No offsets of a generation are written once a rebalance has ended it."""
    return negate(state.written_when_past(generation))


def both_generations_write(state: State) -> Term:
    """Each of two generations has written its offsets, each in its time."""
    return all_of(state.written(1), state.written(2))


def membership(knobs: Knobs) -> System:
    """The system with these knobs."""
    actions = _Actions(knobs)
    claim, goal = past_generations_write_nothing, both_generations_write
    each = (GENERATION,)
    return System(
        name="membership",
        variables=VARIABLES,
        actions=(
            Action("member_commits", each, actions.is_to_commit, actions.coordinator_is_asked),
            Action("coordinator_confirms", each, actions.is_asked, actions.is_confirmed),
            Action("group_rebalances", (), actions.may_rebalance, actions.group_rebalances),
            Action("offsets_are_written", each, actions.may_write, actions.are_written),
        ),
        theorems=(Claim(claim.__name__, rules.OFFSETS_GENERATION_FENCE, str(claim.__doc__), each, claim),),
        lemmas=(),
        goals=(Goal(goal.__name__, str(goal.__doc__), (), goal),),
        assumptions=ASSUMPTIONS,
    )


class _Actions:
    def __init__(self, knobs: Knobs) -> None:
        self.knobs = knobs

    def is_to_commit(self, state: State, generation: Term) -> Iterator[Term]:
        """A member of this generation or a past one commits, and is let through if the group is looked at first."""
        yield generation >= 1
        yield generation <= state.group().generation
        yield negate(state.asking(generation))
        yield negate(state.confirmed(generation))
        yield negate(state.written(generation))
        if not self.knobs.profile.offsets_verified_first:
            yield self._passes(state, generation)

    def coordinator_is_asked(self, state: State, generation: Term) -> State:
        """Whether the offsets partition is in the transaction."""
        return state.but(asking=update(state.asking, generation, to=True))

    def is_asked(self, state: State, generation: Term) -> Iterator[Term]:
        """The coordinator is asked about a commit."""
        yield state.asking(generation)

    def is_confirmed(self, state: State, generation: Term) -> State:
        """It is."""
        return state.but(
            asking=update(state.asking, generation, to=False), confirmed=update(state.confirmed, generation, to=True)
        )

    def may_rebalance(self, state: State) -> Iterator[Term]:
        """The instance has another generation."""
        yield state.group().generation + 1 < self.knobs.generations

    def group_rebalances(self, state: State) -> State:
        """The member joins again, and gets its assignment: the next generation has begun."""
        member = Member(member_given=True, member_known=True)
        joined = groups.join(state.group(), member, JOIN_VERSION).entry
        stable = groups.sync(joined, replace(member, generation=joined.generation)).entry
        return state.but(group=update(state.group, to=stable))

    def may_write(self, state: State, generation: Term) -> Iterator[Term]:
        """The commit is confirmed, and let through if the group is looked at last."""
        yield state.confirmed(generation)
        if self.knobs.profile.offsets_verified_first:
            yield self._passes(state, generation)

    def are_written(self, state: State, generation: Term) -> State:
        """The offsets are in the log."""
        past = generation < state.group().generation
        return state.but(
            confirmed=update(state.confirmed, generation, to=False),
            written=update(state.written, generation, to=True),
            written_when_past=update(state.written_when_past, generation, to=past),
        )

    def _passes(self, state: State, generation: Term) -> Term:
        """The group lets the commit through; that the coordinator confirms it is another step."""
        member = Member(generation, member_given=True, member_known=True)
        request = CommitRequest(COMMIT_VERSION, claim=member)
        decided = committing.commit_in_transaction(state.group(), request, self.knobs.profile)
        return decided.error == ErrorCode.NONE.value
