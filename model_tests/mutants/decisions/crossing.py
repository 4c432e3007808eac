"""Every decision crossed with every layer: some of its mutants are put to each layer that reads it, until one is seen.

The hunt stops at the first layer that sees a mutant. This asks the other way round: which layers would notice if the
decision were broken?
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from itertools import islice
from types import MappingProxyType
from typing import Final

from model_tests.mutants.decisions.hunting import OF_FEW_PLACES, Fate, Found, judged
from model_tests.mutants.decisions.made import Mutant, by_name
from model_tests.mutants.decisions.mutations import Kind
from model_tests.mutants.decisions.occasions import Occasions, Place
from model_tests.mutants.decisions.table import decision_of
from spec.rules import RULES


@unique
class Sight(StrEnum):
    """What a layer makes of a decision."""

    SEEN = "seen"
    UNSEEN = "reads it, and names no rule"
    ALIKE = "reads it where no mutant decides otherwise"
    UNREAD = "does not read it"


@dataclass(frozen=True, slots=True)
class Cell:
    """One decision in one layer.

    Attributes:
        mutant: the first that the layer sees.
        place: where it sees it.
        rules: ids of the rules that it names there; of a search that names none, what can no longer happen.
        put: mutants that were put to the layer.
        telling: those of them that decide otherwise somewhere in it.
        met: how often one of them was judged.
    """

    decision: str
    layer: str
    sight: Sight
    mutant: str = ""
    place: str = ""
    rules: tuple[str, ...] = ()
    put: int = 0
    telling: int = 0
    met: int = 0
    seconds: float = 0.0

    @property
    def names_a_rule(self) -> bool:
        """Whether the layer says which rule is broken."""
        return any(rule in RULES for rule in self.rules)


PLAINEST: Final = (
    Kind.DROP_GUARD,
    Kind.NEGATE,
    Kind.CELL,
    Kind.SKIP,
    Kind.FLIP,
    Kind.DROP_OPERAND,
    Kind.OFF_BY_ONE,
    Kind.SWAP_GUARDS,
)
"""Edits, the coarsest first."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How many mutants of a decision are put to a layer, and in how many places each."""

    mutants: int
    places: int


OF_MANY: Final = (Effort(8, 12), Effort(60, 60))
OF_FEW: Final = (Effort(6, 3), Effort(16, 6))
"""Where the first shows no mutant, it is looked for again; with less effort where places are few and large."""


def candidates(table: Sequence[Found]) -> Mapping[str, tuple[Found, ...]]:
    """The mutants of each decision that are no equivalents, the coarsest first; empty where there are none."""
    of: dict[str, list[Found]] = {decision_of(each): [] for each in table}
    for each in table:
        if each.fate in (Fate.KILLED, Fate.GAP):
            of[decision_of(each)].append(each)
    rank = {kind: place for place, kind in enumerate(PLAINEST)}
    return MappingProxyType(
        {name: tuple(sorted(found, key=lambda f: rank[Kind(f.kind)])) for name, found in of.items()}
    )


def crossed(
    layer: str, occasions: Occasions, table: Sequence[Found], known: Mapping[str, Cell], keep: Callable[[Cell], None]
) -> Iterator[Cell]:
    """One layer's cell of every decision, in the order of the table.

    Args:
        layer: its name.
        occasions: where it takes decisions.
        table: what the hunt found; what this layer killed there is put to it first.
        known: cells that need not be looked for again, by decision.
        keep: is told of every new one.
    """
    mutants = by_name()
    for decision, found in candidates(table).items():
        cell = known.get(decision)
        if cell is None:
            own_first = sorted(found, key=lambda each: each.layer != layer)
            cell = _cell(decision, layer, occasions, [mutants[each.mutant] for each in own_first])
            keep(cell)
        yield cell


def _cell(decision: str, layer: str, occasions: Occasions, mutants: Sequence[Mutant]) -> Cell:
    started = time.monotonic()
    cell = Cell(decision, layer, Sight.UNREAD)
    if any(occasions.reads(mutant.of) for mutant in mutants):
        for effort in OF_FEW if layer in OF_FEW_PLACES else OF_MANY:
            cell = _looked_for(decision, layer, occasions, mutants, effort)
            if cell.sight is Sight.SEEN:
                break
    return replace(cell, seconds=round(time.monotonic() - started, 3))


def _looked_for(decision: str, layer: str, occasions: Occasions, mutants: Sequence[Mutant], effort: Effort) -> Cell:
    cell = Cell(decision, layer, Sight.ALIKE)
    for mutant in mutants[: effort.mutants]:
        cell = replace(cell, put=cell.put + 1)
        for number, place in enumerate(_telling(layer, occasions, mutant, effort.places)):
            cell = replace(cell, met=cell.met + 1, telling=cell.telling + (number == 0))
            named, _ = judged(mutant, place)
            if named and cell.sight is not Sight.SEEN:
                cell = replace(cell, sight=Sight.SEEN, mutant=mutant.name, place=place.name, rules=named)
            elif named and any(rule in RULES for rule in named):
                cell = replace(cell, mutant=mutant.name, place=place.name, rules=named)
            if cell.names_a_rule:
                return cell
        if cell.telling and cell.sight is Sight.ALIKE:
            cell = replace(cell, sight=Sight.UNSEEN)
    return cell


def _telling(layer: str, occasions: Occasions, mutant: Mutant, most: int) -> Iterator[Place]:
    telling = occasions.telling(mutant)
    if layer in OF_FEW_PLACES:
        telling = iter(sorted(telling, key=occasions.seconds.__getitem__))
    return islice(telling, most)
