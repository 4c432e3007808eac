import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from model_tests.check import check, on_spark
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.judging import trace_files, unjudged_steps
from model_tests.judging.check_report import CheckReport
from model_tests.judging.step_fitness import TOO_WIDE
from model_tests.judging.step_table import CUT, DUPLICATE
from model_tests.replay import replay
from model_tests.simulate import simulate
from model_tests.spark.session import session
from model_tests.traces.schema import Row, write_ndjson
from model_tests.traces.schema_types import arrow_schema
from model_tests.unit.traces.conftest import NEWEST_PRODUCERS, judged_alike, written
from reference.recording.trace import HISTORY, REPLICATION, SCHEMA_VERSION
from spec.vocabulary import Origin

pytestmark = pytest.mark.xdist_group("spark")

Rows = list[dict[str, Any]]


def test_a_true_trace_holds_and_its_report_fits_a_screen(true_rows: Rows, tmp_path: Path) -> None:
    """What the reference did is what the specification decides; a person sees the counts per rule."""
    shown = io.StringIO()

    report = judged_alike(written(true_rows, tmp_path / "true"))
    report.print(Console(file=shown, width=120))

    assert () == report.violations
    assert HOLDS == report.exit_code
    assert len(true_rows) == report.steps
    assert report.of("seq.successor").judged > 0
    assert "seq.successor" in shown.getvalue()


def is_appended_to_known_producer(row: Row) -> bool:
    """A client's batch follows one that its producer has in the log."""
    follows = row["before_cached_0_last_sequence"] >= 0 and row["before_epoch"] == row["producer_epoch"]
    return bool(row["appended"] and follows and row["origin"] == Origin.CLIENT and not row["control"])


@pytest.fixture(scope="module")
def false_answer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Row, CheckReport]:
    """Where a trace with one false answer stands, its step, and what is said of it."""
    rows = [dict(row) for row in simulate.trace_of(NEWEST_PRODUCERS, steps=120)]
    false = next(row for row in rows if is_appended_to_known_producer(row))
    false["first_offset"] += 1
    path = written(rows, tmp_path_factory.mktemp("false"))
    return path, false, judged_alike(path)


def test_a_false_answer_is_named_with_its_values(false_answer: tuple[Path, Row, CheckReport]) -> None:
    """A violation has trace, step, rule, guard, the values that decided, what was allowed and how to replay it."""
    path, false, report = false_answer

    (violation,) = report.violations
    assert VIOLATED == report.exit_code
    assert (false["trace"], false["step"], "seq.successor") == (violation.trace, violation.step, violation.rule)
    assert "appended" == violation.guard
    assert {"base_sequence", "before_cached_0_last_sequence"} <= violation.values.keys()
    assert {"first_offset": false["first_offset"] - 1} == violation.allowed
    assert f"eos replay {path} --trace {false['trace']} --step {false['step']}" == violation.replay
    assert replay.run(path, trace=false["trace"], step=false["step"]).violations == report.violations


def test_the_report_as_json_has_what_is_documented(false_answer: tuple[Path, Row, CheckReport]) -> None:
    """Names of the report, of a rule's count, of a branch, and of a violation with all its fields."""
    reported = json.loads(json.dumps(false_answer[2].to_json()))

    assert {"traces", "steps", "seconds", "rules", "violations", "branches", "quarantined"} <= reported.keys()
    assert {"rule", "judged", "violations", "known"} == reported["rules"][0].keys()
    assert {"decision", "branch", "hits"} <= reported["branches"][0].keys()
    violation = {"trace", "step", "rule", "guard", "values", "got", "allowed", "replay"}
    assert violation == reported["violations"][0].keys()


def test_lines_are_judged_and_one_that_is_no_json_is_set_aside(true_rows: Rows, tmp_path: Path) -> None:
    """NDJSON holds the same steps as Parquet; the readable lines are judged."""
    file = tmp_path / "steps.ndjson"
    write_ndjson(true_rows, file)
    with file.open("a") as lines:
        lines.write("{half\n")

    report = judged_alike(file)

    assert 1 == sum(aside.count for aside in report.quarantined)
    assert HOLDS == report.exit_code
    assert len(true_rows) + 1 == report.steps
    assert report.of("seq.successor").judged > 0


