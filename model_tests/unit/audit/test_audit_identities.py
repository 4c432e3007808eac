"""Producer ids are handed out once: no two transactional ids have the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from model_tests.audit.run import run
from model_tests.unit.audit.stories import cluster_of
from model_tests.unit.audit.written_cluster import WrittenCluster
from model_tests.unit.support.misplaced_findings import all_known
from model_tests.unit.support.one_cause import found, identified, record
from spec.vocabulary import ProducerId


@pytest.mark.parametrize("producer_id", [7, 8])
def test_a_producer_id_that_is_given_to_an_idle_id_too_is_one_finding(tmp_path: Path, producer_id: int) -> None:
    """It has not used it yet."""
    cluster = all_known(2)
    at = next(at for at, one in enumerate(cluster.coordinator) if identified(one)[0] == "idle")
    name, value = identified(cluster.coordinator[at])
    cluster.coordinator[at] = record(name, replace(value, producer_id=ProducerId(producer_id)), cluster.coordinator[at])

    (finding,) = found(cluster, tmp_path)

    assert finding.rule.id == "ids.unique"
    assert finding.transactional_id in ("idle", "tx", "other")
    assert "brokers take the two for one producer" in finding.message
    assert finding.remedy


def test_ids_of_two_coordinators_are_held_against_each_other(tmp_path: Path) -> None:
    """Each of them claimed a block, and the blocks overlap."""
    cluster = cluster_of("first: init first 7; first: txn a; second: init second 7; second: txn b")
    records, cluster.coordinator = cluster.coordinator, cluster.coordinator[:4]
    cluster.write(tmp_path)
    WrittenCluster(coordinator=records[4:]).write(tmp_path / "second", closed=False)
    (tmp_path / "second" / "__transaction_state-0").rename(tmp_path / "__transaction_state-1")

    ((_, finding),) = run([tmp_path]).findings

    assert (finding.rule.id, finding.offset, finding.transactional_id) == ("ids.unique", 0, "second")
