"""The events of a producer of records, and runs of them from a seeded tape."""

from typing import Final

from model_tests.machines.playing import NUMBERS, play, weighed, with_faults
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.sending_events import SendingRun, drawn_sending
from reference.event import Event
from reference.tape import Tape

STEPS: Final = 60  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 40
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""


SENDING_ACTIONS: Final = (
    Event(SendingRun.application_hands_over, 12),
    Event(SendingRun.producer_works, 14),
    Event(SendingRun.requests_arrive, 12),
    Event(SendingRun.followers_catch_up, 8),
    Event(SendingRun.answers_arrive, 10),
    Event(SendingRun.application_flushes, 2),
    Event(SendingRun.metadata_arrives, 4),
    Event(SendingRun.connection_fails, 5, fault="loss"),
    Event(SendingRun.partition_changes_leader, 3, fault="failover"),
    Event(SendingRun.time_passes, 2, fault="late"),
)


def take_steps(world: SendingRun, tape: Tape, steps: int) -> bool:
    """So many events; whether no invariant has seen a rule broken."""
    return play(world, tape, weighed(with_faults(SENDING_ACTIONS, tape, 600), tape), steps)


def has_a_past(world: SendingRun, seed: int) -> None:
    """Some events, drawn from a seed: none of 0."""
    take_steps(world, Tape.seeded(seed), seed % LONGEST_PAST)


def run_sending(seed: int, ledger: Ledger) -> SendingRun:
    """One run of a seed, until an invariant sees a rule broken."""
    tape = Tape.seeded(seed)
    world = SendingRun(drawn_sending(Tape.of_number(tape.below(NUMBERS))), ledger)
    if take_steps(world, tape, STEPS):
        world.ends()
    return world