def numbered(rows: Rows, trace: int, **changed: object) -> Rows:
    """A copy of a trace under another number, its last step changed."""
    copied = [{**row, "trace": trace} for row in rows]
    copied[-1].update(changed)
    return copied


def lag_beyond_integers(trace: int) -> Rows:
    """A follower that lags longer than integers count: the difference would end the whole check."""
    seeds = simulate.seeds_of(20, 0, "replicas")
    checks = (row for seed in seeds for row in simulate.trace_of(seed) if row["api"] == "ReplicaLagCheck")
    return [{**next(checks), "trace": trace, "step": 0, "time_ms": 2**63 - 1, "follower_caught_up_ms": -2}]


def end_of_nobody_knows_what(trace: int, **lacks: object) -> Rows:
    """A step of a transaction coordinator that does not say what its decision needs."""
    seeds = simulate.seeds_of(20, 0, "transactions")
    ends = (row for seed in seeds for row in simulate.trace_of(seed) if row["api"] == "EndTxn")
    return [{**next(ends), "trace": trace, "step": 0, **lacks}]


@pytest.mark.slow
def test_what_no_rule_judges_is_counted_by_name(tmp_path: Path) -> None:
    """An append without a request is set aside; a step that no decision is about is no silent success."""
    true = [dict(row) for seed in range(100, 100 + 2 * len(simulate.WORKLOADS)) for row in simulate.trace_of(seed)]
    no_client = dict(next(row for row in true if row["appended"]), trace=1, step=0, origin=-1)
    ended = next(row for row in true if row["api"] == "EndTxn")
    nameless = dict(ended, trace=2, step=0, transactional_id="", transaction=-1)
    others = [{**nameless, "trace": 2, "step": 1, "api": "EndTransaction"}]
    counted = unjudged_steps.counted([*true, nameless, *others])

    report = check.run(str(written([*true, no_client, nameless, *others], tmp_path)))

    assert {"EndTxn", "EndTransaction", "ClientStart", "BrokerRegistration"} <= counted.keys()
    assert counted == report.passed_over
    (aside,) = report.quarantined
    assert (1, True) == (aside.count, "does not say who asked" in aside.reason)
    assert () == report.violations


@pytest.mark.slow
def test_a_producer_id_that_two_producers_have_is_seen(tmp_path: Path) -> None:
    """Neither has a transactional id; and none that has may get it either."""
    rows = [dict(row) for row in simulate.trace_of(NEWEST_PRODUCERS)]
    first, second = [row for row in rows if row["api"] == "InitProducerId" and row["error"] == 0][:2]
    second["reply_producer_id"] = first["reply_producer_id"]

    report = check.run(str(written(rows, tmp_path)))

    (violation,) = [violation for violation in report.violations if violation.guard == "producer_id"]
    assert (second["step"], "ids.unique") == (violation.step, violation.rule)
    assert violation in replay.run(tmp_path).violations


def without_history(rows: Rows, file: Path) -> None:
    """The rows in a file that has none of the columns of clients and replicas, as one of an older writer."""
    later = {column.name for column in (*HISTORY, *REPLICATION)}
    table = pa.Table.from_pylist(rows, schema=arrow_schema())
    pq.write_table(table.select([name for name in table.column_names if name not in later]), file)


