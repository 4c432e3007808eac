"""Transactions and offsets as part of the run: every rule that owes a bounded search has one, and controls."""

import pytest

from model_tests.verify import group_searches, transactions_searches
from model_tests.verify.model_checking import Searched, vacuous
from model_tests.verify.results import RuleVerdict as Outcome
from model_tests.verify.results import RunEffort
from spec.rules import RULES
from spec.systems.transactions.instances import INSTANCES as TRUE

OF_TRANSACTIONS = {
    rule.id for rule in RULES.values() if rule.family in ("txn", "offsets") or rule.id == "fence.zombie_cannot_commit"
}


def test_every_rule_of_transactions_that_owes_a_search_is_searched() -> None:
    """None is left out of the run."""
    owed = {id for id in OF_TRANSACTIONS if "B" in RULES[id].owes}

    searched = {
        rule.id for each in (transactions_searches.searched(), group_searches.of_transactions()) for rule in each.rules
    }

    assert set() == owed - searched


@pytest.mark.parametrize("searched", [group_searches.of_transactions(), group_searches.of_generations()])
def test_offsets_hold_in_the_newest_release_and_not_before(searched: Searched) -> None:
    """Nothing is found in the true system, everything happens in it, and the known bug is found twice."""
    results, nothing = searched.bounded(RunEffort.QUICK)

    assert [Outcome.HOLDS] == [result.verdict for result in results]
    assert () == nothing
    assert all(control.passed for control in searched.controls(RunEffort.QUICK))


def test_the_instances_that_are_whole_are_of_version_2_and_leave_nothing_out() -> None:
    """Each is one that a default run explores; with a part of them alone, something would be claimed of nothing."""
    named = [each for each in transactions_searches.INSTANCES if each.whole]
    built = [each.built() for each in named]

    assert set(transactions_searches.WHOLE) == {each.name for each in named}
    assert all(RunEffort.DEFAULT in each.depth for each in named)
    assert {2} == {each.knobs.profile.transaction_version for each in TRUE if each.name in transactions_searches.WHOLE}
    assert [] == list(vacuous(built))
    assert "successor_has_transaction is never reached" in list(vacuous(built[:1]))
