"""The log on disk in runs from a tape: every rule holds and is at stake; the machine has the same events."""

import inspect

from model_tests.stateful.disk_invariants import DISK_RULES
from model_tests.stateful.disk_machine import DiskMachine
from model_tests.stateful.disk_runs import DISK_ACTIONS, run_on_disk
from model_tests.stateful.ledger import Ledger


def test_runs_from_a_tape_keep_every_rule() -> None:
    """The same world holds in runs from seeds, and every rule is at stake in them."""
    ledger = Ledger()

    for seed in range(100):
        run_on_disk(seed, ledger)

    assert [] == ledger.broken
    assert set(DISK_RULES) == {rule for rule in DISK_RULES if ledger.at_stake[rule]}


def test_a_seed_is_a_run_on_disk() -> None:
    """The same seed makes the same steps, with the same rules at stake."""
    first, second = Ledger(), Ledger()

    run_on_disk(11, first)
    run_on_disk(11, second)

    assert first == second


def test_the_machine_and_runs_from_a_tape_have_the_same_disk_events() -> None:
    """Neither knows an event that the other does not."""
    found = {name for name, method in inspect.getmembers(DiskMachine) if takes_a_number(method)}

    assert found == {action.name for action in DISK_ACTIONS}


def test_disk_invariants_carry_the_names_of_rules() -> None:
    """Each rule that the machine answers for is the name of one of its invariants."""
    assert [] == [rule.id for rule in DISK_RULES if not hasattr(DiskMachine, rule.id.replace(".", "_"))]


def takes_a_number(method: object) -> bool:
    return inspect.isfunction(method) and list(inspect.signature(method).parameters) == ["self", "number"]
