"""The number of steps that the reference simulates in a second of one process, with and without the monitor."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import Final

from model_tests.monitor.runs import SeededRun, run_of
from model_tests.simulate.simulate import WORKLOADS
from spec.versions import PROFILES

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
    """Time so many traces of every workload."""
    for workload in WORKLOADS:
        runs = [run_of(seed, workload=workload, profile=list(PROFILES)[seed % len(PROFILES)]) for seed in range(traces)]
        steps = sum(len(run.play(monitored=False).rows) for run in runs)
        plain = min(_seconds(runs, monitored=False) for _ in range(ROUNDS))
        yield SimulationTiming(workload, steps, plain, min(_seconds(runs, monitored=True) for _ in range(ROUNDS)))


def together(timings: Iterable[SimulationTiming]) -> SimulationTiming:
    """All workloads as one, with so many traces of each."""
    listed = tuple(timings)
    return SimulationTiming(
        "all workloads",
        sum(timing.steps for timing in listed),
        sum(timing.plain_seconds for timing in listed),
        sum(timing.monitored_seconds for timing in listed),
    )


def _seconds(runs: list[SeededRun], *, monitored: bool) -> float:
    started = process_time()
    for run in runs:
        run.play(monitored=monitored)
    return process_time() - started
