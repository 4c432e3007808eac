"""The offsets that a group commits in the transactions of one producer, and the markers that end these transactions.

Offsets are pending by producer id. A marker that is answered before the group's coordinator has come to it lets the
producer's next transaction begin while the offsets of the last one are still pending (KAFKA-17507).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, implies, negate
from spec.protocol import offsets
from spec.protocol.offsets import OffsetEntry
from spec.systems.language import Action, Claim, Goal, Sort, State, System, Variable, update
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

TRANSACTION: Final = Sort("transaction")
OUTCOME: Final = Sort("outcome")
ABORT: Final = 0
COMMIT: Final = 1

ASSUMPTIONS: Final = (
    "A1 one producer commits one offset of one group, once in each transaction, one transaction after the other",
    "A2 the transaction's coordinator writes one marker, and lets the next transaction begin when that is answered",
    "A3 the partition of the offsets does not fail over, and refuses nothing",
)


@dataclass(frozen=True, slots=True)
class Knobs:
    """What the system is made of: the release, and how many transactions a finite instance has."""

    profile: Profile = NEWEST
    transactions: int = 2


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


def sizes(knobs: Knobs) -> dict[str, int]:
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


def second_is_visible(state: State) -> Term:
    """The offset of a second transaction is the group's."""
    return all_of(state.recorded(1) >= 0, state.committed().recorded_at == state.recorded(1))


def committing(knobs: Knobs) -> System:
    """The system with these knobs."""
    actions = _Actions(knobs)
    claims = (visible_is_of_committed, committed_is_visible)
    lagging = (Action("group_coordinator_catches_up", (), actions.is_behind, actions.marker_is_applied),)
    return System(
        name="offsets",
        variables=VARIABLES,
        actions=(
            Action("producer_commits_offset", (), actions.is_open, actions.offset_is_pending),
            Action("coordinator_writes_marker", (OUTCOME,), actions.is_to_end, actions.marker_is_written),
            *(lagging * knobs.profile.offsets_lag_marker),
        ),
        theorems=tuple(
            Claim(claim.__name__, rules.OFFSETS_ATOMIC, str(claim.__doc__), (TRANSACTION,), claim) for claim in claims
        ),
        lemmas=(),
        goals=(Goal(second_is_visible.__name__, str(second_is_visible.__doc__), (), second_is_visible),),
        assumptions=ASSUMPTIONS,
    )


class _Actions:
    def __init__(self, knobs: Knobs) -> None:
        self.knobs = knobs

    def is_open(self, state: State) -> Iterator[Term]:
        """The producer's transaction has no offset yet."""
        yield state.now_in() < self.knobs.transactions
        yield state.recorded(state.now_in()) == ABSENT

    def offset_is_pending(self, state: State) -> State:
        """The offset is in the log, and pending for the producer."""
        transaction, length = state.now_in(), state.length()
        said = OffsetEntry(offset=transaction, recorded_at=length)
        pending = offsets.pending_after(state.pending(), said, self.knobs.profile, appended=True)
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
