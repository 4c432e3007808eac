"""Runs from a seeded tape: the same world and invariants as the machine's, fast, the same everywhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.machines.actions import ACTIONS, WorldEvent
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.strangers import Strangers
from model_tests.machines.world import WorldSize
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


def drawn_weights(tape: Tape, terrain: Terrain, actions: Sequence[WorldEvent]) -> list[tuple[WorldEvent, int]]:
    """Which events a run has, and how often: half of the faults, strangers in half of the runs, some things often."""
    strangers = tape.happens(500)
    enabled = [a for a in actions if (strangers or not a.stranger) and (not a.fault or terrain.has(a.name, tape))]
    return [(action, action.weight * tape.pick((1, 1, 3))) for action in enabled]


def run(seed: int, ledger: Ledger, terrain: Terrain = ANYWHERE, actions: Sequence[WorldEvent] = ACTIONS) -> None:
    """One run of a seed, until an invariant sees a rule broken; what the decision alone sees does not end it.

    Args:
        seed: of the tape.
        ledger: where rules at stake are counted, and violations kept.
        terrain: where the run is to take place, if not anywhere.
        actions: what may happen.
    """
    tape = Tape.seeded(seed)
    world = Strangers(drawn_setting(tape, terrain), ledger)
    weights = drawn_weights(tape, terrain, actions)
    for _ in range(STEPS):
        ready = [(action, weight) for action, weight in weights if action.ready(world)]
        tape.weighted(ready).happens(world, tape.below(NUMBERS))
        world.look_at_logs()
        if ledger.seen_by_invariants():
            return
    for _ in world.comes_to_rest():
        world.look_at_logs()
        if ledger.seen_by_invariants():
            return
