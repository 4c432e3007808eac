"""The members of two generations of a group that commit offsets in transactions, while a rebalance may come between.

A commit is held against the group, and asked about at the transaction's coordinator, which takes time. What matters
is which comes first (KAFKA-15784). A rebalance can be taken apart: then the assignment comes late, of a past generation
too, and the last member may leave.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, negate
from spec.protocol import committing, groups
from spec.protocol.committing import CommitRequest
from spec.protocol.groups import GroupEntry, MembershipDecision
from spec.protocol.groups import KnownClaim as Member
from spec.systems import assumptions as assume
from spec.systems.language import Action, Claim, Goal, Sort, State, System, Variable, update
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode, GroupState

GENERATION: Final = Sort("generation")
JOIN_VERSION: Final = 3
"""Of JoinGroup: a member comes with the id that it was given."""

COMMIT_VERSION: Final = 3
"""Of TxnOffsetCommit: the first one that names member and generation (KIP-447)."""

ASSUMPTIONS: Final = (
    assume.MEMBER_KEEPS_ITS_ID,
    assume.OFFSETS_ARE_IN_THE_TRANSACTION,
)


@dataclass(frozen=True, slots=True)
class MembershipKnobs:
    """What the system is made of.

    Attributes:
        generations: in a finite instance.
        apart: members join and bring their assignment in two steps, and the last one may leave.
    """

    profile: Profile = NEWEST
    generations: int = 3
    apart: bool = False


VARIABLES: Final = (
    Variable("group", (), GroupEntry(known=True, state=GroupState.STABLE.value, generation=1)),
    Variable("asking", (GENERATION,), initial=False),
    Variable("confirmed", (GENERATION,), initial=False),
    Variable("written", (GENERATION,), initial=False),
    # a ghost: offsets of a generation were written when it was past
    Variable("written_when_past", (GENERATION,), initial=False),
)
GHOSTS_APART: Final = (
    Variable("assigned_when_past", (GENERATION,), initial=False),
    Variable("emptied", (), ABSENT),  # the generation that began when the last member left
)


def sizes(knobs: MembershipKnobs) -> dict[str, int]:
    """How many values each sort has; generation 0 is before the first."""
    return {GENERATION.name: knobs.generations}


def past_generations_write_nothing(state: State, generation: Term) -> Term:
    """No offsets of a generation are written once a rebalance has ended it."""
    return negate(state.written_when_past(generation))


def past_generations_assign_nothing(state: State, generation: Term) -> Term:
    """No assignment of a generation counts once a rebalance has ended it."""
    return negate(state.assigned_when_past(generation))


def both_generations_write(state: State) -> Term:
    """Each of two generations has written its offsets, each in its time."""
    return all_of(state.written(1), state.written(2))


def writes_after_all_have_left(state: State) -> Term:
    """A generation has written its offsets that began after one without members."""
    return all_of(state.emptied() >= 0, state.written(state.emptied() + 1))


def membership(knobs: MembershipKnobs) -> System:
    """The system with these knobs."""
    actions = _MembershipActions(knobs)
    claims = (past_generations_write_nothing, *((past_generations_assign_nothing,) * knobs.apart))
    goals = (both_generations_write, *((writes_after_all_have_left,) * knobs.apart))
    each = (GENERATION,)
    apart = (
        Action("member_joins", (), actions.may_rebalance, actions.joins),
        Action("member_brings_assignment", each, actions.may_assign, actions.is_assigned),
        Action("last_member_leaves", (), actions.may_leave, actions.has_left),
    )
    return System(
        name="membership",
        variables=(*VARIABLES, *(GHOSTS_APART * knobs.apart)),
        actions=(
            Action("member_commits", each, actions.is_to_commit, actions.verification_is_sent),
            Action("coordinator_confirms", each, actions.needs_verification, actions.is_confirmed),
            Action("group_rebalances", (), actions.may_rebalance, actions.group_rebalances),
            Action("offsets_are_written", each, actions.may_write, actions.are_written),
            *(apart * knobs.apart),
        ),
        theorems=tuple(
            Claim(claim.__name__, rules.OFFSETS_GENERATION_FENCE, str(claim.__doc__), each, claim) for claim in claims
        ),
        lemmas=(),
        goals=tuple(Goal(goal.__name__, str(goal.__doc__), (), goal) for goal in goals),
        assumptions=ASSUMPTIONS,
    )


class _MembershipActions:
    def __init__(self, knobs: MembershipKnobs) -> None:
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

    def verification_is_sent(self, state: State, generation: Term) -> State:
        """Whether the offsets partition is in the transaction."""
        return state.but(asking=update(state.asking, generation, to=True))

    def needs_verification(self, state: State, generation: Term) -> Iterator[Term]:
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
        joined = self._joined(state)
        return state.but(
            group=update(
                state.group, to=groups.sync(joined, _member_of(joined.generation, joined), self.knobs.profile).entry
            )
        )

    def joins(self, state: State) -> State:
        """A generation has begun that awaits its assignment."""
        return state.but(group=update(state.group, to=self._joined(state)))

    def may_assign(self, state: State, generation: Term) -> Iterator[Term]:
        """A member of this generation or a past one brings an assignment, which is awaited, and is not refused."""
        yield generation >= 1
        yield generation <= state.group().generation
        yield state.group().state == GroupState.COMPLETING_REBALANCE.value
        yield self._synced(state, generation).error == ErrorCode.NONE.value

    def is_assigned(self, state: State, generation: Term) -> State:
        """The group is stable with it."""
        past = generation < state.group().generation
        return state.but(
            group=update(state.group, to=self._synced(state, generation).entry),
            assigned_when_past=update(state.assigned_when_past, generation, to=past),
        )

    def may_leave(self, state: State) -> Iterator[Term]:
        """There is one, and the instance has a generation without members and one after it."""
        yield negate(groups.is_empty(state.group()))
        yield state.group().generation + 2 < self.knobs.generations

    def has_left(self, state: State) -> State:
        """The group is empty, and its next generation has begun."""
        emptied = state.group().generation + 1
        return state.but(
            group=update(state.group, to=groups.left(state.group())), emptied=update(state.emptied, to=emptied)
        )

    def _joined(self, state: State) -> GroupEntry:
        """The group once its member has joined; after it has left, as one that has no id yet."""
        known = negate(groups.is_empty(state.group()))
        return groups.join(
            state.group(), Member(member_given=known, member_known=known), JOIN_VERSION, self.knobs.profile
        ).entry

    def _synced(self, state: State, generation: Term) -> MembershipDecision:
        """A member of the generation brings an assignment."""
        return groups.sync(state.group(), _member_of(generation, state.group()), self.knobs.profile)

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
        request = CommitRequest(COMMIT_VERSION, claim=_member_of(generation, state.group()))
        decided = committing.commit_in_transaction(state.group(), request, self.knobs.profile)
        return decided.error == ErrorCode.NONE.value


def _member_of(generation: Term, group: GroupEntry) -> Member:
    """As whom a member of a generation comes: known to the group unless that is empty."""
    return Member(generation, member_given=True, member_known=negate(groups.is_empty(group)))
