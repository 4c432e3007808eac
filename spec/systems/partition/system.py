"""One partition with transactions as one system: its state, actions, claims, goals and assumptions."""

from collections.abc import Callable
from typing import Final

from spec.algebra import Term, all_of
from spec.systems import assumptions as assume
from spec.systems.language import Goal, Sort, State, System
from spec.systems.partition.actions import PartitionActions
from spec.systems.partition.claims import PartitionClaims
from spec.systems.partition.judged import judged_steps
from spec.systems.partition.log import (
    COORDINATOR_EPOCH,
    DELTA,
    EPOCH,
    OFFSET,
    PARTITION,
    POSITION,
    PRODUCER,
    SEQUENCE,
    VARIABLES,
    PartitionKnobs,
    PartitionView,
    derived,
)
from spec.systems.system_append import Decide

ASSUMPTIONS: Final = (
    assume.COMMITTED_SURVIVES,
    assume.STATE_IS_RETAINED,
    assume.REPLAY_GIVES_WHAT_THE_LEADER_KNEW,
    assume.WATERMARK_IS_NOT_BEHIND_THE_LOG_START,
    assume.FAILED_APPEND_CHANGES_NOTHING,
)

TRUE_SYSTEM: Final = PartitionKnobs()
"""As Kafka has it, without bounds."""


def held_with_two_open(log: PartitionView, one: Term, other: Term) -> Term:
    """Two transactions are open, and the last stable offset is below the high watermark, that below the log end."""
    two = all_of(log.known(one).in_transaction, log.known(other).txn_first_offset > log.known(one).txn_first_offset)
    apart = all_of(log.stable() < log.high_watermark(), log.visible() < log.length())
    return all_of(two, apart)


def decided_but_not_replicated(log: PartitionView, producer: Term, position: Term) -> Term:
    """A transaction below the high watermark is decided by a marker that is not."""
    marker = log.decided_by(producer, position)
    return all_of(position < log.visible(), marker >= log.visible(), log.stable() == log.end(position))


def held_at_log_start(log: PartitionView, producer: Term) -> Term:
    """The log starts in the midst of an open transaction, and there the last stable offset is."""
    first = log.known(producer).txn_first_offset
    return all_of(first >= 0, first < log.log_start(), log.stable() == log.log_start(), log.visible() < log.length())


def read_past_a_transaction(log: PartitionView, producer: Term, position: Term) -> Term:
    """A reader was given a record of a transaction."""
    return all_of(log.data(producer, position), log.given(log.end(position)))


def epoch_and_coordinator_rose(log: PartitionView, producer: Term, position: Term) -> Term:
    """Of one producer the log has two epochs, and markers of two coordinators."""
    before, after = log.entry(producer, position), log.known(producer)
    return all_of(
        position <= log.length(),
        before.epoch >= 0,
        before.epoch < after.epoch,
        before.coordinator_epoch >= 0,
        before.coordinator_epoch < after.coordinator_epoch,
    )


def high_watermark_lags(log: PartitionView, producer: Term, position: Term) -> Term:
    """After a failover a transaction that had been decided is not known to be, and holds readers back."""
    decided = log.is_decided(producer, position, log.copied())
    return all_of(decided, log.decided_by(producer, position) >= log.visible(), position < log.visible())


GOALS: Final = (
    (held_with_two_open, (PRODUCER, PRODUCER)),
    (decided_but_not_replicated, (PRODUCER, POSITION)),
    (held_at_log_start, (PRODUCER,)),
    (read_past_a_transaction, (PRODUCER, POSITION)),
    (epoch_and_coordinator_rose, (PRODUCER, POSITION)),
    (high_watermark_lags, (PRODUCER, POSITION)),
)


def sizes(
    knobs: PartitionKnobs,
    producers: int = 1,
    epochs: int = 1,
    coordinator_epochs: int = 1,
    sequences: int = 1,
    deltas: int = 1,
) -> dict[str, int]:
    """How many values each sort has in the finite instance that the knobs bound.

    Args:
        knobs: their bound on appends; the log has one position more.
        producers: how many producers write.
        epochs: how many producer epochs there are to compare.
        coordinator_epochs: how many epochs of the coordinator there are to compare.
        sequences: how many sequence numbers there are.
        deltas: how many lengths a batch may have.

    Raises:
        ValueError: the knobs bound the appends by nothing.
    """
    if knobs.appends is None:
        raise ValueError("an instance without a bound on appends is not finite")
    return {
        PARTITION.name: 1,
        PRODUCER.name: producers,
        POSITION.name: knobs.appends + 1,
        OFFSET.name: knobs.appends * deltas,
        EPOCH.name: epochs,
        COORDINATOR_EPOCH.name: coordinator_epochs,
        SEQUENCE.name: sequences,
        DELTA.name: deltas,
    }


def partition(knobs: PartitionKnobs = TRUE_SYSTEM, decide: Decide | None = None) -> System:
    """The system with these knobs.

    Args:
        knobs: what is in it; by default the true system, without bounds.
        decide: the decision, where it is to be remembered; by default that of the knobs.
    """
    taken = decide or knobs.decide
    claims = PartitionClaims(knobs, taken)

    def goal(reached: Callable[..., Term], *over: Sort) -> Goal:
        def holds(state: State, partition: Term, *at: Term) -> Term:
            return reached(PartitionView(knobs, taken, state, partition), *at)

        return Goal(reached.__name__, str(reached.__doc__), (PARTITION, *over), holds)

    return System(
        name="partition",
        variables=VARIABLES,
        actions=PartitionActions(knobs, taken).all(),
        theorems=claims.theorems(),
        lemmas=claims.lemmas(),
        goals=tuple(goal(reached, *over) for reached, over in GOALS),
        assumptions=ASSUMPTIONS,
        derived=derived(knobs, taken),
        steps=judged_steps(knobs, taken),
    )
