"""Runs from a seeded tape: the same world, events and invariants as a machine's, fast, the same everywhere."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from model_tests.machines.rule_counts import Ledger
from reference.event import Event, always
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


Ready: TypeAlias = Callable[[Any], bool]


def of_simulation(
    events: Iterable[Event[Any]], usual: Mapping[str, tuple[int, Ready]], never: Container[str] = ()
) -> tuple[Event[Any], ...]:
    """The events of a simulation for a world under watch, whose attribute `simulated` is its scheduler.

    Args:
        events: of the scheduler.
        usual: names of those that are wanted whether they are faults or not, with weight and when they can happen.
        never: names of the faults that are not wanted.
    """
    wanted = [event for event in events if event.name in usual or (event.fault and event.name not in never)]
    return tuple(_noted(event, *usual.get(event.name, (event.weight, always))) for event in wanted)


def _noted(event: Event[Any], weight: int, ready: Ready) -> Event[Any]:
    @wraps(event.act)
    def act(run: Any, choose: Tape) -> bool | None:
        run.happens(event.name.replace("_", " "))
        return event.act(run.simulated, choose)

    return Event(act, weight, ready, event.fault)


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
