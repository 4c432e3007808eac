from collections.abc import Callable
from pathlib import Path

import pytest

from model_tests.audit.orphan_markers import LATER
from model_tests.audit.run import run
from model_tests.audit.transactions_gaps import EXCUSED_BY
from model_tests.common.reports import HOLDS
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.copied_earlier import UNKNOWN_PRODUCER, A, B, blamed
from reference.log.batch import blank_batch, marker_batch
from reference.log.checkpoint_file import PartitionOffset, encode_offsets
from spec.judging.judge_join import Excuse
from spec.vocabulary import ControlType, Offset

HOUR_MS = 3_600_000


def busy(version: int) -> WrittenCluster:
    """Two ids that commit, abort and are fenced in turns."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.init("other", 8)
    for outcome in (COMMIT, ABORT, COMMIT):
        cluster.transaction("tx", [A, B], outcome)
        cluster.transaction("other", [A], outcome)
    cluster.add("tx", A)
    cluster.send("tx", A)
    cluster.prepare("tx", ABORT, fenced=True)
    cluster.mark("tx", A)
    cluster.complete("tx")
    return cluster


@pytest.mark.parametrize("version", [0, 2])
def test_a_coordinators_log_that_was_copied_before_the_others_is_no_finding(tmp_path: Path, version: int) -> None:
    """A live broker's partitions go on: of markers and data that came later the copy has no record yet."""
    records = len(busy(version).coordinator)
    for kept in range(1, records + 1):
        cluster = busy(version)
        del cluster.coordinator[kept:]

        report = run([cluster.write(tmp_path / str(kept))])

        assert blamed(report) == [], kept
        assert report.exit_code == HOLDS


def test_data_that_may_hang_is_shown_as_a_doubt(tmp_path: Path) -> None:
    """The newest record of all: a later copy of the coordinator's log decides whether it hangs."""
    cluster = WrittenCluster()
    cluster.init("tx", 7)
    cluster.transaction("tx", [A])
    cluster.now += 1000
    cluster.send("tx", A)

    ((_, doubt),) = run([cluster.write(tmp_path)]).findings

    assert (doubt.rule.id, doubt.severity) == ("txn.registered_before_data", Severity.UNDECIDED)
    assert "copy the coordinators' logs again" in doubt.remedy
    assert f"--topic a --partition 0 --start-offset {doubt.offset}" in doubt.remedy


def test_a_log_that_was_closed_reports_everything(tmp_path: Path) -> None:
    """Flushed up to its end, the coordinator's log has no later record: the marker matches no transaction."""
    cluster = WrittenCluster()
    cluster.init("tx", 7)
    cluster.transaction("tx", [A])
    end = len(cluster.coordinator)
    cluster.now += 1000
    cluster.mark("tx", A, outcome=COMMIT, epoch=0)
    cluster.send("tx", A)
    cluster.mark("tx", A, outcome=COMMIT)
    cluster.write(tmp_path)
    doubted = run([tmp_path])
    assert (blamed(doubted), list(doubted.transactions.missing)) == ([], [LATER])
    flushed = encode_offsets([PartitionOffset("__transaction_state", 0, Offset(end))])
    (tmp_path / "recovery-point-offset-checkpoint").write_bytes(flushed)

    (finding,) = blamed(run([tmp_path]))

    assert (finding.rule.id, finding.severity) == ("txn.registered_before_data", Severity.VIOLATION)


@pytest.mark.parametrize(
    ("outcome", "severity"), [(COMMIT, Severity.VIOLATION), (ABORT, Severity.SUSPICIOUS)], ids=["commit", "abort"]
)
def test_a_marker_of_a_producer_id_that_was_never_given_out_is_named(
    tmp_path: Path, outcome: ControlType, severity: Severity
) -> None:
    """Every coordinator's log is there and none gave the id away; an abort may be an operator's."""
    cluster = WrittenCluster()
    for number in range(30):  # so that their hashes leave no other number of partitions of the coordinator's log
        cluster.init(f"id-{number}", number)
    cluster.init("tx", 70)
    cluster.transaction("tx", [A])
    cluster.logs[A].append(marker_batch(UNKNOWN_PRODUCER, 0, outcome, 0, cluster.now))
    cluster.transaction("tx", [A])

    (finding,) = blamed(run([cluster.write(tmp_path)]))

    assert (finding.rule.id, finding.severity, finding.offset) == ("txn.marker_once", severity, 2)
    assert finding.producer_id == UNKNOWN_PRODUCER


def completed_meanwhile() -> WrittenCluster:
    """The markers of the last transaction, and of one partition its data too, came after the copy."""
    cluster = busy(2)
    cluster.init("tx", 7, cluster.values["tx"].epoch + 1)
    cluster.now += HOUR_MS
    cluster.add("tx", A, B)
    cluster.send("tx", A)
    cluster.prepare("tx", COMMIT)
    cluster.complete("tx")
    return cluster


def test_partitions_that_were_copied_before_the_coordinators_log_are_no_finding(tmp_path: Path) -> None:
    """Wherever the copies of the partitions end, what is missing of a completed transaction may come yet."""
    for kept in range(1, 8):
        cluster = busy(2)
        for partition in (A, B):
            del cluster.logs[partition][-kept:]

        report = run([cluster.write(tmp_path / str(kept), closed=False)])

        assert blamed(report) == [], kept
    report = run([completed_meanwhile().write(tmp_path / "meanwhile", closed=False)])
    assert (blamed(report), report.exit_code) == ([], HOLDS)
    assert report.transactions.missing == {EXCUSED_BY[Excuse.COPIED_EARLIER]: 2}


def later_marker(cluster: WrittenCluster) -> None:
    """Another transaction, which was decided after the end of this one by the coordinator's log."""
    cluster.transaction("other", [A, B])


def later_timestamp(cluster: WrittenCluster) -> None:
    """Data an hour later."""
    cluster.now += HOUR_MS
    for partition in (A, B):
        cluster.logs[partition].append(blank_batch(1, timestamp=cluster.now))


@pytest.mark.parametrize("later", [later_marker, later_timestamp])
def test_a_log_that_continues_after_the_end_of_a_transaction_is_complete(
    tmp_path: Path, later: Callable[[WrittenCluster], None]
) -> None:
    """It was copied later, by the offsets of the coordinator's log or by the time."""
    cluster = completed_meanwhile()
    later(cluster)

    findings = blamed(run([cluster.write(tmp_path, closed=False)]))

    assert [one.rule.id for one in findings] == ["txn.marker_once"] * 2
