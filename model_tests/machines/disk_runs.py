"""The events of the disk log by name, and runs of them from a seeded tape."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from model_tests.machines.disk_events import DiskEvents
from model_tests.machines.disk_world import DiskSetting
from model_tests.machines.rule_counts import Ledger
from reference.log.config import UNLIMITED
from reference.tape import Tape
from spec.versions import KAFKA_3_9_UNVERIFIED, NEWEST

NUMBERS: Final = 2**32
"""An event makes its choices with a number below this."""

STEPS: Final = 50  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 40
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""


@dataclass(frozen=True, slots=True)
class DiskAction:
    """One event: the name of the method, how likely it is, and whether it goes wrong only in some runs."""

    name: str
    weight: int
    fault: bool = False

    def happens(self, world: DiskEvents, number: int) -> None:
        """Let it happen."""
        getattr(world, self.name)(number)


DISK_ACTIONS: Final = (
    DiskAction("producer_appends", 10),
    DiskAction("producer_appends_in_transaction", 14),
    DiskAction("producer_resends", 2),
    DiskAction("coordinator_writes_marker", 14),
    DiskAction("followers_catch_up", 10),
    DiskAction("reader_reads", 6),
    DiskAction("replica_truncates", 3, fault=True),
    DiskAction("broker_retains", 3, fault=True),
    DiskAction("log_start_advances", 3, fault=True),
    DiskAction("cleaner_compacts", 6),
    DiskAction("broker_restarts", 4, fault=True),
    DiskAction("broker_crashes", 5, fault=True),
)


def drawn_setting(tape: Tape) -> DiskSetting:
    """A kind of partition."""
    return DiskSetting(
        profile=tape.pick((NEWEST, KAFKA_3_9_UNVERIFIED)),
        compacts=tape.happens(400),
        retention_bytes=tape.pick((UNLIMITED, 1000)),
    )


def has_a_past(world: DiskEvents, seed: int) -> None:
    """Some events without faults, drawn from a seed: none of 0."""
    tape = Tape.seeded(seed)
    usual = [(action, action.weight) for action in DISK_ACTIONS if not action.fault]
    for _ in range(seed % LONGEST_PAST):
        tape.weighted(usual).happens(world, tape.below(NUMBERS))
        world.looks()


def run_on_disk(seed: int, ledger: Ledger, actions: Sequence[DiskAction] = DISK_ACTIONS) -> None:
    """One run of a seed, until an invariant sees a rule broken."""
    tape = Tape.seeded(seed)
    world = DiskEvents(drawn_setting(tape), ledger)
    weights = [(a, a.weight * tape.pick((1, 1, 3))) for a in actions if not a.fault or tape.happens(700)]
    try:
        for _ in range(STEPS):
            tape.weighted(weights).happens(world, tape.below(NUMBERS))
            world.looks()
            if ledger.seen_by_invariants():
                return
    finally:
        world.ends()
