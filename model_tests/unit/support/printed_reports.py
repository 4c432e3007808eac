"""Reports as a terminal shows them."""

import io

from rich.console import Console

from model_tests.audit.report import AuditReport


def printed(report: AuditReport) -> str:
    """The report as a person reads it."""
    console = Console(file=io.StringIO(), width=100)
    report.print(console)
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # the file is the one above
