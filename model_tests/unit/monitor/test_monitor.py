"""The monitor: it passes what is true, stops at what is false with the rule's name, and counts what it judged."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import pytest

from model_tests.corruption.catalogue import CORRUPTIONS, StepCorruption
from model_tests.corruption.corrupt import corrupted
from model_tests.judging.check_report import RuleCount
from model_tests.judging.verdicts import BITS
from model_tests.monitor.monitor import DecisionMismatch, Monitor, claimed_among, rule_counts
from model_tests.monitor.runs import MonitoredRun, run_of
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.reference import OF_TRANSACTIONS, PLANTED
from model_tests.simulate.simulate import WORKLOADS, seeds_of, trace_of
from model_tests.traces.schema import Row
from model_tests.unit.support.shown_in_runs import runs_with
from spec import rules
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
    "nothing times out",
    "timeouts come early",
    "a timeout fences nobody (KAFKA-6119)",
    "ids with open transactions are forgotten",
    "a new coordinator leaves decisions alone",
)
"""Defects of the reference that single steps show; others show only in what becomes of the records."""

DEFECTS: Final = {planted.name: planted for planted in (*PLANTED, *OF_TRANSACTIONS)}


@pytest.fixture(scope="module")
def true_runs() -> list[MonitoredRun]:
    """Runs that monitors watched; more of `raw`, where some kinds of steps are rare."""
    seeds = [*range(TURN), *seeds_of(len(PROFILES), TURN, "raw")]
    return [run_of(seed).play() for seed in seeds]


@pytest.mark.slow
def test_true_traces_of_every_profile_hold(true_runs: list[MonitoredRun]) -> None:
    """The reference agrees with the specification at every step, and each rule of a corruption is at stake in some."""
    counts = list(rule_counts(sum((run.findings for run in true_runs), Counter())))

    assert {()} == {run.violations for run in true_runs}
    assert {0} == {count.violations for count in counts}
    assert {corruption.rule.id for corruption in CORRUPTIONS} <= {count.rule for count in counts}


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=[corruption.name for corruption in CORRUPTIONS])
def test_a_false_step_is_where_the_monitor_stops(corruption: StepCorruption, true_runs: list[MonitoredRun]) -> None:
    """It names trace, step, rule and guard, the values that decide, and what was allowed instead."""
    false = corrupted(corruption, [run.rows for run in true_runs if is_claimed(corruption.rule, run)], 10**9)
    monitor = Monitor()

    violations = [violation for row in false.rows for violation in monitor.judge(row)]

    named = next(v for v in violations if (v.trace, v.step, v.rule) == (false.trace, false.step, corruption.rule.id))
    assert named.guard
    assert named.values
    assert named.allowed
    assert corruption.drops or false.step == violations[0].step  # its log may show a lost step before


def test_a_monitor_stops_at_the_first_step_that_is_false() -> None:
    """What it raises has every rule that the step breaks, and one line for each."""
    true = trace_of(1)
    step = next(row["step"] for row in true if row["origin"] >= 0)
    rows = [{**row, "appended": not row["appended"]} if row["step"] == step else row for row in true]

    with pytest.raises(DecisionMismatch, match=f"trace 1, step {step} breaks") as stopped:
        judge_all(Monitor(), rows)

    assert {step} == {violation.step for violation in stopped.value.violations}
    assert stopped.value.rules


def is_claimed(rule: Rule, run: MonitoredRun) -> bool:
    """Whether the rule is at stake in the run, and claimed there."""
    at_stake = any(finding.judged & BITS[rule] for finding in run.findings)
    return at_stake and rule in claimed_among(BITS[rule], run.rows[0]["profile"], run.rows[0]["transaction_version"])


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


def test_what_is_not_claimed_is_known_and_stops_nothing(true_runs: list[MonitoredRun]) -> None:
    """Without verification a transaction may write where it is not registered: counted, and no disagreement."""
    rule = rules.TXN_REGISTERED_BEFORE_DATA
    corruption = next(corruption for corruption in CORRUPTIONS if corruption.rule is rule)
    false = corrupted(corruption, [run.rows for run in true_runs if is_claimed(rule, run)], 10**9)
    step = next(row for row in false.rows if row["step"] == false.step)
    with_verification, without = Monitor(), Monitor()

    broken = with_verification.judge(step)
    excused = without.judge({**step, "profile": "3.9.0-nover", "transaction_version": 0})

    assert ({rule.id}, ()) == ({violation.rule for violation in broken}, excused)
    assert [RuleCount(rule.id, 1, 0, 1)] == [count for count in without.rule_counts() if count.known]


def test_a_monitor_sees_every_row_of_its_run() -> None:
    """It gets each step, and not one less."""
    monitor = Monitor()

    judge_all(monitor, trace_of(2))

    assert len(trace_of(2)) == monitor.steps


def takes_past_marker(rows: Sequence[Row]) -> bool:
    """A follower takes a marker of a past epoch."""
    taken = (row for row in rows if row["api"] == "ReplicaFetch" and row["control"] and row["appended"])
    return any(0 <= row["producer_epoch"] < row["before_epoch"] for row in taken)


def test_a_follower_may_take_a_marker_of_a_past_epoch() -> None:
    """Its leader took it: that the epoch falls is no violation there, in any release."""
    for run in runs_with(takes_past_marker, (run_of(seed, workload="raw") for seed in range(600)), count=4):
        assert () == run.play().violations, run.seed


def test_after_an_unclean_election_what_asks_for_clean_ones_is_known(true_runs: list[MonitoredRun]) -> None:
    """The step of the election is in the trace, and narrows the domain from there on."""
    rows = (row for run in true_runs for row in run.rows if row["api"] == "Produce" and row["appended"])
    true = next(row for row in rows if row["before_epoch"] >= 0)
    false = {**true, "before_epoch": true["after_epoch"] + 1}
    election = {**true, "api": "UncleanLeaderElection", "producer_id": -1, "origin": -1}
    before, after = Monitor(), Monitor()

    broken = {violation.rule for violation in before.judge(false)}
    judge_all(after, [election])
    excused = broken - {violation.rule for violation in after.judge(false)}

    assert "fence.epoch_monotone" in excused
