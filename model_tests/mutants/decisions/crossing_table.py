"""The crossing as it is kept beside the code."""

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Final

from model_tests.derived import Row, Table
from model_tests.mutants.decisions import texts
from model_tests.mutants.decisions.crossing import Cell, Sight

CROSSING: Final = Table(Path(__file__).parent / "crossing.json", "make tables", texts.of_decisions)
"""A line for each decision and layer."""


def read_cells(path: Path | None = None) -> tuple[Cell, ...]:
    """The cells as they were written, but for what is stale.

    Args:
        path: another table than the one beside the code.
    """
    cells = tuple(map(_cell, CROSSING.rows(path)))
    stale = CROSSING.stale(path)
    return tuple(cell for cell in cells if cell.decision not in stale)


def write_cells(cells: Iterable[Cell], path: Path | None = None) -> None:
    """A line for each cell, under the digests of the decisions as they are now.

    Args:
        cells: one for every decision and layer.
        path: another place than the one beside the code.
    """
    CROSSING.write(map(asdict, cells), path=path)


def _cell(said: Row) -> Cell:
    known = {part.name: said[part.name] for part in fields(Cell) if part.name in said}
    return Cell(**{**known, "sight": Sight(said["sight"]), "rules": tuple(said.get("rules", ()))})
