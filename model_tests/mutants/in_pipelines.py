"""Mutants that pipelines see: each is planted, and runs from seeds until its rule has seen it."""

import time
from collections.abc import Iterable
from typing import Final

from model_tests.mutants.planted import Planted
from model_tests.stateful.ledger import Ledger
from model_tests.stateful.pipeline_runs import run_pipeline
from model_tests.verify.results import Mutant

SEEDS: Final = range(400)
"""Runs after which a mutant has survived."""


def hunt_in_pipelines(planted: Planted, seeds: Iterable[int] = SEEDS) -> Mutant:
    """Run pipelines with the defect, until an invariant of the rule that it breaks has seen it."""
    started = time.monotonic()
    killers: dict[str, None] = {}
    with planted.in_place():
        for seed in seeds:
            ledger, stopped = run_once_in_pipelines(seed)
            if (seen := ledger.seen_by_invariants(planted.rule)) is not None:
                killers = {f"{seen.seen_by} {seen.rule.id} in run {seed}": None} | killers
                break
            killers |= {f"{found.seen_by} {found.rule.id}": None for found in ledger.broken}
            killers |= {stopped: None} if stopped else {}
    return Mutant(planted.name, planted.rule, tuple(killers), round(time.monotonic() - started, 3))


def run_once_in_pipelines(seed: int) -> tuple[Ledger, str]:
    """One run's account, and how the reference fell over, if it did."""
    ledger = Ledger(asks_decision=False)
    try:
        run_pipeline(seed, ledger)
    except Exception as error:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
        return ledger, f"the reference stops: {type(error).__name__}"
    return ledger, ""


def true_pipelines(runs: int) -> tuple[str, ...]:
    """Run pipelines without any defect: what broke."""
    failures = []
    for seed in range(runs):
        ledger, stopped = run_once_in_pipelines(seed)
        failures += [f"the true pipelines, run {seed}: {broken}" for broken in ledger.broken]
        failures += [f"the true pipelines, run {seed}: {stopped}"] if stopped else []
    return tuple(failures)
