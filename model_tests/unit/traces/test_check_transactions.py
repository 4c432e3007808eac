"""Traces of transactions on Spark: true ones hold, false ones are named with guard, values and what was allowed."""

from collections.abc import Sequence
from typing import Any

import pytest

from model_tests.corruption.corrupt import corrupted
from model_tests.corruption.corrupt_coordinators import OF_COORDINATORS
from model_tests.judging.check_report import CheckReport, StepViolation
from model_tests.judging.coordinator_links import changes_id
from model_tests.monitor.runs import run_of
from model_tests.replay.replay import run as replayed
from model_tests.simulate.simulate import WORKLOADS, trace_of, workload_of
from model_tests.traces.schema import Row
from model_tests.unit.traces.conftest import judged_alike, written
from reference.broker import transaction_log
from spec.versions import PROFILES
from spec.vocabulary import ErrorCode, TransactionState

pytestmark = pytest.mark.xdist_group("spark")

SEEDS = tuple(range(2, 2 + len(WORKLOADS) * len(PROFILES), len(WORKLOADS)))
"""A transactions trace of every profile."""

LOST, REPEATED, FORGOTTEN, FALSE = 1_000_001, 1_000_002, 1_000_003, 2_000_000


def without_a_step_of_an_id(rows: Sequence[Row]) -> tuple[list[dict[str, Any]], int]:
    """The trace without a successful AddPartitionsToTxn, and the next step of its id at the node."""
    lost = next(r for r in rows if r["api"] == "AddPartitionsToTxn" and r["before_txn_state"] != r["after_txn_state"])
    key = ("node", "transactional_id")
    later = (r for r in rows[lost["step"] + 1 :] if all(r[name] == lost[name] for name in key) and r["origin"] < 0)
    # the numbers of the others close up, so that the trace is whole
    return [{**r, "trace": LOST, "step": r["step"] - (r["step"] > lost["step"])} for r in rows if r is not lost], (
        next(later)["step"] - 1
    )


def with_an_identity_twice(rows: Sequence[Row]) -> tuple[list[dict[str, Any]], int]:
    """The trace in which a later InitProducerId of an id answers with what an earlier one got."""
    answered = [r for r in rows if r["api"] == "InitProducerId" and r["error"] == ErrorCode.NONE]
    first = answered[0]
    reported = {name: first[name] for name in ("reply_producer_id", "reply_epoch")}
    later = (r for r in answered[1:] if r["transactional_id"] == first["transactional_id"])
    false = next(r for r in later if [r["before_txn_producer_id"], r["before_txn_epoch"]] != list(reported.values()))
    return [{**r, "trace": REPEATED, **(reported if r is false else {})} for r in rows], false["step"]


def with_an_id_forgotten(rows: Sequence[Row]) -> tuple[list[dict[str, Any]], int]:
    """The trace in which an InitProducerId does not know an id that was left with an open transaction."""
    changed = [r for r in rows if changes_id(r.__getitem__)]
    pairs = ((earlier, later) for at, later in enumerate(changed) for earlier in reversed(changed[:at]))
    ids = ((earlier, later) for earlier, later in pairs if earlier["transactional_id"] == later["transactional_id"])
    left, found = next(each for each in ids if each[1]["api"] == "InitProducerId" and each[1]["reply_producer_id"] >= 0)
    reported = {
        left["step"]: {"after_txn_state": TransactionState.ONGOING.value},
        found["step"]: {"before_txn_state": -1},
    }
    return [{**r, "trace": FORGOTTEN, **reported.get(r["step"], {})} for r in rows], found["step"]


