"""The scheduler: it chooses among what is ready, makes way for another event, and lets faults happen at their rates."""

from dataclasses import replace

import pytest

from reference.clock import Clock
from reference.event import NO_FAULTS, Event, FaultRates
from reference.recording.recorder import Recorder
from reference.simulate.raw import RAW
from reference.simulate.raw_coordinator import RAW_COORDINATOR
from reference.simulate.schedule_replicas import REPLICAS
from reference.simulate.schedule_transactions import TRANSACTIONS
from reference.simulate.scheduler import PRODUCERS, Scheduler
from reference.tape import Tape
from spec.versions import NEWEST

LISTS = (PRODUCERS, RAW, RAW_COORDINATOR, TRANSACTIONS, REPLICAS)


class Well:
    """What was put into it can be taken out."""

    def __init__(self) -> None:
        self.level = self.lowest = self.spilt = self.refused = 0

    def fills(self, tape: Tape) -> None:
        """It rises."""
        self.level += 1 + tape.below(2)

    def empties(self, _: Tape) -> None:
        """It falls."""
        self.level -= 1
        self.lowest = min(self.lowest, self.level)

    def refuses(self, _: Tape) -> bool:
        """Nothing comes of it."""
        self.refused += 1
        return False

    def spills(self, _: Tape) -> None:
        """All of it is lost."""
        self.level, self.spilt = 0, self.spilt + 1


EVENTS = (
    Event(Well.fills, 1),
    Event(Well.empties, 5, lambda well: well.level > 0),
    Event(Well.refuses, 4),
    Event(Well.spills, 1, fault="loss"),
)


def played(rates: FaultRates, turns: int = 2_000) -> Well:
    """A well after so many turns."""
    well, clock = Well(), Clock()
    scheduler = Scheduler(clock, Tape.seeded(3), Recorder(0, NEWEST), EVENTS, rates, well)
    for _ in range(turns):
        scheduler.turn()
    return well


def test_what_is_not_ready_is_not_chosen() -> None:
    """An event happens only where it can; one of which nothing came makes way for another."""
    well = played(NO_FAULTS)

    assert (0, 0) == (well.lowest, well.spilt)
    assert well.refused > 100
    assert 0 <= well.level < 10


def test_faults_happen_at_their_rates() -> None:
    """A rate is per thousand turns."""
    well = played(replace(NO_FAULTS, loss=100))

    assert 150 < well.spilt < 250


@pytest.mark.parametrize("events", LISTS)
def test_every_fault_of_a_world_has_a_rate(events: tuple[Event[object], ...]) -> None:
    """It is one of `FaultRates`, and no event stands in a list twice."""
    names = [event.name for event in events]

    assert [] == [event.name for event in events if event.fault and not hasattr(NO_FAULTS, event.fault)]
    assert len(names) == len(set(names))
    assert all(event.weight > 0 for event in events)
