"""A sequence diagram drawn into the file that a command names."""

from pathlib import Path

from model_tests.common.reports import writing
from model_tests.diagrams.events import Sequence
from model_tests.diagrams.sequence_svg import svg_of


def draw(sequence: Sequence, svg: Path) -> None:
    """Write a diagram as SVG.

    Raises:
        BadInput: the file cannot be written.
    """
    with writing(svg):
        svg.write_text(svg_of(sequence))
