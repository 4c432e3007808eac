"""Defects planted in transactions are caught by the rule that they break, and the true reference is not."""

from collections import Counter

import pytest

from model_tests.machines.transaction_machine import TRANSACTION_RULES
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.part import TRANSACTIONS_SAMPLE, caught, sampled, survival
from model_tests.mutants.reference import OF_TRANSACTIONS, hunt_in_transactions, true_transactions
from model_tests.unit.mutants.few import of_every_rule
from model_tests.verify.results import RunEffort


@pytest.mark.parametrize("planted", of_every_rule(OF_TRANSACTIONS, TRANSACTIONS_SAMPLE))
def test_a_defect_of_transactions_is_caught_by_its_rule(planted: Planted) -> None:
    """An invariant of the rule that the defect breaks sees it."""
    found = hunt_in_transactions(planted)

    assert caught(found), survival(found)


@pytest.mark.slow
def test_the_true_transactions_survive() -> None:
    """Where the defects are caught, nothing is wrong without them."""
    assert () == true_transactions(runs=150)


def test_every_rule_of_transactions_has_a_defect_that_breaks_it() -> None:
    """An invariant that no defect can break shows nothing."""
    assert set() == set(TRANSACTION_RULES) - {planted.rule for planted in OF_TRANSACTIONS}
    assert len(OF_TRANSACTIONS) >= 40


def test_names_of_defects_of_transactions_are_unique() -> None:
    """A survivor is found by its name."""
    names = Counter(planted.name for planted in OF_TRANSACTIONS)

    assert [] == [name for name, times in names.items() if times > 1]


def of_effort(effort: RunEffort) -> list[Planted]:
    return sampled(OF_TRANSACTIONS, effort, TRANSACTIONS_SAMPLE)


def test_a_quick_run_hunts_a_sample_and_a_deep_one_hunts_all() -> None:
    """The sample is the same every time."""
    assert 0 < len(of_effort(RunEffort.QUICK)) < len(of_effort(RunEffort.DEFAULT))
    assert list(OF_TRANSACTIONS) == of_effort(RunEffort.DEEP)
    assert of_effort(RunEffort.QUICK) == of_effort(RunEffort.QUICK)
