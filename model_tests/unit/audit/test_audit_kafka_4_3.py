import shutil
from pathlib import Path

import pytest

from model_tests.audit.changes import CONTROLLER_LOG, batches_in, with_change
from model_tests.audit.log import read_log
from model_tests.audit.recorded import KAFKA_4_3, MARKER_BUG, MARKER_BUG_STOPPED, journal, observed
from model_tests.audit.report import AuditReport
from model_tests.audit.run import run
from model_tests.audit.transactions_judge import TransactionStatus
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.histories.severity import Severity
from model_tests.logs.controller_log import ControllerRecord, read_controller
from model_tests.logs.controller_log_values import BrokerChange, PartitionChange
from model_tests.logs.kafka_log_folders import list_logs

NODES = ("node1", "node2")
COMMAND = "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic t --partition 1 --start-offset 0"


@pytest.fixture(scope="module")
def healthy(recordings: Path) -> AuditReport:
    """The log of a broker of 4.3, with the journal of its clients."""
    return run([recordings / KAFKA_4_3], history=journal(KAFKA_4_3))


def test_a_healthy_log_breaks_nothing(healthy: AuditReport) -> None:
    """Nothing is more than a doubt, and that only where the log cleaner was."""
    found = {(finding.severity, one.topic) for one, finding in healthy.findings}

    assert found == {(Severity.UNDECIDED, "ledger")}
    assert healthy.damage == ()
    assert healthy.exit_code == HOLDS


def test_partitions_are_elected_again_from_their_last_leader(healthy: AuditReport) -> None:
    """44 after each of three kills; no other broker was elected, and every record of the controller's log is read."""
    cluster = healthy.cluster

    assert (cluster.elections, cluster.unclean, cluster.again) == (308, 0, 3 * 44)
    assert cluster.unread == ()
    assert "132 of the last leader" in cluster.in_one_line()


def test_every_transaction_is_reported(healthy: AuditReport) -> None:
    """As the coordinator's log has them; one was left open, and holds two of the partitions that are here."""
    assert healthy.transactions.counts == {"committed": 352, "aborted": 149, "open": 1}
    assert [held.name for held in healthy.held_back] == ["orders-0", "payments-0"]


@pytest.mark.parametrize("partition", sorted(observed(KAFKA_4_3)))
def test_a_partition_is_as_the_broker_served_it(healthy: AuditReport, partition: str) -> None:
    """Log start, last stable offset, high watermark, and how many records a read_committed consumer was given."""
    (one,) = (one for one in healthy.audited if f"{one.topic}-{one.partition}" == partition)
    at, served = one.verdict.offsets, observed(KAFKA_4_3)[partition]

    assert (at.log_start, at.last_stable, at.high_watermark) == (served.log_start, served.lso, served.log_end)
    assert one.verdict.visible_records == served.delivered


@pytest.mark.parametrize(("recording", "epoch"), [(MARKER_BUG, 98), (MARKER_BUG_STOPPED, 62)])
def test_a_complete_without_a_marker_is_named_with_what_ends_it(recordings: Path, recording: str, epoch: int) -> None:
    """Which id, where, from which offset on, why, and what the command that ends it does to a committed transaction."""
    report = run([recordings / recording])

    ((one, finding),) = report.findings
    assert (finding.rule.id, finding.severity) == ("txn.marker_once", Severity.VIOLATION)
    assert (one.topic, one.partition, finding.offset, finding.transactional_id) == ("t", 1, 0, "x")
    assert "the coordinator's log says CompleteCommit (offset 4); 1 other partitions have theirs" in finding.message
    assert f"t-1 had no leader in leader epoch 1 (offset {epoch} of the controller's log)" in finding.message
    assert "KAFKA-20734" in finding.message
    assert finding.remedy.startswith(f"{COMMAND} (")
    assert "t-0 got COMMIT, so that this tears the transaction" in finding.remedy
    assert [judged.status for judged in report.transactions.judged] == [TransactionStatus.HANGING]
    assert report.exit_code == VIOLATED


def test_the_partition_that_is_held_back_is_reported_with_the_command(recordings: Path) -> None:
    """From offset 0 on, for which id, and what ends it."""
    report = run([recordings / MARKER_BUG])

    (held,) = report.held_back
    line = held.in_one_line()
    assert line.startswith("held back: node2/t-1 at offset 0, 1 offsets before its end, by producer 0 epoch 0 (x), ")
    assert COMMAND in line


def _records(brokers: Path) -> list[ControllerRecord]:
    (log,) = list_logs([str(brokers / "node1" / CONTROLLER_LOG)]).logs
    batches, _ = read_log(log)
    return read_controller(log, batches).records


def _in_version(brokers: Path, record: ControllerRecord, kind: bytes, version: int) -> None:
    """Change the version of the first record of its kind in the batch that has a record."""
    content = (brokers / "node1" / CONTROLLER_LOG / f"{0:020}.log").read_bytes()
    starts = [int.from_bytes(content[start : start + 8], "big") for start, _ in batches_in(content)]

    def change(batch: bytearray) -> None:
        batch[batch.index(kind) + 2] = version

    with_change(brokers, CONTROLLER_LOG, max(base for base in starts if base <= record.offset), change, *NODES)


def test_records_of_unknown_versions_are_reported_and_no_violation_rests_on_them(
    recordings: Path, tmp_path: Path
) -> None:
    """The registration with which broker 2 came back cannot be read: it is not known whether it was alive."""
    brokers = shutil.copytree(recordings / MARKER_BUG_STOPPED, tmp_path / "cluster")
    comes_back = BrokerChange(2, fenced=True, shutting_down=False)
    record = [one for one in _records(brokers) if one.change == comes_back][-1]
    _in_version(brokers, record, b"\x01\x00\x04", 5)

    report = run([brokers])

    elections = [finding for one, finding in report.findings if one.topic == "__cluster_metadata"]
    assert {finding.severity for finding in elections} == {Severity.UNDECIDED}
    assert f"not read: 1 RegisterBroker of version 5, known up to 4, at offset {record.offset}" in elections[0].message
    assert "unless records that are not read say otherwise" in elections[1].message
    where = {"first": record.offset, "last": record.offset, "path": str(brokers / "node1" / CONTROLLER_LOG)}
    assert report.cluster.to_json()["not_read"] == [
        {"kind": "RegisterBroker", "version": 5, "newest": 4, "count": 1, **where}
    ]


def test_who_led_is_not_known_after_partition_records_of_an_unknown_version(recordings: Path, tmp_path: Path) -> None:
    """The marker is missing all the same; the reason is not given."""
    brokers = shutil.copytree(recordings / MARKER_BUG, tmp_path / "cluster")
    record = [one for one in _records(brokers) if isinstance(one.change, PartitionChange)][-1]
    _in_version(brokers, record, b"\x01\x05\x02", 3)

    report = run([brokers])

    found = {(finding.rule.id, finding.severity) for _, finding in report.findings}
    assert found == {("txn.marker_once", Severity.VIOLATION), ("repl.committed_survives", Severity.UNDECIDED)}
    assert not any("had no leader" in finding.message for _, finding in report.findings)
