"""Benchmarks of one process: appends of the reference, simulated steps, the memory of traces, and the explicit search.

Rates are per second of one process. The memory of traces that are made one after another is compared with the memory
of a single trace.
"""

import gc
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Final

from model_tests.monitor.runs import SeededRun, run_of
from model_tests.simulate.simulate import WORKLOADS
from model_tests.verify.transactions_searches import built
from reference.log.batch import RecordBatch, blank_batch
from reference.log.partition import Partition
from spec.engines.explore import explore
from spec.engines.verdict import Holds
from spec.systems.transactions.instances import INSTANCES
from spec.versions import NEWEST, PROFILES

# --- appends of the reference -----------------------------------------------------------------------------------------


PRODUCERS: Final = 10
RECORDS: Final = 3
APPEND_ROUNDS: Final = 3
"""The fastest round counts. Each batch is small and has another producer than the one before, as at a busy broker."""


@dataclass(frozen=True, slots=True)
class AppendTiming:
    """Seconds that the fastest of the rounds took."""

    batches: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Batches in a second."""
        return self.batches / self.seconds


def appends(batches: int) -> AppendTiming:
    """Time the appends of idempotent producers that take turns; the batches are made beforehand."""
    return AppendTiming(batches, min(_seconds_to_append(_batches(batches)) for _ in range(APPEND_ROUNDS)))


def _batches(count: int) -> list[RecordBatch]:
    return [
        blank_batch(RECORDS, producer_id=number % PRODUCERS, epoch=0, base_sequence=number // PRODUCERS * RECORDS)
        for number in range(count)
    ]


def _seconds_to_append(batches: list[RecordBatch]) -> float:
    partition = Partition(NEWEST)
    started = perf_counter()
    for batch in batches:
        partition.append(batch)
    return perf_counter() - started


# --- simulated steps, with and without the monitor --------------------------------------------------------------------


ROUNDS: Final = 3
"""Measurements of which the fastest counts; the first compiles the judges."""


@dataclass(frozen=True, slots=True)
class SimulationTiming:
    """Steps of one workload, under every profile in turn, by the time of the process."""

    workload: str
    steps: int
    plain_seconds: float
    monitored_seconds: float

    @property
    def plain(self) -> float:
        """Steps in a second without the monitor."""
        return self.steps / self.plain_seconds

    @property
    def monitored(self) -> float:
        """Steps in a second with it."""
        return self.steps / self.monitored_seconds

    @property
    def microseconds(self) -> float:
        """What it costs to judge one step."""
        return (self.monitored_seconds - self.plain_seconds) / self.steps * 1e6


def simulations(traces: int) -> Iterator[SimulationTiming]:
    """Measure the time of so many traces of every workload."""
    for workload in WORKLOADS:
        runs = [run_of(seed, workload=workload, profile=list(PROFILES)[seed % len(PROFILES)]) for seed in range(traces)]
        steps = sum(len(run.play(monitored=False).rows) for run in runs)
        plain = min(_seconds_to_simulate(runs, monitored=False) for _ in range(ROUNDS))
        yield SimulationTiming(
            workload, steps, plain, min(_seconds_to_simulate(runs, monitored=True) for _ in range(ROUNDS))
        )


def together(timings: Iterable[SimulationTiming]) -> SimulationTiming:
    """All workloads as one, with so many traces of each."""
    listed = tuple(timings)
    return SimulationTiming(
        "all workloads",
        sum(timing.steps for timing in listed),
        sum(timing.plain_seconds for timing in listed),
        sum(timing.monitored_seconds for timing in listed),
    )


def _seconds_to_simulate(runs: list[SeededRun], *, monitored: bool) -> float:
    started = process_time()
    for run in runs:
        run.play(monitored=monitored)
    return process_time() - started


# --- the memory of traces ---------------------------------------------------------------------------------------------


TRACES: Final = 160
"""Traces that are made in turn; workloads and profiles take turns among them."""

MEBIBYTE: Final = 2**20  # bytes


@dataclass(frozen=True, slots=True)
class SimulationMemory:
    """Peak memory in MiB: of one trace, and of many traces of which none is kept."""

    one: float
    many: float

    @property
    def ratio(self) -> float:
        """How many traces are in memory at once: one, and the rest of earlier worlds until they are collected."""
        return self.many / self.one


def simulation_memory(traces: int = TRACES) -> SimulationMemory:
    """Measure the memory of monitored traces; what they compile and cache is in memory beforehand."""
    _play(traces)
    tracemalloc.start()
    try:
        return SimulationMemory(_peak(1), _peak(traces))
    finally:
        tracemalloc.stop()


def _peak(traces: int) -> float:
    gc.collect()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    _play(traces)
    return (tracemalloc.get_traced_memory()[1] - before) / MEBIBYTE


def _play(traces: int) -> None:
    for seed in range(traces):
        run_of(seed).play()


# --- the explicit search ----------------------------------------------------------------------------------------------


SEARCHED: Final = "two transactions on two partitions"
"""An instance of the newest release that has some ten thousand states."""


@dataclass(frozen=True, slots=True)
class Timing:
    """One whole search that checks every theorem in every state; the median of some rounds.

    Attributes:
        seconds: CPU time; what the search caches of a state is computed anew in each round.
    """

    states: int
    edges: int
    seconds: float

    @property
    def per_second(self) -> float:
        """States a second."""
        return self.states / self.seconds


def timed(rounds: int, name: str = SEARCHED) -> Timing:
    """Search an instance so many times.

    Raises:
        ValueError: the search does not hold as a whole; its speed would say nothing.
    """
    knobs = next(each.knobs for each in INSTANCES if each.name == name)
    seconds = []
    for _ in range(rounds):
        instance = built(name, knobs)
        started = process_time()
        found = explore(instance.system, instance.finite)
        seconds.append(process_time() - started)
        if not (isinstance(found.verdict, Holds) and found.verdict.complete):
            raise ValueError(f"{name}: {found.verdict}")
    return Timing(found.states, found.edges, median(seconds))
