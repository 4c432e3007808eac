"""Transactions in runs from a tape: every rule holds and is at stake; the machines have the same events."""

import inspect

import pytest

from model_tests.stateful.ledger import Ledger
from model_tests.stateful.transaction_machine import MACHINES, TRANSACTION_RULES, TransactionMachine
from model_tests.stateful.transaction_runs import ACTIONS, run_transactions
from model_tests.stateful.transaction_setting import STORIES, Story
from spec import rules
from spec.rules import Rule

OF_STORY = {
    "one transactional id, several instances": (rules.FENCE_ZOMBIE_CANNOT_COMMIT, rules.FENCE_EPOCH_EXHAUSTION),
    "several ids over shared partitions": (rules.IDS_UNIQUE, rules.TXN_EXPIRY, rules.TXN_ATOMIC),
    "consume, transform, produce": (rules.OFFSETS_GENERATION_FENCE, rules.OFFSETS_STABLE_FETCH, rules.OFFSETS_ATOMIC),
    "coordinators fail": (rules.TXN_FAILOVER, rules.FENCE_COORDINATOR_EPOCH, rules.TXN_ONE_OUTCOME),
}
"""What each story is told for."""


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_runs_of_a_story_keep_every_rule(story: Story) -> None:
    """Nothing breaks in runs from seeds, and the rules that the story is told for are at stake in them."""
    ledger = Ledger()

    for seed in range(60):
        run_transactions(seed, ledger, (story,))

    assert [] == [str(broken) for broken in ledger.broken]
    assert [] == [rule.id for rule in OF_STORY[story.name] if ledger.at_stake[rule] < 20]


def test_every_rule_is_at_stake() -> None:
    """Runs of all stories ask about every rule more than once."""
    ledger = Ledger()

    for seed in range(80):
        run_transactions(seed, ledger)

    assert [] == [rule.id for rule in TRANSACTION_RULES if ledger.at_stake[rule] < 10]


def test_a_seed_is_a_run_of_transactions() -> None:
    """The same seed makes the same steps, with the same rules at stake."""
    first, second = Ledger(), Ledger()

    for ledger in (first, second):
        for seed in range(8):
            run_transactions(seed, ledger)

    assert first == second


def test_the_machines_and_runs_from_a_tape_have_the_same_events() -> None:
    """Neither knows an event that the other does not, and no story excludes one that there is not."""
    found = {name for name, method in inspect.getmembers(TransactionMachine) if takes_a_number(method)}

    assert found == {action.name for action in ACTIONS}
    assert set() == {name for story in STORIES for name in (*story.never, *story.often)} - found


def test_each_story_has_a_machine() -> None:
    """The machines differ in their stories alone."""
    assert list(STORIES) == [machine.story for machine in MACHINES]


@pytest.mark.parametrize("rule", TRANSACTION_RULES, ids=lambda rule: rule.id)
def test_transaction_invariants_carry_the_names_of_rules(rule: Rule) -> None:
    """Each rule that the machines answer for is the name of one of their invariants."""
    assert hasattr(TransactionMachine, rule.id.replace(".", "_"))


def takes_a_number(method: object) -> bool:
    return inspect.isfunction(method) and list(inspect.signature(method).parameters) == ["self", "number"]
