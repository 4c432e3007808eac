"""Known bugs of the idempotent producer on one partition: what the leader remembers of it."""

from dataclasses import replace
from typing import Final

from spec import rules
from spec.bugs.bug import Bug, FiniteSystem, holds_in, violated
from spec.systems.idempotence.stream import StreamKnobs
from spec.systems.idempotence.system import idempotence, sizes
from spec.systems.system_append import remembered
from spec.versions import PROFILES


def instance(release: str, knobs: StreamKnobs, epochs: int = 1) -> FiniteSystem:
    """The idempotent producer with the leader of a release."""
    made = replace(knobs, profile=replace(PROFILES[release], max_sequence=None))
    return FiniteSystem(
        "idempotence",
        made,
        lambda: idempotence(made, remembered(made.decide)),
        lambda: idempotence(made),
        sizes(made, epochs),
    )


_QUIET: Final = StreamKnobs(fails_over=False, gives_up=False)
_TWO_IN_FLIGHT: Final = replace(_QUIET, in_flight=2, requests=3, appends=3)
_FIVE_IN_FLIGHT: Final = replace(_QUIET, in_flight=5, requests=6, appends=6)
_RETAINED: Final = replace(_QUIET, in_flight=1, requests=3, appends=4)
_FORGOTTEN: Final = replace(_RETAINED, state_expires=True)

_WINDOW_OF_ONE: Final = violated("0.11", instance("0.11", _TWO_IN_FLIGHT), "resend_is_recognised")
_STATE_GONE: Final = violated("2.0", instance("2.0", _FORGOTTEN), "next_in_order_is_appended")

OF_IDEMPOTENCE: Final = (
    Bug(
        name="KAFKA-5494",
        title="a window of one, and several batches in flight",
        mechanism="Two batches are appended and both answers are lost. The leader remembers only the newer one, and "
        "answers the resend of the older one OUT_OF_ORDER_SEQUENCE_NUMBER instead of recognising it.",
        source=("KAFKA-5494",),
        rule=rules.SEQ_WINDOW_SUFFICES,
        cases=(
            _WINDOW_OF_ONE,
            holds_in(_WINDOW_OF_ONE, "1.0", instance("1.0", _FIVE_IN_FLIGHT), why="five batches are remembered"),
            holds_in(_WINDOW_OF_ONE, "4.4", instance("4.4", _FIVE_IN_FLIGHT), why="five batches are remembered"),
        ),
    ),
    Bug(
        name="KAFKA-7190",
        title="producer state deleted with the log",
        mechanism="Retention deletes the segment with a quiet producer's last batch, and the leader forgets the "
        "producer with it. Its next batch, in order, is answered UNKNOWN_PRODUCER_ID, fatal to a transaction.",
        source=("KAFKA-7190", "KAFKA-5793", "KIP-360"),
        rule=rules.SEQ_SUCCESSOR,
        cases=(
            _STATE_GONE,
            holds_in(
                _STATE_GONE, "2.4", instance("2.4", _RETAINED), why="state outlives the records, until it expires"
            ),
            holds_in(_STATE_GONE, "2.5", instance("2.5", _FORGOTTEN), why="a forgotten producer may use any sequence"),
        ),
    ),
)
