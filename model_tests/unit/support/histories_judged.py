"""Histories of clients, and the anomalies that are found in them."""

from pathlib import Path
from typing import Final

from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.from_edn import from_edn
from model_tests.histories.report import ClientsReport, report_on
from model_tests.histories.severity import Severity

HISTORIES: Final = Path(__file__).parents[1] / "histories" / "histories"


def judged(text: str, *, read_committed: bool = True) -> ClientsReport:
    """The report on a history in EDN."""
    return report_on(from_edn(text.splitlines(keepends=True)), "history.edn", read_committed=read_committed)


def found(reported: ClientsReport) -> dict[AnomalyKind, dict[Severity, int]]:
    """Of each class that has cases how many, by severity."""
    counted = ((one.kind, {how: count for how, count in one.counts.items() if count}) for one in reported.classes)
    return {kind: counts for kind, counts in counted if counts}
