"""The offsets that a group commits in the transactions of one producer, and the markers that end these transactions.

Offsets are pending by producer id. A marker that is answered before the group's coordinator has come to it lets the
producer's next transaction begin while the offsets of the last one are still pending (KAFKA-17507). Others may commit
the same offset without a transaction meanwhile, or delete it. A fenced instance of the producer, which has the same
producer id, may commit too: the log refuses it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate
from spec.protocol import offsets
from spec.protocol.offsets import OffsetEntry
from spec.systems import assumptions as assume
from spec.systems.language import Action, Claim, Function, Goal, Sort, State, System, Variable, update
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

TRANSACTION: Final = Sort("transaction")
OUTCOME: Final = Sort("outcome")

ABORT: Final = 0
COMMIT: Final = 1
"""The outcomes of a transaction, as points of `OUTCOME`."""

ASSUMPTIONS: Final = (
    assume.OFFSET_OF_ONE_PRODUCER,
    assume.NEXT_AFTER_THE_MARKER,
    assume.OFFSETS_PARTITION_STAYS,
)

PENDING_SURVIVES: Final = replace(NEWEST, name="4.3, pending offsets survive", tombstone_drops_pending=False)
"""The newest release, where an offset expires as in those before 4.0."""


@dataclass(frozen=True, slots=True)
class OffsetsKnobs:
    """What the system is made of.

    Attributes:
        transactions: in a finite instance.
        others: how often others commit the offset without a transaction, or delete it.
        expires: it is not deleted, but expires.
        zombies: how often a fenced instance of the producer commits the offset.
    """

    profile: Profile = NEWEST
    transactions: int = 2
    others: int = 0
    expires: bool = False
    zombies: int = 0


VARIABLES: Final = (
    Variable("now_in", (), 0),
    Variable("outcome", (TRANSACTION,), ABSENT),
    Variable("length", (), 0),
    Variable("committed", (), offsets.NO_OFFSET),
    Variable("pending", (), offsets.NO_OFFSET),
    Variable("unapplied", (), ABSENT),
    # a ghost: where in the log the offset of a transaction is
    Variable("recorded", (TRANSACTION,), ABSENT),
)
OF_OTHERS: Final = (
    Variable("interfered", (), 0),
    # ghosts: where the last offset without a transaction is, and the last deletion
    Variable("plain_at", (), ABSENT),
    Variable("deleted_at", (), ABSENT),
)
OF_ZOMBIES: Final = (Variable("refused", (), 0),)


def sizes(knobs: OffsetsKnobs) -> dict[str, int]:
    """How many values each sort has."""
    return {TRANSACTION.name: knobs.transactions, OUTCOME.name: 2}


def visible_is_of_committed(state: State, transaction: Term) -> Term:
    """The group's offset is of no transaction that is undecided or aborted."""
    here = all_of(state.recorded(transaction) >= 0, state.committed().recorded_at == state.recorded(transaction))
    return implies(here, state.outcome(transaction) == COMMIT)


def committed_is_visible(state: State, transaction: Term) -> Term:
    """Once every marker has done its work, the offset of a committed transaction is the group's, or a later one is."""
    done = all_of(state.unapplied() == ABSENT, state.outcome(transaction) == COMMIT)
    return implies(done, state.committed().recorded_at >= state.recorded(transaction))


def latest_stays(state: State) -> Term:
    """An offset that was committed without a transaction stays until a later one is true, or it is deleted."""
    stays = state.committed().recorded_at >= state.plain_at()
    return implies(state.plain_at() > state.deleted_at(), stays)


def deleted_stays_deleted(state: State) -> Term:
    """No offset from before a deletion is the group's after it."""
    return implies(state.committed().present, state.committed().recorded_at > state.deleted_at())


def committed_unless_deleted(state: State, transaction: Term) -> Term:
    """As long as nothing was deleted since, the offset of a committed transaction is the group's, or a later one is."""
    since = state.deleted_at() > state.recorded(transaction)
    return any_of(since, committed_is_visible(state, transaction))


def deleted_while_pending(state: State) -> Term:
    """A committed transaction leaves no offset, which was deleted before its marker came."""
    return all_of(state.outcome(0) == COMMIT, state.unapplied() == ABSENT, state.committed().recorded_at == ABSENT)


def overtaken_by_another(state: State) -> Term:
    """The offset of a committed transaction is not the group's, since another one has come after it."""
    done = all_of(state.outcome(0) == COMMIT, state.unapplied() == ABSENT)
    return all_of(done, state.plain_at() > state.recorded(0), state.committed().recorded_at == state.plain_at())


def second_is_visible(state: State) -> Term:
    """The offset of a second transaction is the group's."""
    return all_of(state.recorded(1) >= 0, state.committed().recorded_at == state.recorded(1))


_Claimed: TypeAlias = tuple[Function, tuple[Sort, ...]]


