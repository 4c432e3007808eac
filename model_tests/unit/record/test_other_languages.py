"""kafkajs by way of `eos record`, where npm has installed it: the client notices nothing, and the journal holds."""

from pathlib import Path

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")

from model_tests.common.reports import HOLDS
from model_tests.serve.cluster import Cluster
from model_tests.unit.record.recorded import audit_of, check_nobody_passed_by, recorded, report_of
from model_tests.unit.serve.journeys import check_report
from model_tests.unit.serve.other_languages import CLIENTS, TOPICS, check_all, ledger_of, node, travel

pytestmark = pytest.mark.slow


def test_a_journey_of_kafkajs_by_way_of_the_recording(tmp_path: Path) -> None:
    """Its ledger, the cluster's judge, and the recording's journal compared with the logs."""
    program = [*node("kafkajs", 14), str(CLIENTS / "kafkajs_client.mjs")]
    cluster = Cluster("4.3", 3, topics=TOPICS, dir=tmp_path / "data")
    with recorded(cluster, tmp_path / "recording") as recording:
        ledger = ledger_of(travel(program, recording, tmp_path, aborted=3), tmp_path)

    check_all(ledger)
    check_report(cluster)
    check_nobody_passed_by(recording, cluster)
    assert HOLDS == report_of(recording).exit_code
    assert HOLDS == audit_of(tmp_path / "recording", tmp_path / "data").exit_code
