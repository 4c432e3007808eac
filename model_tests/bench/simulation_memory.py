"""The memory of traces that are made one after another, beside that of one."""

import gc
import tracemalloc
from dataclasses import dataclass
from typing import Final

from model_tests.monitor.runs import run_of

TRACES: Final = 160
"""Traces that are made in turn; workloads and profiles take turns among them."""

MEBIBYTE: Final = 2**20  # bytes


@dataclass(frozen=True, slots=True)
class SimulationMemory:
    """The most memory that one trace takes, and that many take of which none is kept, in MiB."""

    one: float
    many: float

    @property
    def ratio(self) -> float:
        """How many traces are there at once: one, and what is left of worlds until the collector comes by."""
        return self.many / self.one


def simulation_memory(traces: int = TRACES) -> SimulationMemory:
    """Trace the memory of monitored traces; what they compile and cache is there before."""
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
