"""A marker that stands in a log it was not written to, or once more far from its place: one finding, where it is."""

from pathlib import Path

import pytest

from model_tests.audit.findings import Finding
from model_tests.unit.audit.written_cluster import ABORT, WrittenCluster
from model_tests.unit.support.one_cause import A, B, found
from reference.log.batch import RecordBatch


def transactions(version: int) -> WrittenCluster:
    """The second transaction of the one id, and of the other, has not the partition A, or not B."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.init("other", 8)
    cluster.transaction("tx", [A, B])
    cluster.transaction("other", [A, B])
    cluster.transaction("tx", [B])
    cluster.transaction("other", [A])
    cluster.transaction("tx", [A, B], ABORT)
    cluster.transaction("tx", [A, B])
    cluster.transaction("other", [A, B])
    cluster.transaction("tx", [A, B])
    return cluster


def copied(version: int, number: int, place: int) -> WrittenCluster:
    """The marker of so many transactions of the one id before, from the log of B, at a place of A."""
    cluster = transactions(version)
    cluster.logs[A].insert(place, of_b(version)[number])
    return cluster


def of_b(version: int) -> list[RecordBatch]:
    """The markers of the first id in B."""
    return [batch for batch in transactions(version).logs[B] if batch.is_control and batch.producer_id == 7]


def everywhere(version: int, number: int, directory: Path) -> list[tuple[int, list[Finding]]]:
    """What is found of the marker at each place of A."""
    places = range(1, len(transactions(version).logs[A]) + 1)
    return [(place, found(copied(version, number, place), directory / str(place))) for place in places]


@pytest.mark.parametrize("version", [0, 2])
def test_a_marker_of_a_transaction_that_has_not_the_partition_is_one_finding(tmp_path: Path, version: int) -> None:
    """Only between its neighbours in time an early release's is a late copy of the one before, and changes nothing."""
    silent = []
    for place, findings in everywhere(version, 1, tmp_path):
        if not findings:
            silent.append(place)
            continue
        assert [one.offset for one in findings] == [place], findings
        assert "does not have this partition" in findings[0].message or "has it not" in findings[0].message
    assert silent == (list(range(2, 7)) if version == 0 else [])


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("number", [0, 2, 3])
def test_a_marker_of_one_that_has_it_is_one_finding_away_from_its_place(
    tmp_path: Path, version: int, number: int
) -> None:
    """Its own transaction keeps the one that was there: whether the copy is before it or behind it."""
    away = 0
    for place, findings in everywhere(version, number, tmp_path):
        assert len(findings) <= 1, (place, findings)
        away += sum("stands behind later ones" in one.message for one in findings)
        away += sum("stands before earlier ones" in one.message for one in findings)
    assert away > 4
