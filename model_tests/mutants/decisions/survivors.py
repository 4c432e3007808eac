"""The mutants that no layer kills, explained again: each equivalence is proved, each search is made.

The arguments of the decisions are met in traces, in all searches, and in their tests where nothing else here meets
them.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Final

from model_tests.mutants.decisions.hunting import EXPLAINED, HuntResult, MutantFate
from model_tests.mutants.decisions.layers import KNOWN_BUGS, SEARCHES, TESTS, TRACES
from model_tests.mutants.decisions.made import by_name
from model_tests.mutants.decisions.mutation_loop import Layers, MutationResults, try_mutants
from model_tests.mutants.decisions.places import known_bugs, replicated, searched, tested, traced

UNMET: Final = (
    "test_corners_of_consumer_groups.py",
    "test_corners_of_partitions.py",
    "test_finding.py",
    "test_lso.py",
    "test_offsets.py",
    "test_verification_queue.py",
)
"""Tests of decisions that few traces and the searches do not meet."""

SOME: Final[Layers] = MappingProxyType(
    {
        TRACES: lambda: chain(traced(range(0, 12, 2)), replicated(range(3))),
        SEARCHES: searched,
        KNOWN_BUGS: known_bugs,
        TESTS: lambda: (place for place in tested() if place.name in UNMET),
    }
)
"""Places in which every decision that a survivor is of is met."""

SEED: Final = 20261123  # draws the sample; any seed does, and a fixed one repeats it


def survivors(table: Sequence[HuntResult]) -> list[HuntResult]:
    """The mutants of the table that nothing kills, with a reason."""
    return [each for each in table if each.fate in EXPLAINED]


def sampled(table: Sequence[HuntResult], size: int, seed: int = SEED) -> list[HuntResult]:
    """So many of them, the same every time."""
    able = survivors(table)
    return random.Random(seed).sample(able, min(size, len(able)))


def explained_again(requested: Sequence[HuntResult], layers: Layers = SOME) -> tuple[HuntResult, ...]:
    """What becomes of these survivors in some layers; one that is no longer made is untried.

    Args:
        requested: survivors of the table.
        layers: where arguments are met, and what must not distinguish an unreachable mutant.
    """
    known, results = by_name(), MutationResults()
    made = [known[each.mutant] for each in requested if each.mutant in known]
    for _ in try_mutants(made, layers, results):
        pass
    gone = (replace(each, fate=MutantFate.UNTRIED, place="it is no longer made") for each in requested)
    return tuple(results.fates.get(each.mutant, each) for each in gone)


def unexplained(requested: Sequence[HuntResult], layers: Layers = SOME) -> tuple[str, ...]:
    """A line for each of these survivors that is no longer what the table says; a proof does for a search, too.

    Args:
        requested: survivors of the table.
        layers: as in `explained_again`.
    """
    return tuple(
        f"{now.mutant}: no longer {before.fate}, but {now.fate} {now.place}".rstrip()
        for before, now in zip(requested, explained_again(requested, layers), strict=True)
        if now.fate not in (before.fate, MutantFate.EQUIVALENT)
    )
