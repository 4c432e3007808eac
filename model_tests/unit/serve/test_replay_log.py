"""`eos replay` of a wire log: the run of a real client against a broken server, shrunk to the frames that matter."""

import json
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from typer.testing import CliRunner

from model_tests.cli import app
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, VIOLATED
from model_tests.serve import command, replay
from model_tests.serve.cluster import Cluster, SpecificationViolated
from model_tests.serve.defects import DEFECTS
from model_tests.serve.replay import described, fewest, kind_of
from model_tests.unit.serve.applications import ApplicationOutcomes, ApplicationTransactions

DEFECT = "a-commit-is-decided-as-an-abort"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a client whose transactions a broken coordinator aborts, on three nodes with faults."""
    directory = tmp_path_factory.mktemp("recorded")
    cluster = Cluster("4.3", 3, topics={"orders": 2}, defect=DEFECT, faults="gentle", record=directory)
    with suppress(SpecificationViolated), cluster:
        transactions = ApplicationTransactions(cluster.bootstrap_servers, "app", ApplicationOutcomes())
        for number in range(6):
            transactions.run([str(number).encode()] * 3, "orders", commits=number % 2 == 1)
    return directory / "wire.ndjson"


@pytest.fixture(scope="module")
def shrunk(recorded: Path) -> replay.WireReplay:
    return replay.run(recorded)


def test_a_broken_run_is_shrunk_to_a_handful_of_frames(recorded: Path, shrunk: replay.WireReplay) -> None:
    """Those without which the rule does not break: the producer's id, a partition, the end."""
    assert VIOLATED == shrunk.exit_code
    assert {DEFECTS[DEFECT].rule.id} == {violation.rule for violation in shrunk.violations}
    assert shrunk.recorded > 5 * len(shrunk.lines)
    assert ["InitProducerId", "AddPartitionsToTxn", "EndTxn"] == [kind_of(line) for line in shrunk.lines]


def test_the_frames_are_printed_decoded_and_drawn(shrunk: replay.WireReplay) -> None:
    """Api, version and fields, then the steps as a diagram, and the command that runs them again."""
    printed = StringIO()
    shrunk.print(Console(file=printed, width=200))

    assert "EndTxn v1 transactional_id=app producer_id=" in printed.getvalue()
    assert "txn.legal_transition is violated" in printed.getvalue()
    assert f"eos serve --feed {shrunk.shrunk}" in printed.getvalue()


def test_the_shrunk_log_breaks_the_same_rule_again(shrunk: replay.WireReplay) -> None:
    """With the defect that its first line names; with another one in its place it does not."""
    again = command.run(listen="127.0.0.1:0", nodes=1, profile="4.4", feed=shrunk.shrunk)
    other = command.run(
        listen="127.0.0.1:0", nodes=1, profile="4.4", feed=shrunk.shrunk, defect="any-epoch-ends-a-transaction"
    )

    assert (VIOLATED, HOLDS) == (again.exit_code, other.exit_code)
    assert {violation.rule for violation in shrunk.violations} == {violation.rule for violation in again.violations}


def test_the_command_takes_a_wire_log(shrunk: replay.WireReplay, tmp_path: Path) -> None:
    """As it takes a trace; a run that breaks nothing is drawn as it is."""
    assert shrunk.shrunk is not None
    healthy = tmp_path / "wire.ndjson"
    head, *lines = shrunk.shrunk.read_text().splitlines(keepends=True)
    healthy.write_text(json.dumps(json.loads(head) | {"defect": ""}) + "\n" + "".join(lines))

    done = CliRunner().invoke(app, ["replay", str(healthy), "--json", str(tmp_path / "report.json")])

    assert HOLDS == done.exit_code, done.output
    report = json.loads((tmp_path / "report.json").read_text())
    assert ([], len(lines), len(lines)) == (report["violations"], report["recorded"], len(report["reported"]))
    healthy.write_text(head)
    assert NOTHING_JUDGED == CliRunner().invoke(app, ["replay", str(healthy)]).exit_code


def test_lines_without_a_frame_are_reported_too() -> None:
    """Faults of nodes and of connections, and looks at the clock."""
    fault = {"kind": "move leader", "node": 2, "topic": "t", "partition": 0, "away_ms": 0}
    lines: list[dict[str, Any]] = [
        {"fault": fault | {"loading_ms": 0, "zombie_ms": 0}},
        {"fault": {"kind": "pause", "node": 1, "away_ms": 70, "zombie_ms": 5}},
        {"connection": 4, "wire": {"lost": True, "stray_ms": 7, "late_ms": 0}},
        {},
    ]

    assert [
        "move leader t-0, node 2",
        "pause, node 1, is away for 70 ms, leaves a zombie for 5 ms",
        "connection 4: lost, stray ms",
        "time passes",
    ] == [described(line) for line in lines]


def test_no_line_that_matters_is_left_out() -> None:
    """Two of a hundred, far from each other; what comes after them is cut off at once."""
    lines = [{"time": number, "connection": number % 3} for number in range(100)]

    def fails(attempt: Any) -> int | None:
        times = [line["time"] for line in attempt]
        return times.index(81) + 1 if 17 in times and 81 in times and times.index(17) < times.index(81) else None

    assert [17, 81] == [line["time"] for line in fewest(lines, fails)]
    assert lines == list(fewest(lines, fails, seconds=-1))


def test_a_choice_of_a_trace_is_refused(recorded: Path) -> None:
    """A log has one run: what is not there to choose is not passed over in silence."""
    shown = CliRunner().invoke(app, ["replay", str(recorded), "--seed", "3", "--steps", "20"])

    assert NOTHING_JUDGED == shown.exit_code
    assert "is a wire log, of one run: nothing in it is chosen by --seed, --steps" in " ".join(shown.output.split())
