"""Logs copied one after the other, wherever each copy ends."""

from pathlib import Path
from typing import Final

import pytest

from model_tests.audit.run import run
from model_tests.common.reports import HOLDS
from model_tests.unit.audit.audit_case import AuditCase, described, written
from model_tests.unit.audit.cases.copies import BUSY
from model_tests.unit.audit.stories import cluster_of
from model_tests.unit.audit.written_cluster import WrittenCluster
from reference.log.batch import RecordBatch
from spec.vocabulary import Timestamp

A, B = ("a", 0), ("b", 0)
HOUR: Final = 3_600_000


def hold_but_for_doubts(case: AuditCase, directory: Path) -> None:
    """Write the logs of a case, audit them, and find nothing that is more than a doubt."""
    report = run([written(case, directory)])
    assert [each for each in described(report) if each.startswith(("violation", "suspicious"))] == []
    assert report.exit_code == HOLDS


def at(batch: RecordBatch, timestamp: int) -> RecordBatch:
    """The batch with another time."""
    return batch._replace(base_timestamp=Timestamp(timestamp), max_timestamp=Timestamp(timestamp))


@pytest.mark.parametrize("version", [0, 2])
def test_wherever_the_copy_of_a_coordinators_log_ends_nothing_is_blamed(tmp_path: Path, version: int) -> None:
    """A live broker's partitions go on: of markers and data that came later the copy has no record yet."""
    for kept in range(1, len(cluster_of(BUSY, version).coordinator) + 1):

        def shortened(cluster: WrittenCluster, kept: int = kept) -> None:
            del cluster.coordinator[kept:]

        hold_but_for_doubts(AuditCase("", BUSY, version=version, change=shortened), tmp_path / str(kept))


@pytest.mark.parametrize("clocks", [0, 2 * HOUR, -2 * HOUR, -1000 * HOUR])
def test_wherever_the_copies_of_partitions_end_nothing_is_blamed(tmp_path: Path, clocks: int) -> None:
    """What is missing of a completed transaction may come yet, and clocks of clients do not show when they end."""
    for kept in range(
        1, 5 if clocks > 0 else 8
    ):  # beyond, no marker of B is left that shows by how much they are ahead

        def shortened(cluster: WrittenCluster, kept: int = kept) -> None:
            for log in cluster.logs.values():
                log[:] = [one if one.is_control else at(one, one.max_timestamp + clocks) for one in log]
            for partition in (A, B):
                del cluster.logs[partition][-kept:]

        hold_but_for_doubts(AuditCase("", BUSY, version=2, change=shortened, closed=False), tmp_path / str(kept))
