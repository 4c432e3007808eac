"""Decision and reference on every small input: they agree, the inputs matter, and every defect is seen by its rule."""

from typing import Final

import pytest

from model_tests.machines.part import COMPARED, on_small_inputs
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.side_by_side import DecisionComparison
from model_tests.mutants.defects.of_small_inputs import OF_SMALL_INPUTS, hunt_side_by_side
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.part import caught
from model_tests.unit.by_default import by_default
from spec import rules

BY_DEFAULT: Final = (
    "incarnations are not compared",
    "no offset is overtaken",
    "specification: the latest client bumps",
)
"""Of the defects that `eos verify` hunts: of the reference and of the specification, each in another comparison."""


def test_reference_and_decision_agree_on_every_small_input() -> None:
    """No small input is decided otherwise, and every rule is at stake."""
    account = on_small_inputs()

    assert () == account.failures
    assert all(result.passed for result in account.results())


@pytest.mark.parametrize("compared", COMPARED, ids=lambda each: each.name)
def test_small_inputs_lead_to_different_outcomes(compared: DecisionComparison) -> None:
    """A comparison whose outcome is always the same would see nothing."""
    assert len({str(compared.decision(*given)) for given in compared.inputs()}) > 1


@pytest.mark.parametrize("planted", by_default({each.name: each for each in OF_SMALL_INPUTS}, BY_DEFAULT))
def test_defect_is_seen_by_its_rule(planted: Planted) -> None:
    """Every defect of few states, of the reference or of the specification, is seen by the rule that it breaks."""
    assert caught(hunt_side_by_side(planted))


def test_reference_that_stops_differs() -> None:
    """A reference that cannot decide does not agree."""

    def stops(_: int) -> object:
        raise ValueError

    ledger = Ledger()
    DecisionComparison("nothing", rules.TXN_TIMEOUT, lambda: [(1,)], lambda _: True, stops).compare(ledger)

    assert [found.rule for found in ledger.broken] == [rules.TXN_TIMEOUT]
    assert "stops: ValueError" in ledger.broken[0].message
