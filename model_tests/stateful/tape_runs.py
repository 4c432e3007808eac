"""Runs from a seeded tape: the same world and invariants as the machine's, fast, the same everywhere."""

from collections.abc import Sequence
from typing import Final

from model_tests.stateful.actions import ACTIONS, Action
from model_tests.stateful.ledger import Ledger
from model_tests.stateful.strangers import Strangers
from model_tests.stateful.world import Setting
from reference.tape import Tape
from spec.versions import PROFILES, Profile

NAMES: Final = ("4.3", "0.11", "1.0", "2.0", "2.4", "2.5", "3.9.0", "4.0", "4.1")
SETTINGS: Final[tuple[Profile, ...]] = tuple(PROFILES[name] for name in NAMES)
"""The profiles that worlds are made with, the newest first."""

NUMBERS: Final = 2**16
"""An event makes its choices with a number below this."""

STEPS: Final = 60


def drawn_setting(tape: Tape) -> Setting:
    """A world's size and kind."""
    return Setting(
        profile=tape.pick(SETTINGS),
        nodes=tape.weighted(((3, 2), (2, 3), (1, 1))),
        partitions=tape.weighted(((1, 3), (2, 1))),
        producers=1 + tape.below(2),
        ordered=not tape.happens(300),
        before_wrap=tape.weighted(((-1, 2), (3, 1), (8, 1))),
    )


def run(seed: int, ledger: Ledger, steps: int = STEPS, actions: Sequence[Action] = ACTIONS) -> None:
    """One run of a seed, until a rule breaks."""
    tape = Tape.seeded(seed)
    world = Strangers(drawn_setting(tape), ledger)
    enabled = [action for action in actions if not action.fault or tape.happens(500)]
    for _ in range(steps):
        ready = [(action, action.weight) for action in enabled if action.ready(world)]
        tape.weighted(ready).happens(world, tape.below(NUMBERS))
        world.look_at_logs()
        if ledger.broken:
            return
    for _ in world.comes_to_rest():
        world.look_at_logs()
        if ledger.broken:
            return
