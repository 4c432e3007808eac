"""Mutants that machines of transactions see: each is planted, and runs from seeds until its rule has seen it."""

import time
from collections.abc import Iterable, Sequence
from typing import Final

from model_tests.mutants.of_coordinator import OF_COORDINATOR
from model_tests.mutants.of_identities import OF_IDENTITIES
from model_tests.mutants.of_markers import OF_MARKERS
from model_tests.mutants.of_transactional_client import OF_TRANSACTIONAL_CLIENT
from model_tests.mutants.of_verification import OF_VERIFICATION
from model_tests.mutants.planted import Planted
from model_tests.stateful.ledger import Ledger
from model_tests.stateful.transaction_runs import run_transactions
from model_tests.stateful.transaction_setting import OUTLIVED, STORIES, Story
from model_tests.verify.results import Mutant
from spec import rules

OF_TRANSACTIONS: Final = (
    *OF_IDENTITIES,
    *OF_COORDINATOR,
    *OF_MARKERS,
    *OF_VERIFICATION,
    *OF_TRANSACTIONAL_CLIENT,
)
"""Every mutant of transactions that runs from a tape catch."""

LATE_ONES: Final = {rules.TXN_REGISTERED_BEFORE_DATA: (OUTLIVED,)}
"""Rules whose defects show where requests are late."""

SEEDS: Final = range(600)
"""Runs after which a mutant has survived."""


def hunt_in_transactions(planted: Planted, seeds: Iterable[int] = SEEDS) -> Mutant:
    """Run the stories with the defect, until an invariant of the rule that it breaks has seen it."""
    started = time.monotonic()
    killers: dict[str, None] = {}
    with planted.in_place():
        for seed in seeds:
            ledger, stopped = run_once_with_transactions(seed, LATE_ONES.get(planted.rule, STORIES))
            if (seen := ledger.seen_by_invariants(planted.rule)) is not None:
                killers = {f"{seen.seen_by} {seen.rule.id} in run {seed}": None} | killers
                break
            killers |= {f"{found.seen_by} {found.rule.id}": None for found in ledger.broken}
            killers |= {stopped: None} if stopped else {}
    return Mutant(planted.name, planted.rule, tuple(killers), round(time.monotonic() - started, 3))


def run_once_with_transactions(seed: int, stories: Sequence[Story] = STORIES) -> tuple[Ledger, str]:
    """One run's account, and how the reference fell over, if it did."""
    ledger = Ledger(asks_decision=False)
    try:
        run_transactions(seed, ledger, stories)
    except Exception as error:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
        return ledger, f"the reference stops: {type(error).__name__}"
    return ledger, ""


def true_transactions(runs: int) -> tuple[str, ...]:
    """Run the stories without any defect: what broke."""
    failures = []
    for seed in range(runs):
        ledger, stopped = run_once_with_transactions(seed, (*STORIES, OUTLIVED))
        failures += [f"the true transactions, run {seed}: {broken}" for broken in ledger.broken]
        failures += [f"the true transactions, run {seed}: {stopped}"] if stopped else []
    return tuple(failures)
