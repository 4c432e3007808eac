"""One producer's first batches on a partition that does not know it, while the partition asks the coordinator.

The batches come in order over one connection, and each asks before it is appended. The coordinator's answers come
in any order, or are errors after which the producer sends the same batch again (KAFKA-14904, KAFKA-14920).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.protocol import append as decision
from spec.protocol import verification
from spec.protocol.append import Append
from spec.protocol.records import AppendRequest, ProducerEntry
from spec.protocol.verification import NO_VERIFICATION
from spec.systems import assumptions as assume
from spec.systems.language import Action, Claim, Goal, Sort, State, System, Variable, pick, update
from spec.versions import KAFKA_3_9, Profile
from spec.vocabulary import ABSENT

BATCH: Final = Sort("batch")
POSITION: Final = Sort("position")
PRODUCE_VERSION: Final = 9
"""Of a client that adds its partitions itself; the partition only asks about them."""

ASSUMPTIONS: Final = (
    assume.PARTITION_HAS_JOINED,
    assume.FIRST_SENT_IN_ORDER,
)


@dataclass(frozen=True, slots=True)
class VerificationKnobs:
    """What the system is made of.

    Attributes:
        profile: the release whose decisions the leader takes.
        without: guards of the append decision that never apply.
        version: of Produce.
        batches: in a finite instance.
    """

    profile: Profile = KAFKA_3_9
    without: frozenset[str] = frozenset()
    version: int = PRODUCE_VERSION
    batches: int = 2


VARIABLES: Final = (
    Variable("sent", (), 0),
    Variable("asking", (BATCH,), initial=False),
    Variable("confirmed", (BATCH,), initial=False),
    Variable("waiting", (), NO_VERIFICATION),
    Variable("entry", (), ProducerEntry()),
    Variable("length", (), 0),
    Variable("written", (POSITION,), ABSENT),
)


def sizes(knobs: VerificationKnobs) -> dict[str, int]:
    """How many values each sort has."""
    return {BATCH.name: knobs.batches, POSITION.name: knobs.batches}


def batches_stay_in_order(state: State, position: Term) -> Term:
    """The log begins with the producer's first batch, and has its batches in order without a gap."""
    return implies(position < state.length(), state.written(position) == position)


def all_in_order(state: State) -> Term:
    """Two batches are in the log."""
    return all_of(state.length() == 2, state.written(1) == 1)


def verifying(knobs: VerificationKnobs) -> System:
    """The system with these knobs."""
    actions = _VerificationActions(knobs)
    each = (BATCH,)
    return System(
        name="verifying",
        variables=VARIABLES,
        actions=(
            Action("producer_sends_batch", each, actions.is_to_send, actions.partition_asks),
            Action("coordinator_confirms", each, actions.needs_verification, actions.coordinator_confirms),
            Action("coordinator_is_busy", each, actions.needs_verification, actions.coordinator_is_busy),
            Action("leader_appends", each, actions.passes, actions.is_appended),
            Action("leader_refuses", each, actions.fails, actions.is_refused),
        ),
        theorems=(
            Claim(
                batches_stay_in_order.__name__,
                rules.SEQ_ORDER,
                str(batches_stay_in_order.__doc__),
                (POSITION,),
                batches_stay_in_order,
            ),
        ),
        lemmas=(),
        goals=(Goal(all_in_order.__name__, str(all_in_order.__doc__), (), all_in_order),),
        assumptions=ASSUMPTIONS,
    )


class _VerificationActions:
    def __init__(self, knobs: VerificationKnobs) -> None:
        self.knobs = knobs

    def is_to_send(self, state: State, batch: Term) -> Iterator[Term]:
        """The batch is the next one, or an earlier one that was answered with an error."""
        yield batch <= state.sent()
        yield negate(any_of(state.asking(batch), state.confirmed(batch)))
        yield negate(self._is_written(state, batch))

    def partition_asks(self, state: State, batch: Term) -> State:
        """The partition asks the coordinator, unless the producer's transaction is open on it already."""
        request, profile, version = self._request(state, batch), self.knobs.profile, self.knobs.version
        joins = verification.needs_verification(state.entry(), request, version, profile)
        waiting = pick(joins, verification.started(state.waiting(), request, version), state.waiting())
        return state.but(
            sent=update(state.sent, to=choose(batch == state.sent(), batch + 1, state.sent())),
            asking=update(state.asking, batch, to=joins),
            confirmed=update(state.confirmed, batch, to=negate(joins)),
            waiting=update(state.waiting, to=waiting),
        )

    def needs_verification(self, state: State, batch: Term) -> Iterator[Term]:
        """The coordinator is asked about the batch."""
        yield state.asking(batch)

    def coordinator_confirms(self, state: State, batch: Term) -> State:
        """The partition is in the transaction."""
        return state.but(
            asking=update(state.asking, batch, to=False), confirmed=update(state.confirmed, batch, to=True)
        )

    def coordinator_is_busy(self, state: State, batch: Term) -> State:
        """The producer gets a retriable error."""
        return state.but(asking=update(state.asking, batch, to=False))

    def passes(self, state: State, batch: Term) -> Iterator[Term]:
        """A batch that needs no more asking passes every check."""
        yield state.confirmed(batch)
        yield self._decided(state, batch).reply.appended

    def is_appended(self, state: State, batch: Term) -> State:
        """It is the last batch of the log, and settles the asking."""
        request = self._request(state, batch)
        waiting = verification.after_append(state.waiting(), request, True, self.knobs.profile)
        return state.but(
            length=update(state.length, to=state.length() + 1),
            written=update(state.written, state.length(), to=batch),
            entry=update(state.entry, to=self._decided(state, batch).entry),
            waiting=update(state.waiting, to=waiting),
            confirmed=update(state.confirmed, batch, to=False),
        )

    def fails(self, state: State, batch: Term) -> Iterator[Term]:
        """A batch that needs no more asking does not pass."""
        yield state.confirmed(batch)
        yield negate(self._decided(state, batch).reply.appended)

    def is_refused(self, state: State, batch: Term) -> State:
        """The producer sends it again, and the partition asks again."""
        return state.but(confirmed=update(state.confirmed, batch, to=False))

    def _is_written(self, state: State, batch: Term) -> Term:
        return any_of(*(state.written(position) == batch for position in range(self.knobs.batches)))

    def _decided(self, state: State, batch: Term) -> Append:
        """The leader's decision; a batch that had to ask carries the guard of its asking."""
        profile, request = self.knobs.profile, self._request(state, batch)
        joins = verification.needs_verification(state.entry(), request, self.knobs.version, profile)
        met = verification.met(state.waiting(), joins)
        return decision.append(state.entry(), request, profile, met, self.knobs.without)

    def _request(self, state: State, batch: Term) -> AppendRequest:
        return AppendRequest(
            base_offset=state.length(), producer_id=0, producer_epoch=0, base_sequence=batch, transactional=True
        )
