"""Directories that were copied at another time, and whom the audit blames."""

from model_tests.audit.findings import Finding
from model_tests.audit.report import AuditReport
from model_tests.histories.severity import Severity

A, B = ("a", 0), ("b", 0)


UNKNOWN_PRODUCER = 99


def blamed(report: AuditReport) -> list[Finding]:
    """What is more than a doubt."""
    return [one for _, one in report.findings if one.severity in (Severity.VIOLATION, Severity.SUSPICIOUS)]
