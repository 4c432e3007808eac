"""The reasons of survivors checked again: each equivalence is proved, each search is made; failures are named.

`python -m model_tests.mutants.decisions.survivors` meets the arguments of the decisions in traces, in all searches,
and in their tests where nothing else here meets them; with `--whole`, in every layer but the proofs, whose arguments
are terms. The table then says how many questions the solver was asked.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Final

from model_tests.mutants.decisions.call_sites import JudgedCall, Occasions, watched
from model_tests.mutants.decisions.equivalence import Examples, equivalent
from model_tests.mutants.decisions.functions import DecisionFunction
from model_tests.mutants.decisions.hunting import EXHAUSTIVE, MADE_UP, HuntResult, MutantFate, Progress, never_reported
from model_tests.mutants.decisions.layers import KNOWN_BUGS, LAYERS, PROOFS, SEARCHES, TESTS, TRACES
from model_tests.mutants.decisions.made import DecisionMutant, by_name
from model_tests.mutants.decisions.places import known_bugs, replicated, searched, tested, traced
from model_tests.mutants.decisions.table import read, write
from model_tests.mutants.decisions.users import above

Made = Mapping[str, Callable[[], Iterator[JudgedCall]]]
"""How the places of layers are made."""

WHOLE: Final[Made] = MappingProxyType({name: made for name, made in LAYERS.items() if name != PROOFS})

UNMET: Final = ("test_finding.py", "test_lso.py", "test_offsets.py")
"""Tests of decisions that few traces and the searches do not meet."""

SOME: Final[Made] = MappingProxyType(
    {
        TRACES: lambda: chain(traced(range(0, 12, 2)), replicated(range(3))),
        SEARCHES: searched,
        KNOWN_BUGS: known_bugs,
        TESTS: lambda: (place for place in tested() if place.name in UNMET),
    }
)
"""Places in which every decision that a survivor is of is met."""

SEED: Final = 20261123  # draws the sample; any seed does, and a fixed one repeats it


@dataclass(frozen=True, slots=True)
class Again:
    """A survivor, explained once more.

    Attributes:
        found: what the table says of it.
        why: what explains it now; empty where nothing does.
    """

    found: HuntResult
    why: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.found.mutant}: {self.why or f'no longer {self.found.fate}'}"


def survivors(table: Sequence[HuntResult]) -> list[HuntResult]:
    """The mutants of the table that nothing kills, with a reason."""
    return [each for each in table if each.fate in (MutantFate.EQUIVALENT, MutantFate.UNREACHABLE)]


def sampled(table: Sequence[HuntResult], size: int, seed: int = SEED) -> list[HuntResult]:
    """So many of them, the same every time."""
    able = survivors(table)
    return random.Random(seed).sample(able, min(size, len(able)))


def explained_again(
    requested: Sequence[HuntResult], layers: Made = SOME, say: Progress = lambda line: None
) -> Iterator[Again]:
    """Each of these survivors, explained by what is met in some layers.

    Args:
        requested: survivors of the table.
        layers: where arguments are met, and what must not distinguish an unreachable mutant.
        say: called with the progress.
    """
    known = by_name()
    gone = [each for each in requested if each.mutant not in known]
    yield from (Again(each, "", 0.0) for each in gone)
    left = {each.mutant: known[each.mutant] for each in requested if each.mutant in known}
    met = _Met(left.values())
    for layer, made in layers.items():
        met.look(layer, watched(made(), met.about, afresh=layer in EXHAUSTIVE))
        say(f"{layer}: looked at")
    for each in requested:
        if each.mutant in left:
            yield met.explained(each, left[each.mutant])


class _Met:
    """What the layers have shown of some mutants' decisions."""

    def __init__(self, mutants: Iterable[DecisionMutant]) -> None:
        self._mutants = tuple(mutants)
        self._examples = Examples()
        self._reported: dict[DecisionMutant, str] = {}
        self._calls: Counter[DecisionMutant] = Counter()
        self.about = self._decisions()

    def _decisions(self) -> frozenset[DecisionFunction]:
        return frozenset(decision for mutant in self._mutants for decision in (mutant.of, *above(mutant.of)))

    def look(self, layer: str, occasions: Occasions) -> None:
        """Take over what one layer met."""
        self._examples.learn(occasions, made_up=layer == MADE_UP)
        for mutant in self._mutants:
            if layer in EXHAUSTIVE:
                self._calls[mutant] += len(occasions.calls.get(mutant.of, {}))
            if next(occasions.distinguishing(mutant), None) is not None:
                self._reported.setdefault(mutant, layer)

    def explained(self, found: HuntResult, mutant: DecisionMutant) -> Again:
        """Why nothing kills the mutant: as the table says, or not at all."""
        started = time.monotonic()
        if found.fate is MutantFate.EQUIVALENT:
            why = str(equivalent(mutant, self._examples) or "")
        else:
            calls = self._calls[mutant]
            why = never_reported(calls) if calls and mutant not in self._reported else ""
        return Again(found, why, round(time.monotonic() - started, 3))


def main(layers: Made) -> int:
    """Explain every survivor again by these layers; name what is not explained, else write the table."""
    again = {each.found.mutant: each for each in explained_again(survivors(read()), layers, _say)}
    lost = [each for each in again.values() if not each.why]
    for each in lost:
        _say(str(each))
    _say(f"{len(again) - len(lost)} of {len(again)} survivors are explained")
    if not lost:
        reported = [replace(each, place=again[each.mutant].why) if each.mutant in again else each for each in read()]
        write(reported)
    return 1 if lost else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(WHOLE if "--whole" in sys.argv[1:] else SOME))
