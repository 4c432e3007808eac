"""confluent-kafka (librdkafka) against the server: what was acknowledged is what a reader finds, once."""

from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")


from model_tests.serve.cluster import Cluster
from model_tests.unit.serve.client_journey import PARTITIONS, Journey
from model_tests.unit.serve.confluent_journeys import ConfluentKafka
from model_tests.unit.serve.journeys import JourneyLedger, check_audit, judged

CASES = [("0.11", 1), ("2.4", 3), ("3.9", 1), ("4.3", 1), ("4.4", 3)]


@pytest.mark.parametrize(("profile", "nodes"), CASES)
def test_a_journey_of_producers_and_readers(profile: str, nodes: int, tmp_path: Path) -> None:
    """Idempotent batches, commits and aborts, a fenced instance, and a group that makes records of records."""
    ledger = JourneyLedger()
    with judged(Cluster(profile, nodes, topics={"in": PARTITIONS, "out": PARTITIONS}), ledger) as cluster:
        Journey(ConfluentKafka(cluster.bootstrap_servers), ledger).travel()

    check_audit(ledger.audit(tmp_path))