@pytest.fixture(scope="module")
def traces() -> list[list[Row]]:
    return [trace_of(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def report(traces: list[list[Row]], tmp_path_factory: pytest.TempPathFactory) -> CheckReport:
    """The check's report on all of them, true and false."""
    false = [corrupted(corruption, traces, FALSE + number) for number, corruption in enumerate(OF_COORDINATORS)]
    lost, _ = without_a_step_of_an_id(traces[13])
    repeated, _ = with_an_identity_twice(traces[13])
    forgotten, _ = with_an_id_forgotten(traces[13])
    bad = (*(each.rows for each in false), lost, repeated, forgotten)
    rows = [dict(row) for trace in (*traces, *bad) for row in trace]
    return judged_alike(written(rows, tmp_path_factory.mktemp("transactions")))


def of_trace(report: CheckReport, trace: int) -> list[StepViolation]:
    return [violation for violation in report.violations if violation.trace == trace]


@pytest.mark.slow
def test_true_traces_hold(report: CheckReport) -> None:
    """What the reference did is what the specification decides, in every release."""
    assert ["transactions"] * len(SEEDS) == [workload_of(seed) for seed in SEEDS]
    assert [] == [violation for seed in SEEDS for violation in of_trace(report, seed)]
    for rule in ("txn.legal_transition", "txn.one_outcome", "ids.identity_never_repeats", "fence.stale_epoch"):
        assert report.of(rule).judged > 50, rule


@pytest.mark.slow
def test_branches_of_the_coordinator_are_counted(report: CheckReport) -> None:
    """The report has how often each guard of each request decided."""
    hits = {(count.decision, count.branch): count.hits for count in report.branches}

    assert hits["EndTxn", "passed"] > 0
    assert hits["InitProducerId", "bumps"] > 0
    assert hits["AddPartitionsToTxn", "epoch_other"] > 0


@pytest.mark.parametrize("number", range(len(OF_COORDINATORS)), ids=[each.name for each in OF_COORDINATORS])
def test_a_false_step_is_named(number: int, report: CheckReport, traces: list[list[Row]]) -> None:
    """Rule, guard and values of the step that was made false, and what was allowed instead."""
    corruption = OF_COORDINATORS[number]
    false = corrupted(corruption, traces, FALSE + number)

    found = [v for v in of_trace(report, false.trace) if (v.step, v.rule) == (false.step, corruption.rule.id)]

    assert found
    assert found[0].guard
    assert found[0].values
    assert f"--trace {false.trace} --step {false.step}" in found[0].replay


def test_a_lost_step_breaks_the_chain_of_its_id(report: CheckReport, traces: list[list[Row]]) -> None:
    """The next step at the node begins from a state that nothing left."""
    _, step = without_a_step_of_an_id(traces[13])

    found = [(v.step, v.rule, v.guard) for v in of_trace(report, LOST)]

    assert (step, "txn.legal_transition", "previous_id_state") in found


def test_an_identity_handed_out_twice_is_seen(report: CheckReport, traces: list[list[Row]]) -> None:
    """Against the decision, and against the step long before that handed it out."""
    _, step = with_an_identity_twice(traces[13])

    guards = {v.guard for v in of_trace(report, REPEATED) if (v.step, v.rule) == (step, "ids.identity_never_repeats")}

    assert "identity" in guards


def test_an_id_that_is_forgotten_while_its_transaction_is_open_is_seen(
    report: CheckReport, traces: list[list[Row]]
) -> None:
    """Whichever node opened the transaction; the explanation names what the step before left."""
    _, step = with_an_id_forgotten(traces[13])

    (found,) = (v for v in of_trace(report, FORGOTTEN) if (v.step, v.guard) == (step, "open_transaction"))

    assert found.rule == "txn.failover"
    assert found.values["previous_after_txn_state"] == TransactionState.ONGOING


def test_a_coordinator_that_loads_nothing_is_seen_while_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that cannot be read leave no step; the next producer of the id is handed a fresh identity."""
    monkeypatch.setattr(transaction_log, "_load_record", lambda *_: None)
    runs = (run_of(seed, workload="transactions").play() for seed in range(40))

    assert any("open_transaction" in {v.guard for v in run.violations} for run in runs)


def test_a_replayed_trace_of_transactions_holds() -> None:
    """The seed determines everything, and the steps of coordinators are judged too."""
    report = replayed(seed=SEEDS[13], step=100)

    assert (0, ()) == (report.exit_code, report.violations)
    assert {count.rule: count.judged for count in report.rules}["txn.legal_transition"] > 50
