"""The stateful part: which rules it brings, that a defect turns the right one red, and what counts as evidence."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import pytest
from hypothesis import seed

from model_tests.machines import part
from model_tests.machines.disk_invariants import DISK_RULES
from model_tests.machines.disk_machine import DiskMachine
from model_tests.machines.rule_counts import Ledger
from model_tests.machines.transaction_machine import (
    TRANSACTION_RULES,
    FailoverMachine,
    SharedPartitionsMachine,
    TransactionMachine,
    WorkersMachine,
)
from model_tests.mutants.defects.of_disk import OF_DISK
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.reference import OF_TRANSACTIONS
from model_tests.unit.machines.small import small
from model_tests.verify.results import RuleVerdict, RunEffort
from spec import rules
from spec.evidence import Layer

SMALL: Final = small(100, 40)

SERIES: Final = 20
"""Series of runs after which a defect counts as not found: it takes 5 to 200 runs to find one."""

Where: TypeAlias = tuple[Sequence[rules.Rule], Sequence[Planted], type[DiskMachine | TransactionMachine]]
"""The rules of a world, the defects that are planted in it, and the machine that shall find one."""


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
    monkeypatch.setattr(part, "REPLICA_EXAMPLES", {RunEffort.QUICK: 5})

    brought = part.evidence(RunEffort.QUICK)

    assert list(part.RULES) == [result.rule for result in brought.results]
    assert {rules.SEQ_STATE_RECOVERABLE, rules.LSO_BOUNDS, rules.FENCE_COORDINATOR_EPOCH} <= set(part.RULES)
    assert isinstance(known := brought.extra["known_by_rule"], dict)
    assert {rule.id for rule in part.RULES} == set(known)
    assert () == brought.failures


DISK: Final = (DISK_RULES, OF_DISK, DiskMachine)


def _of_transactions(machine: type[TransactionMachine]) -> Where:
    return TRANSACTION_RULES, OF_TRANSACTIONS, machine


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("snapshot without epochs", DISK),
        pytest.param("cleaner drops the last batch of a producer", DISK, marks=pytest.mark.slow),
        ("log start does not bound", DISK),
        pytest.param("stable offset falls", DISK, marks=pytest.mark.slow),
        ("unreplicated markers decide", DISK),
        ("readers pass the last stable offset", DISK),
        pytest.param("all aborted listed", DISK, marks=pytest.mark.slow),
        pytest.param("any coordinator writes", DISK, marks=pytest.mark.slow),
        ("no id is ever forgotten", _of_transactions(SharedPartitionsMachine)),
        pytest.param(
            "open transactions do not bound readers", _of_transactions(SharedPartitionsMachine), marks=pytest.mark.slow
        ),
        ("pending offsets count", _of_transactions(FailoverMachine)),
        ("nobody is asked", _of_transactions(WorkersMachine)),
        ("partitions are not loaded", _of_transactions(FailoverMachine)),
        ("a new instance gets the epoch of the one before", _of_transactions(TransactionMachine)),
        ("a commit is decided as an abort", _of_transactions(TransactionMachine)),
        ("a timeout fences nobody (KAFKA-6119)", _of_transactions(TransactionMachine)),
    ],
)
def test_a_defect_turns_its_rule_red(name: str, where: Where) -> None:
    """Hypothesis finds it, and the result of the rule that it breaks shows it."""
    owed, defects, machine = where
    planted = next(planted for planted in defects if planted.name == name)

    with planted.in_place():
        found = next((red[planted.rule.id] for red in broken_in(machine, owed) if planted.rule.id in red), "")

    assert found.startswith(f"[{planted.rule.id}] by invariant: ")


def broken_in(machine: type[DiskMachine | TransactionMachine], owed: Sequence[rules.Rule]) -> Iterator[dict[str, str]]:
    """What each of several series of runs breaks: it ends with its first failure, which may be of another rule."""
    for number in range(SERIES):
        ledger = Ledger(asks_decision=False)
        seeded = seed(number)(type(machine.__name__, (machine,), {}))
        failures = part.failures_of(seeded, ledger, SMALL)
        results = part.Account(owed, ledger, tuple(failures), 1.0).results()
        yield {each.rule.id: each.detail for each in results if each.verdict is RuleVerdict.VIOLATED}


def test_a_rule_that_was_never_at_stake_has_no_evidence() -> None:
    """Runs that never checked a rule are no evidence for it."""
    results = part.Account(DISK_RULES, Ledger(runs=100, steps=5000), (), 1.0).results()

    assert [] == [result.rule.id for result in results if result.passed]
