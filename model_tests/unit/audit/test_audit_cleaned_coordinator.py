"""What partitions still show of transactions that their coordinator's log has lost to the cleaner."""

from collections.abc import Collection
from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.run import run
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from model_tests.unit.support.cleaned_coordinator import A, B, C
from reference.log.batch import marker_batch
from spec.vocabulary import ControlType


def turned(outcome: ControlType, version: int = 2) -> WrittenCluster:
    """Transactions over three partitions, the last of which has another outcome in its marker on the second."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.transaction("tx", [A, B, C])
    cluster.transaction("tx", [A, B, C], outcome)
    kind = ABORT if outcome == COMMIT else COMMIT
    last = cluster.logs[B][-1]
    cluster.logs[B][-1] = marker_batch(last.producer_id, last.producer_epoch, kind, 0, last.max_timestamp)
    return cluster


def found(cluster: WrittenCluster, directory: Path, kept: Collection[int]) -> list[Finding]:
    """The findings where the cleaner has left only these records of the coordinator's log."""
    return [finding for _, finding in run([cluster.write_cleaned(directory, kept)]).findings]


@pytest.mark.parametrize("outcome", [COMMIT, ABORT])
def test_an_epoch_that_ends_otherwise_than_its_complete_record_says_is_named(
    tmp_path: Path, outcome: ControlType
) -> None:
    """The record has no partitions any more, but under version 2 its epoch is of one transaction."""
    cluster = turned(outcome)

    (finding,) = found(cluster, tmp_path, [len(cluster.coordinator) - 1])

    assert (finding.rule.id, finding.offset, finding.transactional_id) == ("txn.one_outcome", 3, "tx")


@pytest.mark.parametrize("left", ["init", "nothing"])
def test_a_torn_epoch_is_named_where_the_coordinators_log_is_silent(tmp_path: Path, left: str) -> None:
    """Only a later InitProducerId is left of the id, or nothing at all: the other partitions contradict the marker."""
    cluster = turned(COMMIT)
    cluster.init("tx", 7, cluster.values["tx"].epoch + 1)

    (finding,) = found(cluster, tmp_path, [len(cluster.coordinator) - 1] if left == "init" else [])

    assert (finding.rule.id, finding.offset) == ("txn.atomic", 3)
    assert "2 others of the same epoch say COMMIT" in finding.message


@pytest.mark.parametrize("kept", [1, 4])
def test_what_the_cleaner_left_of_right_transactions_is_no_finding(tmp_path: Path, kept: int) -> None:
    """However many of the last records."""
    for version in (0, 2):
        cluster = WrittenCluster(version)
        cluster.init("tx", 7)
        for outcome in (COMMIT, ABORT, COMMIT):
            cluster.transaction("tx", [A, B], outcome)
        end = len(cluster.coordinator)

        assert found(cluster, tmp_path / str(version), range(end - kept, end)) == []


def test_under_version_0_one_epoch_has_many_outcomes(tmp_path: Path) -> None:
    """Which of its markers are of one transaction, nothing is left to say."""
    cluster = turned(COMMIT, version=0)

    assert found(cluster, tmp_path, []) == []


@pytest.mark.parametrize("kind", [COMMIT, ABORT])
def test_a_marker_of_an_id_that_never_had_a_transaction_is_named(tmp_path: Path, kind: ControlType) -> None:
    """The coordinator's log is whole, and has nothing of it but InitProducerId."""
    cluster = WrittenCluster(2)
    cluster.init("tx", 7)
    cluster.mark("tx", A, outcome=kind)
    cluster.now += 1000
    cluster.init("other", 8)
    cluster.write(tmp_path)

    ((_, finding),) = run([tmp_path]).findings

    assert (finding.rule.id, finding.transactional_id) == ("txn.marker_once", "tx")
    assert finding.severity == ("violation" if kind == COMMIT else "suspicious")


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("lost", ["cleaned", "unreadable"])
def test_markers_from_before_an_instance_of_which_all_is_there_are_no_finding(
    tmp_path: Path, version: int, lost: str
) -> None:
    """The history begins, or continues behind unreadable bytes, with InitProducerId: transactions before are gone."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    for partitions in ([A, B], [A, C], [B, C]):
        cluster.transaction("tx", partitions)
    cluster.init("tx", 7, cluster.values["tx"].epoch + 1)
    begun = len(cluster.coordinator) - 1
    if lost == "cleaned":
        cluster.transaction("tx", [A, B])
        kept: Collection[int] = range(begun, len(cluster.coordinator))
    else:
        kept = [*range(4), begun]

    assert found(cluster, tmp_path, kept) == []
