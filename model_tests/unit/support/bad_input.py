"""Files that are no logs, and what the audit says of them."""

from model_tests.audit.report import AuditReport
from model_tests.histories.severity import Severity


def blamed(report: AuditReport) -> list[str]:
    """The rules of violations."""
    return [finding.rule.id for _, finding in report.findings if finding.severity is Severity.VIOLATION]
