"""A coordinator's log of another cluster among the logs of one is reported as that, and judges no transaction."""

from pathlib import Path

import pytest

from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from reference.log.batch import marker_batch

A, B = ("a", 0), ("b", 0)
HOUR_MS = 3_600_000


def story(later_ms: int, aborted: int) -> WrittenCluster:
    """Two ids with twenty transactions in turns, of which every so-maniest is aborted."""
    cluster = WrittenCluster(0)
    cluster.now += later_ms
    cluster.init("tx", 7)
    cluster.init("other", 8)
    for number in range(20):
        outcome = ABORT if number % aborted == 0 else COMMIT
        cluster.transaction("tx" if number % 2 else "other", [A, B], outcome)
    return cluster


def audited(cluster: WrittenCluster, other: WrittenCluster, directory: Path) -> AuditReport:
    """The partitions of the one with the coordinator's log of the other."""
    cluster.coordinator = other.coordinator
    return run([cluster.write(directory)])


@pytest.mark.parametrize("aborted", [3, 5])
def test_a_coordinators_log_of_another_cluster_is_reported_as_that(tmp_path: Path, aborted: int) -> None:
    """It has the same ids and producer ids, and no marker agrees with it."""
    report = audited(story(0, 2), story(HOUR_MS, aborted), tmp_path)

    assert report.findings == ()
    (damage,) = report.damage
    assert damage.path == str(tmp_path / "__transaction_state-0")
    assert "the folder is of another cluster" in damage.message


def test_a_coordinator_whose_clock_is_wrong_by_an_hour_is_of_this_cluster(tmp_path: Path) -> None:
    """Order, epochs and outcomes agree, so that nothing is broken by it."""
    report = audited(story(0, 3), story(HOUR_MS, 3), tmp_path)

    assert (report.findings, report.damage) == ((), ())
    assert report.transactions.counts == {"committed": 13, "aborted": 7}


def test_where_much_is_broken_otherwise_it_is_reported_as_ever(tmp_path: Path) -> None:
    """Every marker of the one partition has the other outcome, and those of the other agree with the coordinator."""
    cluster = story(0, 3)
    for number, batch in enumerate(cluster.logs[A]):
        marker = batch.marker() if batch.is_control else None
        if marker is not None:
            kind = ABORT if marker.control_type == COMMIT else COMMIT
            cluster.logs[A][number] = marker_batch(
                batch.producer_id, batch.producer_epoch, kind, 0, batch.max_timestamp
            )

    report = run([cluster.write(tmp_path)])

    assert {finding.rule.id for _, finding in report.findings} == {"txn.atomic"}
    assert len(report.findings) > 8
    assert report.damage == ()
