"""The report as one HTML page, without anything from outside."""

from collections.abc import Mapping

from markupsafe import Markup

from model_tests.common.html_page import html_page
from model_tests.probe.report import ProbeReport, coverage_of, played_in


def page_of(report: ProbeReport) -> str:
    """The page."""
    return html_page(
        "model_tests.probe",
        report=report,
        played=played_in(report),
        # made by this project, which escapes what comes from a broker
        pictures={signature: Markup(cause.svg) for signature, cause in report.causes.items()},
        undecided=_most_first(report.undecided),
        branches=_most_first(report.branches),
        coverage=coverage_of(report),
    )


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda each: -each[1])
