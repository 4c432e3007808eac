"""One producer on one partition that forgets idle producers, with the markers of two coordinators, and time.

The first coordinator is replaced by the second, and continues to write markers for some time: a zombie. A partition
refuses them by the coordinator epoch that it remembers, as long as it remembers. What counts for the age of a
producer, data alone or its markers too, is the knob (KAFKA-9144).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol import append as decision
from spec.protocol import seq
from spec.protocol.append import Append
from spec.protocol.records import AppendRequest, MetVerification, ProducerEntry
from spec.systems import assumptions as assume
from spec.systems.language import Action, Claim, Goal, Sort, State, System, Variable, update
from spec.systems.system_append import UNWRAPPED, Decide
from spec.versions import Profile
from spec.vocabulary import ABSENT, NO_SEQUENCE, Origin

COORDINATOR_EPOCH: Final = Sort("coordinator_epoch")
POSITION: Final = Sort("position")

ASSUMPTIONS: Final = (
    assume.REPLACED_COORDINATOR_STOPS,
    assume.MARKERS_CARRY_THEIR_TIME,
)


@dataclass(frozen=True, slots=True)
class ExpiryKnobs:
    """What the system is made of; the defaults are the true partition.

    Attributes:
        profile: the release whose decision the leader takes.
        marker_refreshes: a marker counts for the age of its producer, as data does.
        expiry: ticks without a batch after which a producer is forgotten.
        ticks: of the clock in a finite instance.
        appends: most batches in the log of a finite instance.
    """

    profile: Profile = UNWRAPPED
    marker_refreshes: bool = True
    expiry: int = 1
    ticks: int = 3
    appends: int = 3

    def decide(self, entry: ProducerEntry, request: AppendRequest) -> Append:
        """The one append decision, for a partition that the coordinator has confirmed."""
        return decision.append(entry, request, self.profile, MetVerification(verification_guarded=True))


VARIABLES: Final = (
    Variable("now", (), 0),
    Variable("length", (), 0),
    Variable("written_by", (POSITION,), ABSENT),
    Variable("entry", (), ProducerEntry()),
    Variable("last_timestamp", (), ABSENT),
    Variable("newest_coordinator", (), ABSENT),
    Variable("replaced_at", (), ABSENT),
)


def sizes(knobs: ExpiryKnobs) -> dict[str, int]:
    """How many values each sort has."""
    return {COORDINATOR_EPOCH.name: 2, POSITION.name: knobs.appends}


def marker_coordinators_never_fall(state: State, i: Term, j: Term) -> Term:
    """Of two markers in the log the later one is not of an older coordinator."""
    both = all_of(i < j, state.written_by(i) >= 0, state.written_by(j) >= 0)
    return implies(both, state.written_by(i) <= state.written_by(j))


def forgotten_after_marker(state: State) -> Term:
    """A producer whose transaction a marker has ended is forgotten."""
    return all_of(state.newest_coordinator() >= 0, seq.is_unknown(state.entry()))


def expiry(knobs: ExpiryKnobs, decide: Decide | None = None) -> System:
    """The system with these knobs."""
    actions = _ExpiryActions(knobs, decide or knobs.decide)
    claim = marker_coordinators_never_fall
    goal = forgotten_after_marker
    return System(
        name="expiry",
        variables=VARIABLES,
        actions=(
            Action("producer_appends", (), actions.data_passes, actions.data_is_appended),
            Action(
                "coordinator_writes_marker", (COORDINATOR_EPOCH,), actions.marker_passes, actions.marker_is_appended
            ),
            Action("clock_ticks", (), actions.time_is_left, actions.clock_ticks),
            Action("leader_forgets", (), actions.is_expired, actions.leader_forgets),
        ),
        theorems=(
            Claim(claim.__name__, rules.FENCE_COORDINATOR_EPOCH, str(claim.__doc__), (POSITION, POSITION), claim),
        ),
        lemmas=(),
        goals=(Goal(goal.__name__, str(goal.__doc__), (), goal),),
        assumptions=ASSUMPTIONS,
    )


class _ExpiryActions:
    def __init__(self, knobs: ExpiryKnobs, decide: Decide) -> None:
        self.knobs = knobs
        self.decide = decide

    def data_passes(self, state: State) -> Iterator[Term]:
        """One batch opens a transaction, and passes every check."""
        yield state.length() == 0
        yield self._decided(state, self._data(state)).reply.appended

    def data_is_appended(self, state: State) -> State:
        """It is the last batch of the log, and counts for the age of its producer."""
        return state.but(
            length=update(state.length, to=state.length() + 1),
            entry=update(state.entry, to=self._decided(state, self._data(state)).entry),
            last_timestamp=update(state.last_timestamp, to=state.now()),
        )

    def marker_passes(self, state: State, coordinator: Term) -> Iterator[Term]:
        """A marker passes every check; a replaced coordinator has only so long to write one."""
        yield state.length() > 0
        yield state.length() < self.knobs.appends
        current = coordinator >= state.newest_coordinator()
        yield any_of(current, state.now() - state.replaced_at() < self.knobs.expiry)
        yield self._decided(state, self._marker(state, coordinator)).reply.appended

    def marker_is_appended(self, state: State, coordinator: Term) -> State:
        """It is the last batch of the log, and ends the transaction."""
        newer = coordinator > state.newest_coordinator()
        replaces = all_of(newer, coordinator > 0)
        touched = update(state.last_timestamp, to=state.now()) if self.knobs.marker_refreshes else state.last_timestamp
        return state.but(
            length=update(state.length, to=state.length() + 1),
            written_by=update(state.written_by, state.length(), to=coordinator),
            entry=update(state.entry, to=self._decided(state, self._marker(state, coordinator)).entry),
            last_timestamp=touched,
            newest_coordinator=update(
                state.newest_coordinator, to=choose(newer, coordinator, state.newest_coordinator())
            ),
            replaced_at=update(state.replaced_at, to=choose(replaces, state.now(), state.replaced_at())),
        )

    def time_is_left(self, state: State) -> Iterator[Term]:
        """The instance has another tick."""
        yield state.now() < self.knobs.ticks

    def clock_ticks(self, state: State) -> State:
        """Time passes."""
        return state.but(now=update(state.now, to=state.now() + 1))

    def is_expired(self, state: State) -> Iterator[Term]:
        """The producer is known, has no open transaction, and is too old."""
        entry: ProducerEntry = state.entry()
        yield negate(seq.is_unknown(entry))
        yield negate(entry.in_transaction)
        yield state.now() - state.last_timestamp() >= self.knobs.expiry

    def leader_forgets(self, state: State) -> State:
        """Its state is gone."""
        return state.but(entry=update(state.entry, to=ProducerEntry()))

    def _decided(self, state: State, request: AppendRequest) -> Append:
        entry: ProducerEntry = state.entry()
        return self.decide(entry, request)

    def _data(self, state: State) -> AppendRequest:
        return AppendRequest(
            base_offset=state.length(), producer_id=0, producer_epoch=0, base_sequence=0, transactional=True
        )

    def _marker(self, state: State, coordinator: Term) -> AppendRequest:
        return AppendRequest(
            base_offset=state.length(),
            origin=Origin.COORDINATOR.value,
            producer_id=0,
            producer_epoch=0,
            base_sequence=NO_SEQUENCE,
            transactional=True,
            control=True,
            coordinator_epoch=coordinator,
            marker_version=0,
        )
