"""Transactions as the audit joins them, and their stories."""

from collections.abc import Callable

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.report import AuditReport
from model_tests.audit.transactions_summary import DataRun, PartitionTransactions
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import ABORT, WrittenCluster
from spec.vocabulary import ControlType, TransactionState

KNOWN = CoordinatorTransaction(
    transactional_id="tx",
    producer_id=7,
    producer_epoch=0,
    marker_epoch=0,
    state=TransactionState.COMPLETE_COMMIT.value,
    outcome=ControlType.COMMIT.value,
    partitions=frozenset({("a", 0)}),
    listed=True,
    first_offset=1,
    started_ms=10,
    timeout_ms=60_000,
    prepared_offset=2,
    prepared_ms=20,
    completed_offset=3,
    completed_ms=30,
)


WHOLE = PartitionTransactions(end=20, closed=True)


RUN = DataRun(7, 0, 12, 13, 2, 15, 15, -1, 15)


A, B, C = ("a", 0), ("b", 0), ("c", 0)


Story = Callable[[WrittenCluster], None]


def found(report: AuditReport) -> list[tuple[str, str, int]]:
    """Rule, partition and offset of everything that is no mere doubt."""
    return [
        (finding.rule.id, f"{one.topic}-{one.partition}", finding.offset)
        for one, finding in report.findings
        if finding.severity in (Severity.VIOLATION, Severity.SUSPICIOUS)
    ]


def begun(version: int = 0) -> WrittenCluster:
    """A producer that has done two transactions over three partitions already."""
    cluster = WrittenCluster(version)
    cluster.init("tx", 7)
    cluster.transaction("tx", [A, B, C])
    cluster.transaction("tx", [A, B, C], ABORT)
    return cluster
