"""Corrupted traces: reported, shown to be harmless, or counted as unseen; in both readings the same."""

import io
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from rich.console import Console

from model_tests.check import check, part
from model_tests.common.reports import NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.corruption import corruption_report
from model_tests.corruption.corruption_report import (
    KNOWN,
    REPORTED,
    SET_ASIDE,
    UNSEEN,
    CorruptionCount,
    CorruptionReport,
    judged,
    run,
)
from model_tests.corruption.random_corruption import CorruptionKind, RandomlyCorruptedTrace, corrupted
from model_tests.corruption.undetected_reasons import Reason, is_unread
from model_tests.judging.columns_judged import columns_judged
from model_tests.monitor.local import run as simulate_here
from model_tests.simulate.simulate import WORKLOADS, trace_of
from model_tests.traces.schema import Row
from model_tests.unit.traces.conftest import written
from spec.versions import PROFILES

SEEDS: Final = range(12_000, 12_000 + len(WORKLOADS) * len(PROFILES))


@pytest.fixture(scope="module")
def report() -> CorruptionReport:
    """Corruptions of a trace of each workload and release."""
    traces = [(WORKLOADS[seed % len(WORKLOADS)], trace_of(seed)) for seed in SEEDS]
    return corruption_report.corruption_report(traces, 250, seed=3)


@pytest.mark.slow
def test_what_is_shown_to_be_harmless_is_never_reported(report: CorruptionReport) -> None:
    """Else what is taken for a proof is none, or the check raises false alarms."""
    assert () == report.contradictions
    assert sum(report.count(reason.value) for reason in Reason) > 0
    assert (len(SEEDS), 0) == (report.traces, report.left_out)


def test_every_corruption_is_reported_or_explained(report: CorruptionReport) -> None:
    """Most that may do harm are reported or set aside; for all others the evidence that the trace lacks is named."""
    for kind in CorruptionKind:
        assert report.count(REPORTED, kind) > 0, kind
    assert (report.rate() or 0) >= 0.7
    assert 0 == report.count(UNSEEN)
    assert report.count(SET_ASIDE, CorruptionKind.SWAP) > 0
    assert {kind.value for kind in CorruptionKind} == report.rates.keys()


@pytest.mark.parametrize("kind", list(CorruptionKind))
def test_a_seed_draws_the_same_corruption(kind: CorruptionKind) -> None:
    """What was drawn once is drawn again, numbered from 0 on, and is not the true trace."""
    true = trace_of(SEEDS[1], 60)

    seed = next(seed for seed in range(50) if corrupted(true, kind, Random(seed)))

    one, other = (corrupted(true, kind, Random(seed)) for _ in range(2))

    assert one is not None
    assert one == other
    assert list(range(len(one.rows))) == [row["step"] for row in one.rows]
    assert [dict(row) for row in true] != [dict(row) for row in one.rows]


def _dropped(rows: list[Row], place: int) -> RandomlyCorruptedTrace:
    kept = [*rows[:place], *rows[place + 1 :]]
    return RandomlyCorruptedTrace(
        CorruptionKind.DROP, place, place, "", tuple({**row, "step": step} for step, row in enumerate(kept))
    )


def test_a_batch_that_an_application_handed_over_is_missed() -> None:
    """The records that it makes are numbered, and every row about a batch comes after it."""
    rows = trace_of(SEEDS[1])
    places = [row["step"] for row in rows if row["api"] == "ClientSend"]
    found = _dropped(rows, places[len(places) // 2])

    assert judged(found.rows)[0]
    assert not is_unread(rows, found)


def test_what_no_formula_reads_may_be_anything() -> None:
    """No rule reads who copied; rules do read when and to what a coordinator answers."""
    copied = next(row for seed in SEEDS for row in trace_of(seed) if row["api"] == "ReplicaFetch")
    ended = next(row for seed in SEEDS for row in trace_of(seed) if row["api"] == "EndTxn")

    assert "client" not in columns_judged(copied)
    assert {"before_log_end", "producer_epoch", "partition"} <= columns_judged(copied)
    assert {"time_ms", "before_txn_state", "api"} <= columns_judged(ended)
    assert not columns_judged({**copied, "api": "ListTransactions", "origin": -1, "topic": "", "transactional_id": ""})


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_and_the_monitor_agree_on_corrupted_traces(tmp_path: Path) -> None:
    """Of every corrupted trace both say the same: broken or not."""
    rows: list[dict[str, Any]] = []
    broken = set()
    for number in range(25):
        true = trace_of(SEEDS[number], 120)
        made = corrupted(true, list(CorruptionKind)[number % len(CorruptionKind)], Random(number))
        if made is not None:
            rows += [{**row, "trace": number} for row in made.rows]
            broken |= {number} if judged(made.rows)[0] else set()

    output = check.run(str(written(rows, tmp_path)))

    assert broken == {violation.trace for violation in output.violations}
    assert 5 <= len(broken) < 25


def test_traces_of_files_are_corrupted(tmp_path: Path) -> None:
    """Of a file or a directory; those that break a rule as they are stand apart."""
    made = simulate_here(8, SEEDS[0], tmp_path / "traces.ndjson", steps=60)

    found = run(made.out, 20, seed=1)

    assert (8, 0) == (found.traces, found.left_out)
    assert 15 <= sum(each.count for each in found.outcomes) <= 20
    with pytest.raises(BadInput, match="no such file"):
        run(str(tmp_path / "nothing"), 5)


def test_another_rule_that_is_broken_outside_its_domain_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the step that is gone broke one itself, so that there are as many as before."""
    true = trace_of(1)

    def as_if(rows: object) -> tuple[bool, Counter[str]]:
        return False, Counter(["txn.atomic" if rows is true else "lso.read_committed"])

    monkeypatch.setattr(corruption_report, "judged", as_if)

    report = corruption_report.corruption_report([("", true)], 20)

    harmless_or_late = {reason.value for reason in Reason} | {SET_ASIDE}
    assert {KNOWN} == {each.outcome for each in report.outcomes} - harmless_or_late


def test_headings_are_whole_in_a_narrow_terminal() -> None:
    """At 80 columns no word of the table is shortened."""
    console = Console(file=io.StringIO(), width=80)

    CorruptionReport(60, 0, 1.0, (CorruptionCount("duplicate", "", "Produce", REPORTED, 500, ""),), ()).print(console)

    assert isinstance(console.file, io.StringIO)
    reported = console.file.getvalue()
    assert all(
        word in reported for word in ("corruption", "reported", "aside", "outside", "unseen", "harmless", "rate")
    )
    assert "…" not in reported


def test_what_is_not_noticed_fails_by_name() -> None:
    """A kind that is hardly seen, and a check that contradicts itself; nothing to corrupt is no success."""
    outcomes = (
        CorruptionCount("drop", "raw", "Produce", UNSEEN, 90, ""),
        CorruptionCount("drop", "raw", "EndTxn", REPORTED, 10, ""),
    )
    poor = CorruptionReport(1, 0, 1.0, outcomes, ("trace 1, step 2, swap of Produce: reported, but",))

    unseen, few, contradiction = sorted(part.not_noticed(poor))

    assert few.startswith("corruptions, drop: 10%")
    assert unseen.startswith("corruptions, drop of Produce: 90 unseen, and no reason why")
    assert contradiction.startswith("trace 1, step 2")
    assert VIOLATED == poor.exit_code
    assert NOTHING_JUDGED == CorruptionReport(0, 1, 1.0, (), ()).exit_code
