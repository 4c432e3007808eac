"""The report on a variant as one page of HTML without anything from outside."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from model_tests.common.reports import BadInput
from model_tests.diagrams.sequence_svg import svg_of
from model_tests.kip.report import KipReport, heading
from model_tests.kip.searching import DrawnRun

TEMPLATE: Final = "page.html.j2"


def write_page(report: KipReport, file: Path) -> None:
    """Write the page of a report.

    Raises:
        BadInput: the file cannot be written.
    """
    try:
        file.write_text(page(report), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}") from error


def page(report: KipReport) -> str:
    """The page as text."""
    template = files("model_tests.kip").joinpath(TEMPLATE).read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        report=report, plain=report.to_json(), heading=heading, drawn=_drawn
    )


def _drawn(run: DrawnRun) -> Markup:
    return Markup(svg_of(run.picture))
