"""A compacted partition: one transactional producer, others that write without transactions, markers, and the cleaner.

A pass of the cleaner looks at the log below the last stable offset as it is before the pass. Time is free: between two
passes every delete horizon may come.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol import cleaning as decision
from spec.protocol.cleaning import CleanedRecord
from spec.rules import Rule
from spec.systems import assumptions as assume
from spec.systems.language import Action, Claim, Function, Goal, Least, Sort, State, System, Variable, rewrite, update
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

POSITION: Final = Sort("position")
KEY: Final = Sort("key")
OUTCOME: Final = Sort("outcome")

NOTHING, PLAIN, DATA, MARKER = 0, 1, 2, 3
"""What is at an offset: nothing yet, a record outside of transactions, one of a transaction, a marker."""

ABORT, COMMIT = 0, 1
"""Outcomes, and the keys that users' records have: each has the bytes of the key of one kind of marker."""

ASSUMPTIONS: Final = (
    assume.ONE_RECORD_IN_A_BATCH,
    assume.CLEANS_BELOW_THE_STABLE,
    assume.PASSES_REPORT_TRANSACTIONS_APART,
)


@dataclass(frozen=True, slots=True)
class CleaningKnobs:
    """What the system is made of: the release, and how many offsets a finite instance has."""

    profile: Profile = NEWEST
    positions: int = 4


VARIABLES: Final = (
    Variable("length", (), 0),
    Variable("kind", (POSITION,), NOTHING),
    Variable("key", (POSITION,), ABSENT),
    Variable("present", (POSITION,), initial=True),
    # of a marker what it says; of data a ghost: how its transaction was decided, and which one it is
    Variable("outcome", (POSITION,), ABSENT),
    Variable("transaction", (POSITION,), ABSENT),
    Variable("decided", (), 0),
)


def sizes(knobs: CleaningKnobs) -> dict[str, int]:
    """How many values each sort has."""
    return {POSITION.name: knobs.positions, KEY.name: 2, OUTCOME.name: 2}


# --- what is in the log ---------------------------------------------------------------------------------------


def _is_data(state: State, at: Term, outcome: Term) -> Term:
    return all_of(state.kind(at) == DATA, state.outcome(at) == outcome)


def _some(fact: Term) -> Term:
    """0 where the fact holds, else absent."""
    return choose(fact, 0, ABSENT)


def _undecided(state: State, position: Term, at: Term) -> Term:
    return _some(all_of(at <= position, _is_data(state, at, ABSENT)))


def _is_marker(state: State, at: Term) -> Term:
    return all_of(state.kind(at) == MARKER, state.present(at))


def _marker_after(state: State, position: Term, at: Term) -> Term:
    return _some(all_of(_is_marker(state, at), at > position))


def _marker_between(state: State, position: Term, end: Term, at: Term) -> Term:
    return _some(all_of(_is_marker(state, at), at > position, at < end))


def _superseding(state: State, position: Term, at: Term) -> Term:
    """A later record with the same key that a reader may get: outside of transactions, or committed."""
    counts = all_of(state.present(at), any_of(state.kind(at) == PLAIN, _is_data(state, at, COMMIT)))
    return _some(all_of(at > position, state.key(at) == state.key(position), counts, _is_stable(state, at)))


def _data_left(state: State, position: Term, at: Term) -> Term:
    same = all_of(state.kind(at) == DATA, state.transaction(at) == state.transaction(position))
    return _some(all_of(same, state.present(at)))


def _is_stable(state: State, position: Term) -> Term:
    return all_of(position < state.length(), state.undecided(position) == ABSENT)


DERIVED: Final = (
    Least("undecided", (POSITION,), (POSITION,), _undecided),
    Least("marker_after", (POSITION,), (POSITION,), _marker_after),
    Least("marker_between", (POSITION, POSITION), (POSITION,), _marker_between),
    Least("superseding", (POSITION,), (POSITION,), _superseding),
    Least("data_left", (POSITION,), (POSITION,), _data_left),
)
"""Whether there is some such record: 0 where there is, -1 where there is none."""


# --- what is claimed ------------------------------------------------------------------------------------------


def decided_stays_decided(state: State, position: Term, at: Term) -> Term:
    """The cleaned log has the marker of each decided transaction of which a record is left."""
    left = all_of(state.kind(position) == DATA, state.present(position), state.outcome(position) >= 0)
    ends = all_of(_is_marker(state, at), at > position, state.marker_between(position, at) == ABSENT)
    as_decided = implies(ends, state.outcome(at) == state.outcome(position))
    return implies(left, all_of(state.marker_after(position) >= 0, as_decided))


