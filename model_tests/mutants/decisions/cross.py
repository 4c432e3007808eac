"""Cross every decision with every layer: `python -m model_tests.mutants.decisions.cross [LAYER...]`.

What has been found of a layer is kept in `build/crossing` as it is found, so that an interrupted run continues. Then
the crossing is written beside the table, and its page among the docs. With `--write` alone, what is kept is written.
"""

import sys
from pathlib import Path
from typing import Final

from model_tests.mutants.decisions.crossing import Cell, Sight, candidates, crossed
from model_tests.mutants.decisions.crossing_page import PAGE, page
from model_tests.mutants.decisions.crossing_table import read_cells, write_cells
from model_tests.mutants.decisions.hunting import OF_FEW_PLACES
from model_tests.mutants.decisions.layers import NAMING
from model_tests.mutants.decisions.occasions import watched
from model_tests.mutants.decisions.table import read

BUILD: Final = Path("build/crossing")

WRITE: Final = "--write"

EVERY: Final = 10
"""So many cells are found between two times of keeping them."""


def main(arguments: list[str]) -> None:
    """Cross, and write."""
    BUILD.mkdir(parents=True, exist_ok=True)
    asked = [layer for layer in arguments if layer != WRITE]
    for layer in asked if asked or WRITE in arguments else NAMING:
        cross(layer)
    cells = whole()
    write_cells(cells)
    PAGE.write_text(page(cells))


def whole() -> tuple[Cell, ...]:
    """The cells of every layer as they are kept; what has not been found yet is said so."""
    kept = {layer: _read(layer) for layer in NAMING}
    every = ((layer, decision) for layer in NAMING for decision in candidates(read()))
    return tuple(kept[layer].get(decision) or Cell(decision, layer, Sight.UNTRIED) for layer, decision in every)


def cross(layer: str) -> None:
    """The cells of one layer."""
    path, found = _kept(layer), _read(layer)
    known = dict(found)
    occasions = watched(NAMING[layer](), afresh=layer in OF_FEW_PLACES)
    _say(f"{layer}: {len(occasions.seconds):,} places, {len(known)} cells are there")

    def keep(cell: Cell) -> None:
        found[cell.decision] = cell
        _say(f"{cell.decision}: {cell.sight} {' '.join(cell.rules[:3])} ({cell.seconds} s)")
        if len(found) % EVERY == 0:
            write_cells(found.values(), path)

    write_cells(list(crossed(layer, occasions, read(), known, keep)), path)


def _read(layer: str) -> dict[str, Cell]:
    path = _kept(layer)
    return {cell.decision: cell for cell in read_cells(path)} if path.exists() else {}


def _kept(layer: str) -> Path:
    return BUILD / f"{layer.replace(' ', '-')}.json"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
