"""Faults on the way: what an application must survive, on a cluster that has none, and the journal of it all."""

from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from model_tests.common.reports import HOLDS, BadInput
from model_tests.record.recording import Recording
from model_tests.serve.cluster import Cluster
from model_tests.unit.record.recorded import audit_of, recorded, report_of, wire_lines
from model_tests.unit.serve.applications import (
    ApplicationOutcomes,
    numbered,
    read_all,
    use,
    write_in_transactions,
    write_plainly,
)

EVERYTHING = {"request lost", "request stray", "request doubled", "request late", "answer lost", "answer late"}
TOPICS = {"in": 2, "txn": 2}


@pytest.mark.parametrize(("profile", "faults"), [("4.3", "harsh"), ("2.7", "gentle")])
def test_applications_are_exactly_once_whatever_is_lost(profile: str, faults: str, tmp_path: Path) -> None:
    """By their own ledger, by the cluster's judge, and by an audit of the logs with the recording's journal."""
    plain, txn = ApplicationOutcomes(), ApplicationOutcomes()
    cluster = Cluster(profile, topics=TOPICS, dir=tmp_path / "data")
    with recorded(cluster, tmp_path, faults=faults, seed=7) as recording:
        servers = recording.bootstrap_servers
        write_plainly(servers, "in", list(numbered("v", 60)), plain)
        write_in_transactions(servers, 20, txn)
        plain.check(read_all(cluster.bootstrap_servers, "in", 2, len(plain.committed)))
        txn.check(read_all(cluster.bootstrap_servers, "txn", 2, len(txn.committed)))

    report = report_of(recording)
    assert HOLDS == report.exit_code, report.counts.contradictions
    assert report.counts.faults
    assert any("fault" in line for line in wire_lines(tmp_path))
    audited = audit_of(tmp_path, tmp_path / "data")
    assert HOLDS == audited.exit_code, audited.to_json()
    assert audited.history.judged >= len(plain.committed) + len(txn.committed)


@pytest.mark.slow
def test_a_group_is_exactly_once_whatever_is_lost(tmp_path: Path) -> None:
    """Consume, transform, produce in a group, too, on three nodes; every fault happens."""
    cluster = Cluster("4.3", 3, topics={**TOPICS, "out": 2}, dir=tmp_path / "data")
    with recorded(cluster, tmp_path, faults="harsh", seed=5) as recording:
        use(recording.bootstrap_servers, 40)

    report = report_of(recording)
    assert EVERYTHING | {"connection closed"} == set(report.counts.faults)
    assert HOLDS == report.exit_code
    assert HOLDS == audit_of(tmp_path, tmp_path / "data").exit_code


def test_faults_that_there_are_not_are_bad_input(tmp_path: Path) -> None:
    """Before anything is written."""
    with pytest.raises(BadInput, match="gentle, harsh"), Recording("127.0.0.1:1", tmp_path, faults="none at all"):
        pass
    assert [] == list(tmp_path.iterdir())