def newest_stays(state: State, position: Term) -> Term:
    """Of each key the newest record that is committed, or outside of transactions, stays."""
    counted = any_of(state.kind(position) == PLAIN, _is_data(state, position, COMMIT))
    return implies(all_of(counted, negate(state.present(position))), state.superseding(position) >= 0)


def spent_marker_is_gone(state: State, position: Term) -> Term:
    """An aborted transaction leaves no trace."""
    gone = all_of(state.kind(position) == MARKER, negate(state.present(position)))
    return all_of(gone, state.outcome(position) == ABORT)


def older_is_gone(state: State, position: Term) -> Term:
    """A committed record makes room for a newer one of its key."""
    return all_of(_is_data(state, position, COMMIT), negate(state.present(position)))


def cleaning(knobs: CleaningKnobs) -> System:
    """The system with these knobs."""
    actions = _CleaningActions(knobs)
    return System(
        name="cleaning",
        variables=VARIABLES,
        actions=(
            Action("producer_writes", (KEY,), actions.has_room, actions.is_written_in_transaction),
            Action("other_writes", (KEY,), actions.has_room, actions.is_written),
            Action("coordinator_writes_marker", (OUTCOME,), actions.is_open, actions.is_decided),
            Action("cleaner_passes", (), actions.has_something, actions.is_cleaned),
        ),
        theorems=(
            _claim(decided_stays_decided, rules.LSO_DECIDED_BELOW, POSITION, POSITION),
            _claim(newest_stays, rules.LSO_READ_COMMITTED, POSITION),
        ),
        lemmas=(),
        goals=(_goal(spent_marker_is_gone), _goal(older_is_gone)),
        assumptions=ASSUMPTIONS,
        derived=DERIVED,
    )


def _claim(sentence: Function, rule: Rule, *over: Sort) -> Claim:
    return Claim(sentence.__name__, rule, str(sentence.__doc__), over, sentence)


def _goal(reached: Function) -> Goal:
    return Goal(reached.__name__, str(reached.__doc__), (POSITION,), reached)


class _CleaningActions:
    def __init__(self, knobs: CleaningKnobs) -> None:
        self.knobs = knobs

    def has_room(self, state: State, _: Term) -> Iterator[Term]:
        """The finite log is not full."""
        yield state.length() < self.knobs.positions

    def is_written_in_transaction(self, state: State, key: Term) -> State:
        """A record of the producer's transaction, which may begin with it."""
        at = state.length()
        return self._appended(state, DATA, key).but(transaction=update(state.transaction, at, to=state.decided()))

    def is_written(self, state: State, key: Term) -> State:
        """A record outside of transactions."""
        return self._appended(state, PLAIN, key)

    def is_open(self, state: State, _: Term) -> Iterator[Term]:
        """The producer has a transaction, and there is room for its marker."""
        yield state.length() < self.knobs.positions
        yield state.undecided(state.length()) >= 0

    def is_decided(self, state: State, outcome: Term) -> State:
        """The marker ends the transaction; its key has bytes that a user's key may have too."""
        at = state.length()
        ended = rewrite(state.outcome, lambda position: _is_data(state, position, ABSENT), lambda _: outcome)
        return self._appended(state, MARKER, outcome).but(
            outcome=update(ended, at, to=outcome),
            transaction=update(state.transaction, at, to=state.decided()),
            decided=update(state.decided, to=state.decided() + 1),
        )

    @staticmethod
    def has_something(state: State) -> Iterator[Term]:
        """The log is not empty."""
        yield state.length() > 0

    def is_cleaned(self, state: State) -> State:
        """What need not stay is gone, and its offset stays empty."""

        def is_removed(position: Term) -> Term:
            met = self._met(state, position)
            return all_of(_is_stable(state, position), negate(decision.stays(met, self.knobs.profile)))

        return state.but(present=rewrite(state.present, is_removed, lambda _: False))

    @staticmethod
    def _met(state: State, position: Term) -> CleanedRecord:
        control = state.kind(position) == MARKER
        return CleanedRecord(
            control=control,
            superseded=state.superseding(position) >= 0,
            aborted=_is_data(state, position, ABORT),
            spent=all_of(control, state.data_left(position) == ABSENT),
        )

    @staticmethod
    def _appended(state: State, kind: int, key: Term) -> State:
        at = state.length()
        return state.but(
            length=update(state.length, to=at + 1),
            kind=update(state.kind, at, to=kind),
            key=update(state.key, at, to=key),
        )
