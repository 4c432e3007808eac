import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from model_tests.audit.recorded import KAFKA_3_9, journal
from model_tests.audit.run import run
from model_tests.cli import app
from model_tests.common.reports import NOTHING_JUDGED, BadInput
from model_tests.histories.as_journal import ReportedEnd
from model_tests.histories.form import Form
from model_tests.histories.reading import read_history
from model_tests.unit.audit.stories import cluster_of
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.audited_histories import PRODUCER, ack, begin, both, ended, reported
from model_tests.unit.support.judged_transactions import A, B, begun, found


def judged(tmp_path: Path, cluster: WrittenCluster, events: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    directory = cluster.write(tmp_path / "logs")
    return found(run([directory], history=reported(events, tmp_path / "journal.gz")))


def test_a_true_journal_holds(tmp_path: Path) -> None:
    """What was committed is visible, what was aborted is not; every acknowledgement is counted."""
    directory = begun().write(tmp_path / "logs")

    report = run([directory], history=reported(both(), tmp_path / "journal.gz"))

    assert found(report) == []
    assert report.history.fates == {"commit: visible": 3, "abort: aborted": 3}
    assert report.judged()["txn.client_verdict"] == 6


@pytest.mark.parametrize(
    ("event", "place", "offset"),
    [(5, "a-0", 0), (10, "a-0", 2)],
    ids=["abort that is committed", "commit that is aborted"],
)
def test_another_outcome_than_the_client_was_reported_is_found(
    tmp_path: Path, event: int, place: str, offset: int
) -> None:
    """At the first acknowledged record of the transaction."""
    events = both()
    events[event] = {**events[event], "ev": "abort" if events[event]["ev"] == "commit" else "commit"}

    assert judged(tmp_path, begun(), events) == [("txn.client_verdict", place, offset)]


@pytest.mark.parametrize(
    ("marks", "kept", "rule"),
    [("mark a; mark b abort", 9, "txn.atomic"), ("mark a b", 2, "txn.marker_once")],
    ids=["a marker has the other outcome", "data and marker are lost"],
)
def test_what_a_marker_does_is_the_cause_of_what_the_client_was_not_answered(
    tmp_path: Path, marks: str, kept: int, rule: str
) -> None:
    """One finding: at the marker, with the records of the client as its consequence."""
    cluster = cluster_of(f"init tx 7; txn a b; add a b; send a b; prepare commit; {marks}; complete", version=2)
    del cluster.logs[B][kept:]
    events = [PRODUCER, *(each for number in (1, 2) for each in committed(number))]

    report = run([cluster.write(tmp_path / "logs")], history=reported(events, tmp_path / "journal.gz"))

    assert [(one.rule.id, place.topic) for place, one in report.findings] == [(rule, "b")]
    assert [one.rule.id for _, one, _ in report.consequences] == ["txn.client_verdict"]


def committed(number: int) -> list[dict[str, Any]]:
    """What the client of a transaction of one record in A and in B saw."""
    acks = [ack(number, partition, 2 * number - 2) for partition in (A, B)]
    return [begin(number), *acks, ended(number, "commit")]


def test_an_acknowledged_record_that_is_not_there_is_found(tmp_path: Path) -> None:
    """A commit that the client saw, with a record beyond the end of the log."""
    events = both()
    events.insert(5, ack(1, B, 40))

    assert judged(tmp_path, begun(), events) == [("txn.client_verdict", "b-0", 40)]


def test_an_offset_acknowledged_twice_is_found(tmp_path: Path) -> None:
    """Two records cannot be at one offset."""
    events = [*both(), begin(3), ack(3, A, 2), ended(3, "abort")]

    assert judged(tmp_path, begun(), events) == [("seq.exactly_once", "a-0", 2)]


def test_an_unknown_outcome_is_one_outcome(tmp_path: Path) -> None:
    """The client may get no answer, but its records may not be divided."""
    cluster = begun()
    cluster.add("tx", A, B)
    cluster.send("tx", A)
    cluster.send("tx", B)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", A)
    cluster.mark("tx", B, outcome=ABORT)
    cluster.coordinator.clear()
    events = [*both(), begin(3), ack(3, A, 4), ack(3, B, 4), ended(3, "commit", ok=False)]

    assert judged(tmp_path, cluster, events) == [("txn.atomic", "a-0", 4)]


def test_names_and_numbers_may_be_used_again(tmp_path: Path) -> None:
    """A new producer, and a new begin, leave what came before with an unknown outcome."""
    events = [PRODUCER, begin(1), ack(1, A, 0), begin(1), ack(1, A, 2), ended(1, "abort"), PRODUCER, ack(1, A, 3)]

    attempts = read_history(reported(events, tmp_path / "journal.gz"), Form.JOURNAL).attempts

    assert [one.reported for one in attempts] == [ReportedEnd.UNKNOWN, ReportedEnd.ABORTED, ReportedEnd.UNKNOWN]


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [([0], []), ([0, 2], [("lso.read_committed", "a-0", 2)]), ([], [("lso.read_committed", "a-0", 0)]), ([0, 0], None)],
    ids=["exactly", "an aborted one", "one left out", "one twice"],
)
def test_a_reader_receives_exactly_the_visible_records(
    tmp_path: Path, offsets: list[int], expected: list[tuple[str, str, int]] | None
) -> None:
    """Neither more, nor less, nor twice."""
    received = [["b", 0, 0], ["c", 0, 0], *(["a", 0, offset] for offset in offsets)]
    if not offsets:
        received.append(["a", 0, 9_999])
        expected = [("lso.read_committed", "a-0", 0), ("lso.read_committed", "a-0", 9_999)]
    path = tmp_path / "received.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in received))

    report = run([begun().write(tmp_path / "logs")], received=str(path))

    assert found(report) == ([("lso.read_committed", "a-0", 0)] if expected is None else expected)


@pytest.mark.parametrize("content", ["{}\n", "[1]\n", "no json\n", '{"ev": "ack", "p": "one"}\n'])
def test_a_file_that_is_no_journal_is_one_line(tmp_path: Path, content: str) -> None:
    """With the line where it stops being one."""
    (tmp_path / "journal").write_text(content)

    with pytest.raises(BadInput, match="line 1"):
        read_history(str(tmp_path / "journal"), Form.JOURNAL)


def test_a_journal_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """Before anything is read."""
    begun().write(tmp_path / "logs")

    result = CliRunner().invoke(app, ["audit", str(tmp_path / "logs"), "--history", str(tmp_path / "none.gz")])

    assert result.exit_code == NOTHING_JUDGED
    assert result.output.count("\n") == 1


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_judges_a_recorded_journal_like_this_process(recordings: Path) -> None:
    """Every commit that a real client saw is committed, every abort aborted."""
    there = run([recordings / KAFKA_3_9], master="local[2]", history=journal(KAFKA_3_9))
    here = run([recordings / KAFKA_3_9], history=journal(KAFKA_3_9))

    assert found(there) == []
    assert there.history == here.history
    assert there.history.judged == 244_424
    assert there.transactions.counts == here.transactions.counts
