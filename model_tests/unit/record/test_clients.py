"""Unmodified clients by way of `eos record`: they notice nothing, nobody passes by, and the journal holds."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka.protocol", reason="the wire protocol needs kafka-python")
pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
pytest.importorskip("aiokafka", reason="needs aiokafka")

from model_tests.audit.report import AuditReport
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.serve.cluster import Cluster, SpecificationViolated
from model_tests.unit.record.recorded import audit_of, check_nobody_passed_by, journal_lines, recorded, report_of
from model_tests.unit.serve.aiokafka_clients import Aiokafka
from model_tests.unit.serve.client_journey import PARTITIONS, Journey
from model_tests.unit.serve.confluent_journeys import ConfluentKafka
from model_tests.unit.serve.journeys import JourneyLedger, check_audit, check_ledger, check_report
from model_tests.unit.serve.kafka_python_clients import KafkaPython

TOPICS = {"in": PARTITIONS, "out": PARTITIONS}

CASES = [
    ("confluent-kafka", ConfluentKafka, "4.4", 3),
    ("kafka-python", KafkaPython, "1.0", 1),
    ("aiokafka", Aiokafka, "2.7", 1),
]


@pytest.mark.parametrize(("software", "library", "profile", "nodes"), CASES, ids=[case[0] for case in CASES])
def test_a_journey_by_way_of_the_recording(
    software: str, library: Any, profile: str, nodes: int, tmp_path: Path
) -> None:
    """The client's ledger, its journal and the recording's agree with each other and with the logs."""
    ledger, cluster = JourneyLedger(), Cluster(profile, nodes, topics=TOPICS, dir=tmp_path / "data")
    with recorded(cluster, tmp_path / "recording") as recording:
        Journey(library(recording.bootstrap_servers), ledger).travel()

    check_ledger(ledger)
    check_report(cluster)
    check_audit(ledger.audit(tmp_path))
    check_nobody_passed_by(recording, cluster)
    report = report_of(recording)
    assert HOLDS == report.exit_code
    assert nodes == len(report.brokers)
    assert {"unread": {}, "not_journaled": {}, "closed": 0} == {
        name: report.to_json()[name] for name in ("unread", "not_journaled", "closed")
    }
    assert ended_in(ledger, "commit") == report.counts.outcomes["committed"]
    assert acknowledged_in(ledger) == report.counts.records
    audited = audit_of(tmp_path / "recording", tmp_path / "data")
    assert HOLDS == audited.exit_code, audited.to_json()
    assert report.counts.records == judged(audited)


def test_a_fenced_instance_is_counted(tmp_path: Path) -> None:
    """Once, with its error, under the name of its software; its transaction has no outcome in the journal."""
    with recorded(Cluster("4.3", topics={"in": 1}, dir=tmp_path / "data"), tmp_path) as recording:
        library = ConfluentKafka(recording.bootstrap_servers)
        first = library.writer("app")
        first.begin()
        first.send("in", 0, b"one")
        second = library.writer("app")
        with pytest.raises(library.error):
            first.commit()
        second.begin()
        second.send("in", 0, b"two")
        second.commit()

    report = report_of(recording)
    assert {"left to a new instance": 1, "committed": 1} == report.counts.outcomes
    assert 1 == report.counts.fences
    ((software, api, error),) = [key for key in report.counts.errors if key[1] == "EndTxn"]
    assert ("EndTxn", True, True) == (api, "PRODUCER" in error, "confluent-kafka" in software)
    events = [line["ev"] for line in journal_lines(tmp_path)]
    assert ["producer", "begin", "ack", "producer", "begin", "ack", "commit"] == events


DEFECTS = {
    "a-commit-is-decided-as-an-abort": "txn.client_verdict",
    "duplicate-of-another-epoch": "seq.exactly_once",
    "a-new-instance-gets-the-epoch-of-the-one-before": "txn.legal_transition",
}
"""Each with the rule by which an audit convicts it."""

SEEN_FROM_ANSWERS = {
    "duplicate-of-another-epoch": {"seq.exactly_once"},
    "a-new-instance-gets-the-epoch-of-the-one-before": {"ids.identity_never_repeats"},
}
"""Those that the answers alone give away, with the rule."""


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_broken_cluster_is_convicted_by_the_journal_and_the_logs(defect: str, tmp_path: Path) -> None:
    """What the cluster answered is not what its logs have, or cannot be true by itself."""
    cluster = Cluster("4.3", topics={"in": PARTITIONS}, dir=tmp_path / "data", defect=defect)
    with suppress(SpecificationViolated), recorded(cluster, tmp_path) as recording, suppress(ConfluentKafka.error):
        Journey(ConfluentKafka(recording.bootstrap_servers), JourneyLedger()).instances()

    contradicted = {each.rule.id for each in report_of(recording).counts.contradictions}
    assert SEEN_FROM_ANSWERS.get(defect, set()) == contradicted
    assert (VIOLATED if contradicted else HOLDS) == report_of(recording).exit_code
    audited = audit_of(tmp_path, tmp_path / "data")
    assert VIOLATED == audited.exit_code
    assert DEFECTS[defect] in {finding.rule.id for _, finding in audited.findings}


def ended_in(ledger: JourneyLedger, how: str) -> int:
    return sum(line["ev"] == how and line["ok"] for line in ledger.journal)


def acknowledged_in(ledger: JourneyLedger) -> int:
    return sum(line["ev"] == "ack" for line in ledger.journal)


def judged(report: AuditReport) -> int:
    """Acknowledged records that were compared with the logs."""
    return report.history.judged
