from pathlib import Path

import pytest
from typer.testing import CliRunner

from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.recorded import DEFECTS
from model_tests.audit.run import run
from model_tests.audit.transactions_report import ListedTransactions, listed
from model_tests.audit.verdict_tasks import bytes_of_a_task, shared_out
from model_tests.cli import app
from model_tests.common.reports import NOTHING_JUDGED, BadInput
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.unit.audit.written import data, write_segment
from model_tests.unit.audit.written_cluster import WrittenCluster
from spec.vocabulary import ProducerId

pytestmark = pytest.mark.xdist_group("spark")


def test_an_unknown_release_is_one_line(tmp_path: Path) -> None:
    """It names the releases that are known."""
    result = CliRunner().invoke(app, ["audit", str(tmp_path), "--kafka", "9.9"])

    assert result.exit_code == NOTHING_JUDGED
    assert result.output.startswith("eos: no Kafka version '9.9'; known are 0.11, ")
    assert result.output.count("\n") == 1


def test_a_missing_high_watermark_is_one_line(tmp_path: Path) -> None:
    """Asked for, it must be there for one of the logs at least."""
    write_segment(tmp_path / "t-0", [data(0)])

    with pytest.raises(BadInput, match="no high watermark to take"):
        run([tmp_path], checkpointed_watermark=True)


def test_the_checkpointed_high_watermark_bounds_the_last_stable_offset(tmp_path: Path) -> None:
    """It is taken only where it is required."""
    write_segment(tmp_path / "t-0", [data(0), data(1), data(2)])
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nt 0 2\n")
    (log,) = list_logs([str(tmp_path)]).logs

    by_checkpoint, _ = audit_log(log, surroundings(log, checkpointed_watermark=True))
    by_end, _ = audit_log(log, surroundings(log))

    assert (by_checkpoint.offsets.last_stable, by_end.offsets.last_stable) == (2, 3)


def test_a_log_shorter_than_what_was_flushed_is_undecided(tmp_path: Path) -> None:
    """Its tail is missing, and nothing in it explains why."""
    write_segment(tmp_path / "t-0", [data(0)])
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 7\n")

    ((_, finding),) = run([tmp_path]).findings

    assert (finding.rule.id, finding.severity) == ("lso.bounds", Severity.UNDECIDED)
    assert "flushed up to 7" in finding.message


def test_every_log_is_in_one_task_and_the_large_ones_come_first(tmp_path: Path) -> None:
    """However small or large they are."""
    for number in range(9):
        write_segment(tmp_path / f"t-{number}", [data(n) for n in range(number * 400)])
    logs = list_logs([str(tmp_path)]).logs

    tasks = shared_out(logs, range(9), bytes_of_a_task(logs, 4))

    assert sorted(number for task in tasks for number in task) == list(range(9))
    assert logs[tasks[0][0]].partition == 8
    assert len(tasks) >= 4


def test_only_the_topics_and_the_producer_that_are_asked_for(tmp_path: Path) -> None:
    """Of two producers one skips a sequence in each topic; the brokers' own topics always count."""
    for topic, producer in (("orders-0", 7), ("orders-1", 8), ("bills-0", 7)):
        write_segment(
            tmp_path / topic, [each._replace(producer_id=ProducerId(producer)) for each in (data(0), data(5))]
        )
    write_segment(tmp_path / "__consumer_offsets-3", [])

    of_both = run([tmp_path], topics=("orders*", "bills-9"))
    of_one = run([tmp_path], topics=("orders*",), producer_id=8)

    assert [f"{one.topic}-{one.partition}" for one in of_both.audited if one.verdict.batches] == [
        "orders-0",
        "orders-1",
    ]
    assert [finding.producer_id for _, finding in of_both.findings] == [7, 8]
    assert [(one.partition, finding.producer_id) for one, finding in of_one.findings] == [(1, 8)]


def test_a_topic_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """Not a report about nothing."""
    write_segment(tmp_path / "orders-0", [data(0)])

    with pytest.raises(BadInput, match=r"^no partition is called bills or b\*$"):
        run([tmp_path], topics=("bills", "b*"))


def test_transactions_of_one_producer_are_all_listed(recordings: Path) -> None:
    """Those that ended well, too."""
    report = run([recordings / DEFECTS / "v-torn"])
    chosen = ListedTransactions(producer_id=13)

    listing = listed(report.transactions, chosen)

    assert chosen.chosen
    assert {one.one.known.producer_id for one in listing} == {13}
    assert len(listing) > 1


def test_only_the_time_that_is_asked_for_is_shown(tmp_path: Path) -> None:
    """Two findings a day apart: each is shown in its own time, and judged by all that lies before it."""
    day = 24 * 3600 * 1000
    first, later = data(2, at=day), data(9, at=2 * day)
    write_segment(tmp_path / "t-0", [data(0, at=day - 1), first, later])

    both = run([tmp_path])
    early = run([tmp_path], until="1970-01-02T12:00:00+00:00")
    late = run([tmp_path], since=f"{day * 2:09}", producer_id=7)

    assert [finding.offset for _, finding in both.findings] == [1, 2]
    assert [finding.offset for _, finding in early.findings] == [1]
    assert [finding.offset for _, finding in late.findings] == [2]
    assert "sequences 9..9, expected 3 after offset 1" in late.findings[0][1].message
    assert both.chosen == ()
    assert early.to_json()["shown"] == [
        "only findings and transactions up to 1970-01-02T12:00:00.000+00:00; all of the logs was judged"
    ]
    assert len(late.chosen) == 2
    with pytest.raises(BadInput, match="--since takes a time"):
        run([tmp_path], since="yesterday")


def test_transactions_are_shown_if_they_touch_the_time_that_is_asked_for(tmp_path: Path) -> None:
    """From their first record to their Complete record; one that is open has no end."""
    cluster = WrittenCluster()
    cluster.init("tx", 7)
    cluster.transaction("tx", [("a", 0)])
    between = cluster.now + 500
    cluster.now += 1000
    cluster.transaction("tx", [("a", 0)])
    cluster.add("tx", ("a", 0))
    report = run([cluster.write(tmp_path)]).transactions

    before, after = ListedTransactions(True, until_ms=between), ListedTransactions(True, since_ms=between)

    assert [one.status for one in listed(report, before)] == ["committed"]
    assert [one.status for one in listed(report, after)] == ["committed", "open"]
    assert len(listed(report, ListedTransactions(True, "other", since_ms=between))) == 0


def test_a_transactional_id_has_its_findings_only(recordings: Path) -> None:
    """Those of its producer ids too, and none of others."""
    directory = recordings / DEFECTS / "v-torn"
    ((_, torn),) = run([directory]).findings

    own, other = (run([directory], transactional_id=name) for name in (torn.transactional_id, "nobody"))

    assert [finding for _, finding in own.findings] == [torn]
    assert other.findings == ()
