"""The report on a variant as one page of HTML without anything from outside."""

from pathlib import Path

from markupsafe import Markup

from model_tests.common.html_page import html_page
from model_tests.common.reports import writing
from model_tests.diagrams.sequence_svg import svg_of
from model_tests.kip.report import KipReport, heading
from model_tests.kip.searching import DrawnRun


def write_page(report: KipReport, file: Path) -> None:
    """Write the page of a report.

    Raises:
        BadInput: the file cannot be written.
    """
    with writing(file):
        file.write_text(page(report), encoding="utf-8")


def page(report: KipReport) -> str:
    """The page as text."""
    return html_page("model_tests.kip", report=report, plain=report.to_json(), heading=heading, drawn=_drawn)


def _drawn(run: DrawnRun) -> Markup:
    return Markup(svg_of(run.picture))
