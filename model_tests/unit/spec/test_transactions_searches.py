"""Transactions and offsets as part of the run: every rule that owes a bounded search has one, and controls."""

import pytest

from model_tests.verify import offsets_searches, transactions_searches
from model_tests.verify.results import RuleVerdict as Outcome
from model_tests.verify.results import RunEffort
from model_tests.verify.searched import Searched
from spec.rules import RULES

OF_TRANSACTIONS = {
    rule.id for rule in RULES.values() if rule.family in ("txn", "offsets") or rule.id == "fence.zombie_cannot_commit"
}


def test_every_rule_of_transactions_that_owes_a_search_is_searched() -> None:
    """None is left out of the run."""
    owed = {id for id in OF_TRANSACTIONS if "B" in RULES[id].owes}

    searched = {
        rule.id
        for each in (transactions_searches.searched(), offsets_searches.of_transactions())
        for rule in each.rules
    }

    assert set() == owed - searched


@pytest.mark.parametrize("searched", [offsets_searches.of_transactions(), offsets_searches.of_generations()])
def test_offsets_hold_in_the_newest_release_and_not_before(searched: Searched) -> None:
    """Nothing is found in the true system, everything happens in it, and the known bug is found twice."""
    results, vacuous = searched.bounded(RunEffort.QUICK)

    assert [Outcome.HOLDS] == [result.verdict for result in results]
    assert () == vacuous
    assert all(control.passed for control in searched.controls(RunEffort.QUICK))


def test_the_instance_that_is_whole_leaves_nothing_out() -> None:
    """Its name is that of an instance, which some effort explores."""
    named = [each for each in transactions_searches.INSTANCES if each.whole]

    assert [transactions_searches.WHOLE] == [each.name for each in named]
    assert RunEffort.DEFAULT in named[0].depth
