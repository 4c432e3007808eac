"""One producer over several partitions as one system: its actions, claims, goals and assumptions."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, choose, implies, negate
from spec.rules import Rule
from spec.systems import assumptions as assume
from spec.systems.client.producer import BATCH, EPOCH, PARTITION, POSITION, VARIABLES, ClientKnobs, ClientProducer
from spec.systems.language import Action, Claim, Goal, Sort, State, System, rewrite, update
from spec.systems.system_append import Decide
from spec.vocabulary import ABSENT

# --- actions ----------------------------------------------------------------------------------------------------------


class ClientActions:
    """The actions of the system, as guards (a fact a line) and effects."""

    def __init__(self, knobs: ClientKnobs, decide: Decide) -> None:
        self.knobs = knobs
        self.of = partial(ClientProducer, knobs, decide)

    def all(self) -> tuple[Action, ...]:
        """Every action of the system."""
        return (
            self._action("client_sends", PARTITION),
            self._action("leader_appends", PARTITION, BATCH, EPOCH),
            self._action("client_receives_answer", PARTITION),
            self._action("leader_refuses", PARTITION),
            self._action("client_raises_epoch", PARTITION),
        )

    def _action(self, name: str, *over: Sort) -> Action:
        return Action(name, over, getattr(self, f"{name}_if"), getattr(self, name))

    def client_sends_if(self, state: State, partition: Term) -> Iterator[Term]:
        """There is a batch to send, and none in flight is counted under a lower epoch."""
        client = self.of(state, partition)
        yield client.batches() < self.knobs.batches
        yield state.refused() == ABSENT
        yield any_of(client.counted_under() == state.epoch(), client.nothing_in_flight())

    def client_sends(self, state: State, partition: Term) -> State:
        """It gets the next sequence of its partition; the first one under a new epoch gets 0."""
        client = self.of(state, partition)
        batch, epoch = client.batches(), state.epoch()
        restarts = all_of(self.knobs.idle_restart, negate(client.counted_under() == epoch))
        base = choose(restarts, 0, client.next_sequence())
        return state.but(
            batches=update(state.batches, partition, to=batch + 1),
            counted_under=update(state.counted_under, partition, to=epoch),
            next_sequence=update(state.next_sequence, partition, to=base + 1),
            sequence=update(state.sequence, partition, batch, epoch, to=base),
        )

    def leader_appends_if(self, state: State, partition: Term, batch: Term, epoch: Term) -> Iterator[Term]:
        """A batch arrives as it was numbered under an epoch, and passes every check."""
        leader = self.of(state, partition)
        yield leader.sequence(batch, epoch) >= 0
        yield negate(leader.bad(batch))
        yield leader.length() < self.knobs.batches + 1
        yield leader.arrives_in_order(batch, epoch)
        yield leader.decided(batch, epoch).reply.appended

    def leader_appends(self, state: State, partition: Term, batch: Term, epoch: Term) -> State:
        """It is the last one of the log."""
        leader = self.of(state, partition)
        length = leader.length()
        return state.but(
            length=update(state.length, partition, to=length + 1),
            written=update(state.written, partition, length, to=batch),
            entry=update(state.entry, partition, to=leader.decided(batch, epoch).entry),
        )

    def client_receives_answer_if(self, state: State, partition: Term) -> Iterator[Term]:
        """The lowest batch in flight is in the log as it is numbered now."""
        client = self.of(state, partition)
        lowest = client.settled()
        yield client.in_flight(lowest)
        yield client.current(lowest) >= 0
        yield client.decided(lowest, client.counted_under()).reply.duplicate

    def client_receives_answer(self, state: State, partition: Term) -> State:
        """It is acknowledged."""
        return state.but(settled=update(state.settled, partition, to=state.settled(partition) + 1))

    def leader_refuses_if(self, state: State, partition: Term) -> Iterator[Term]:
        """The lowest batch in flight is in no log, and no leader takes it (it is malformed, or too large)."""
        client = self.of(state, partition)
        lowest = client.settled()
        yield client.in_flight(lowest)
        yield state.refused() == ABSENT
        yield state.epoch() + 1 < self.knobs.epochs
        yield negate(client.bad(lowest))
        yield all_of(*(negate(client.written(position) == lowest) for position in range(self.knobs.batches + 1)))

    def leader_refuses(self, state: State, partition: Term) -> State:
        """The client gets the error, and has to close the gap that the batch leaves."""
        lowest = state.settled(partition)
        return state.but(
            bad=update(state.bad, partition, lowest, to=True),
            settled=update(state.settled, partition, to=lowest + 1),
            refused=update(state.refused, to=partition),
        )

    def client_raises_epoch_if(self, state: State, partition: Term) -> Iterator[Term]:
        """A batch of this partition was refused."""
        yield state.refused() == partition

    def client_raises_epoch(self, state: State, partition: Term) -> State:
        """What is in flight for the partition is numbered again from 0 under the next epoch."""
        raised = state.epoch() + 1

        def touched(other: Term) -> Term:
            return any_of(other == partition, self.knobs.renumbers_others)

        def in_flight(other: Term) -> Term:
            return state.batches(other) - state.settled(other)

        def renumbered(other: Term, batch: Term, epoch: Term) -> Term:
            return all_of(touched(other), epoch == raised, self.of(state, other).in_flight(batch))

        def number(other: Term, batch: Term, _: Term) -> Term:
            if self.knobs.renumbers_in_order:
                return batch - state.settled(other)
            return state.batches(other) - 1 - batch

        return state.but(
            epoch=update(state.epoch, to=raised),
            refused=update(state.refused, to=ABSENT),
            counted_under=rewrite(state.counted_under, touched, lambda _: raised),
            next_sequence=rewrite(state.next_sequence, touched, in_flight),
            sequence=rewrite(state.sequence, renumbered, number),
        )


# --- claims and goals -------------------------------------------------------------------------------------------------


ASSUMPTIONS: Final = (
    assume.LEADERS_STAY,
    assume.ANSWERS_IN_ORDER,
    assume.REFUSED_FOR_GOOD_IS_LOWEST,
    assume.FIRST_SEEN_FIRST,
)


def logged_at_most_once(log: ClientProducer, i: Term, j: Term) -> Term:
    """No two positions of a log hold the same batch."""
    both = all_of(i < j, j < log.length())
    return implies(both, negate(log.written(i) == log.written(j)))


def log_order_is_send_order(log: ClientProducer, i: Term, j: Term) -> Term:
    """Of two batches in a log the earlier one was sent first."""
    both = all_of(i < j, j < log.length())
    return implies(both, log.written(i) <= log.written(j))


def lowest_is_taken(log: ClientProducer, batch: Term) -> Term:
    """The lowest batch in flight is appended when it arrives, or recognised as one that is in the log."""
    reply = log.decided(batch, log.counted_under()).reply
    return implies(log.is_due(batch), any_of(reply.appended, reply.duplicate))


def renumbered_and_acknowledged(log: ClientProducer, batch: Term) -> Term:
    """A batch that was numbered twice is acknowledged."""
    return all_of(batch < log.settled(), log.sequence(batch, 0) >= 0, log.sequence(batch, 1) >= 0)


CLAIMS: Final = (
    (logged_at_most_once, rules.SEQ_EXACTLY_ONCE, (POSITION, POSITION)),
    (log_order_is_send_order, rules.SEQ_ORDER, (POSITION, POSITION)),
    (lowest_is_taken, rules.SEQ_EPOCH_RESET, (BATCH,)),
)


def sizes(knobs: ClientKnobs, partitions: int = 2) -> dict[str, int]:
    """How many values each sort has in the finite instance that the knobs bound."""
    return {
        PARTITION.name: partitions,
        BATCH.name: knobs.batches,
        POSITION.name: knobs.batches + 1,
        EPOCH.name: knobs.epochs,
    }


def client(knobs: ClientKnobs, decide: Decide | None = None) -> System:
    """The system with these knobs.

    Args:
        knobs: what is in it.
        decide: the decision, where it is to be remembered; by default that of the knobs.
    """
    of = partial(ClientProducer, knobs, decide or knobs.decide)

    def claimed(sentence: Callable[..., Term]) -> Callable[..., Term]:
        def holds(state: State, partition: Term, *at: Term) -> Term:
            return sentence(of(state, partition), *at)

        return holds

    def claim(sentence: Callable[..., Term], rule: Rule, over: tuple[Sort, ...]) -> Claim:
        return Claim(sentence.__name__, rule, str(sentence.__doc__), (PARTITION, *over), claimed(sentence))

    witness = renumbered_and_acknowledged
    return System(
        name="client",
        variables=VARIABLES,
        actions=ClientActions(knobs, decide or knobs.decide).all(),
        theorems=tuple(claim(*each) for each in CLAIMS),
        lemmas=(),
        goals=(Goal(witness.__name__, str(witness.__doc__), (PARTITION, BATCH), claimed(witness)),),
        assumptions=ASSUMPTIONS,
    )
