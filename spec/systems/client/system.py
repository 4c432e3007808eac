"""One producer over several partitions as one system: its claims, goals and assumptions."""

from collections.abc import Callable
from functools import partial
from typing import Final

from spec import rules
from spec.algebra import Term, all_of, any_of, implies, negate
from spec.rules import Rule
from spec.systems import assumptions as assume
from spec.systems.client.actions import ClientActions
from spec.systems.client.producer import BATCH, EPOCH, PARTITION, POSITION, VARIABLES, ClientKnobs, ClientProducer
from spec.systems.language import Claim, Goal, Sort, State, System
from spec.systems.unwrapped_append import Decide

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
