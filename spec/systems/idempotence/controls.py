"""Changes of the system of idempotent producers that must break a rule or a lemma.

Each control of a rule has the claim that it violates and a small instance. The controls of lemmas about judged requests
take a guard away, or add an effect.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from spec.algebra import Term
from spec.systems.idempotence.stream import StreamKnobs
from spec.systems.idempotence.system import idempotence
from spec.systems.language import State, update
from spec.systems.misjudged import Misjudged, step_of
from spec.systems.system_append import UNWRAPPED


def misjudged_streams() -> Iterator[Misjudged]:
    """One for each lemma."""
    gaps, true = idempotence(StreamKnobs(without=frozenset({"successor"}))), idempotence()
    answers = step_of(true, "leader_answers_as_judged")
    remembers = replace(answers, action=replace(answers.action, effect=_remembered))
    yield Misjudged("a gap in the sequence is let in", gaps, step_of(gaps, "leader_appends_as_judged"))
    yield Misjudged("a batch that is refused is remembered", true, remembers)


def _remembered(state: State, stream: Term, request: Term) -> State:
    """A batch that is not appended raises the epoch that the leader knows."""
    length = state.length(stream)
    raised = replace(state.entry(stream, length), epoch=state.epoch(stream, request))
    return state.but(entry=update(state.entry, stream, length, to=raised))


_TWO: Final = replace(UNWRAPPED, cached_batches=2)
_THREE: Final = replace(UNWRAPPED, cached_batches=3)
_NO_GUARD_OFF: Final[Mapping[str, Any]] = {"without": frozenset()}
_QUIET: Final = StreamKnobs(fails_over=False, gives_up=False)


@dataclass(frozen=True, slots=True)
class BrokenSystem:
    """The system with one thing changed.

    Attributes:
        name: what is changed.
        violates: name of the claim that no longer holds.
        knobs: the change, with the bounds of its instance.
        takes_back: the fewest knobs, by name, whose true values make the claim hold again in the same instance.
        epochs: epochs in the instance.
        deltas: how many lengths a batch may have.
    """

    name: str
    violates: str
    knobs: StreamKnobs
    takes_back: Mapping[str, Any]
    epochs: int = 2
    deltas: int = 1

    @property
    def mended(self) -> StreamKnobs:
        """The knobs without the change."""
        return replace(self.knobs, **self.takes_back)


def _bounded(knobs: StreamKnobs, requests: int, appends: int) -> StreamKnobs:
    return replace(knobs, requests=requests, appends=appends)


CONTROLS: Final = (
    BrokenSystem(
        "window of four, five in flight",
        "resend_is_recognised",
        _bounded(replace(_QUIET, profile=replace(UNWRAPPED, cached_batches=4)), 5, 5),
        {"profile": UNWRAPPED},
        epochs=1,
    ),
    BrokenSystem(
        "six in flight, window of five",
        "resend_is_recognised",
        _bounded(replace(_QUIET, in_flight=6), 6, 6),
        {"in_flight": 5},
        epochs=1,
    ),
    BrokenSystem(
        "two in flight, window of one",
        "logged_at_most_once",
        _bounded(replace(_QUIET, in_flight=2, profile=replace(UNWRAPPED, cached_batches=1)), 4, 3),
        {"profile": _TWO},
    ),
    BrokenSystem(
        "acknowledged batches do not count as in flight",
        "resend_is_recognised",
        _bounded(replace(_QUIET, in_flight=2, profile=_TWO, acknowledged_hold_place=False), 4, 4),
        {"acknowledged_hold_place": True},
    ),
    BrokenSystem(
        "duplicate check off",
        "logged_at_most_once",
        _bounded(StreamKnobs(without=frozenset({"duplicate"})), 3, 3),
        _NO_GUARD_OFF,
    ),
    BrokenSystem(
        "epoch reset off",
        "log_order_is_send_order",
        _bounded(StreamKnobs(without=frozenset({"epoch_reset"}), fails_over=False), 6, 4),
        _NO_GUARD_OFF,
        epochs=3,
    ),
    BrokenSystem(
        "stale epoch check off",
        "epochs_never_fall",
        _bounded(StreamKnobs(without=frozenset({"stale_epoch"})), 2, 2),
        _NO_GUARD_OFF,
    ),
    BrokenSystem(
        "wrap off",
        "next_in_order_is_appended",
        _bounded(replace(_QUIET, in_flight=2, profile=_TWO, largest_sequence=2, lifetime=2), 4, 4),
        {"profile": replace(_TWO, max_sequence=2)},
        epochs=1,
    ),
    BrokenSystem(
        "a request outlives a turn of the sequence",
        "logged_at_most_once",
        _bounded(replace(_QUIET, in_flight=2, profile=replace(_TWO, max_sequence=2), largest_sequence=2), 3, 4),
        {"lifetime": 2},
        epochs=1,
    ),
    BrokenSystem(
        "expiry on", "logged_at_most_once", _bounded(StreamKnobs(state_expires=True), 3, 3), {"state_expires": False}
    ),
    BrokenSystem(
        "first batch overtaken",
        "log_order_is_send_order",
        _bounded(StreamKnobs(first_in_order=False), 4, 3),
        {"first_in_order": True},
    ),
    BrokenSystem(
        "a new leader knows the last batch alone",
        "resend_is_recognised",
        _bounded(StreamKnobs(in_flight=3, profile=_THREE, window_survives=False, gives_up=False), 3, 3),
        {"window_survives": True},
        epochs=1,
    ),
    BrokenSystem(
        "an answer out of order arrives late",
        "logged_at_most_once",
        _bounded(replace(_QUIET, in_flight=2, profile=_TWO, heard_at_once=False), 5, 4),
        {"heard_at_once": True},
    ),
    BrokenSystem(
        "unclean election",
        "acknowledged_is_logged",
        _bounded(StreamKnobs(clean_elections=False), 2, 2),
        {"clean_elections": True},
    ),
)
