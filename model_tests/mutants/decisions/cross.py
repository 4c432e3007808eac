"""Cross decisions with layers and write the crossing: `python -m model_tests.mutants.decisions.cross [LAYER...]`.

Only cells of decisions that have changed since, or that are new, are looked for; with `--all` every one. What has been
found of a layer is kept in `build/crossing` as it is found, so that an interrupted run continues.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from model_tests.mutants.decisions.call_sites import watched
from model_tests.mutants.decisions.crossing import CrossingCell, Sight, candidates, crossed
from model_tests.mutants.decisions.crossing_page import CROSSING, read_cells, write_cells
from model_tests.mutants.decisions.hunting import OF_FEW_PLACES
from model_tests.mutants.decisions.layers import NAMING
from model_tests.mutants.decisions.table import read

BUILD: Final = Path("build/crossing")

ALL: Final = "--all"

EVERY: Final = 10
"""So many cells are found between two times of keeping them."""


def main(arguments: list[str]) -> None:
    """Cross, and write."""
    BUILD.mkdir(parents=True, exist_ok=True)
    known = () if ALL in arguments or not CROSSING.path.exists() else read_cells()
    for layer in [each for each in arguments if each != ALL] or NAMING:
        cross(layer, known)
    write_cells(whole(known))


def whole(known: Sequence[CrossingCell]) -> tuple[CrossingCell, ...]:
    """The cells of every layer; what has not been found yet is said so.

    Args:
        known: cells that need not be looked for again.
    """
    found = {layer: _found(layer, known) for layer in NAMING}
    every = ((layer, decision) for layer in NAMING for decision in candidates(read()))
    return tuple(
        found[layer].get(decision) or CrossingCell(decision, layer, Sight.UNTRIED) for layer, decision in every
    )


def cross(layer: str, known: Sequence[CrossingCell]) -> None:
    """Find the cells of one layer that are missing.

    Args:
        layer: its name.
        known: cells that need not be looked for again.
    """
    table, found = read(), _found(layer, known)
    if candidates(table).keys() <= found.keys():
        return
    before = dict(found)
    occasions = watched(NAMING[layer](), afresh=layer in OF_FEW_PLACES)
    _say(f"{layer}: {len(occasions.seconds):,} places, {len(before)} cells are there")

    def keep(cell: CrossingCell) -> None:
        found[cell.decision] = cell
        _say(f"{cell.decision}: {cell.sight} {' '.join(cell.rules[:3])} ({cell.seconds} s)")
        if len(found) % EVERY == 0:
            write_cells(found.values(), _kept(layer))

    write_cells(list(crossed(layer, occasions, table, before, keep)), _kept(layer))


def _found(layer: str, known: Sequence[CrossingCell]) -> dict[str, CrossingCell]:
    path = _kept(layer)
    kept = read_cells(path) if path.exists() else ()
    return {cell.decision: cell for cell in (*known, *kept) if cell.layer == layer and cell.sight is not Sight.UNTRIED}


def _kept(layer: str) -> Path:
    return BUILD / f"{layer.replace(' ', '-')}.json"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
