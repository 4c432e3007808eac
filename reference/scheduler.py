"""What every scheduler does: each turn it picks, from the tape, the next event among those that can happen."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Final

from reference.clock import Clock
from reference.recorder import Recorder
from reference.tape import Tape, Weighted

Event = Callable[[], bool]
"""Something that may happen now; it says whether it did."""

AT_ONCE: Final = 6
"""Events that one draw names: the first of them that can happen does."""

DRAWS: Final = 20
"""Draws of a turn after which nothing happens; the simplest event always can."""


class Scheduler:
    """Lets a world go on, event by event.

    Attributes:
        clock: the world's.
        tape: decides what happens.
        recorder: the steps so far.
    """

    def __init__(
        self, clock: Clock, tape: Tape, recorder: Recorder, usual: Weighted[Event], unusual: Weighted[Event]
    ) -> None:
        """A scheduler that has not made a turn; `unusual` are the faults of a thousand turns."""
        self.clock = clock
        self.tape = tape
        self.recorder = recorder
        self._usual = usual
        self._unusual = unusual

    def turn(self) -> None:
        """One event, after a little time; one that cannot happen now makes way for another."""
        tape = self.tape
        self.clock.advance(tape.below(20))
        if self._unusual.pick(tape)():
            return
        for _ in range(DRAWS):
            for event in self._usual.picks(tape, AT_ONCE):
                if event():
                    return


def usual(events: Iterable[Event], weights: Mapping[str, int]) -> Weighted[Event]:
    """Events with the weights that their names have, in the order of the weights."""
    by_name = {event.__name__: event for event in events}
    return Weighted((by_name[name], weight) for name, weight in weights.items() if name in by_name)


def unusual(rates: Iterable[tuple[Event, int]]) -> Weighted[Event]:
    """Faults with their rates per thousand turns; in all other turns nothing goes wrong."""
    faults = tuple(rates)
    return Weighted(((nothing, 1000 - sum(rate for _, rate in faults)), *faults))


def always(happens: Callable[[], None]) -> Event:
    """What can happen at any time, as an event."""

    @wraps(happens)
    def event() -> bool:
        happens()
        return True

    return event


def nothing() -> bool:
    """Nothing happens."""
    return False
