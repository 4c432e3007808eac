"""Exactly once, end to end, on three nodes of which something is always broken: by a ledger, and by the judge."""

from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from model_tests.common.reports import HOLDS
from model_tests.serve import command
from model_tests.serve.cluster import Cluster
from model_tests.serve.report import ServeReport
from model_tests.unit.serve.applications import use


def judged(profile: str, version: int, seed: int, transactions: int, record: Path | None = None) -> ServeReport:
    """What came of a cluster that was used under harsh faults; no rule broke."""
    topics = {"in": 2, "out": 2, "txn": 2}
    cluster = Cluster(profile, 3, transaction_version=version, topics=topics, faults="harsh", seed=seed, record=record)
    with cluster:
        use(cluster.bootstrap_servers, transactions)
    assert [] == [notice for notice in cluster.notices if "is closed" in notice]
    assert cluster.report is not None
    return cluster.report


def test_what_is_committed_is_there_once_whatever_breaks(tmp_path: Path) -> None:
    """Connections, leaders, coordinators and nodes; and the record of it all makes the same steps again."""
    report = judged("4.3", 2, seed=5, transactions=10, record=tmp_path / "run")

    assert {"connection closed", "move leader", "move transaction coordinator", "request lost", "answer lost"} <= set(
        report.faults
    )
    again = command.run(
        listen="127.0.0.1:0", nodes=1, profile="4.4", record=tmp_path / "again", feed=tmp_path / "run" / "wire.ndjson"
    )
    assert (HOLDS, report.steps, report.faults) == (again.exit_code, again.steps, again.faults)
    assert (tmp_path / "run" / "trace.ndjson").read_bytes() == (tmp_path / "again" / "trace.ndjson").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("profile", "version"), [("4.3", 2), ("4.3", 1), ("3.6", 1), ("2.7", 0), ("0.11", 0)])
def test_what_is_committed_is_there_once_under_every_seed(profile: str, version: int, seed: int) -> None:
    """Releases with and without a quorum controller, with and without verification."""
    judged(profile, version, seed, transactions=40)
