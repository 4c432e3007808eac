"""Logs copied one after the other, cleaned, or shortened at their begin: what is right in them is no finding."""

from collections.abc import Collection
from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.run import run
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.cleaned_coordinator import A, B, C


def blamed(cluster: WrittenCluster, directory: Path, *, closed: bool = False) -> list[Finding]:
    """Everything that is no mere doubt."""
    report = run([cluster.write(directory, closed=closed)])
    return [one for _, one in report.findings if one.severity is not Severity.UNDECIDED]


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("sent", [True, False], ids=["data", "no data"])
def test_markers_after_a_copy_that_ends_in_a_prepare_record_are_not_known(
    tmp_path: Path, version: int, sent: bool
) -> None:
    """The coordinator's log shows neither when that transaction was complete, nor the next ones."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.transaction("tx", [A])
    cluster.add("tx", A)
    cluster.prepare("tx", COMMIT)
    copied = list(cluster.coordinator)
    cluster.mark("tx", A)
    cluster.complete("tx")
    for partition in (B, C):
        cluster.add("tx", partition)
        if sent:
            cluster.send("tx", partition)
        cluster.prepare("tx", COMMIT)
        cluster.mark("tx", partition)
        cluster.complete("tx")
    cluster.coordinator = copied

    assert blamed(cluster, tmp_path) == []


@pytest.mark.parametrize("outcome", [COMMIT, ABORT])
def test_data_of_an_open_transaction_is_not_of_one_whose_marker_retention_took(tmp_path: Path, outcome: int) -> None:
    """Under version 0 both have one epoch: the log begins between them."""
    cluster = WrittenCluster()
    cluster.init("tx", 7)
    cluster.transaction("tx", [A, B], COMMIT if outcome == COMMIT else ABORT)
    begin = len(cluster.logs[A])
    cluster.add("tx", A, B)
    cluster.send("tx", A)
    directory = cluster.write(tmp_path, {A: begin})

    report = run([directory])

    assert report.findings == ()
    assert report.transactions.counts["open"] == 1


def copied_before_cleaning(
    directory: Path, kept: Collection[int], cluster: WrittenCluster, *, closed: bool
) -> list[Finding]:
    """A partition that was copied in the middle of the second transaction, the coordinator's log cleaned later."""
    return [one for _, one in run([cluster.write_cleaned(directory, kept, closed=closed)]).findings]


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("after", ["a transaction", "InitProducerId"])
@pytest.mark.parametrize("closed", [True, False])
def test_data_of_a_transaction_that_the_cleaner_took_may_have_its_marker_after_the_copy(
    tmp_path: Path, version: int, after: str, closed: bool
) -> None:
    """Unless the partition was closed: then it hangs."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.transaction("tx", [A, B])
    cluster.add("tx", A, B)
    cluster.send("tx", B)
    logs = {partition: list(batches) for partition, batches in cluster.logs.items()}
    cluster.prepare("tx", COMMIT)
    cluster.complete("tx")
    if after == "InitProducerId":
        cluster.init("tx", 7, cluster.values["tx"].epoch + 1)
    else:
        cluster.add("tx", A)
    cluster.logs = logs

    findings = copied_before_cleaning(tmp_path, [len(cluster.coordinator) - 1], cluster, closed=closed)

    expected = [("txn.registered_before_data", "violation" if closed else "undecided")]
    assert [(one.rule.id, one.severity) for one in findings] == expected
    assert ("copy the log again" in findings[0].remedy) == (not closed)


def test_a_marker_from_before_a_hole_is_not_taken_for_that_of_a_transaction_under_way(tmp_path: Path) -> None:
    """That one has its Prepare record and no marker here yet; the data at the end of the log is its own."""
    cluster = WrittenCluster()
    cluster.init("tx", 7)
    cluster.transaction("tx", [A, B])
    cluster.transaction("tx", [B], ABORT)
    cleaned_to = len(cluster.coordinator) - 1
    cluster.add("tx", A, B)
    cluster.send("tx", A)
    cluster.prepare("tx", COMMIT)

    kept = range(cleaned_to, len(cluster.coordinator))

    assert copied_before_cleaning(tmp_path, kept, cluster, closed=True) == []
