"""The mutants of decisions in `eos verify`: of a sample of the decisions in the quick layers, or all in every layer.

Of a sample not every layer is run: a mutant that none of these detects may be detected by another. But a decision whose
mutants decide otherwise in a layer has to be seen broken by one: if not in a few of its places, then in all of them.
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from model_tests.mutants.decisions.crossing import Sight
from model_tests.mutants.decisions.expected import (
    by_decision,
    seen_by,
    shortcomings,
    unnamed,
    why_few,
    why_unnamed,
)
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate
from model_tests.mutants.decisions.kept import kept, try_all
from model_tests.mutants.decisions.layers import LAYERS, NAMING, SMALLER
from model_tests.mutants.decisions.made import DecisionMutant, mutants
from model_tests.mutants.decisions.mutation_loop import Layers, MutationResults, try_mutants
from model_tests.verify.results import PlantedDefect, RunEffort
from spec.rules import RULES

SAMPLE: Final = {RunEffort.QUICK: 4, RunEffort.DEFAULT: 12}
"""Decisions whose mutants are tried; in a deep run all are, but for what an earlier run has found."""

SEED: Final = 20261128  # draws the sample; any seed does, and a fixed one repeats it


@dataclass(frozen=True, slots=True)
class TriedMutants:
    """The mutants that were tried.

    Attributes:
        fates: what became of each.
        failures: what is not as expected, a line each.
    """

    fates: Sequence[HuntResult]
    failures: tuple[str, ...]

    @property
    def detected(self) -> tuple[PlantedDefect, ...]:
        """The mutants that some layer has detected by a rule."""
        return tuple(_detected(self.fates))


def tried(effort: RunEffort) -> TriedMutants:
    """Try the mutants that an effort tries."""
    if effort in SAMPLE:
        chosen = sample(SAMPLE[effort])
        results = try_sample(chosen)
        failures = (*blind(results), *_unseen_anywhere(chosen, unseen(results)))
        return TriedMutants(results.fates_of(chosen), failures)
    results = kept()
    try_all(results)
    return TriedMutants(results.fates_of(mutants()), shortcomings(results))


def sample(decisions: int, seed: int = SEED) -> list[DecisionMutant]:
    """The mutants of so many decisions, all of each."""
    names = list(dict.fromkeys(mutant.decision for mutant in mutants()))
    chosen = set(random.Random(seed).sample(names, min(decisions, len(names))))
    return [mutant for mutant in mutants() if mutant.decision in chosen]


def try_sample(chosen: Sequence[DecisionMutant], layers: Layers = SMALLER) -> MutationResults:
    """Try some mutants in some layers.

    Args:
        chosen: all mutants of some decisions.
        layers: by name, the cheapest first.
    """
    results = MutationResults()
    crossed = [name for name in layers if name in NAMING]
    for _ in try_mutants(chosen, layers, results, crossed, explains=False):
        pass
    return results


def _detected(found: Collection[HuntResult]) -> Iterator[PlantedDefect]:
    for each in found:
        rules = [rule for rule in each.rules if rule in RULES]
        if each.fate is MutantFate.KILLED and rules:
            killers = tuple(f"{each.layer} {rule} in {each.place}" for rule in rules)
            yield PlantedDefect(f"decision {each.mutant}", RULES[rules[0]], killers, each.seconds)


def blind(results: MutationResults) -> tuple[str, ...]:
    """A line for each layer that sees no decision of a sample broken: it was not run, or its calls were not noted."""
    seen = {layer for (_, layer), cell in results.cells.items() if cell.sight is Sight.SEEN}
    layers = dict.fromkeys(layer for _, layer in results.cells)
    return tuple(f"{layer} see no decision of the sample broken" for layer in layers if layer not in seen)


def unseen(results: MutationResults) -> dict[str, tuple[str, ...]]:
    """The decisions that a layer should have seen broken, and none has; with those layers."""
    rows = by_decision(tuple(results.cells.values()))
    return {
        name: layers
        for name, row in rows.items()
        if not seen_by(row)
        and not why_few(name, row)
        and (layers := tuple(cell.layer for cell in unnamed(tuple(row.values())) if not why_unnamed(cell)))
    }


def _unseen_anywhere(chosen: Sequence[DecisionMutant], left: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A line for each of some decisions that their layers do not see broken in any of their places."""
    for name, layers in left.items():
        of_decision = [mutant for mutant in chosen if mutant.decision == name]
        if unseen(try_sample(of_decision, {layer: LAYERS[layer] for layer in layers})):
            yield f"{name}: its mutants decide otherwise in {' and '.join(layers)}, and no rule is named there"
