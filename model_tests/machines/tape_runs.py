"""Runs of producers and strangers from a seeded tape."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.machines.actions import ACTIONS, STRANGE
from model_tests.machines.playing import play, weighed
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.strangers import Strangers
from model_tests.machines.world import WorldSize
from reference.event import Event
from reference.tape import Tape
from spec.versions import NEWEST, PROFILES, Profile

NAMES: Final = (NEWEST.name, "0.11", "1.0", "2.0", "2.4", "2.5", "3.9.0", "4.0", "4.1")
SETTINGS: Final[tuple[Profile, ...]] = tuple(PROFILES[name] for name in NAMES)
"""The profiles that worlds are made with, the newest first."""

NUMBERS: Final = 2**16
"""An event makes its choices with a number below this."""

STEPS: Final = 60  # events of a run, a bound on its time: other seeds make other runs


@dataclass(frozen=True, slots=True)
class Terrain:
    """Where runs are to take place, if not anywhere.

    Attributes:
        partitions: how many; 0 is any number.
        ordered: only connections that keep the order of sending.
        faults: names of the faults that happen; None is any half of them.
    """

    partitions: int = 0
    ordered: bool = False
    faults: frozenset[str] | None = None

    def has(self, fault: str, tape: Tape) -> bool:
        """Whether a fault happens in a run."""
        return tape.happens(500) if self.faults is None else fault in self.faults


ANYWHERE: Final = Terrain()


def drawn_setting(tape: Tape, terrain: Terrain = ANYWHERE) -> WorldSize:
    """A world's size and kind."""
    setting = WorldSize(
        profile=tape.pick(SETTINGS),
        nodes=tape.weighted(((3, 2), (2, 3), (1, 1))),
        partitions=tape.weighted(((1, 3), (2, 1))),
        producers=1 + tape.below(2),
        ordered=not tape.happens(300),
        before_wrap=tape.weighted(((-1, 2), (3, 1), (8, 1))),
    )
    return replace(
        setting,
        partitions=terrain.partitions or setting.partitions,
        ordered=terrain.ordered or setting.ordered,
    )


def happening(tape: Tape, terrain: Terrain, events: Sequence[Event[Strangers]]) -> list[Event[Strangers]]:
    """Which events a run has: strangers in half of the runs, half of the faults."""
    strange = () if tape.happens(500) else STRANGE
    return [each for each in events if each not in strange and (not each.fault or terrain.has(each.name, tape))]


def run(seed: int, ledger: Ledger, terrain: Terrain = ANYWHERE, events: Sequence[Event[Strangers]] = ACTIONS) -> None:
    """One run of a seed, until an invariant sees a rule broken; what the decision alone sees does not end it.

    Args:
        seed: of the tape.
        ledger: where rules at stake are counted, and violations kept.
        terrain: where the run is to take place, if not anywhere.
        events: what may happen.
    """
    tape = Tape.seeded(seed)
    world = Strangers(drawn_setting(tape, terrain), ledger)
    if play(world, tape, weighed(happening(tape, terrain, events), tape), STEPS, NUMBERS):
        for _ in world.run_until_idle():
            world.after_event()
            if ledger.seen_by_invariants():
                return
