"""One decision in one layer, which may notice that the decision is broken, or not.

A layer that reads it tries some of its mutants, until it detects one.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeAlias

from model_tests.mutants.decisions.call_sites import JudgedCall, Occasions
from model_tests.mutants.decisions.hunting import EXPLAINED, OF_FEW_PLACES, HuntResult, judged
from model_tests.mutants.decisions.made import DecisionMutant
from model_tests.mutants.decisions.mutations import MutationKind
from spec.rules import RULES


@unique
class Sight(StrEnum):
    """What a layer makes of a decision."""

    SEEN = "seen"
    UNSEEN = "reads it, and names no rule"
    ALIKE = "reads it where no mutant decides otherwise"
    UNREAD = "does not read it"
    UNTRIED = "has not been tried yet"


@dataclass(frozen=True, slots=True)
class CrossingCell:
    """One decision in one layer.

    Attributes:
        mutant: the first that the layer sees.
        place: where it sees it.
        rules: ids of the rules that it names there; of a search that names none, what can no longer happen.
        put: mutants that the layer has tried.
        distinguishing: those of them that decide otherwise somewhere in it.
        met: how often one of them was judged.
    """

    decision: str
    layer: str
    sight: Sight
    mutant: str = ""
    place: str = ""
    rules: tuple[str, ...] = ()
    put: int = 0
    distinguishing: int = 0
    met: int = 0
    seconds: float = 0.0


PLAINEST: Final = (
    MutationKind.DROP_GUARD,
    MutationKind.NEGATE,
    MutationKind.CELL,
    MutationKind.SKIP,
    MutationKind.FLIP,
    MutationKind.DROP_OPERAND,
    MutationKind.OFF_BY_ONE,
    MutationKind.SWAP_GUARDS,
    MutationKind.CARRIED,
    MutationKind.SIBLING,
)
"""Edits, the coarsest first."""


@dataclass(frozen=True, slots=True)
class CrossingEffort:
    """How many mutants of a decision a layer tries.

    Attributes:
        mutants: that decide otherwise there, or may.
        places: in which each of them is judged.
        most: mutants that are checked for deciding otherwise.
    """

    mutants: int
    places: int
    most: int = 60


OF_MANY: Final = (CrossingEffort(8, 12, most=8), CrossingEffort(60, 60))
"""Where the first shows no mutant, it is looked for again; but not where places are few and large."""

OF_FEW: Final = CrossingEffort(6, 4)
OF_ONE: Final[Mapping[str, CrossingEffort]] = MappingProxyType(
    {"audit": CrossingEffort(12, 10), "proofs": CrossingEffort(4, 12)}
)
"""Of a layer whose places are quick, and of one where each may be minutes."""


def cell_of(
    decision: str,
    layer: str,
    occasions: Occasions,
    mutants: Sequence[DecisionMutant],
    fates: Mapping[str, HuntResult],
) -> CrossingCell:
    """What a layer makes of a decision.

    Args:
        decision: its name.
        layer: its name.
        occasions: where the layer takes decisions.
        mutants: of the decision; those that the layer has killed are tried first, then the coarsest.
        fates: what is known of them, by their names; those that change nothing are left out.
    """
    started = time.monotonic()
    cell = CrossingCell(decision, layer, Sight.UNREAD)
    if any(occasions.reads(mutant.of) for mutant in mutants):
        cell = replace(cell, sight=Sight.ALIKE)
        in_order = _in_order(layer, mutants, fates)
        for effort, find in _ways(layer, occasions):
            cell = _looked_for(cell, in_order, find, effort)
            if cell.sight is Sight.SEEN:
                break
    return replace(cell, seconds=round(time.monotonic() - started, 3))


def _in_order(
    layer: str, mutants: Sequence[DecisionMutant], fates: Mapping[str, HuntResult]
) -> Sequence[DecisionMutant]:
    rank = {kind: place for place, kind in enumerate(PLAINEST)}
    changing = (mutant for mutant in mutants if fates[mutant.name].fate not in EXPLAINED)
    return sorted(changing, key=lambda mutant: (fates[mutant.name].layer != layer, rank[mutant.kind]))


FindCalls: TypeAlias = Callable[[DecisionMutant], Iterator[JudgedCall]]
"""Where a layer tries a mutant."""


def _ways(layer: str, occasions: Occasions) -> Iterator[tuple[CrossingEffort, FindCalls]]:
    """How a mutant is looked for: where it decides otherwise, where what uses it does, and then in more places."""
    if layer in OF_FEW_PLACES:
        yield OF_ONE.get(layer, OF_FEW), occasions.distinguishing_in_order
    else:
        first, again = OF_MANY
        yield first, occasions.distinguishing
        yield first, occasions.distinguishing_above
        yield again, partial(_anywhere, occasions)


def _anywhere(occasions: Occasions, mutant: DecisionMutant) -> Iterator[JudgedCall]:
    """Its places in an order drawn at random: the first ones may all decide otherwise without use of it."""
    places = list(occasions.distinguishing(mutant))
    random.Random(mutant.name).shuffle(places)
    return iter(places)


def _looked_for(
    cell: CrossingCell, mutants: Sequence[DecisionMutant], find: FindCalls, effort: CrossingEffort
) -> CrossingCell:
    """The cell after the layer has tried some mutants, up to the first for which it names a rule."""
    reported = 0
    for number, mutant in enumerate(mutants[: effort.most], start=1):
        places = list(islice(find(mutant), effort.places))
        reported += bool(places)
        cell = replace(cell, put=max(cell.put, number), distinguishing=max(cell.distinguishing, reported))
        for place in places:
            named, _ = judged(mutant, place)
            cell = replace(cell, met=cell.met + 1)
            if named and (cell.sight is not Sight.SEEN or names_a_rule(named)):
                cell = replace(cell, sight=Sight.SEEN, mutant=mutant.name, place=place.name, rules=named)
            if names_a_rule(cell.rules):
                return cell
        if reported == effort.mutants:
            break
    return replace(cell, sight=Sight.UNSEEN) if cell.distinguishing and cell.sight is Sight.ALIKE else cell


def names_a_rule(named: Sequence[str]) -> bool:
    """Whether a rule is among what was named, and not only what a search no longer reaches."""
    return any(rule in RULES for rule in named)
