"""Mutants of the reference: each is planted, and runs from seeds until the rule that it breaks has seen it."""

import time
from collections.abc import Iterable
from typing import Final

from model_tests.machines.rule_counts import Ledger, LedgerEntry
from model_tests.machines.tape_runs import ANYWHERE, Terrain, run
from model_tests.mutants.defects.of_append import OF_APPEND
from model_tests.mutants.defects.of_client import OF_CLIENT
from model_tests.mutants.defects.of_replication import OF_REPLICATION
from model_tests.mutants.defects.of_window import OF_WINDOW
from model_tests.mutants.defects.planted import Planted
from model_tests.verify.results import PlantedDefect

PLANTED: Final[tuple[Planted, ...]] = (*OF_APPEND, *OF_WINDOW, *OF_REPLICATION, *OF_CLIENT)
"""Every mutant of the reference."""

SEEDS: Final = range(400)
"""Runs after which a mutant has survived."""


def hunt(planted: Planted, seeds: Iterable[int] = SEEDS) -> PlantedDefect:
    """Run the reference with the defect, until an invariant of the rule that it breaks has seen it."""
    started = time.monotonic()
    killers: dict[str, None] = {}
    with planted.in_place():
        for seed in seeds:
            ledger, stopped = run_once(seed, Ledger(asks_decision=False), planted.terrain)
            if ledger.seen_by_invariants(planted.rule):
                again, _ = run_once(seed, Ledger(), planted.terrain)
                broken = sorted(again.broken, key=lambda violation: violation.rule != planted.rule)
                killers = {f"{killer(violation)} in run {seed}": None for violation in broken} | killers
                break
            killers |= {killer(violation): None for violation in ledger.broken}
            killers |= {stopped: None} if stopped else {}
    return PlantedDefect(planted.name, planted.rule, tuple(killers), round(time.monotonic() - started, 3))


def run_once(seed: int, ledger: Ledger, terrain: Terrain = ANYWHERE) -> tuple[Ledger, str]:
    """One run's account, and how the reference fell over, if it did."""
    try:
        run(seed, ledger, terrain)
    except Exception as error:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
        return ledger, f"the reference stops: {type(error).__name__}"
    return ledger, ""


def killer(violation: LedgerEntry) -> str:
    """Who saw a violation."""
    return f"{violation.seen_by} {violation.rule.id}"
