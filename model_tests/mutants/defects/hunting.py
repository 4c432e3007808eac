"""A hunt: a defect is planted, and seeded runs are made until the rule that it breaks detects it."""

import time
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from model_tests.machines.rule_counts import Ledger
from model_tests.mutants.defects.planted import Planted
from model_tests.verify.results import PlantedDefect

SEEDS: Final = range(400)
"""Runs after which a mutant has survived."""

Run: TypeAlias = Callable[[int, Ledger], object]
"""One run of a seed, on an account."""


def hunted(planted: Planted, run: Run, seeds: Iterable[int] = SEEDS) -> PlantedDefect:
    """Who has seen the defect: an invariant of the rule that it breaks, or in the end others."""
    started = time.monotonic()
    killers: dict[str, None] = {}
    with planted.in_place():
        for seed in seeds:
            ledger, stopped = run_once(run, seed)
            if (seen := ledger.seen_by_invariants(planted.rule)) is not None:
                killers = {f"{seen.seen_by} {seen.rule.id} in run {seed}": None} | killers
                break
            killers |= {f"{found.seen_by} {found.rule.id}": None for found in ledger.broken}
            killers |= {stopped: None} if stopped else {}
    return PlantedDefect(planted.name, planted.rule, tuple(killers), round(time.monotonic() - started, 3))


def run_once(run: Run, seed: int, account: Ledger | None = None) -> tuple[Ledger, str]:
    """One run's account, of invariants alone unless another is given, and how the reference fell over, if it did."""
    ledger = account or Ledger(asks_decision=False)
    try:
        run(seed, ledger)
    except Exception as error:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
        return ledger, f"the reference stops: {type(error).__name__}"
    return ledger, ""


def without_defect(run: Run, runs: int, what: str) -> tuple[str, ...]:
    """What breaks in runs of the true reference."""
    failures = []
    for seed in range(runs):
        ledger, stopped = run_once(run, seed)
        failures += [f"the true {what}, run {seed}: {broken}" for broken in ledger.broken]
        failures += [f"the true {what}, run {seed}: {stopped}"] if stopped else []
    return tuple(failures)
