"""The table of the crossing, kept beside the code."""

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final

from model_tests.common.derived import DerivedTable, Row
from model_tests.mutants.decisions import texts
from model_tests.mutants.decisions.crossing import CrossingCell, Sight

CROSSING: Final = DerivedTable(Path(__file__).parent / "crossing.json", "make tables", texts.of_decisions)
"""A line for each decision and layer."""


def read_cells(path: Path | None = None) -> tuple[CrossingCell, ...]:
    """The cells as they were written, but for what is stale.

    Args:
        path: another table than the one beside the code.
    """
    cells = tuple(map(_cell, CROSSING.rows(path)))
    stale = CROSSING.stale(path)
    return tuple(cell for cell in cells if cell.decision not in stale)


def write_cells(cells: Iterable[CrossingCell], path: Path | None = None) -> None:
    """A line for each cell, under the digests of the decisions as they are now.

    Args:
        cells: one for every decision and layer.
        path: another place than the one beside the code.
    """
    CROSSING.write(map(asdict, cells), path=path)


def _cell(row: Row) -> CrossingCell:
    known = {part.name: row[part.name] for part in fields(CrossingCell) if part.name in row}
    return CrossingCell(**{**known, "sight": Sight(row["sight"]), "rules": tuple(row.get("rules", ()))})
