from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.audit.run import run
from model_tests.unit.audit.written_cluster import ABORT, COMMIT, WrittenCluster
from spec.vocabulary import ControlType

A, B = ("a", 0), ("b", 0)


def overtaken(first: ControlType, then: ControlType, version: int = 2) -> WrittenCluster:
    """A copy of the first transaction's marker comes while the second is open and registered at the partition."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.transaction("tx", [A, B], first)
    late = cluster.values["tx"].epoch
    cluster.add("tx", A, B)
    cluster.send("tx", A)
    cluster.send("tx", B)
    cluster.mark("tx", B, outcome=first, epoch=late)
    cluster.prepare("tx", then)
    cluster.mark("tx", A, B)
    cluster.complete("tx")
    return cluster


def findings(cluster: WrittenCluster, directory: Path) -> list[Finding]:
    return [one for _, one in run([cluster.write(directory)]).findings]


@pytest.mark.parametrize("then", [COMMIT, ABORT])
def test_a_late_commit_of_an_earlier_transaction_is_named_as_what_it_is(tmp_path: Path, then: ControlType) -> None:
    """The partition is registered: the marker is one too many, and what became of the records is said."""
    (found,) = findings(overtaken(COMMIT, then), tmp_path)

    assert (found.rule.id, found.severity, found.offset) == ("txn.marker_once", "violation", 3)
    assert "a COMMIT marker of epoch 1 ended the data from offset 2 on while its transaction was open" in found.message
    assert "a late copy of the marker of an earlier transaction" in found.message
    assert "KAFKA-19446" in found.message
    assert "not registered" not in found.message
    assert f"was decided to {'COMMIT' if then == COMMIT else 'ABORT'} afterwards" in found.remedy
    assert found.step == "WriteTxnMarkers"


def test_a_late_abort_may_have_been_written_by_hand(tmp_path: Path) -> None:
    """An operator's abort looks the same, so that no producer is blamed."""
    (found,) = findings(overtaken(ABORT, COMMIT), tmp_path)

    assert (found.rule.id, found.severity) == ("txn.marker_once", "suspicious")
    assert "by hand" in found.message


def test_unregistered_data_is_still_reported(tmp_path: Path) -> None:
    """The same marker on a partition that the second transaction does not have."""
    cluster = WrittenCluster(2)
    cluster.init("tx", 7)
    cluster.transaction("tx", [A, B])
    late = cluster.values["tx"].epoch
    cluster.add("tx", A)
    cluster.send("tx", A)
    cluster.send("tx", B)
    cluster.mark("tx", B, outcome=COMMIT, epoch=late)
    cluster.prepare("tx", COMMIT)
    cluster.mark("tx", A)
    cluster.complete("tx")

    (found,) = findings(cluster, tmp_path)

    assert found.rule.id == "txn.registered_before_data"
    assert "not registered" in found.message
