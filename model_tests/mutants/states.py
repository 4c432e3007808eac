"""The effect of each mutant of the decisions on the number of states of a search, exactly.

A mutant that some finite instance meets opens states there, closes some, or makes others of as many. The instances
are those of the quick searches, smallest first. The table has the first in which the number differs, else the first
that meets the mutant. `python -m model_tests.mutants.states` counts the stale ones, with `--all` every one.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from pathlib import Path
from random import Random
from typing import Final

from model_tests.common.derived import DerivedTable, Texts
from model_tests.mutants.decisions.call_sites import JudgedCall, watched
from model_tests.mutants.decisions.made import DecisionMutant, by_name, mutants
from model_tests.mutants.decisions.places import searched
from model_tests.mutants.decisions.table import of_decisions, of_systems
from model_tests.verify.model_checking import Build
from model_tests.verify.proofs import SEARCHES
from model_tests.verify.results import RunEffort
from spec.engines.explore import explore
from spec.engines.verdict import Unknown

MOST_STATES: Final = 10_000
"""A mutant that leaves more is said to leave more than so many; every instance as it is has fewer."""

FEW: Final = 4
"""Instances in which a mutant is counted, at most."""


@dataclass(frozen=True, slots=True)
class MutantCounts:
    """What one mutant does to one instance.

    Attributes:
        true: states of the instance as it is.
        states: with the mutant in place; as many as were seen where it broke, or where there are more.
        how: empty where all were counted; else how the mutant broke, or that there are more.
    """

    mutant: str
    instance: str
    true: int
    states: int
    how: str = ""

    @property
    def difference(self) -> int:
        """States that the mutant adds; negative where it closes more than it opens."""
        return self.states - self.true

    @property
    def effect(self) -> str:
        """What it does to them, in a word or two."""
        if self.how:
            return self.how
        return "opens states" if self.difference > 0 else "closes states" if self.difference < 0 else "as many"


def count_all(listed: Sequence[DecisionMutant], places: Iterable[JudgedCall]) -> Iterator[MutantCounts]:
    """Every mutant that one of the instances meets, counted."""
    occasions = watched(places)
    true = {place.name: _explored(place.name)[0] for place in occasions.seconds}
    for mutant in listed:
        met = sorted(occasions.distinguishing(mutant), key=lambda place: true[place.name])
        found = [counted(mutant, place.name, true[place.name]) for place in islice(met, FEW)]
        if found:
            yield next((each for each in found if each.difference or each.how), found[0])


def counted(mutant: DecisionMutant, instance: str, true: int = 0) -> MutantCounts:
    """One mutant in one instance, which is counted as it is, too, where that is not known."""
    known = true or _explored(instance)[0]
    with mutant.in_place():
        try:
            states, how = _explored(instance)
        except Exception as error:  # noqa: BLE001  # a mutant may break the system in any way
            return MutantCounts(mutant.name, instance, known, 0, f"breaks: {type(error).__name__}")
    return MutantCounts(mutant.name, instance, known, states, how)


def builds() -> Mapping[str, Build]:
    """How the finite instances of the quick searches are made, by the names that these have as places."""
    due = [(each, instance) for each in SEARCHES for instance in each.explored_by(RunEffort.QUICK)]
    return {f"{each.system.name}, {instance.name}": instance.built for each, instance in due}


def _explored(name: str) -> tuple[int, str]:
    """States of an instance made anew: what it remembers is of the decisions as they are now."""
    instance = _BUILDS[name]()
    found = explore(instance.system, instance.finite, [], most_states=MOST_STATES)
    return found.states, "more than counted" if isinstance(found.verdict, Unknown) else ""


_BUILDS: Final = builds()


# --- the table ------------------------------------------------------------------------------------------------


def _texts() -> Texts:
    """A count is about a decision and a system."""
    return {**of_decisions(), **of_systems(name.partition(",")[0] for name in _BUILDS)}


TABLE: Final = DerivedTable(Path(__file__).parent / "states.json", "make tables", _texts)
"""What the last count of each mutant found, a line for each that a search meets."""


def read(path: Path | None = None) -> tuple[MutantCounts, ...]:
    """The table as it was written, but for what is stale.

    Args:
        path: another table than the one beside the code.
    """
    found = tuple(MutantCounts(**row) for row in TABLE.rows(path))
    stale = TABLE.stale(path)
    return tuple(each for each in found if not {_decision(each), _system(each)} & set(stale))


def write(found: Iterable[MutantCounts], path: Path | None = None) -> None:
    """A line for each mutant, under the digests of the decisions and systems as they are now.

    Args:
        found: one for each mutant that a search meets.
        path: another place than the one beside the code.
    """
    TABLE.write(map(asdict, found), path=path)


def _decision(counted: MutantCounts) -> str:
    return counted.mutant.partition(":")[0]


def _system(counted: MutantCounts) -> str:
    return f"system {counted.instance.partition(',')[0]}"


def sample(found: Sequence[MutantCounts], size: int, seed: int = 0) -> tuple[MutantCounts, ...]:
    """A random sample of the mutants of the table that are still made."""
    known = by_name()
    made = [each for each in found if each.mutant in known]
    return tuple(Random(seed).sample(made, min(size, len(made))))


def page(found: Sequence[MutantCounts]) -> str:
    """The table as a page of Markdown: how many mutants do what, and what each does."""
    return "\n".join((*_summary(found), *_sections(found)))


def _summary(found: Sequence[MutantCounts]) -> Iterator[str]:
    yield "# What mutants do to the states"
    yield ""
    yield f"{len(found):,} mutants of the decisions are met by a finite instance of the quick searches: some call there"
    yield "gets another result. Each was planted, and the whole instance was searched, violations included."
    yield "The table has the smallest instance in which the number of states differs, else the smallest that meets"
    yield "the mutant. The same number need not mean the same states. A mutant that breaks has no number, and"
    yield f"more than {MOST_STATES:,} states are not counted. The mutants stand by the file of their decision in"
    yield "`spec/protocol`."
    yield ""
    yield "| what it does | mutants |"
    yield "| --- | ---: |"
    kinds = Counter(each.effect.partition(":")[0] for each in found)
    yield from (f"| {kind} | {count:,} |" for kind, count in sorted(kinds.items()))
    yield ""


def _sections(found: Sequence[MutantCounts]) -> Iterator[str]:
    for name, of in groupby(sorted(found, key=_file), _file):
        yield f"## {name}"
        yield ""
        yield from _rows(of)
        yield ""


def _file(counted: MutantCounts) -> str:
    return counted.mutant.partition(".")[0]


def _rows(found: Iterable[MutantCounts]) -> Iterator[str]:
    yield "| mutant | instance | states | with the mutant | difference |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for each in found:
        states, difference = (f"{each.states:,}", f"{each.difference:+,}") if not each.how else ("", each.how)
        mutant = each.mutant.replace("|", "\\|")
        yield f"| `{mutant}` | {each.instance} | {each.true:,} | {states} | {difference} |"


def main(*, all_anew: bool) -> None:
    """Count what is not in the table or is stale there, and write the table.

    Args:
        all_anew: count everything.
    """
    known = {} if all_anew or not TABLE.path.exists() else {each.mutant: each for each in read()}
    listed = [mutant for mutant in mutants() if mutant.name not in known]
    for each in count_all(listed, searched()):
        known[each.mutant] = each
        if len(known) % 50 == 0:
            sys.stdout.write(f"{len(known)} mutants are in the table\n")
            sys.stdout.flush()
    write(known[mutant.name] for mutant in mutants() if mutant.name in known)


if __name__ == "__main__":
    main(all_anew="--all" in sys.argv[1:])
