"""The markers of one transaction, while brokers that lead its partitions leave and return, and topics are deleted.

A coordinator that is to send a marker looks its partition's leader up. A partition that is gone needs no marker; one
without a leader at the moment has the transaction's records all the same (KAFKA-20734).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from spec import rules
from spec.algebra import Term, all_of, choose, implies, negate
from spec.protocol import completing, coordinator, ending, registering
from spec.protocol.coordinator import BUMPING, TransactionEntry, Transition
from spec.protocol.ending import EndRequest
from spec.protocol.registering import AddRequest
from spec.rules import Rule
from spec.systems import assumptions as assume
from spec.systems.language import Action, Claim, Function, Goal, Sort, State, System, Variable, update
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, TransactionState

PARTITION: Final = Sort("partition")
OUTCOME: Final = Sort("outcome")
COMMIT: Final = 0
ABORT: Final = 1
OPEN: Final = 2
"""Records of the transaction are on the partition, and no marker; once there is one it says COMMIT or ABORT."""

ASSUMPTIONS: Final = (assume.ONE_MARKED_TRANSACTION, assume.ONE_REPLICA_EACH, assume.MARKED_WHEN_ASKED)

WAITS_FOR_LEADER: Final = replace(NEWEST, name=f"{NEWEST.name}-with-20734", leaderless_marker_dropped=False)
"""The newest release with the proposal for KAFKA-20734: the marker of a partition without a leader waits."""


@dataclass(frozen=True, slots=True)
class MarkingKnobs:
    """What the system is made of.

    Attributes:
        profile: the release; one whose clients are of transaction version 2.
        partitions: in a finite instance.
        departures: how often a broker leaves, or a topic is deleted.
    """

    profile: Profile = WAITS_FOR_LEADER
    partitions: int = 2
    departures: int = 1


VARIABLES: Final = (
    Variable("entry", (), TransactionEntry(known=True, producer_id=0, producer_epoch=0)),
    Variable("exists", (PARTITION,), initial=True),
    Variable("led", (PARTITION,), initial=True),
    Variable("departures", (), 0),
    # registered: the coordinator waits for the partition's marker, from Prepare on
    Variable("registered", (PARTITION,), initial=False),
    Variable("data", (PARTITION,), ABSENT),
)


def sizes(knobs: MarkingKnobs) -> dict[str, int]:
    """How many values each sort has."""
    return {PARTITION.name: knobs.partitions, OUTCOME.name: 2}


def complete_is_alike_everywhere(state: State, one: Term, other: Term) -> Term:
    """Once a transaction is complete, two partitions that can be read and have records of it are decided alike."""
    both = all_of(*(fact for at in (one, other) for fact in (_has_records(state, at), state.led(at))))
    return implies(both, state.data(one) == state.data(other))


def complete_has_every_marker(state: State, partition: Term) -> Term:
    """Once a transaction is complete, every partition that has records of it has its marker."""
    return implies(_has_records(state, partition), negate(state.data(partition) == OPEN))


def complete_without_the_deleted(state: State) -> Term:
    """A transaction is complete, and one of its partitions was deleted."""
    return all_of(_is_complete(state), negate(state.exists(0)), state.data(0) == OPEN)


def leader_was_waited_for(state: State) -> Term:
    """A transaction is complete on every partition, and the leader of one had left."""
    back = all_of(state.departures() > 0, state.exists(0), state.exists(1))
    return all_of(_is_complete(state), back, state.data(0) == COMMIT, state.data(1) == COMMIT)


_Claimed: TypeAlias = tuple[Function, Rule, tuple[Sort, ...]]

CLAIMS: Final[tuple[_Claimed, ...]] = (
    (complete_is_alike_everywhere, rules.TXN_ATOMIC, (PARTITION, PARTITION)),
    (complete_has_every_marker, rules.TXN_MARKER_ONCE, (PARTITION,)),
)


def marking(knobs: MarkingKnobs) -> System:
    """The system with these knobs."""
    actions = _MarkingActions(knobs)
    each: tuple[Sort, ...] = (PARTITION,)
    goals = (complete_without_the_deleted, leader_was_waited_for)
    return System(
        name="marking",
        variables=VARIABLES,
        actions=(
            Action("producer_writes", each, actions.may_be_written, actions.is_written),
            Action("producer_ends", (OUTCOME,), actions.is_to_end, actions.is_decided),
            Action("leader_writes_marker", each, actions.is_to_mark, actions.is_marked),
            Action("coordinator_drops_marker", each, actions.is_to_drop, actions.is_dropped),
            Action("transaction_completes", (), actions.has_no_more_to_mark, actions.is_complete),
            Action("broker_leaves", each, actions.may_depart, actions.has_left),
            Action("broker_returns", each, actions.is_away, actions.has_returned),
            Action("topic_is_deleted", each, actions.may_depart, actions.is_deleted),
        ),
        theorems=tuple(Claim(claim.__name__, rule, str(claim.__doc__), over, claim) for claim, rule, over in CLAIMS),
        lemmas=(),
        goals=tuple(Goal(goal.__name__, str(goal.__doc__), (), goal) for goal in goals),
        assumptions=ASSUMPTIONS,
    )


class _MarkingActions:
    def __init__(self, knobs: MarkingKnobs) -> None:
        self.knobs = knobs

    # --- the producer -----------------------------------------------------------------------------------------

    def may_be_written(self, state: State, partition: Term) -> Iterator[Term]:
        """The partition has a leader, and no batch of the transaction yet, which may begin with this one."""
        yield state.led(partition)
        yield state.data(partition) == ABSENT
        yield self._registered(state).appends

    def is_written(self, state: State, partition: Term) -> State:
        """Produce has added the partition to the transaction, and its batch is in the log."""
        return self._recorded(state, self._registered(state)).but(
            registered=update(state.registered, partition, to=True), data=update(state.data, partition, to=OPEN)
        )

    def is_to_end(self, state: State, outcome: Term) -> Iterator[Term]:
        """A transaction is open."""
        yield coordinator.is_in(state.entry(), TransactionState.ONGOING)
        yield self._ended(state, outcome).appends

    def is_decided(self, state: State, outcome: Term) -> State:
        """EndTxn is answered, and markers are to be sent."""
        return self._recorded(state, self._ended(state, outcome))

    # --- markers ----------------------------------------------------------------------------------------------

    def is_to_mark(self, state: State, partition: Term) -> Iterator[Term]:
        """The coordinator waits for the partition's marker, and the partition has a leader."""
        yield from self._is_waited_for(state, partition)
        yield state.led(partition)

    def is_marked(self, state: State, partition: Term) -> State:
        """The marker is in the log, and the coordinator gets the answer."""
        commits = coordinator.is_in(state.entry(), TransactionState.PREPARE_COMMIT)
        return state.but(
            data=update(state.data, partition, to=choose(commits, COMMIT, ABORT)),
            registered=update(state.registered, partition, to=False),
        )

    def is_to_drop(self, state: State, partition: Term) -> Iterator[Term]:
        """The coordinator waits for the partition's marker, and takes the partition for deleted."""
        yield from self._is_waited_for(state, partition)
        yield completing.is_dropped(state.exists(partition), state.led(partition), self.knobs.profile)

    def is_dropped(self, state: State, partition: Term) -> State:
        """It waits for that marker no longer."""
        return state.but(registered=update(state.registered, partition, to=False))

    def has_no_more_to_mark(self, state: State) -> Iterator[Term]:
        """The transaction is decided, and the coordinator waits for no marker."""
        yield coordinator.is_preparing(state.entry())
        yield all_of(*(negate(state.registered(partition)) for partition in range(self.knobs.partitions)))

    def is_complete(self, state: State) -> State:
        """The last record of the transaction is in the coordinator's log."""
        settled = replace(state.entry(), pending=ABSENT)
        return self._recorded(state, completing.prepare_complete(settled, 0, self.knobs.profile))

    # --- brokers and topics -----------------------------------------------------------------------------------

    def may_depart(self, state: State, partition: Term) -> Iterator[Term]:
        """The partition has a leader, and the instance has another departure."""
        yield state.departures() < self.knobs.departures
        yield state.led(partition)

    def has_left(self, state: State, partition: Term) -> State:
        """The partition has no leader; its log is on the broker's disk."""
        return self._departed(state, partition)

    def is_away(self, state: State, partition: Term) -> Iterator[Term]:
        """The partition exists, and has no leader."""
        yield all_of(state.exists(partition), negate(state.led(partition)))

    def has_returned(self, state: State, partition: Term) -> State:
        """Its broker leads it again."""
        return state.but(led=update(state.led, partition, to=True))

    def is_deleted(self, state: State, partition: Term) -> State:
        """There is no such partition any more."""
        return self._departed(state, partition).but(exists=update(state.exists, partition, to=False))

    # --- what several do --------------------------------------------------------------------------------------

    def _is_waited_for(self, state: State, partition: Term) -> Iterator[Term]:
        yield state.registered(partition)
        yield coordinator.is_preparing(state.entry())

    def _registered(self, state: State) -> Transition:
        request = AddRequest(0, 0, all_registered=False, client_version=BUMPING)
        return registering.register(state.entry(), request, self.knobs.profile)

    def _ended(self, state: State, outcome: Term) -> Transition:
        request = EndRequest(0, 0, outcome == COMMIT, bumps=True, fresh_producer_id=1)
        return ending.end(state.entry(), request, self.knobs.profile)

    def _recorded(self, state: State, transition: Transition) -> State:
        """The record of a transition is durable."""
        completed = coordinator.completed(transition.entry, transition.target, self.knobs.profile)
        return state.but(entry=update(state.entry, to=completed))

    @staticmethod
    def _departed(state: State, partition: Term) -> State:
        return state.but(
            led=update(state.led, partition, to=False), departures=update(state.departures, to=state.departures() + 1)
        )


def _is_complete(state: State) -> Term:
    return coordinator.is_in(state.entry(), TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def _has_records(state: State, partition: Term) -> Term:
    """The transaction is complete, and the partition is there with records of it."""
    return all_of(_is_complete(state), state.exists(partition), state.data(partition) >= 0)
