"""The mutation loop: layer after layer tries the mutants of the decisions, the cheapest first.

A mutant is tried by one layer after the other until one names a rule. A decision is tried in every layer that names
rules, by some of its mutants, until the layer names one. Both use the calls that were watched in the layer.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from model_tests.mutants.decisions.call_sites import JudgedCall, Occasions, watched
from model_tests.mutants.decisions.crossing import CrossingCell, Sight, cell_of
from model_tests.mutants.decisions.equivalence import Examples
from model_tests.mutants.decisions.hunting import (
    EXHAUSTIVE,
    MADE_UP,
    OF_FEW_PLACES,
    HuntResult,
    MutantFate,
    explained,
    hunt,
)
from model_tests.mutants.decisions.made import DecisionMutant
from model_tests.mutants.decisions.states import MutantCounts
from model_tests.mutants.decisions.users import above

Measure: TypeAlias = Callable[[DecisionMutant, Occasions], MutantCounts]
"""What a mutant does in a layer, in numbers."""

Layers: TypeAlias = Mapping[str, Callable[[], Iterator[JudgedCall]]]
"""How the places of each layer are made, which happens when the layer's turn comes."""


@dataclass(slots=True)
class MutationResults:
    """What is known of mutants, and of decisions in layers.

    Attributes:
        fates: what became of each mutant, by its name; of one that is missing or untried, nothing is known.
        cells: what each layer makes of each decision, by decision and layer.
        counts: what each mutant does to the states of the searches, by its name.
    """

    fates: dict[str, HuntResult] = field(default_factory=dict)
    cells: dict[tuple[str, str], CrossingCell] = field(default_factory=dict)
    counts: dict[str, MutantCounts] = field(default_factory=dict)

    def is_settled(self, mutant: DecisionMutant) -> bool:
        """Whether every layer that had to has tried the mutant."""
        return mutant.name in self.fates and self.fates[mutant.name].fate is not MutantFate.UNTRIED

    def fates_of(self, mutants: Sequence[DecisionMutant]) -> tuple[HuntResult, ...]:
        """What became of some mutants, in their order."""
        return tuple(self.fates.get(mutant.name, HuntResult(mutant.name, mutant.kind)) for mutant in mutants)

    def cells_of(self, mutants: Sequence[DecisionMutant], layers: Collection[str]) -> tuple[CrossingCell, ...]:
        """What some layers make of the decisions of some mutants, layer by layer."""
        decisions = dict.fromkeys(mutant.decision for mutant in mutants)
        every = ((decision, layer) for layer in layers for decision in decisions)
        return tuple(self.cells.get(each, CrossingCell(*each, Sight.UNTRIED)) for each in every)

    def unsettled(self, mutants: Sequence[DecisionMutant]) -> list[DecisionMutant]:
        """Those of some mutants that are not settled."""
        return [mutant for mutant in mutants if not self.is_settled(mutant)]


def try_mutants(
    mutants: Sequence[DecisionMutant],
    layers: Layers,
    results: MutationResults,
    crossed: Collection[str] = (),
    measured: Mapping[str, Measure] = MappingProxyType({}),
    say: Callable[[str], None] = lambda line: None,
    *,
    explains: bool = True,
) -> Iterator[str]:
    """Fill in what is missing in the results; yields the name of each layer after its turn, if it has something to do.

    Args:
        mutants: all that are made; those of one decision follow each other.
        layers: by name, the cheapest first.
        results: what is known, which is not looked for again; the new is added.
        crossed: the layers in which every decision is tried, too.
        measured: by layer what is measured there of every mutant, detected or not.
        say: called with the progress.
        explains: say of each mutant that no layer detects why; else nothing is known of it.
    """
    due = _due(mutants, crossed, results, counts=bool(measured))
    new = results.unsettled([mutant for its in due.values() for mutant in its])
    results.fates |= {mutant.name: HuntResult(mutant.name, mutant.kind) for mutant in new}
    about = {decision for its in due.values() for mutant in its for decision in (mutant.of, *above(mutant.of))}
    examples, searched = Examples(), Counter[str]()
    for layer, places in layers.items():
        left = results.unsettled(new)
        missing = _missing(due, layer, results) if layer in crossed else []
        uncounted = _uncounted(due, results) if layer in measured else []
        if not (left or missing or uncounted):
            continue
        occasions = watched(places(), about, afresh=layer in OF_FEW_PLACES)
        examples.learn(occasions, made_up=layer == MADE_UP)
        say(f"{layer}: {len(occasions.seconds):,} places, {len(left):,} mutants undetected")
        for mutant in left:
            results.fates[mutant.name] = hunt(results.fates[mutant.name], mutant, layer, occasions)
            if layer in EXHAUSTIVE:
                searched[mutant.name] += len(occasions.calls.get(mutant.of, {}))
        for decision in missing:
            results.cells[decision, layer] = cell_of(decision, layer, occasions, due[decision], results.fates)
        for mutant in uncounted:
            results.counts[mutant.name] = measured[layer](mutant, occasions)
        yield layer
    left = results.unsettled(new) if explains else []
    say(f"solver: {len(left):,} mutants undetected")
    for mutant in left:
        results.fates[mutant.name] = explained(results.fates[mutant.name], mutant, examples, searched[mutant.name])


def _due(
    mutants: Sequence[DecisionMutant], crossed: Collection[str], results: MutationResults, *, counts: bool
) -> dict[str, list[DecisionMutant]]:
    """The mutants of every decision of which something is missing, by the decision's name."""
    of: dict[str, list[DecisionMutant]] = {}
    for mutant in mutants:
        of.setdefault(mutant.decision, []).append(mutant)
    lacking = {decision for layer in crossed for decision in _missing(of, layer, results)}
    lacking |= {mutant.decision for mutant in _uncounted(of, results)} if counts else set()
    return {name: its for name, its in of.items() if name in lacking or results.unsettled(its)}


def _missing(decisions: Collection[str], layer: str, results: MutationResults) -> list[str]:
    """The decisions of which it is not known what a layer makes of them."""
    return [decision for decision in decisions if (decision, layer) not in results.cells]


def _uncounted(decisions: Mapping[str, Sequence[DecisionMutant]], results: MutationResults) -> list[DecisionMutant]:
    """The mutants of some decisions of which it is not known what they do to the states."""
    return [mutant for its in decisions.values() for mutant in its if mutant.name not in results.counts]
