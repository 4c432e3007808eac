"""The events of the disk log, and runs of them from a seeded tape."""

from collections.abc import Sequence
from typing import Final

from model_tests.machines.disk_events import DiskEvents
from model_tests.machines.disk_world import DiskSetting
from model_tests.machines.playing import play, weighed, with_faults
from model_tests.machines.rule_counts import Ledger
from reference.event import Event
from reference.log.config import UNLIMITED
from reference.tape import Tape
from spec.versions import KAFKA_3_9_UNVERIFIED, NEWEST

STEPS: Final = 50  # events of a run, a bound on its time: other seeds make other runs

LONGEST_PAST: Final = 40
"""Events before a Hypothesis run, at most, drawn by its seed: a long history without examples to shrink."""


DISK_ACTIONS: Final = (
    Event(DiskEvents.producer_appends, 10),
    Event(DiskEvents.producer_appends_in_transaction, 14),
    Event(DiskEvents.producer_resends, 2),
    Event(DiskEvents.coordinator_writes_marker, 14),
    Event(DiskEvents.followers_catch_up, 10),
    Event(DiskEvents.reader_reads, 6),
    Event(DiskEvents.replica_truncates, 3, fault="truncation"),
    Event(DiskEvents.broker_retains, 3, fault="retention"),
    Event(DiskEvents.log_start_advances, 3, fault="deletion"),
    Event(DiskEvents.cleaner_compacts, 6),
    Event(DiskEvents.broker_restarts, 4, fault="restart"),
    Event(DiskEvents.broker_crashes, 5, fault="crash"),
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
    usual = [(event, event.weight) for event in DISK_ACTIONS if not event.fault]
    play(world, Tape.seeded(seed), usual, seed % LONGEST_PAST)


def run_on_disk(seed: int, ledger: Ledger, events: Sequence[Event[DiskEvents]] = DISK_ACTIONS) -> None:
    """One run of a seed, until an invariant sees a rule broken."""
    tape = Tape.seeded(seed)
    world = DiskEvents(drawn_setting(tape), ledger)
    try:
        play(world, tape, weighed(with_faults(events, tape, 700), tape), STEPS)
    finally:
        world.ends()