def test_what_cannot_be_judged_is_set_aside_with_file_and_reason_and_the_rest_is_judged(
    true_rows: Rows, tmp_path: Path
) -> None:
    """Damaged and empty files, and files of an older writer; other schemas and releases; nulls, which are no defaults.

    A trace that is cut; an end that no log has; and of two steps with one number none is true.
    """
    newer = [{**row, "trace": 1, "schema": SCHEMA_VERSION + 1} for row in true_rows[:7]]
    keyless = [{**row, "trace": None} for row in true_rows[:3]] + [{**true_rows[5], "trace": 6, "step": None}]
    cut = [{**row, "trace": 2} for row in true_rows if row["step"] >= 40]
    unfit = (
        numbered(true_rows, 11, producer_epoch=None),
        numbered(true_rows, 12, profile="9.9"),
        numbered(true_rows, 13, before_log_end=2**63 - 1),
        [*numbered(true_rows, 14), {**true_rows[-1], "trace": 14, "error": 0}],
        numbered(true_rows, 15, answered_end=-(2**63)),
        lag_beyond_integers(16),
        end_of_nobody_knows_what(17, before_txn_state=None),
        end_of_nobody_knows_what(18, transactional_id=None),
    )
    whole = [*true_rows, *newer, *keyless, *cut, *(row for rows in unfit for row in rows)]
    directory = written(whole, tmp_path / "traces")
    without_history([{**row, "trace": 3} for row in true_rows], directory / "older.parquet")
    (directory / "empty.ndjson").write_bytes(b"")
    (directory / "damaged.parquet").write_bytes(b"PAR1 and no more")

    report = judged_alike(directory)

    found = {aside.reason: aside for aside in report.quarantined}
    assert 7 == next(aside.count for reason, aside in found.items() if "newer schema" in reason)
    assert (3, 1) == (found["trace is null"].count, found["step is null"].count)
    assert (1, True) == (found[CUT].count, "trace 2" in found[CUT].where)
    assert {"producer_epoch is null", "unknown profile 9.9"} <= found.keys()
    assert (1, 1) == tuple(found[f"{name} is null"].count for name in ("before_txn_state", "transactional_id"))
    assert 3 == found[TOO_WIDE].count
    assert (2, True) == (found[DUPLICATE].count, "steps.parquet" in found[DUPLICATE].where)
    assert str(directory / "empty.ndjson") == found["the file is empty"].where
    assert any(aside.where == str(directory / "damaged.parquet") for aside in report.quarantined)
    assert 12 == len(report.quarantined)
    assert () == report.violations
    assert report.of("seq.successor").judged > report.of("ids.unique").judged > 0


def test_a_damaged_page_is_no_end_of_the_check(true_rows: Rows, tmp_path: Path) -> None:
    """Spark stops at it in the middle of its work; the file is then set aside, whatever the others are called."""
    written(true_rows, tmp_path)
    (tmp_path / "steps.parquet").rename(tmp_path / "a{b}[1]*.parquet")
    damaged = written([{**row, "trace": 1} for row in true_rows], tmp_path) / "steps.parquet"
    content = bytearray(damaged.read_bytes())
    content[200 : len(content) // 2 : 40] = bytes(len(range(200, len(content) // 2, 40)))
    damaged.write_bytes(content)
    (tmp_path / "gone.ndjson").symlink_to(tmp_path / "nowhere")

    report = judged_alike(tmp_path)

    assert {str(damaged), str(tmp_path / "gone.ndjson")} == {aside.where for aside in report.quarantined}
    assert (1, len(true_rows), ()) == (report.traces, report.steps, report.violations)


@pytest.mark.slow
def test_of_an_unknown_release_nothing_is_judged(true_rows: Rows, tmp_path: Path) -> None:
    """Without behaviours there is nothing to hold any step against."""
    for row in true_rows:
        row["profile"] = "9.9"

    assert NOTHING_JUDGED == judged_alike(written(true_rows, tmp_path)).exit_code


@pytest.mark.parametrize("name", ["missing", "empty", "foreign", "rowless"])
def test_nothing_to_judge_is_bad_input(name: str, tmp_path: Path) -> None:
    """A path without a step is an error, not a pass."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("no trace")
    written([], tmp_path / "rowless")

    with pytest.raises(BadInput, match=name):
        check.run(str(tmp_path / name))


def test_the_plan_holds_no_python_and_one_shuffle_by_trace(true_rows: Rows, tmp_path: Path) -> None:
    """Verdicts are Spark's own expressions; link rules read the one layout, and only counts are shuffled again."""
    path = str(written(true_rows, tmp_path / "true"))
    counted = on_spark.counted(trace_files.read(session(), path).steps.steps, check.NOTHING_APART)

    plan = str(counted._jdf.queryExecution().executedPlan())

    assert "Python" not in plan
    assert "ArrowEval" not in plan
    assert 1 == plan.count("Exchange hashpartitioning(trace")
    assert 2 == plan.count("Exchange")
