"""Interchangeable things: of an opaque sort only equality is known, so that other names for them make no difference.

Of all states that are equal up to names, the one with the least numbers represents them. A trace of such states
is printed with the names of one single run.
"""

from collections.abc import Iterable
from itertools import permutations, product
from typing import Any, TypeAlias

from spec.engines.cells import Cells, Point, StateLayout
from spec.engines.finite import Finite
from spec.engines.verdict import Happening, Trace
from spec.systems.language import Sort, System

Renaming: TypeAlias = dict[str, tuple[int, ...]]
"""For each opaque sort, the new name of each of its things."""


class Symmetry:
    """The renamings of an instance: every permutation of each opaque sort, the first one of which changes nothing."""

    def __init__(self, system: System, finite: Finite, layout: StateLayout) -> None:
        sorts = {sort for variable in system.variables for sort in variable.over if sort.opaque}
        sizes = {sort.name: len(finite.of(sort)) for sort in sorted(sorts, key=str)}
        self._over = {action.name: action.over for action in system.actions}
        chosen = product(*(permutations(range(size)) for size in sizes.values()))
        self._renamings: list[Renaming] = [dict(zip(sizes, each, strict=True)) for each in chosen]
        self._renamed = [_rearranging(system, layout, renaming) for renaming in self._renamings[1:]]

    def __len__(self) -> int:
        return len(self._renamings)

    def representative(self, cells: Cells) -> tuple[Cells, int]:
        """The state that stands for this one, and the number of the renaming that leads to it."""
        best, number = cells, 0
        for other, rearranged in enumerate(self._renamed, start=1):
            renamed = rearranged(cells)
            if renamed < best:
                best, number = renamed, other
        return best, number

    def reported(self, steps: Iterable[tuple[Happening, int]]) -> Trace:
        """A trace of representatives in the names of one run.

        Args:
            steps: what happens in each representative, and the renaming that led from there to the next one.
        """
        back = {name: tuple(range(len(names))) for name, names in self._renamings[0].items()}
        trace = []
        for happening, renaming in steps:
            trace.append(Happening(happening.action, _at(self._over[happening.action], happening.at, back)))
            back = {name: _undone(names, self._renamings[renaming][name]) for name, names in back.items()}
        return tuple(trace)


def _undone(names: tuple[int, ...], renaming: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(names[renaming.index(thing)] for thing in range(len(names)))


def _rearranging(system: System, layout: StateLayout, renaming: Renaming) -> Any:
    """What makes the cells of a state those of the same state under other names."""
    source: dict[int, int] = {}
    for variable in system.variables:
        places = layout.places[variable.name]
        source |= {places[_at(variable.over, at, renaming)]: place for at, place in places.items()}
    return layout.rearranged([source[place] for place in range(len(source))])


def _at(over: tuple[Sort, ...], at: Point, renaming: Renaming) -> Point:
    pairs = zip(over, at, strict=True)
    return tuple(renaming[sort.name][thing] if sort.name in renaming else thing for sort, thing in pairs)
