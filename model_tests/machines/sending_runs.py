"""The events of a producer of records by name, and runs of them from a seeded tape."""

from dataclasses import dataclass
from typing import Final

from model_tests.machines.events import Choices
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.sending_events import NUMBERS, SendingRun, drawn_sending
from reference.tape import Tape

STEPS: Final = 60  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 40
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""


@dataclass(frozen=True, slots=True)
class SendingAction:
    """One event: the name of the method, how likely it is, and whether it goes wrong only in some runs."""

    name: str
    weight: int
    fault: bool = False

    def happens(self, world: SendingRun, number: int) -> None:
        """Let it happen."""
        getattr(world, self.name)(number)


SENDING_ACTIONS: Final = (
    SendingAction("application_hands_over", 12),
    SendingAction("producer_works", 14),
    SendingAction("requests_arrive", 12),
    SendingAction("followers_catch_up", 8),
    SendingAction("answers_arrive", 10),
    SendingAction("application_flushes", 2),
    SendingAction("metadata_arrives", 4),
    SendingAction("connection_fails", 5, fault=True),
    SendingAction("partition_changes_leader", 3, fault=True),
    SendingAction("time_passes", 2, fault=True),
)


def take_steps(world: SendingRun, tape: Tape, steps: int) -> bool:
    """So many events; whether no invariant has seen a rule broken."""
    weights = [(a, a.weight * tape.pick((1, 1, 3))) for a in SENDING_ACTIONS if not a.fault or tape.happens(600)]
    for _ in range(steps):
        tape.weighted(weights).happens(world, tape.below(NUMBERS))
        if world.ledger.seen_by_invariants():
            return False
    return True


def has_a_past(world: SendingRun, seed: int) -> None:
    """Some events, drawn from a seed: none of 0."""
    take_steps(world, Tape.seeded(seed), seed % LONGEST_PAST)


def run_sending(seed: int, ledger: Ledger) -> SendingRun:
    """One run of a seed, until an invariant sees a rule broken."""
    tape = Tape.seeded(seed)
    world = SendingRun(drawn_sending(Choices(tape.below(NUMBERS))), ledger)
    if take_steps(world, tape, STEPS):
        world.ends()
    return world
