"""What keeps the audit from naming what is not wrong, or may not be: each makes a finding a doubt or none."""

from pathlib import Path

import pytest

from model_tests.audit.holes import Surroundings
from model_tests.audit.partition import audit_batches
from model_tests.audit.run import run
from model_tests.unit.audit.written import log_of
from model_tests.unit.audit.written_cluster import COMMIT, WrittenCluster
from model_tests.unit.support.copied_earlier import UNKNOWN_PRODUCER, A, blamed
from reference.log.batch import marker_batch


def test_a_log_start_above_the_end_is_a_doubt_where_nothing_could_be_read() -> None:
    """Its segments are there, and its end is not known."""
    (finding,) = audit_batches(log_of(), Surroundings(log_start=8)).findings

    assert (finding.rule.id, finding.severity) == ("lso.bounds", "undecided")
    assert "the end of the log is missing" in finding.message


def with_marker_of_nobody(later_ms: int) -> WrittenCluster:
    """All coordinators' logs, and a marker of an id that none gave away, so much later than their newest record."""
    cluster = WrittenCluster()
    for number in range(30):  # so that their hashes leave no other number of partitions of the coordinator's log
        cluster.init(f"id-{number}", number)
    cluster.init("tx", 70)
    cluster.transaction("tx", [A])
    cluster.logs[A].append(marker_batch(UNKNOWN_PRODUCER, 0, COMMIT, 0, cluster.now + later_ms))
    return cluster


@pytest.mark.parametrize(("later_ms", "damaged"), [(1000, False), (0, True)], ids=["later", "damaged"])
def test_an_orphan_marker_that_may_match_a_transaction_is_not_named(
    tmp_path: Path, later_ms: int, damaged: bool
) -> None:
    """Its id may have been given away after the coordinators' logs were copied; what is before it cannot be read."""
    directory = with_marker_of_nobody(later_ms).write(tmp_path / "doubted")
    (named,) = blamed(run([with_marker_of_nobody(0).write(tmp_path / "named")]))
    if damaged:
        (segment,) = (directory / "a-0").glob("*.log")
        content = bytearray(segment.read_bytes())
        content[40] ^= 1  # in the header of the first batch
        segment.write_bytes(content)

    assert named.producer_id == UNKNOWN_PRODUCER
    assert blamed(run([directory])) == []
