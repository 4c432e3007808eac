"""Tasks of proofs spread over processes of this machine; the results are in the order of the tasks."""

import os
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Final, TypeAlias

from model_tests.common.processes import started_anew
from model_tests.verify.proving import Done, ProofTask, ProofWorker
from spec.engines.proof_cache import Entries
from spec.engines.solving import SolverSettings

Spread: TypeAlias = Callable[[Sequence[ProofTask], SolverSettings, Entries | None], list[Done]]
"""Does tasks under some settings, with answers of earlier runs or without."""

SHARES: Final = 4
"""Into how many shares tasks are dealt: the same everywhere."""

FEW: Final = 16
"""Fewer tasks are not worth the start of another process."""


def here(tasks: Sequence[ProofTask], settings: SolverSettings, entries: Entries | None) -> list[Done]:
    """One after the other, in this process."""
    worker = ProofWorker(settings, entries)
    return [worker.do(task) for task in tasks]


def on_cores(tasks: Sequence[ProofTask], settings: SolverSettings, entries: Entries | None) -> list[Done]:
    """In processes of this machine, a share for each."""
    cores = os.cpu_count() or 1
    if cores == 1 or len(tasks) < FEW:
        return here(tasks, settings, entries)
    shares = [tasks[number::SHARES] for number in range(SHARES)]
    with started_anew(min(cores, SHARES), tasks_of_each=1) as pool:
        done = list(pool.map(here, shares, repeat(settings), repeat(entries)))
    return [done[number % SHARES][number // SHARES] for number, _ in enumerate(tasks)]
