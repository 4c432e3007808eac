"""History rules about client events, on Spark: the same counts as here; what is outside of a domain is known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from model_tests.judging.check_report import CheckReport
from model_tests.judging.histories import Histories
from model_tests.judging.history_links import HISTORY_CHAINS
from model_tests.judging.step_assumptions import Fault, claimed_in
from model_tests.monitor.monitor import Monitor
from model_tests.simulate.simulate import WORKLOADS, profile_of, trace_of, version_of
from model_tests.traces.schema import complete
from model_tests.unit.support.audited_histories import hidden_though_committed, late_request
from model_tests.unit.traces.conftest import judged_alike, written
from spec.rules import TXN_NO_CROSSTALK
from spec.versions import KAFKA_3_9_UNVERIFIED, PROFILES

pytestmark = pytest.mark.xdist_group("spark")

SEEDS = range(2, 2 + 2 * len(WORKLOADS) * len(PROFILES), len(WORKLOADS))
OLD, NEW, HIDDEN, UNSAID = 2_000_000, 3_000_000, 4_000_000, 5_000_000
"""Numbers of the false traces: a late request before version 2 and under it, and a batch that is kept from a reader.

In the trace of that batch, the end of a log is wrong, too. In the last, places of two partitions hold two batches
each, and it is not said of a third whether anybody was given it.
"""


def _false(traces: Sequence[list[dict[str, Any]]], number: int, change: Any, claimed: bool) -> list[dict[str, Any]]:
    """The first of these traces without a fault that the change makes false, where crosstalk is excluded or not."""
    for rows in traces:
        false = [{**row, "trace": number} for row in rows]
        under, histories = PROFILES[rows[0]["profile"]].under(rows[0]["transaction_version"]), Histories()
        for row in rows:
            histories.add(row)
        excused = not claimed_in(TXN_NO_CROSSTALK, under, Fault.OUTLIVED)
        if not histories.faults and excused is not claimed and change(false):
            return false
    raise LookupError(change.__name__)


def _places(number: int) -> list[dict[str, Any]]:
    log = {"schema": 1, "profile": "4.3", "transaction_version": 2, "topic": "t", "trace": number}
    batch = {**log, "client": "c", "first_offset": 0, "last_offset": 0, "first_record": 0, "record_count": 1}
    reported = [
        {**batch, "api": "ClientAcknowledged", "partition": partition, "writer": writer}
        for partition in (0, 1)
        for writer in ("one", "other")
    ]
    unsaid = [{**each, "api": "ClientFetched", "writer": "third", "isolation": 0} for each in reported]
    steps = (dict(complete({**row, "step": step})) for step, row in enumerate((*reported, *unsaid)))
    return [{**row, "delivered": None} for row in steps]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    traces = [[dict(row) for row in trace_of(seed)] for seed in SEEDS]
    newest = [seed for seed in range(2, 4_500, len(WORKLOADS)) if (profile_of(seed), version_of(seed)) == ("4.3", 2)]
    strict = [[dict(row) for row in trace_of(seed)] for seed in newest]
    verified = [rows for rows in traces if rows[0]["profile"] != KAFKA_3_9_UNVERIFIED.name]
    false = [_false(verified, OLD, late_request, claimed=False), _false(strict, NEW, late_request, claimed=True)]
    false.append(_false(strict, HIDDEN, hidden_though_committed, claimed=True))
    next(row for row in false[-1] if row["appended"])["after_log_end"] += 5
    false.append(_places(UNSAID))
    return [row for trace in (*traces, *false) for row in trace]


@pytest.fixture(scope="module")
def report(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> CheckReport:
    return judged_alike(written(rows, tmp_path_factory.mktemp("histories")))


@pytest.mark.slow
def test_spark_counts_what_the_monitor_counts(rows: list[dict[str, Any]], report: CheckReport) -> None:
    """Every rule is at stake, broken and known as often in both readings."""
    monitor = Monitor()
    for row in rows:
        monitor.judge(row)
    monitor.finish()

    assert list(report.rules) == list(monitor.rule_counts())


def test_crosstalk_is_known_before_version_2_and_a_violation_under_it(report: CheckReport) -> None:
    """The batch has versions 0 and 1; the same lateness inside the domain is a violation, named with its values."""
    named = {(v.trace, v.guard) for v in report.violations if v.rule == "txn.no_crosstalk"}

    assert {0, 1, 2} >= {version_of(seed) for seed in SEEDS} >= {0, 2}
    assert report.of("txn.no_crosstalk").known >= 1
    assert (NEW, "acts_on_its_own") in named
    assert not {trace for trace, _ in named} & {OLD, *SEEDS}
    assert any(known.rule == "txn.no_crosstalk" and known.assumption == "version_2" for known in report.known)


def test_a_batch_that_is_kept_from_a_reader_is_named_with_what_was_reported(report: CheckReport) -> None:
    """Trace, step, rule, check, values, and the command that shows it again."""
    found = {v.rule: v for v in report.violations if v.trace == HIDDEN}

    assert {"txn.atomic", "txn.client_verdict"} <= found.keys()
    assert "all_or_nothing" == found["txn.atomic"].guard
    assert {"delivered", "previous_delivered"} <= found["txn.atomic"].values.keys()
    assert f"--trace {HIDDEN} " in found["txn.atomic"].replay


@pytest.mark.slow
def test_of_a_trace_that_lacks_steps_no_history_is_judged(tmp_path: Path) -> None:
    """A reader without a row for what it took left nothing out; where no step is missing, it did."""
    names = {link.name for chain in HISTORY_CHAINS.values() for link in chain.links}
    cut, whole = list[dict[str, Any]](), list[dict[str, Any]]()
    for seed in SEEDS[:6]:
        rows = [dict(row) for row in trace_of(seed) if row["api"] != "ClientFetched" or row["step"] % 3]
        cut += rows
        whole += [{**row, "step": step} for step, row in enumerate(rows)]

    of_cut, of_whole = (judged_alike(written(rows, tmp_path / name)) for name, rows in (("cut", cut), ("whole", whole)))
    assert not {violation.guard for violation in of_cut.violations} & names
    assert {"reads_on", "reads_all"} <= {violation.guard for violation in of_whole.violations}


@pytest.mark.slow
def test_nothing_is_held_against_a_step_that_is_reported_twice(tmp_path: Path) -> None:
    """It is not known which of the two is true; in the file with one of them, the step after it shows the error."""
    wrong, twice = list[dict[str, Any]](), list[dict[str, Any]]()
    for seed in SEEDS[:4]:
        rows = [dict(row) for row in trace_of(seed)]
        place = next(row["step"] for row in rows if row["appended"] and row["api"] == "Produce")
        changed = {**rows[place], "after_log_end": rows[place]["after_log_end"] + 5}
        wrong += [*rows[:place], changed, *rows[place + 1 :]]
        twice += [*rows[: place + 1], changed, *rows[place + 1 :]]

    found = judged_alike(written(wrong, tmp_path / "wrong"))

    assert "previous_log" in {violation.guard for violation in found.violations}
    assert () == judged_alike(written(twice, tmp_path / "twice")).violations
