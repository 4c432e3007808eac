"""The monitor: it passes what is true, stops at what is false with the rule's name, and counts what it judged."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any, Final

import pytest

from model_tests.monitor.monitor import Disagreement, Finding, Monitor, claimed_among, rule_counts
from model_tests.monitor.runs import run_of
from model_tests.mutants.in_transactions import OF_TRANSACTIONS
from model_tests.mutants.planted import Planted
from model_tests.mutants.reference import PLANTED
from model_tests.traces.corrupt import CORRUPTIONS, Corrupted, corrupted
from model_tests.traces.corruption import Corruption
from model_tests.traces.schema import Row
from model_tests.traces.simulate import WORKLOADS, trace_of
from model_tests.traces.verdicts import BITS
from model_tests.unit.monitor.perturbed import changed_traces
from spec.rules import Rule
from spec.versions import PROFILES

TURN: Final = len(WORKLOADS) * len(PROFILES)
"""Seeds after which every workload had every profile."""

SEEN: Final = (
    "epoch check dropped",
    "epoch check off by one",
    "wrong error for a stale epoch",
    "epoch lowered",
    "epoch reset not demanded",
    "any first sequence in every version",
    "gap of one accepted",
    "wrap forgotten",
    "refused batch remembered",
    "duplicate check dropped",
    "duplicate answered with the log end",
    "two batches accepted",
    "a new instance gets the epoch of the one before",
    "timeouts come early",
    "a timeout fences nobody (KAFKA-6119)",
    "ids with open transactions are forgotten",
    "a new coordinator leaves decisions alone",
)
"""Defects of the reference that single steps show; others show only in what becomes of the records."""

DEFECTS: Final = {planted.name: planted for planted in (*PLANTED, *OF_TRANSACTIONS)}


@pytest.fixture(scope="module")
def true_traces() -> list[list[Row]]:
    return [trace_of(seed) for seed in range(TURN)]


@pytest.fixture(scope="module")
def on_true_traces(true_traces: list[list[Row]]) -> Counter[Finding]:
    """What monitors find that stop at the first disagreement."""
    findings = Counter[Finding]()
    for rows in true_traces:
        monitor = Monitor()
        judge_all(monitor, rows)
        findings.update(monitor.findings)
    return findings


def test_true_traces_of_every_profile_hold(on_true_traces: Counter[Finding]) -> None:
    """The reference agrees with the specification at every step, and each rule of a corruption is at stake in some."""
    counts = {count.rule: count for count in rule_counts(on_true_traces)}

    assert {0} == {count.violations for count in counts.values()}
    assert {corruption.rule.id for corruption in CORRUPTIONS} <= counts.keys()


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=[corruption.name for corruption in CORRUPTIONS])
def test_a_false_step_is_where_the_monitor_stops(corruption: Corruption, true_traces: list[list[Row]]) -> None:
    """It names trace, step, rule and guard, the values that decide, and what was allowed instead."""
    traces = chain(true_traces, map(trace_of, range(TURN, 4 * TURN)))
    false = corrupted(corruption, (rows for rows in traces if is_claimed(corruption.rule, rows[0])), 10**9)

    violations = stopped_at(false)

    assert {(false.trace, false.step)} == {(violation.trace, violation.step) for violation in violations}
    named = next(violation for violation in violations if violation.rule == corruption.rule.id)
    assert named.guard
    assert named.values
    assert named.allowed


def is_claimed(rule: Rule, row: Row) -> bool:
    return rule in claimed_among(BITS[rule], row["profile"], row["transaction_version"])


def stopped_at(false: Corrupted) -> tuple[Any, ...]:
    with pytest.raises(Disagreement) as stopped:
        judge_all(Monitor(), false.rows)
    return stopped.value.violations


def judge_all(monitor: Monitor, rows: Iterable[Row]) -> None:
    for row in rows:
        monitor(row)


@pytest.mark.parametrize("planted", [DEFECTS[name] for name in SEEN], ids=SEEN)
def test_a_planted_defect_stops_the_run_with_its_rule(planted: Planted) -> None:
    """Among the traces of some turns there is one that stops at a step, which breaks the rule of the defect."""
    with planted.in_place():
        runs = (run_of(seed).play() for seed in range(3 * TURN))
        played = next(run for run in runs if planted.rule.id in run.rules)

    assert played.rows[-1]["step"] == played.violations[0].step
    assert played.violations[0].replay.startswith(f"eos replay --seed {played.rows[0]['trace']}")


def test_what_is_not_claimed_is_known_and_stops_nothing() -> None:
    """Without verification a transaction may write where it is not registered: counted, and no disagreement."""
    findings = Counter[Finding]()
    for row in changed_traces(range(2, TURN, len(WORKLOADS)), share=0.5):
        monitor = Monitor()
        broken = {violation.rule for violation in monitor.judge(row)}
        findings.update(monitor.findings)
        known = {count.rule for count in monitor.rule_counts() if count.known}
        assert not broken & known

    counts = {count.rule: count for count in rule_counts(findings)}

    assert counts["txn.registered_before_data"].known > 0
    assert counts["txn.registered_before_data"].violations > 0


def test_a_monitor_sees_every_row_of_its_run() -> None:
    """It is told of each step, and not of one less."""
    monitor = Monitor()

    judge_all(monitor, trace_of(2))

    assert len(trace_of(2)) == monitor.steps
