import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from model_tests.reports import HOLDS, NOTHING_JUDGED, VIOLATED, BadInput
from model_tests.traces import check, rows_judged, trace_files
from model_tests.traces.schema import Row, write_ndjson
from model_tests.traces.session import session
from model_tests.unit.traces.conftest import written
from spec.vocabulary import Origin

pytestmark = pytest.mark.xdist_group("spark")

Rows = list[dict[str, Any]]


def test_a_true_trace_holds(true_rows: Rows, tmp_path: Path) -> None:
    """What the reference did is what the specification decides."""
    report = check.run(str(written(true_rows, tmp_path / "true")))

    assert () == report.violations
    assert HOLDS == report.exit_code
    assert len(true_rows) == report.steps
    assert report.of("seq.successor").judged > 0


def is_appended_to_known_producer(row: Row) -> bool:
    """A client's batch follows one that its producer has in the log."""
    follows = row["before_cached_0_last_sequence"] >= 0 and row["before_epoch"] == row["producer_epoch"]
    return bool(row["appended"] and follows and row["origin"] == Origin.CLIENT and not row["control"])


def test_a_false_answer_is_named_with_its_values(true_rows: Rows, tmp_path: Path) -> None:
    """A violation says trace, step, rule, guard, the values that decided, what was allowed and how to see it again."""
    false = next(row for row in true_rows if is_appended_to_known_producer(row))
    false["first_offset"] += 1

    report = check.run(str(written(true_rows, tmp_path / "false")))

    (violation,) = report.violations
    assert VIOLATED == report.exit_code
    assert (false["trace"], false["step"], "seq.successor") == (violation.trace, violation.step, violation.rule)
    assert "appended" == violation.guard
    assert {"base_sequence", "before_cached_0_last_sequence"} <= violation.values.keys()
    assert {"first_offset": false["first_offset"] - 1} == violation.allowed
    assert f"--seed {false['trace']}" in violation.replay


def test_ndjson_is_judged_like_parquet(true_rows: Rows, tmp_path: Path) -> None:
    """The same steps give the same counts in either format."""
    write_ndjson(true_rows, tmp_path / "steps.ndjson")

    lines = check.run(str(tmp_path / "steps.ndjson"))

    assert check.run(str(written(true_rows, tmp_path / "parquet"))).rules == lines.rules


def test_a_null_is_set_aside_and_the_rest_judged(true_rows: Rows, tmp_path: Path) -> None:
    """A step with a null is no step with a default: it is counted apart, with the column's name."""
    true_rows[-1]["producer_epoch"] = None

    report = check.run(str(written(true_rows, tmp_path / "null")))

    (aside,) = report.quarantined
    assert (1, "producer_epoch is null") == (aside.count, aside.reason)
    assert report.of("seq.successor").judged > 0


def test_an_unknown_profile_is_set_aside(true_rows: Rows, tmp_path: Path) -> None:
    """Without a profile's behaviours there is nothing to hold a step against."""
    for row in true_rows:
        row["profile"] = "9.9"

    report = check.run(str(written(true_rows, tmp_path / "unknown")))

    assert NOTHING_JUDGED == report.exit_code
    assert ["unknown profile 9.9"] == [aside.reason for aside in report.quarantined]


def test_an_offset_no_log_has_is_set_aside(true_rows: Rows, tmp_path: Path) -> None:
    """An integer that could overflow in a decision does not end the run."""
    true_rows[-1]["before_log_end"] = 2**63 - 1

    report = check.run(str(written(true_rows, tmp_path / "wide")))

    assert 1 == sum(aside.count for aside in report.quarantined)


def test_a_line_that_is_no_json_is_set_aside(true_rows: Rows, tmp_path: Path) -> None:
    """The readable lines are still judged."""
    file = tmp_path / "steps.ndjson"
    write_ndjson(true_rows, file)
    with file.open("a") as lines:
        lines.write("{half\n")

    report = check.run(str(file))

    assert 1 == sum(aside.count for aside in report.quarantined)
    assert HOLDS == report.exit_code


def test_a_damaged_file_is_set_aside(true_rows: Rows, tmp_path: Path) -> None:
    """The whole files are still judged."""
    written(true_rows, tmp_path)
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")

    report = check.run(str(tmp_path))

    assert [str(tmp_path / "damaged.parquet")] == [aside.where for aside in report.quarantined]
    assert HOLDS == report.exit_code


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
    counted = rows_judged.counted(trace_files.read(session(), path).steps, check.NOTHING_APART)

    plan = str(counted._jdf.queryExecution().executedPlan())

    assert "Python" not in plan
    assert "ArrowEval" not in plan
    assert 1 == plan.count("Exchange hashpartitioning(trace")
    assert 2 == plan.count("Exchange")


def test_a_step_that_stands_twice_is_set_aside_with_its_file(true_rows: Rows, tmp_path: Path) -> None:
    """Nobody can say which of the two is true: neither is judged, and no link of the trace is."""
    true_rows.append({**true_rows[-1], "error": 0})

    report = check.run(str(written(true_rows, tmp_path / "twice")))

    (aside,) = report.quarantined
    assert (2, trace_files.DUPLICATE) == (aside.count, aside.reason)
    assert "steps.parquet" in aside.where
    assert 0 == report.of("seq.state_recoverable").judged


def test_the_report_is_printed_in_one_screen(true_rows: Rows, tmp_path: Path) -> None:
    """A person sees the counts per rule."""
    shown = io.StringIO()

    check.run(str(written(true_rows, tmp_path / "true"))).print(Console(file=shown, width=120))

    assert "seq.successor" in shown.getvalue()
