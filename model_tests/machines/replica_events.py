"""A world of replicas under watch, and its events by name; each makes its choices from a number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.machines.monitored import judge_steps
from model_tests.machines.replica_watch import ReplicaWatch
from model_tests.machines.rule_counts import Ledger
from reference.faults import NO_FAULTS
from reference.simulate.schedule_replicas import QUICK, WRITERS, ReplicasScheduler
from reference.tape import Tape
from reference.world.replicas import ReplicasWorld
from spec.rules import Circumstances
from spec.versions import NEWEST, PROFILES, Profile

NUMBERS: Final = 2**32
"""An event makes its choices with a number below this."""

NAMES: Final = (NEWEST.name, "4.0", "3.9.0", "2.7", "2.5", "2.4")
RELEASES: Final[tuple[Profile, ...]] = tuple(PROFILES[name] for name in NAMES)
"""The releases that are claimed to keep what is replicated, the newest first; before 2.1 a new leader's high watermark
may let a follower in too early (KAFKA-7128)."""

STEPS: Final = 80
LONGEST_PAUSE_MS: Final = 4_000
CALM: Final = replace(NO_FAULTS, ordered=False, duplication=100)
"""Nothing goes wrong by itself, but messages overtake each other, and come twice."""


class ReplicaRun:
    """One world of replicas under watch.

    Attributes:
        ledger: where the invariants write.
    """

    def __init__(self, number: int, ledger: Ledger, *, unclean: bool = False) -> None:
        """A world whose size and release the number chooses.

        Args:
            number: below `NUMBERS`.
            ledger: where the invariants write.
            unclean: elections may be unclean, and disks may lose what was not flushed.
        """
        self.ledger = ledger
        tape = Tape.seeded(number)
        self._faults = replace(CALM, power=300 if unclean else 0)
        self.world = _drawn(tape, unclean)
        judge_steps(self.world.recorder, ledger)
        self.scheduler = ReplicasScheduler(self.world, tape, self._faults)
        self.watch = ReplicaWatch(self.world, ledger, Circumstances(clean_elections=not unclean))
        ledger.runs += 1

    def happens(self, event: str, number: int) -> None:
        """Let an event happen, if it can."""
        self.scheduler.tape = Tape.seeded(number)
        (getattr(self, event, None) or getattr(self.scheduler, event))()
        self.ledger.steps += 1
        self.watch.look()

    def nothing_goes_wrong(self) -> None:
        """Some turns in which nothing goes wrong."""
        for _ in range(1 + self.scheduler.tape.below(12)):
            self.scheduler.turn()

    def time_passes(self) -> None:
        """So much time that timers fire."""
        self.world.clock.advance(self.scheduler.tape.between(1, LONGEST_PAUSE_MS))
        self.scheduler.timers_fire()

    def comes_to_rest(self) -> None:
        """Everything is mended, and comes to its end."""
        self.scheduler.tape = Tape.seeded(0)
        if self.scheduler.settle():
            self.watch.look_at_rest()


def _drawn(tape: Tape, unclean: bool) -> ReplicasWorld:
    shape = replace(
        QUICK,
        writers=tape.pick(WRITERS),
        min_insync=1 + tape.below(2),
        unclean_allowed=unclean,
        fetched_batches=1 + tape.below(3),
        ordered=tape.happens(500),
    )
    return ReplicasWorld(tape.pick(RELEASES), shape)


@dataclass(frozen=True, slots=True)
class ReplicaAction:
    """One event: the name of its method, how likely it is, whether it is a fault."""

    name: str
    weight: int
    fault: bool = False


ACTIONS: Final = (
    ReplicaAction("everything_goes_on", 30),
    ReplicaAction("application_sends", 10),
    ReplicaAction("producer_sends", 10),
    ReplicaAction("message_arrives", 20),
    ReplicaAction("follower_fetches", 10),
    ReplicaAction("time_passes", 8),
    ReplicaAction("broker_is_back", 6),
    ReplicaAction("network_fails", 5, fault=True),
    ReplicaAction("broker_crashes", 4, fault=True),
    ReplicaAction("broker_pauses", 4, fault=True),
    ReplicaAction("controller_is_elected", 2, fault=True),
    ReplicaAction("preferred_leader_is_elected", 3, fault=True),
    ReplicaAction("broker_begins_shutdown", 2, fault=True),
    ReplicaAction("clock_drifts", 2, fault=True),
    ReplicaAction("leader_deletes_records", 1, fault=True),
)


def run_replicas(
    seed: int, ledger: Ledger, actions: Sequence[ReplicaAction] = ACTIONS, *, unclean: bool = False
) -> None:
    """One run of a seed, until an invariant sees a rule broken: half of the faults, and some things more often.

    Args:
        seed: of the tape.
        ledger: where rules at stake are counted, and violations kept.
        actions: what may happen.
        unclean: whether unclean elections are allowed.
    """
    tape = Tape.seeded(seed)
    run = ReplicaRun(tape.below(NUMBERS), ledger, unclean=unclean)
    enabled = [(a.name, a.weight * tape.pick((1, 1, 3))) for a in actions if not a.fault or tape.happens(500)]
    for _ in range(STEPS):
        run.happens(tape.weighted(enabled), tape.below(NUMBERS))
        if ledger.seen_by_invariants():
            return
    run.comes_to_rest()
