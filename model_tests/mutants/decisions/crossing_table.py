"""The crossing as it is kept beside the code."""

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from model_tests.mutants.decisions.crossing import Cell, Sight

CROSSING: Final = Path(__file__).parent / "crossing.json"
"""A line for each decision and layer."""


def read_cells(path: Path = CROSSING) -> tuple[Cell, ...]:
    """The cells as they were written."""
    return tuple(map(_cell, json.loads(path.read_text())))


def write_cells(cells: Iterable[Cell], path: Path = CROSSING) -> None:
    """A line for each cell; what is empty is left out."""
    lines = (json.dumps({k: v for k, v in asdict(each).items() if v}, ensure_ascii=False) for each in cells)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def _cell(said: dict[str, Any]) -> Cell:
    known = {part.name: said[part.name] for part in fields(Cell) if part.name in said}
    return Cell(**{**known, "sight": Sight(said["sight"]), "rules": tuple(said.get("rules", ()))})
