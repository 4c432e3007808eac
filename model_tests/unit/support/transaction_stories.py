"""Transactions written into logs, and the findings of an audit about them."""

from collections.abc import Callable

from model_tests.audit.report import AuditReport
from model_tests.histories.severity import Severity
from model_tests.unit.audit.written_cluster import ABORT, WrittenCluster

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
