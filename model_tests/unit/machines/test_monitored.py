"""Every machine whose world is recorded has its steps judged: none disagrees, and a defect is named at its step."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from model_tests.machines import tape_runs
from model_tests.machines.part import Account, failures_of
from model_tests.machines.pipeline_runs import run_pipeline
from model_tests.machines.replica_events import run_replicas
from model_tests.machines.replica_machine import ReplicaMachine
from model_tests.machines.rule_counts import Ledger, LedgerEntry
from model_tests.machines.transaction_runs import run_transactions
from model_tests.mutants.defects.of_replicas import OF_REPLICAS
from model_tests.mutants.defects.planted import Planted, run_once
from model_tests.mutants.reference import OF_TRANSACTIONS, PLANTED
from model_tests.unit.machines.small import small
from spec import rules
from spec.rules import Rule

Run = Callable[[int, Ledger], object]

AT_STAKE: Final[dict[str, tuple[Run, int, Rule]]] = {
    "producers": (tape_runs.run, 6, rules.SEQ_SUCCESSOR),
    "transactions": (run_transactions, 4, rules.TXN_LEGAL_TRANSITION),
    "pipelines": (run_pipeline, 2, rules.TXN_ONE_OUTCOME),
    "replicas": (run_replicas, 4, rules.REPL_HW_BOUNDS),
}
"""For each machine its runs from a tape, how many, and a rule that its steps are about."""


def planted(name: str) -> Planted:
    return next(each for each in (*PLANTED, *OF_TRANSACTIONS, *OF_REPLICAS) if each.name == name)


@pytest.mark.parametrize("name", AT_STAKE)
def test_the_steps_of_a_machine_are_judged_while_they_are_made(name: str) -> None:
    """None disagrees with the specification, and the rules that they are about were at stake."""
    run, runs, rule = AT_STAKE[name]
    ledger = Ledger()

    for seed in range(runs):
        run(seed, ledger)

    assert [] == ledger.broken
    assert ledger.monitored(rule).judged > 0


DEFECTS: Final = {
    "producers": "gap of one accepted",
    "transactions": "a timeout fences nobody (KAFKA-6119)",
    "replicas": "nobody holds the high watermark back",
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_named_at_the_step_that_shows_it(name: str) -> None:
    """By its rule, with the values and what was allowed; what the machine's own invariants see is kept apart."""
    run, _, _ = AT_STAKE[name]
    defect = planted(DEFECTS[name])

    with defect.in_place():
        ledger = next(ledger for ledger in accounts(run) if by_monitor(ledger, defect.rule))

    found, seen = by_monitor(ledger, defect.rule)[0], ledger.seen_by_invariants()
    assert f" breaks {defect.rule.id} at " in found.message
    assert "; allowed " in found.message
    assert seen is None or seen.seen_by == "invariant"


def test_a_hunt_is_left_to_the_invariants() -> None:
    """Where no decision is made, the monitor sees nothing, so that the machine's own invariants kill the mutant."""
    with planted(DEFECTS["replicas"]).in_place():
        ledgers = [Ledger(asks_decision=False), Ledger(monitors=False)]
        for ledger in ledgers:
            run_replicas(0, ledger)

    assert [0, 0] == [ledger.findings.total() for ledger in ledgers]
    assert {"invariant"} >= {broken.seen_by for ledger in ledgers for broken in ledger.broken}


def test_a_machine_stops_where_its_monitor_disagrees() -> None:
    """What stops it becomes a failed result of the rule, also of one that the machine has no invariant for."""
    few = small(10)
    ledger = Ledger()
    with planted(DEFECTS["replicas"]).in_place():
        failures = failures_of(ReplicaMachine, ledger, few)

    found = [failure for failure in failures if isinstance(failure, LedgerEntry)]
    results = Account((rules.REPL_PREFIX_AGREEMENT,), ledger, tuple(failures), 1.0).results()
    assert found
    assert {failure.rule for failure in found} <= {result.rule for result in results if not result.passed}


def accounts(run: Run) -> Iterator[Ledger]:
    for seed in range(60):
        yield run_once(run, seed, Ledger())[0]


def by_monitor(ledger: Ledger, rule: Rule) -> list[LedgerEntry]:
    return [broken for broken in ledger.broken if broken.seen_by == "monitor" and broken.rule is rule]
