"""Mutants of the log on disk: each is planted, and runs from seeds until the rule that it breaks has seen it."""

import time
from collections.abc import Iterable
from typing import Final

from model_tests.mutants.planted import Planted
from model_tests.stateful.disk_runs import run_on_disk
from model_tests.stateful.ledger import Ledger
from model_tests.verify.results import Mutant

SEEDS: Final = range(400)
"""Runs after which a mutant has survived."""


def hunt_on_disk(planted: Planted, seeds: Iterable[int] = SEEDS) -> Mutant:
    """Run a partition on disk with the defect, until an invariant of the rule that it breaks has seen it."""
    started = time.monotonic()
    killers: dict[str, None] = {}
    with planted.in_place():
        for seed in seeds:
            ledger, stopped = run_once_on_disk(seed, Ledger(asks_decision=False))
            if (seen := ledger.seen_by_invariants(planted.rule)) is not None:
                killers = {f"{seen.seen_by} {seen.rule.id} in run {seed}": None} | killers
                break
            killers |= {f"{found.seen_by} {found.rule.id}": None for found in ledger.broken}
            killers |= {stopped: None} if stopped else {}
    return Mutant(planted.name, planted.rule, tuple(killers), round(time.monotonic() - started, 3))


def run_once_on_disk(seed: int, ledger: Ledger) -> tuple[Ledger, str]:
    """One run's account, and how the partition fell over, if it did."""
    try:
        run_on_disk(seed, ledger)
    except Exception as error:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
        return ledger, f"the reference stops: {type(error).__name__}"
    return ledger, ""


def true_disk(runs: int) -> tuple[str, ...]:
    """Run a partition on disk without any defect: what broke."""
    failures = []
    for seed in range(runs):
        ledger, stopped = run_once_on_disk(seed, Ledger(asks_decision=False))
        failures += [f"the true log on disk, run {seed}: {broken}" for broken in ledger.broken]
        failures += [f"the true log on disk, run {seed}: {stopped}"] if stopped else []
    return tuple(failures)
