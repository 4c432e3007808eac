"""The idempotent producer as one system: its state, actions, claims, goals and assumptions."""

from collections.abc import Callable
from typing import Final

from spec.algebra import Term, all_of, negate
from spec.systems import assumptions as assume
from spec.systems.idempotence.actions import StreamActions
from spec.systems.idempotence.claims import StreamClaims
from spec.systems.idempotence.judged import judged_steps
from spec.systems.idempotence.stream import (
    BATCH,
    DELTA,
    EPOCH,
    POSITION,
    REQUEST,
    STREAM,
    StreamKnobs,
    StreamView,
    variables,
)
from spec.systems.language import Goal, Sort, State, System
from spec.systems.system_append import Decide

ASSUMPTIONS: Final = (
    assume.COMMITTED_SURVIVES,
    assume.STATE_IS_RETAINED,
    assume.WINDOW_SURVIVES,
    assume.ACKNOWLEDGED_HOLD_THEIR_PLACE,
    assume.FIRST_SEEN_FIRST,
    assume.OUT_OF_ORDER_IS_HEARD_AT_ONCE,
    assume.NO_REQUEST_OUTLIVES_A_TURN,
    assume.BATCHES_ARE_NOT_SPLIT,
    assume.WITHOUT_TRANSACTIONAL_ID,
    assume.NEWEST_APPEND,
)


TRUE_SYSTEM: Final = StreamKnobs()
"""As Kafka has it, without bounds."""


def in_flight_in_oldest_slot(stream: StreamView, batch: Term) -> Term:
    """A batch in flight is in the log, and as many batches after it as leave it in the oldest slot."""
    last = stream.length() - stream.knobs.in_flight
    return all_of(stream.in_flight(batch), stream.place(batch) >= 0, stream.place(batch) == last)


def acknowledged_in_second_epoch(stream: StreamView, batch: Term) -> Term:
    """A batch of a raised epoch is acknowledged."""
    return all_of(stream.acked(batch), stream.epoch(batch) > 0)


def given_up_yet_logged(stream: StreamView, batch: Term) -> Term:
    """A batch that failed for the application is in the log."""
    return all_of(stream.given_up(batch), stream.place(batch) >= 0)


def two_epochs_in_log(stream: StreamView, i: Term) -> Term:
    """The log holds batches of two epochs, one after the other."""
    last = stream.length() - 1
    return all_of(i >= 0, i < last, negate(stream.epoch(stream.written(i)) == stream.epoch(stream.written(last))))


def sizes(knobs: StreamKnobs, epochs: int = 2, deltas: int = 1, streams: int = 1) -> dict[str, int]:
    """How many values each sort has in the finite instance that the knobs bound.

    Args:
        knobs: their bounds on requests, as many as batches, and on appends; the log has one position more.
        epochs: how many epochs there are to compare.
        deltas: how many lengths a batch may have.
        streams: how many streams there are.

    Raises:
        ValueError: the knobs bound the requests or the appends by nothing.
    """
    if knobs.requests is None or knobs.appends is None:
        raise ValueError("an instance without a bound on requests and appends is not finite")
    return {
        STREAM.name: streams,
        BATCH.name: knobs.requests,
        REQUEST.name: knobs.requests,
        POSITION.name: knobs.appends + 1,
        EPOCH.name: epochs,
        DELTA.name: deltas,
    }


def idempotence(knobs: StreamKnobs = TRUE_SYSTEM, decide: Decide | None = None) -> System:
    """The system with these knobs.

    Args:
        knobs: what is in it; by default the true system, without bounds.
        decide: the decision, where it is to be remembered; by default that of the knobs.
    """
    taken = decide or knobs.decide
    claims = StreamClaims(knobs, taken)

    def goal(reached: Callable[..., Term], *over: Sort) -> Goal:
        def holds(state: State, stream: Term, *at: Term) -> Term:
            return reached(StreamView(knobs, taken, state, stream), *at)

        return Goal(reached.__name__, str(reached.__doc__), (STREAM, *over), holds)

    return System(
        name="idempotence",
        variables=variables(knobs),
        actions=StreamActions(knobs, taken).all(),
        theorems=claims.theorems(),
        lemmas=claims.lemmas(),
        goals=(
            goal(in_flight_in_oldest_slot, BATCH),
            goal(acknowledged_in_second_epoch, BATCH),
            goal(given_up_yet_logged, BATCH),
            goal(two_epochs_in_log, POSITION),
        ),
        assumptions=ASSUMPTIONS,
        steps=judged_steps(knobs, taken),
    )
