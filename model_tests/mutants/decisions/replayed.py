"""A sample of the mutants, replayed in seconds: at the layers that killed them, and in cells of the crossing.

For killed mutants only recorded sessions are replayed: they do not change, and one takes milliseconds. Traces are left
out: the reference makes them, and their steps move whenever it changes.
"""

import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from model_tests.conform.files import SessionLine, UnreadableSession, bundled, sessions_in
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.crossing import CrossingCell, Sight, names_a_rule
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate, judged
from model_tests.mutants.decisions.layers import AUDIT, KNOWN_BUGS, NAMING, SEARCHES, SESSIONS, TRACES
from model_tests.mutants.decisions.made import DecisionMutant, by_name
from model_tests.mutants.decisions.places import of_sessions
from model_tests.verify import results
from spec.rules import RULES

SEED: Final = 20261121  # draws the sample; any seed does, and a fixed one repeats it


def kills_showable(table: Sequence[HuntResult], known: Mapping[str, DecisionMutant]) -> list[HuntResult]:
    """The mutants that recorded sessions kill, as far as they are still made."""
    return [
        each for each in table if each.fate is MutantFate.KILLED and each.layer == SESSIONS and each.mutant in known
    ]


def shown(table: Sequence[HuntResult], size: int, seed: int = SEED) -> tuple[results.PlantedDefect, ...]:
    """Plant so many mutants of the table, and try each in the place where it was killed."""
    known = by_name()
    from_table = kills_showable(table, known)
    chosen = random.Random(seed).sample(from_table, min(size, len(from_table)))
    places = sessions_named({each.place for each in chosen})
    return tuple(_kill_shown(each, known[each.mutant], places) for each in chosen)


def _kill_shown(each: HuntResult, mutant: DecisionMutant, places: Mapping[str, JudgedCall]) -> results.PlantedDefect:
    started = time.monotonic()
    named, how = judged(mutant, places[each.place]) if each.place in places else ((), "the place is gone")
    killers = tuple(f"{each.layer} {rule} in {each.place}" for rule in named) or ((how,) if how else ())
    seconds = round(time.monotonic() - started, 3)
    return results.PlantedDefect(f"decision {each.mutant}", RULES[each.rules[0]], killers, seconds)


def sessions_named(names: Collection[str]) -> dict[str, JudgedCall]:
    """The bundled sessions of these names, as places."""
    recorded = sessions_in(line for line in bundled() if _id(line) in names)
    return {place.name: place for place in of_sessions(recorded)}


def _id(line: SessionLine) -> str:
    """The id of the session in a line, as every bundled line begins with it."""
    return "" if isinstance(line.content, UnreadableSession) else line.content[7:80].partition(b'"')[0].decode()


# --- cells of the crossing --------------------------------------------------------------------------------------------


Sizes = Mapping[str, int]
"""How many cells of each layer are shown."""

FEW: Final[Sizes] = MappingProxyType({SESSIONS: 10, "proofs": 2})
SOME: Final[Sizes] = MappingProxyType({SESSIONS: 40, "proofs": 6, SEARCHES: 3, KNOWN_BUGS: 3, AUDIT: 2})
ALL: Final[Sizes] = MappingProxyType(dict.fromkeys(NAMING, 1000))

LONGEST: Final = 10.0
"""Of a sample, seconds in which a cell was found; a deep run shows the others too."""

REMEMBER: Final = (SEARCHES, AUDIT)
"""Layers whose places are compared with their results on the true decisions."""


def cells_showable(
    cells: Sequence[CrossingCell], layer: str, known: Mapping[str, DecisionMutant]
) -> list[CrossingCell]:
    """The cells of a layer in which a rule was named, as far as the mutant is still made."""
    seen = (cell for cell in cells if cell.layer == layer and cell.sight is Sight.SEEN and cell.mutant in known)
    return [cell for cell in seen if names_a_rule(cell.rules) and layer != TRACES]


def all_showable(cells: Sequence[CrossingCell]) -> int:
    """How many cells there are that can be shown."""
    known = by_name()
    return sum(len(cells_showable(cells, layer, known)) for layer in NAMING)


def shown_cells(cells: Sequence[CrossingCell], sizes: Sizes, seed: int = SEED) -> tuple[results.PlantedDefect, ...]:
    """For so many cells of each layer, plant the mutant and try it in the place of its cell."""
    return tuple(mutant for layer, size in sizes.items() for mutant in _of_layer(cells, layer, size, seed))


def _of_layer(cells: Sequence[CrossingCell], layer: str, size: int, seed: int) -> Iterator[results.PlantedDefect]:
    known = by_name()
    able = cells_showable(cells, layer, known)
    if size < len(able):
        able = [cell for cell in able if cell.seconds <= LONGEST]
    chosen = random.Random(f"{seed} {layer}").sample(able, min(size, len(able)))
    places = _places(layer, {cell.place for cell in chosen})
    for cell in chosen:
        yield _cell_shown(cell, known[cell.mutant], places.get(cell.place))


def _places(layer: str, names: set[str]) -> dict[str, JudgedCall]:
    if layer == SESSIONS:
        return sessions_named(names)
    made: Callable[[], Iterator[JudgedCall]] = NAMING[layer]
    found = {place.name: place for place in made() if place.name in names} if names else {}
    if layer in REMEMBER:
        for place in found.values():
            place.violated()
    return found


def _cell_shown(cell: CrossingCell, mutant: DecisionMutant, place: JudgedCall | None) -> results.PlantedDefect:
    started = time.monotonic()
    named, _ = ((), "") if place is None else judged(mutant, place)
    killers = tuple(f"{cell.layer} {rule} in {cell.place}" for rule in named if rule in RULES)
    rule = next(RULES[rule] for rule in cell.rules if rule in RULES)
    seconds = round(time.monotonic() - started, 3)
    return results.PlantedDefect(
        f"crossing of {cell.decision} with {cell.layer}: {cell.mutant}", rule, killers, seconds
    )
