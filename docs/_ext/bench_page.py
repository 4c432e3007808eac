"""The benchmarks on the page: figures of the last `make bench` as a table, and those with a target as bars.

Without a report the page says "not run"; one that is no report stops the build.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from drawings import drawn
from run_results import ROOT, Unusable, refuse_stale, shown
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import Cell, table

from model_tests.diagrams.sequence_svg import STYLE
from model_tests.verify import results

REPORT: Final = ROOT / "build" / "bench" / "report.json"
TARGET: Final = re.compile(r"at (?P<bound>least|most) (?P<number>[\d,.]+)")
LEFT, WIDE, RIGHT, ROW, TOP = 360, 140, 400, 26, 64
"""Pixels: of the names, of a bar that is just as long as its target, of the figures, of a line, of the title."""


HOW_TO_READ: Final = (
    "A bar that ends at the line is just as long as its target, and none is drawn longer than twice that. Of what "
    "should be at least something more is better, of what should be at most something less is."
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure, as the report has it."""

    what: str
    figure: float
    unit: str
    target: str
    met: bool

    @property
    def amount(self) -> str:
        """The figure without meaningless decimals."""
        return f"{self.figure:,.0f}" if abs(self.figure) >= 1000 else f"{self.figure:,.2f}"

    @property
    def reported(self) -> str:
        """The figure, its target, and whether it is met."""
        return f"{self.amount} {self.unit}, {self.target}: {'met' if self.met else 'missed'}"

    @property
    def part(self) -> float | None:
        """The figure as a multiple of its target; none where it has no target."""
        found = TARGET.fullmatch(self.target)
        return self.figure / float(found["number"].replace(",", "")) if found else None


@dataclass(frozen=True, slots=True)
class BenchReport:
    """What was measured, and of what: the profile and the commit."""

    of: str
    figures: list[Figure]


def read(path: Path, digest: str) -> BenchReport:
    """What a report says.

    Args:
        path: of the report.
        digest: of the sources that it must be of.

    Raises:
        Unusable: it is no report of `make bench`, or of other sources.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        sources_of, commit = report["sources"], report["commit"] or "without git"
        found = BenchReport(
            f"profile {report['profile']}, commit {commit}", [_figure(each) for each in report["figures"]]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Unusable(f"{shown(path)} is no report of `make bench`: {error!r}; run it again, or remove it") from error
    refuse_stale(path, sources_of, commit, digest, "make bench")
    return found


def _figure(entry: dict[str, Any]) -> Figure:
    unit = {"us": "µs"}.get(entry["unit"], entry["unit"])
    return Figure(entry["what"], entry["figure"], unit, entry["target"], entry["met"])


def svg_of(figures: list[Figure]) -> str:
    """Bars as long as the figures are multiples of their targets, twice at most, and a line where the target is."""
    barred = [(figure, part) for figure in figures if (part := figure.part) is not None]
    height, width = TOP + ROW * len(barred) + 16, LEFT + 2 * WIDE + RIGHT
    reported = "; ".join(f"{figure.what}: {figure.reported}" for figure, _ in barred)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" aria-labelledby="title description">',
            '<title id="title">Figures beside their targets</title>',
            f'<desc id="description">{escape(reported)}</desc>',
            f"<style>{STYLE}</style>",
            '<rect class="ground" width="100%" height="100%"/>',
            '<text class="title" x="16" y="24">Figures as multiples of their targets</text>',
            f'<text class="note" x="{LEFT + WIDE}" y="{TOP - 14}" text-anchor="middle">the target</text>',
            *(line for at, (figure, part) in enumerate(barred) for line in _bar(TOP + at * ROW, figure, part)),
            f'<line class="life" x1="{LEFT + WIDE}" y1="{TOP - 8}" x2="{LEFT + WIDE}" y2="{height - 8}"/>',
            "</svg>",
        )
    )


def _bar(y: int, figure: Figure, part: float) -> Iterator[str]:
    odd = "" if figure.met else "odd"
    length = min(part, 2) * WIDE
    yield f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(figure.what)}</text>'
    yield f'<rect class="head" x="{LEFT}" y="{y}" width="{length:.1f}" height="{ROW - 8}"/>'
    yield f'<text class="{odd}" x="{LEFT + 2 * WIDE + 12}" y="{y + 13}">{escape(figure.reported)}</text>'


class Benchmarks(SphinxDirective):
    """The drawing and the table."""

    def run(self) -> list[nodes.Node]:
        """Render the last report."""
        if not REPORT.is_file():
            return [nodes.paragraph("", "Not run: no report of `make bench` is in this checkout.".replace("`", ""))]
        report = read(REPORT, results.digest())
        day = datetime.fromtimestamp(REPORT.stat().st_mtime, UTC).date()
        head: tuple[Cell, ...] = ("measured", "figure", "unit", "target", "met")
        rows = [(f.what, f.amount, f.unit, f.target, _met(f)) for f in report.figures]
        return [
            nodes.paragraph("", f"Measured on {day}: {report.of}. {HOW_TO_READ}"),
            *drawn(self.env, "benchmarks", svg_of(report.figures)),
            table([head, *rows], (44, 14, 12, 20, 10)),
        ]


def _met(figure: Figure) -> str:
    return ("yes" if figure.met else "no") if figure.target else ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("benchmarks", Benchmarks)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
