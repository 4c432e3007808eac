"""aiokafka against the server: what was acknowledged is what a reader finds, once."""

from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("aiokafka", reason="needs aiokafka")


from model_tests.serve.cluster import Cluster, SpecificationViolated
from model_tests.serve.defects import DEFECTS
from model_tests.unit.serve.aiokafka_clients import Aiokafka
from model_tests.unit.serve.client_journey import PARTITIONS, Journey
from model_tests.unit.serve.journeys import MARKER_DEFECT, JourneyLedger, check_audit, check_plain, judged


@pytest.mark.parametrize(("profile", "nodes"), [("2.7", 1), ("4.3", 3)])
def test_a_journey_of_producers_and_readers(profile: str, nodes: int, tmp_path: Path) -> None:
    """Idempotent batches, commits and aborts, a fenced instance, and a group that makes records of records."""
    ledger = JourneyLedger()
    with judged(Cluster(profile, nodes, topics={"in": PARTITIONS, "out": PARTITIONS}), ledger) as cluster:
        library = Aiokafka(cluster.bootstrap_servers)
        Journey(library, ledger).travel()
        library.stop()

    check_audit(ledger.audit(tmp_path))


def test_idempotent_records_are_there_once(tmp_path: Path) -> None:
    """Whatever is lost on the wire."""
    ledger, topics = JourneyLedger(), {"in": PARTITIONS}
    with Cluster("4.3", nodes=3, topics=topics, faults="harsh", seed=7) as cluster:
        library = Aiokafka(cluster.bootstrap_servers)
        Journey(library, ledger).travel_without_transactions()
        library.stop()

    check_plain(ledger)
    check_audit(ledger.audit(tmp_path))


@pytest.mark.slow
def test_a_broken_server_is_convicted() -> None:
    """The judge sees what the client cannot."""
    cluster = Cluster("4.3", topics={"in": PARTITIONS, "out": PARTITIONS}, defect=MARKER_DEFECT)
    with suppress(SpecificationViolated), cluster:
        Journey(Aiokafka(cluster.bootstrap_servers), JourneyLedger()).travel()

    assert cluster.report is not None
    assert DEFECTS[MARKER_DEFECT].rule.id in {violation.rule for violation in cluster.report.violations}