def committing(knobs: OffsetsKnobs) -> System:
    """The system with these knobs."""
    actions = _OffsetsActions(knobs)
    each: tuple[Sort, ...] = (TRANSACTION,)
    one: tuple[Sort, ...] = ()
    interfere, fenced = knobs.others > 0, knobs.zombies > 0
    visible = committed_unless_deleted if interfere else committed_is_visible
    of_others: tuple[_Claimed, ...] = ((latest_stays, one), (deleted_stays_deleted, one))
    claims: tuple[_Claimed, ...] = ((visible_is_of_committed, each), (visible, each), *(of_others * interfere))
    goals = (second_is_visible, *((deleted_while_pending, overtaken_by_another) * interfere))
    lagging = (Action("group_coordinator_catches_up", (), actions.is_behind, actions.marker_is_applied),)
    zombies = (Action("zombie_commits_offset", (), actions.is_fenced, actions.commit_is_refused),)
    others = (
        Action("others_commit_offset", (), actions.others_may, actions.offset_is_committed),
        Action("others_delete_offset", (), actions.may_be_deleted, actions.offset_is_deleted),
    )
    return System(
        name="offsets",
        variables=(*VARIABLES, *(OF_OTHERS * interfere), *(OF_ZOMBIES * fenced)),
        actions=(
            Action("producer_commits_offset", (), actions.is_open, actions.offset_is_pending),
            *(zombies * fenced),
            Action("coordinator_writes_marker", (OUTCOME,), actions.is_to_end, actions.marker_is_written),
            *(lagging * knobs.profile.offsets_lag_marker),
            *(others * interfere),
        ),
        theorems=tuple(
            Claim(claim.__name__, rules.OFFSETS_ATOMIC, str(claim.__doc__), over, claim) for claim, over in claims
        ),
        lemmas=(),
        goals=tuple(Goal(goal.__name__, str(goal.__doc__), (), goal) for goal in goals),
        assumptions=ASSUMPTIONS,
    )


class _OffsetsActions:
    def __init__(self, knobs: OffsetsKnobs) -> None:
        self.knobs = knobs

    def is_open(self, state: State) -> Iterator[Term]:
        """The producer's transaction has no offset yet."""
        yield state.now_in() < self.knobs.transactions
        yield state.recorded(state.now_in()) == ABSENT

    def offset_is_pending(self, state: State) -> State:
        """The offset is in the log, and pending for the producer."""
        transaction, length = state.now_in(), state.length()
        entry = OffsetEntry(offset=transaction, recorded_at=length)
        pending = offsets.pending_after(state.pending(), entry, self.knobs.profile, appended=True)
        return state.but(
            length=update(state.length, to=length + 1),
            recorded=update(state.recorded, transaction, to=length),
            pending=update(state.pending, to=pending),
        )

    def is_to_end(self, state: State, _: Term) -> Iterator[Term]:
        """The producer's transaction has its offset, and the marker before it has been dealt with in order."""
        yield state.now_in() < self.knobs.transactions
        yield state.recorded(state.now_in()) >= 0
        yield state.unapplied() == ABSENT

    def marker_is_written(self, state: State, outcome: Term) -> State:
        """The transaction is decided, and the next one may begin; the offsets follow at once, or later."""
        transaction = state.now_in()
        written = state.but(
            length=update(state.length, to=state.length() + 1),
            outcome=update(state.outcome, transaction, to=outcome),
            now_in=update(state.now_in, to=transaction + 1),
            unapplied=update(state.unapplied, to=outcome),
        )
        if offsets.is_applied(self.knobs.profile, appended=True, caught_up=False):
            return self.marker_is_applied(written)
        return written

    def is_behind(self, state: State) -> Iterator[Term]:
        """A marker has not been applied."""
        yield negate(state.unapplied() == ABSENT)

    def marker_is_applied(self, state: State) -> State:
        """What the producer has pending becomes the group's offset, or is forgotten."""
        commits = state.unapplied() == COMMIT
        applied = offsets.apply(state.committed(), state.pending(), commits=commits)
        return state.but(
            committed=update(state.committed, to=applied.committed),
            pending=update(state.pending, to=offsets.NO_OFFSET),
            unapplied=update(state.unapplied, to=ABSENT),
        )

    def others_may(self, state: State) -> Iterator[Term]:
        """The instance has another offset, which another client committed."""
        yield state.interfered() < self.knobs.others

    def offset_is_committed(self, state: State) -> State:
        """An offset is in the log, and is the group's."""
        length = state.length()
        entry = OffsetEntry(offset=ABSENT, recorded_at=length)
        return self._interfered(state).but(
            committed=update(state.committed, to=offsets.committed_after(state.committed(), entry)),
            plain_at=update(state.plain_at, to=length),
        )

    def may_be_deleted(self, state: State) -> Iterator[Term]:
        """The group has the offset, and an administrator deletes it."""
        yield from self.others_may(state)
        yield state.committed().present

    def offset_is_deleted(self, state: State) -> State:
        """A tombstone is in the log, and the group has no offset."""
        pending = offsets.pending_after_tombstone(state.pending(), self.knobs.profile, deleted=not self.knobs.expires)
        return self._interfered(state).but(
            committed=update(state.committed, to=offsets.NO_OFFSET),
            pending=update(state.pending, to=pending),
            deleted_at=update(state.deleted_at, to=state.length()),
        )

    def is_fenced(self, state: State) -> Iterator[Term]:
        """The partition has met the producer's epoch, which is above that of an instance before."""
        yield state.refused() < self.knobs.zombies
        yield state.length() > 0

    def commit_is_refused(self, state: State) -> State:
        """A fenced instance commits the offset, and the log refuses its epoch."""
        pending = offsets.pending_after(state.pending(), offsets.NO_OFFSET, self.knobs.profile, appended=False)
        return state.but(
            refused=update(state.refused, to=state.refused() + 1), pending=update(state.pending, to=pending)
        )

    def _interfered(self, state: State) -> State:
        return state.but(
            interfered=update(state.interfered, to=state.interfered() + 1),
            length=update(state.length, to=state.length() + 1),
        )
