"""What every scheduler does: each turn it picks, from the tape, the next event among those that can happen."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Final

from reference.clock import Clock
from reference.recording.recorder import Recorder
from reference.tape import Tape, Weighted

Event = Callable[[], bool]
"""Something that may happen now; it says whether it did."""

LONGEST_MS: Final = 20
"""Before each event less than this time passes."""

AT_ONCE: Final = 6
"""Events that one draw names: the first of them that can happen does."""

DRAWS: Final = 20
"""Draws of a turn after which nothing happens; the simplest event always can."""


class Scheduler:
    """Runs a world, event by event.

    Attributes:
        clock: the world's.
        tape: decides what happens.
        recorder: the steps so far.
    """

    def __init__(
        self, clock: Clock, tape: Tape, recorder: Recorder, usual: "WeightedEvents", unusual: Weighted[Event]
    ) -> None:
        """A scheduler that has not made a turn; `unusual` are the faults of a thousand turns."""
        self.clock = clock
        self.tape = tape
        self.recorder = recorder
        self._usual = usual
        self._unusual = unusual

    def turn(self) -> None:
        """One event, after a little time; one that cannot happen now makes way for another."""
        self.clock.advance(self.tape.below(LONGEST_MS))
        if self._unusual.pick(self.tape)():
            return
        events = self.possible()
        for _ in range(DRAWS):
            if events.happen(self.tape):
                return

    def possible(self) -> "WeightedEvents":
        """The events among which the next one is; some of them may turn out not to be possible now."""
        return self._usual


class WeightedEvents(Weighted[Event]):
    """Events with their weights; a few of them are drawn at once, and the first that can happen does."""

    __slots__ = ("_bound",)

    def __init__(self, options: Iterable[tuple[Event, int]]) -> None:
        """The events, the simplest first."""
        super().__init__(options)
        self._bound = self.total**AT_ONCE

    def happen(self, tape: Tape) -> bool:
        """Let one of them happen; whether one of those drawn could."""
        options, sums, total = self._options, self._sums, self.total
        left = tape.below(self._bound)
        for _ in range(AT_ONCE):
            left, choice = divmod(left, total)
            if options[bisect_right(sums, choice)]():
                return True
        return False


def usual(events: Iterable[Event], weights: Mapping[str, int]) -> WeightedEvents:
    """Events with the weights that their names have, in the order of the weights."""
    by_name = {event.__name__: event for event in events}
    return WeightedEvents((by_name[name], weight) for name, weight in weights.items() if name in by_name)


class Traffic:
    """Events of a world with a network: what delivers is left out where nothing is under way."""

    __slots__ = ("_by_traffic",)

    def __init__(
        self, events: Iterable[Event], weights: Mapping[str, int], delivers_request: Event, delivers_reply: Event
    ) -> None:
        """All events, the two that deliver included."""
        others = tuple(events)
        self._by_traffic = {
            (requests, replies): usual(
                (*others, *([delivers_request] if requests else []), *([delivers_reply] if replies else [])), weights
            )
            for requests in (False, True)
            for replies in (False, True)
        }

    def among(self, requests: Sequence[object], replies: Sequence[object]) -> WeightedEvents:
        """The events where so much is under way."""
        return self._by_traffic[bool(requests), bool(replies)]


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
