"""What every scheduler does: each turn it picks, from the tape, the next event among those that can happen."""

from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence
from typing import Any, Final

from reference.clock import Clock
from reference.event import Event, always
from reference.faults import FaultRates
from reference.recording.recorder import Recorder
from reference.tape import Tape, Weighted

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
        self,
        clock: Clock,
        tape: Tape,
        recorder: Recorder,
        events: Sequence[Event[Any]],
        rates: FaultRates,
        actor: object = None,
    ) -> None:
        """A scheduler that has not made a turn.

        Args:
            clock: of the world.
            tape: decides what happens.
            recorder: of the world's steps.
            events: what may happen, the simplest first.
            rates: of the faults, per thousand turns.
            actor: whose events they are; None is the scheduler itself.
        """
        self.clock = clock
        self.tape = tape
        self.recorder = recorder
        self._actor = self if actor is None else actor
        self._usual = [event for event in events if not event.fault]
        self._conditional = [event for event in self._usual if event.ready is not always]
        self._possible: dict[tuple[bool, ...], WeightedEvents] = {}
        faults = [(event, getattr(rates, event.fault)) for event in events if event.fault]
        self._unusual = Weighted(((None, 1000 - sum(rate for _, rate in faults)), *faults))

    def turn(self) -> None:
        """One event, after a little time; one that cannot happen now makes way for another."""
        self.clock.advance(self.tape.below(LONGEST_MS))
        fault = self._unusual.pick(self.tape)
        if fault is not None and fault.act(self._actor, self.tape) is not False:
            return
        events = self.possible()
        for _ in range(DRAWS):
            if events.happen(self._actor, self.tape):
                return

    def possible(self) -> "WeightedEvents":
        """The events among which the next one is; some of them may turn out not to be possible now."""
        ready = tuple([event.ready(self._actor) for event in self._conditional])
        found = self._possible.get(ready)
        if found is None:
            missing = [event.name for event, can in zip(self._conditional, ready, strict=True) if not can]
            found = self._possible[ready] = self.without(missing)
        return found

    def without(self, names: Container[str]) -> "WeightedEvents":
        """The usual events but some, whether they are ready or not."""
        return WeightedEvents((event, event.weight) for event in self._usual if event.name not in names)


class WeightedEvents(Weighted[Event[Any]]):
    """Events with their weights; a few of them are drawn at once, and the first that can happen does."""

    __slots__ = ("_bound",)

    def __init__(self, options: Iterable[tuple[Event[Any], int]]) -> None:
        """The events, the simplest first."""
        super().__init__(options)
        self._bound = self.total**AT_ONCE

    def happen(self, actor: object, tape: Tape) -> bool:
        """Let one of them happen; whether one of those drawn could."""
        options, sums, total = self._options, self._sums, self.total
        left = tape.below(self._bound)
        for _ in range(AT_ONCE):
            left, choice = divmod(left, total)
            if options[bisect_right(sums, choice)].act(actor, tape) is not False:
                return True
        return False
