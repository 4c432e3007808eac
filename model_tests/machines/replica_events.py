"""A world of replicas under watch, its events, and runs of them from a seeded tape."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from model_tests.machines.monitored import judge_steps
from model_tests.machines.playing import NUMBERS, play, weighed, with_faults
from model_tests.machines.replica_watch import ReplicaWatch
from model_tests.machines.rule_counts import Ledger
from reference.event import NO_FAULTS, Event
from reference.simulate.schedule_replicas import QUICK, REPLICAS, WRITERS, ReplicasScheduler
from reference.tape import Tape
from reference.world.replicas import ReplicasWorld
from spec.rules import Circumstances
from spec.versions import NEWEST, PROFILES, Profile

NAMES: Final = (NEWEST.name, "4.0", "3.9.0", "2.7", "2.5", "2.4")
RELEASES: Final[tuple[Profile, ...]] = tuple(PROFILES[name] for name in NAMES)
"""The releases that are claimed to keep what is replicated, the newest first; before 2.1 a new leader's high watermark
may let a follower in too early (KAFKA-7128)."""

STEPS: Final = 80
LONGEST_PAUSE_MS: Final = 4_000
CALM: Final = replace(NO_FAULTS, ordered=False, duplication=100)
"""Nothing goes wrong by itself, but messages overtake each other, and come twice."""


class ReplicaRun(ReplicasScheduler):
    """One world of replicas under watch.

    Attributes:
        ledger: where the invariants write.
        watch: the invariants.
    """

    def __init__(self, number: int, ledger: Ledger, *, unclean: bool = False) -> None:
        """A world whose size and release the number chooses.

        Args:
            number: below `NUMBERS`.
            ledger: where the invariants write.
            unclean: elections may be unclean, and disks may lose what was not flushed.
        """
        tape = Tape.seeded(number)
        world = _drawn(tape, unclean)
        judge_steps(world.recorder, ledger)
        super().__init__(world, tape, replace(CALM, power=300 if unclean else 0))
        self.ledger = ledger
        self.watch = ReplicaWatch(world, ledger, Circumstances(clean_elections=not unclean))
        ledger.runs += 1

    def after_event(self) -> None:
        """Compare the logs with each other and with what they were."""
        self.ledger.steps += 1
        self.watch.look()

    def no_failure_happens(self, choose: Tape) -> None:
        """Some turns in which nothing goes wrong."""
        self.tape = Tape.seeded(choose.below(NUMBERS))
        for _ in range(1 + self.tape.below(12)):
            self.turn()

    def time_passes(self, choose: Tape) -> None:
        """So much time that timers fire."""
        self.world.clock.advance(choose.between(1, LONGEST_PAUSE_MS))
        self.timers_fire(choose)

    def run_until_idle(self) -> None:
        """Everything is mended, and comes to its end."""
        self.tape = Tape.seeded(0)
        if self.settle():
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


OFTEN: Final = {"broker_is_back": 20}
"""Weights that differ from those of a simulation, in which there is more time for what is rare."""

ACTIONS: Final[tuple[Event[ReplicaRun], ...]] = (
    Event(ReplicaRun.no_failure_happens, 105),
    Event(ReplicaRun.time_passes, 28),
    *(replace(event, weight=OFTEN.get(event.name, event.weight)) for event in REPLICAS),
)
"""What happens in a simulated world of replicas, and many such events at once."""


def run_replicas(
    seed: int, ledger: Ledger, events: Sequence[Event[ReplicaRun]] = ACTIONS, *, unclean: bool = False
) -> None:
    """One run of a seed, until an invariant sees a rule broken: half of the faults, and some things more often.

    Args:
        seed: of the tape.
        ledger: where rules at stake are counted, and violations kept.
        events: what may happen.
        unclean: whether unclean elections are allowed.
    """
    tape = Tape.seeded(seed)
    run = ReplicaRun(tape.below(NUMBERS), ledger, unclean=unclean)
    if play(run, tape, weighed(with_faults(events, tape, 500), tape), STEPS):
        run.run_until_idle()
