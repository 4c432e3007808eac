"""The effect of each mutant of the decisions on the number of states of a search, exactly.

A mutant that some finite instance meets opens states there, closes some, or makes others of as many. The instances
are those of the quick searches, smallest first. The table has the first in which the number differs, else the first
that meets the mutant.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import Final

from model_tests.common.derived import DerivedTable, Row, Texts
from model_tests.mutants.decisions.call_sites import Occasions
from model_tests.mutants.decisions.made import DecisionMutant
from model_tests.mutants.decisions.table import DIRECTORY, RENEW, of_decisions, of_systems, tried_of
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
        instance: the system and its instance; empty where none meets the mutant.
        true: states of the instance as it is.
        states: with the mutant in place; as many as were seen where it broke, or where there are more.
        how: empty where all were counted; else how the mutant broke, or that there are more.
    """

    mutant: str
    instance: str = ""
    true: int = 0
    states: int = 0
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


def count(mutant: DecisionMutant, occasions: Occasions) -> MutantCounts:
    """What a mutant does to the instances that meet it.

    Args:
        mutant: of a decision.
        occasions: the calls that were watched in the searches.
    """
    met = sorted(occasions.distinguishing(mutant), key=lambda place: _states(place.name))
    found = [counted(mutant, place.name) for place in islice(met, FEW)]
    first = found[0] if found else MutantCounts(mutant.name)
    return next((each for each in found if each.difference or each.how), first)


def counted(mutant: DecisionMutant, instance: str) -> MutantCounts:
    """One mutant in one instance."""
    known = _states(instance)
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


@cache
def _states(name: str) -> int:
    """States of an instance as it is. No mutant is planted when it is counted, which happens once."""
    return _explored(name)[0]


def _explored(name: str) -> tuple[int, str]:
    """States of an instance made anew: what it remembers is of the decisions as they are now."""
    instance = _BUILDS[name]()
    found = explore(instance.system, instance.finite, [], most_states=MOST_STATES)
    return found.states, "more than counted" if isinstance(found.verdict, Unknown) else ""


_BUILDS: Final = builds()


# --- the table ------------------------------------------------------------------------------------------------


def _texts() -> Texts:
    """A count is about a decision and a system."""
    return {**of_decisions(), **of_systems(map(_system, _BUILDS))}


TABLE: Final = DerivedTable(DIRECTORY / "states.json", RENEW, _texts)
"""What the last count of each mutant found, a line for each."""


def read(path: Path | None = None) -> tuple[MutantCounts, ...]:
    """The table without what is stale; empty where nothing was run.

    Args:
        path: another table than that of the last runs.
    """
    return tuple(MutantCounts(**row) for row in TABLE.fresh(_about, path))


def write(found: Iterable[MutantCounts], path: Path | None = None) -> None:
    """A line for each mutant, under the digests of the decisions and systems as they are now.

    Args:
        found: one for each mutant that was counted, or is met nowhere.
        path: another place.
    """
    TABLE.write(map(asdict, found), path=path)


def _about(row: Row) -> tuple[str, ...]:
    """The texts of a row: a decision, and a system; of a mutant that is met nowhere, every system."""
    instances = (row["instance"],) if "instance" in row else tuple(_BUILDS)
    return row["mutant"].partition(":")[0], *(f"system {_system(each)}" for each in instances)


def _system(instance: str) -> str:
    return instance.partition(",")[0]


TITLE: Final = "# What mutants do to the states"


def page(found: Sequence[MutantCounts]) -> str:
    """The table as a page of Markdown: how many mutants do what, and what each does; or how to make it.

    Args:
        found: what is known, those that are met nowhere included.
    """
    if not found:
        return f"{TITLE}\n\n{tried_of(0)}"
    met = [each for each in found if each.instance]
    return "\n".join((*_summary(met, len(found)), *_sections(met)))


def _summary(found: Sequence[MutantCounts], tried: int) -> Iterator[str]:
    yield TITLE
    yield ""
    yield tried_of(tried)
    yield f"{len(found):,} of these are met by a finite instance of the quick searches: some call there gets another"
    yield "result. Each was planted, and the whole instance was searched, violations included."
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
