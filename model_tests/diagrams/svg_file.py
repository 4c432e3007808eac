"""A sequence diagram drawn into the file that a command names."""

from pathlib import Path

from model_tests.common.reports import BadInput
from model_tests.diagrams.events import Sequence
from model_tests.diagrams.sequence_svg import svg_of


def draw(sequence: Sequence, svg: Path) -> None:
    """Write a diagram as SVG.

    Raises:
        BadInput: the file cannot be written.
    """
    try:
        svg.write_text(svg_of(sequence))
    except OSError as error:
        raise BadInput(f"{svg} cannot be written: {error.strerror}") from error
