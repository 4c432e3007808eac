"""Mutants that machines of transactions see: each is planted, and runs from seeds until its rule has seen it."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from model_tests.machines.transaction_runs import run_transactions
from model_tests.machines.transaction_setting import OUTLIVED, STORIES, UNBUMPED
from model_tests.mutants.defects.of_coordinator import OF_COORDINATOR
from model_tests.mutants.defects.of_identities import OF_IDENTITIES
from model_tests.mutants.defects.of_markers import OF_MARKERS
from model_tests.mutants.defects.of_transactional_client import OF_TRANSACTIONAL_CLIENT
from model_tests.mutants.defects.of_verification import OF_VERIFICATION
from model_tests.mutants.defects.planted import Planted, hunted, without_defect
from model_tests.verify.results import PlantedDefect
from spec import rules

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

SEEDS: Final = range(600)
"""Runs after which a mutant has survived."""


def hunt_in_transactions(planted: Planted, seeds: Iterable[int] = SEEDS) -> PlantedDefect:
    """Run the stories with the defect, until an invariant of the rule that it breaks has seen it."""
    return hunted(planted, partial(run_transactions, stories=ELSEWHERE.get(planted.rule, STORIES)), seeds)


def true_transactions(runs: int) -> tuple[str, ...]:
    """Run the stories without any defect: what broke."""
    return without_defect(partial(run_transactions, stories=(*STORIES, OUTLIVED, UNBUMPED)), runs, "transactions")
