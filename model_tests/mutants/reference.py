"""Mutants of the reference: each is planted, and seeded runs or state machines must detect it by its rule."""

import time
from collections.abc import Iterable
from functools import partial
from typing import Final

from model_tests.machines.rule_counts import Ledger, LedgerEntry
from model_tests.machines.tape_runs import ANYWHERE, Terrain, run
from model_tests.machines.transaction_runs import run_transactions
from model_tests.machines.transaction_setting import OUTLIVED, STORIES, UNBUMPED
from model_tests.mutants.defects.of_append import OF_APPEND, OF_WINDOW
from model_tests.mutants.defects.of_client import OF_CLIENT
from model_tests.mutants.defects.of_coordinator import OF_COORDINATOR
from model_tests.mutants.defects.of_identities import OF_IDENTITIES
from model_tests.mutants.defects.of_markers import OF_MARKERS
from model_tests.mutants.defects.of_replicas import OF_REPLICATION
from model_tests.mutants.defects.of_transactional_client import OF_TRANSACTIONAL_CLIENT
from model_tests.mutants.defects.of_verification import OF_VERIFICATION
from model_tests.mutants.defects.planted import Planted, hunted, without_defect
from model_tests.verify.results import PlantedDefect
from spec import rules

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
    """The check that detected a violation."""
    return f"{violation.seen_by} {violation.rule.id}"


# --- mutants that state machines of transactions see ------------------------------------------------------------------


OF_TRANSACTIONS: Final = (
    *OF_IDENTITIES,
    *OF_COORDINATOR,
    *OF_MARKERS,
    *OF_VERIFICATION,
    *OF_TRANSACTIONAL_CLIENT,
)
"""Every mutant of transactions that runs from a tape catch."""

ELSEWHERE: Final = {rules.TXN_REGISTERED_BEFORE_DATA: (OUTLIVED,), rules.SEQ_SUCCESSOR: (UNBUMPED,)}
"""Rules whose defects show where requests are late, or epochs stay."""

TRANSACTION_SEEDS: Final = range(600)
"""Runs after which a mutant has survived."""


def hunt_in_transactions(planted: Planted, seeds: Iterable[int] = TRANSACTION_SEEDS) -> PlantedDefect:
    """Run the stories with the defect, until an invariant of the rule that it breaks has seen it."""
    return hunted(planted, partial(run_transactions, stories=ELSEWHERE.get(planted.rule, STORIES)), seeds)


def true_transactions(runs: int) -> tuple[str, ...]:
    """Run the stories without any defect: what broke."""
    return without_defect(partial(run_transactions, stories=(*STORIES, OUTLIVED, UNBUMPED)), runs, "transactions")
