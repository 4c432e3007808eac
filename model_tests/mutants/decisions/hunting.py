"""One mutant in one layer, where some place may name a rule as violated.

Of a mutant that no layer detects: is it equivalent for all inputs, or do its distinguishing inputs never occur?
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from itertools import chain, islice
from types import MappingProxyType
from typing import Final

from model_tests.mutants.decisions.call_sites import JudgedCall, Occasions
from model_tests.mutants.decisions.equivalence import Examples, equivalent
from model_tests.mutants.decisions.made import DecisionMutant

MOST: Final = MappingProxyType({"recorded sessions": 40, "traces": 300, "known bugs": 12, "proofs": 12, "audit": 24})
"""Places of a layer that are judged again for one mutant; of other layers all are."""

EXHAUSTIVE: Final = ("searches", "known bugs")
"""Layers that meet whatever can be met in their instances."""

OF_FEW_PLACES: Final = (*EXHAUSTIVE, "proofs", "audit", "small inputs")
"""Layers of few places, of which some are large: they make the quick ones first, and in that order they are judged."""

MADE_UP: Final = "tests"
"""The layer whose calls need not be possible."""


@unique
class MutantFate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    EQUIVALENT = "equivalent"
    UNREACHABLE = "unreachable"
    GAP = "gap"
    UNTRIED = "not put to every layer yet"


EXPLAINED: Final = (MutantFate.EQUIVALENT, MutantFate.UNREACHABLE)
"""Fates that say why no layer kills a mutant."""


@dataclass(frozen=True, slots=True)
class HuntResult:
    """What became of one mutant.

    Attributes:
        layer: that named a rule.
        place: where in it; of a mutant that is not killed, why not, or how it broke what met it.
        rules: ids of the rules that were named there; of a test its name.
        met: how many places decide otherwise under it, of those that were judged again.
    """

    mutant: str
    kind: str
    fate: MutantFate = MutantFate.UNTRIED
    layer: str = ""
    place: str = ""
    rules: tuple[str, ...] = ()
    met: int = 0
    seconds: float = 0.0

    @property
    def decision(self) -> str:
        """The name of the decision or table that the mutant is of."""
        return self.mutant.partition(":")[0]


def hunt(found: HuntResult, mutant: DecisionMutant, layer: str, occasions: Occasions) -> HuntResult:
    """Try an undetected mutant in one more layer."""
    started = time.monotonic()
    met, broke = found.met, found.place
    named: tuple[str, ...] = ()
    for place in _places(mutant, layer, occasions):
        met += 1
        named, how = judged(mutant, place)
        broke = broke or (f"{place.name}: {how}" if how else "")
        if named:
            break
    seconds = round(found.seconds + time.monotonic() - started, 3)
    if named:
        return replace(
            found, fate=MutantFate.KILLED, layer=layer, place=place.name, rules=named, met=met, seconds=seconds
        )
    return replace(found, place=broke, met=met, seconds=seconds)


def _places(mutant: DecisionMutant, layer: str, occasions: Occasions) -> Iterator[JudgedCall]:
    """Where it decides otherwise; of many places also those where what uses it does, which need not be the first."""
    most = MOST.get(layer)
    if layer in OF_FEW_PLACES:
        return islice(occasions.distinguishing_in_order(mutant), most)
    return chain(islice(occasions.distinguishing(mutant), most), islice(occasions.distinguishing_above(mutant), most))


def judged(mutant: DecisionMutant, place: JudgedCall) -> tuple[tuple[str, ...], str]:
    """The rules that a place names under the mutant; or how it broke, which names none."""
    with mutant.in_place():
        try:
            return tuple(rule for rule in place.violated() if rule), ""
        except Exception as error:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
            return (), f"{type(error).__name__}: {error}"


def explained(found: HuntResult, mutant: DecisionMutant, examples: Examples, searched: int) -> HuntResult:
    """Why no layer kills a mutant: it is equivalent, or its distinguishing inputs never occur; else it is a gap."""
    started = time.monotonic()
    same = equivalent(mutant, examples)
    seconds = round(found.seconds + time.monotonic() - started, 3)
    if same:
        return replace(found, fate=MutantFate.EQUIVALENT, place=str(same), seconds=seconds)
    if searched and not found.met:
        return replace(found, fate=MutantFate.UNREACHABLE, place=never_reported(searched), seconds=seconds)
    return replace(found, fate=MutantFate.GAP, seconds=seconds)


def never_reported(calls: int) -> str:
    """Why a mutant is unreachable that decides alike in so many calls of the searches."""
    return f"decides alike in all {calls:,} different calls of the searches, and wherever else it was met"
