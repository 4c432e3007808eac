"""Cross every decision with every layer: `python -m model_tests.mutants.decisions.cross [LAYER...]`.

What has been found of a layer is kept in `build/crossing` as it is found, so that an interrupted run continues. When
every layer is there, the crossing is written beside the table.
"""

import sys
from pathlib import Path
from typing import Final

from model_tests.mutants.decisions.crossing import Cell, crossed
from model_tests.mutants.decisions.crossing_table import read_cells, write_cells
from model_tests.mutants.decisions.layers import NAMING
from model_tests.mutants.decisions.occasions import watched
from model_tests.mutants.decisions.table import read

BUILD: Final = Path("build/crossing")

EVERY: Final = 10
"""So many cells are found between two times of keeping them."""


def main(layers: list[str]) -> None:
    """Cross, and write."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for layer in layers or NAMING:
        cross(layer)
    if all(_kept(layer).exists() for layer in NAMING):
        write_cells(cell for layer in NAMING for cell in read_cells(_kept(layer)))


def cross(layer: str) -> None:
    """The cells of one layer."""
    path = _kept(layer)
    found = {cell.decision: cell for cell in read_cells(path)} if path.exists() else {}
    known = dict(found)
    occasions = watched(NAMING[layer]())
    _say(f"{layer}: {len(occasions.seconds):,} places, {len(known)} cells are there")

    def keep(cell: Cell) -> None:
        found[cell.decision] = cell
        _say(f"{cell.decision}: {cell.sight} {' '.join(cell.rules[:3])} ({cell.seconds} s)")
        if len(found) % EVERY == 0:
            write_cells(found.values(), path)

    write_cells(list(crossed(layer, occasions, read(), known, keep)), path)


def _kept(layer: str) -> Path:
    return BUILD / f"{layer.replace(' ', '-')}.json"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
