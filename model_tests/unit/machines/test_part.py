"""The stateful part: which rules it brings, that a defect turns the right one red, and what counts as evidence."""

from typing import Final

import pytest

from model_tests.machines import part
from model_tests.machines.disk_invariants import DISK_RULES
from model_tests.machines.disk_machine import DiskMachine
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_machine import TRANSACTION_RULES
from model_tests.mutants.defects.of_disk import OF_DISK
from model_tests.unit.machines.small import small
from model_tests.verify.results import RuleVerdict, RunEffort
from spec import rules
from spec.evidence import Layer

SMALL: Final = small(150, 40)


@pytest.mark.slow
def test_the_disk_machine_brings_evidence_for_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rule of the log on disk holds, and was at stake more than once."""
    monkeypatch.setenv("CI", "1")

    results = part.on_disk(RunEffort.QUICK).results()

    assert list(DISK_RULES) == [result.rule for result in results]
    assert {Layer.STATEFUL} == {result.layer for result in results}
    assert [] == [str(result) for result in results if not result.passed or result.count < 2]


@pytest.mark.slow
def test_the_machines_of_transactions_bring_evidence_for_their_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rule of transactions holds, and was at stake more than once."""
    monkeypatch.setenv("CI", "1")

    results = part.on_transactions(RunEffort.QUICK).results()

    assert list(TRANSACTION_RULES) == [result.rule for result in results]
    assert [] == [str(result) for result in results if not result.passed or result.count < 2]


def test_the_part_brings_the_rules_of_all_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """One result for each rule, and figures over all runs."""
    monkeypatch.setattr(part, "EXAMPLES", {RunEffort.QUICK: 5})
    monkeypatch.setattr(part, "DISK_EXAMPLES", {RunEffort.QUICK: 5})
    monkeypatch.setattr(part, "TRANSACTION_EXAMPLES", {RunEffort.QUICK: 2})
    monkeypatch.setattr(part, "PIPELINE_EXAMPLES", {RunEffort.QUICK: 1})
    monkeypatch.setattr(part, "SENDING_EXAMPLES", {RunEffort.QUICK: 2})

    brought = part.evidence(RunEffort.QUICK)

    assert list(part.RULES) == [result.rule for result in brought.results]
    assert {rules.SEQ_STATE_RECOVERABLE, rules.LSO_BOUNDS, rules.FENCE_COORDINATOR_EPOCH} <= set(part.RULES)
    assert isinstance(known := brought.extra["known_by_rule"], dict)
    assert {rule.id for rule in part.RULES} == set(known)
    assert () == brought.failures


@pytest.mark.parametrize(
    "name",
    [
        "snapshot without epochs",
        "cleaner drops the last batch of a producer",
        "log start does not bound",
        "stable offset falls",
        "unreplicated markers decide",
        "readers pass the last stable offset",
        "all aborted listed",
        "any coordinator writes",
    ],
)
def test_a_defect_of_the_disk_log_turns_its_rule_red(name: str) -> None:
    """Hypothesis finds it, and the result of the rule that it breaks shows it."""
    planted = next(planted for planted in OF_DISK if planted.name == name)
    ledger = Ledger(asks_decision=False)

    with planted.in_place():
        failures = part.failures_of(DiskMachine, ledger, SMALL)

    results = part.Account(DISK_RULES, ledger, tuple(failures), 1.0).results()
    red = {result.rule.id: result.detail for result in results if result.verdict is RuleVerdict.VIOLATED}
    assert planted.rule.id in red
    assert red[planted.rule.id].startswith(f"[{planted.rule.id}] by invariant: ")


def test_a_rule_that_was_never_at_stake_has_no_evidence() -> None:
    """Runs that never checked a rule are no evidence for it."""
    results = part.Account(DISK_RULES, Ledger(runs=100, steps=5000), (), 1.0).results()

    assert [] == [result.rule.id for result in results if result.passed]
