"""Hunt again those that only tests see, in more places of the layers that name a rule; write the table."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from model_tests.mutants.decisions.call_sites import JudgedCall, watched
from model_tests.mutants.decisions.hunting import MADE_UP, OF_FEW_PLACES, HuntResult, MutantFate, Progress, hunt
from model_tests.mutants.decisions.layers import MORE
from model_tests.mutants.decisions.made import DecisionMutant, by_name
from model_tests.mutants.decisions.table import read, write

AT_ONCE: Final = 2000
"""So many places are watched before the mutants are tried on them, which bounds the memory."""


def hunt_again(
    table: Sequence[HuntResult], layers: Mapping[str, Callable[[], Iterator[JudgedCall]]], say: Progress
) -> Iterator[tuple[HuntResult, ...]]:
    """The table after each number of places: a mutant that only tests detected gets the layer that detects it now.

    Args:
        table: what is known.
        layers: how the places of each are made.
        say: called with the progress.
    """
    known = by_name()
    found = {each.mutant: each for each in table}
    for layer, made in layers.items():
        places = made()
        while some := list(islice(places, AT_ONCE)):
            at_large = [known[each.mutant] for each in found.values() if only_tests_see(each)]
            _put(at_large, some, layer, found)
            say(f"{layer}, {len(some):,} places: {sum(map(only_tests_see, found.values()))} of {len(at_large)} left")
            yield tuple(found.values())


def only_tests_see(found: HuntResult) -> bool:
    """Whether a mutant is named by a test, and by no rule."""
    return found.fate is MutantFate.KILLED and found.layer == MADE_UP


def _put(
    at_large: Sequence[DecisionMutant], places: Sequence[JudgedCall], layer: str, found: dict[str, HuntResult]
) -> None:
    occasions = watched(places, {mutant.of for mutant in at_large}, afresh=layer in OF_FEW_PLACES)
    for mutant in at_large:
        before = found[mutant.name]
        free = replace(before, fate=MutantFate.GAP, layer="", place="", rules=(), met=0, seconds=0.0)
        after = hunt(free, mutant, layer, occasions)
        if after.fate is MutantFate.KILLED:
            found[mutant.name] = after


def main(layers: Sequence[str]) -> None:
    """Hunt, and write after every number of places."""
    for table in hunt_again(read(), {name: MORE[name] for name in layers or MORE}, _say):
        write(table)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
