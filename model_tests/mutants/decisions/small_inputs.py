"""Every small input as places: each decision that is compared with the reference on all of them."""

from collections.abc import Iterator
from functools import partial

from model_tests.machines.part import COMPARED
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.side_by_side import DecisionComparison
from model_tests.mutants.decisions.call_sites import JudgedCall


def small_inputs() -> Iterator[JudgedCall]:
    """A place for each decision that is compared."""
    for compared in COMPARED:
        yield JudgedCall(f"every small input: {compared.name}", partial(violated, compared))


def violated(compared: DecisionComparison) -> tuple[str, ...]:
    """The rule that a difference breaks."""
    ledger = Ledger()
    compared.compare(ledger)
    return tuple(found.rule.id for found in ledger.broken)
