"""Runs from a seeded tape: the same world, events and invariants as a machine's, fast, the same everywhere."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from model_tests.machines.rule_counts import Ledger
from reference.event import Event
from reference.tape import Tape

NUMBERS: Final = 2**32
"""An event makes its choices with a number below this."""


class WatchedRun(Protocol):
    """A world whose rules are watched."""

    ledger: Ledger

    def after_event(self) -> None:
        """Compare what there is with the rules."""
        ...


Run = TypeVar("Run", bound=WatchedRun)


def with_faults(events: Iterable[Event[Run]], tape: Tape, per_thousand: int) -> Iterator[Event[Run]]:
    """What is usual, and so many of the faults."""
    return (event for event in events if not event.fault or tape.happens(per_thousand))


def weighed(events: Iterable[Event[Run]], tape: Tape) -> list[tuple[Event[Run], int]]:
    """Events with their weights in one run, in which some happen more often than in others."""
    return [(event, event.weight * tape.pick((1, 1, 3))) for event in events]


def play(world: Run, tape: Tape, weights: Sequence[tuple[Event[Run], int]], steps: int, numbers: int = NUMBERS) -> bool:
    """So many events; whether no invariant has seen a rule broken, which ends it.

    Args:
        world: that the run is played in.
        tape: all chance.
        weights: what may happen, and how often.
        steps: how many events.
        numbers: bound of what an event makes its choices with.
    """
    for _ in range(steps):
        ready = [(event, weight) for event, weight in weights if event.ready(world)]
        tape.weighted(ready).act(world, Tape.of_number(tape.below(numbers)))
        world.after_event()
        if world.ledger.seen_by_invariants():
            return False
    return True
