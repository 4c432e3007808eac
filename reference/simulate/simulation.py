"""Traces: a world, a tape, and a scheduler that picks the next event from the tape."""

from typing import Final

from reference.clock import Clock
from reference.event import FaultRates
from reference.recording.recorder import Observer, Recorder, Row
from reference.simulate.cluster import SimulatedCluster
from reference.simulate.raw import RAW, RawWorld
from reference.simulate.raw_coordinator import RAW_COORDINATOR, RawCoordinator
from reference.simulate.schedule_replicas import ReplicasScheduler, drawn_replicas
from reference.simulate.schedule_transactions import TransactionScheduler, drawn_world
from reference.simulate.scheduler import ProducerScheduler, Scheduler
from reference.simulate.shape import RAW_COORDINATORS, Shape
from reference.tape import Tape
from spec.versions import NEWEST, Profile

TURNS_PER_STEP: Final = 30
"""Turns per step after which a world that makes too few steps is left."""


def simulate(
    seed: int,
    profile: Profile = NEWEST,
    steps: int = 200,
    faults: FaultRates | None = None,
    workload: str = "producers",
    shape: Shape | None = None,
    tape: Tape | None = None,
    observer: Observer | None = None,
) -> list[Row]:
    """The first `steps` rows of the trace of a seed; the same seed gives the same rows everywhere.

    Args:
        seed: names the trace, and makes its tape unless one is given.
        profile: the version whose behaviour the nodes have.
        steps: rows wanted.
        faults: what may go wrong; the defaults of `FaultRates` if not given.
        workload: `producers` (idempotent producers over a network), `raw` (anything at one partition, or at one
            coordinator), `transactions` (transactional producers, coordinators and readers) or `replicas` (brokers that
            replicate, and controllers).
        shape: size and configuration of the world of producers.
        tape: another source of choices, as a recorded tape or one that Hypothesis draws.
        observer: gets each step as it is added, and stops the run by raising.
    """
    scheduler = scheduler_of(workload, seed, profile, tape or Tape.seeded(seed), faults or FaultRates(), shape)
    try:
        return run(scheduler, steps, observer)
    finally:
        scheduler.recorder.forget()


def scheduler_of(
    workload: str, seed: int, profile: Profile, tape: Tape, faults: FaultRates, shape: Shape | None = None
) -> Scheduler:
    """The scheduler of a workload, with its world; the arguments are those of `simulate`.

    Args:
        workload: one of those of `simulate`.
        seed: of the trace.
        profile: release that the world runs.
        tape: all chance.
        faults: what may go wrong.
        shape: size of the world, None to have it drawn.

    Raises:
        ValueError: there is no workload of this name.
    """
    if workload == "raw" and tape.happens(RAW_COORDINATORS):
        return raw_coordinator(profile, tape, seed)
    if workload == "raw":
        return raw_partition(profile, tape, faults, seed)
    if workload == "producers":
        return ProducerScheduler(SimulatedCluster(profile, shape, ordered=faults.ordered, trace=seed), tape, faults)
    if workload == "transactions":
        return TransactionScheduler(drawn_world(profile, tape, faults, seed), tape, faults)
    if workload == "replicas":
        return ReplicasScheduler(drawn_replicas(profile, tape, faults, seed), tape, faults)
    raise ValueError(f"workload {workload!r} is none of 'producers', 'raw', 'transactions', 'replicas'")


def raw_partition(profile: Profile, tape: Tape, faults: FaultRates, trace: int = 0) -> Scheduler:
    """The scheduler of a partition that gets arbitrary requests, and of its replicas.

    Args:
        profile: the release.
        tape: where every choice comes from.
        faults: how often what goes wrong.
        trace: number of the trace.
    """
    world = RawWorld(profile, trace)
    return Scheduler(world.clock, tape, world.recorder, RAW, faults, world)


def raw_coordinator(profile: Profile, tape: Tape, trace: int = 0) -> Scheduler:
    """The scheduler of a coordinator that gets arbitrary requests."""
    clock, recorder = Clock(), Recorder(trace, profile)
    coordinator = RawCoordinator(profile, clock, recorder)
    return Scheduler(clock, tape, recorder, RAW_COORDINATOR, FaultRates(), coordinator)


def run(scheduler: Scheduler, steps: int, observer: Observer | None = None) -> list[Row]:
    """Let the scheduler choose until there are enough rows; the observer gets each."""
    rows = scheduler.recorder.rows
    if observer is not None:
        for row in rows:  # a world may begin with some
            observer(row)
        scheduler.recorder.observer = observer
    for _ in range(steps * TURNS_PER_STEP):
        if len(rows) >= steps:
            break
        scheduler.turn()
    return rows[:steps]
