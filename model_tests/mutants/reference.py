"""Mutants of the reference: each is planted, and runs from seeds until the rule that it breaks has seen it."""

import time
from collections.abc import Iterable
from typing import Final

from model_tests.mutants.of_append import OF_APPEND
from model_tests.mutants.of_client import OF_CLIENT
from model_tests.mutants.of_replication import OF_REPLICATION
from model_tests.mutants.of_window import OF_WINDOW
from model_tests.mutants.planted import Planted
from model_tests.stateful.ledger import Ledger, Violation
from model_tests.stateful.tape_runs import run
from model_tests.verify.results import Mutant

PLANTED: Final[tuple[Planted, ...]] = (*OF_APPEND, *OF_WINDOW, *OF_REPLICATION, *OF_CLIENT)
"""Every mutant of the reference."""

SEEDS: Final = range(400)
"""Runs after which a mutant has survived."""


def hunt(planted: Planted, seeds: Iterable[int] = SEEDS) -> Mutant:
    """Run the reference with the defect, until an invariant of the rule that it breaks has seen it."""
    started = time.monotonic()
    killers: dict[str, None] = {}
    with planted.in_place():
        for seed in seeds:
            broken, stopped = broken_in(seed)
            if stopped:
                killers.setdefault(stopped)
            if any(v.rule == planted.rule and v.seen_by == "invariant" for v in broken):
                killers = {f"{killer(v)}, run {seed}": None for v in by_rule_first(broken, planted)} | killers
                break
            killers.update({killer(v): None for v in broken})
    return Mutant(planted.name, planted.rule, tuple(killers), round(time.monotonic() - started, 3))


def broken_in(seed: int) -> tuple[list[Violation], str]:
    """What one run broke, and how the reference fell over, if it did."""
    ledger = Ledger()
    try:
        run(seed, ledger)
    except Exception as error:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
        return ledger.broken, f"the reference stops: {type(error).__name__}"
    return ledger.broken, ""


def by_rule_first(broken: list[Violation], planted: Planted) -> list[Violation]:
    """The violations, those of the mutant's own rule first."""
    return sorted(broken, key=lambda violation: violation.rule != planted.rule)


def killer(violation: Violation) -> str:
    """Who saw a violation."""
    return f"{violation.seen_by} {violation.rule.id}"
