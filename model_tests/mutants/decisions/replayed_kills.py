"""Mutants shown again to the layers that killed them: a sample of the table in seconds, where a hunt takes long.

Only recorded sessions are asked: they stay what they are, and one is replayed in milliseconds.
"""

import random
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from model_tests.conform.files import SessionLine, UnreadableSession, bundled, sessions_in
from model_tests.mutants.decisions.call_sites import JudgedCall
from model_tests.mutants.decisions.hunting import HuntResult, MutantFate, judged
from model_tests.mutants.decisions.layers import SESSIONS
from model_tests.mutants.decisions.made import DecisionMutant, by_name
from model_tests.mutants.decisions.places import of_sessions
from model_tests.verify import results
from spec.rules import RULES

SEED: Final = 20261121  # draws the sample; any seed does, and a fixed one repeats it


def showable(table: Sequence[HuntResult], known: Mapping[str, DecisionMutant]) -> list[HuntResult]:
    """The mutants that recorded sessions kill, as far as they are still made."""
    return [
        each for each in table if each.fate is MutantFate.KILLED and each.layer == SESSIONS and each.mutant in known
    ]


def shown(table: Sequence[HuntResult], size: int, seed: int = SEED) -> tuple[results.PlantedDefect, ...]:
    """So many mutants of the table, each planted and tried in the place where it was killed."""
    known = by_name()
    from_table = showable(table, known)
    chosen = random.Random(seed).sample(from_table, min(size, len(from_table)))
    places = sessions_named({each.place for each in chosen})
    return tuple(_shown(each, known[each.mutant], places) for each in chosen)


def _shown(each: HuntResult, mutant: DecisionMutant, places: Mapping[str, JudgedCall]) -> results.PlantedDefect:
    started = time.monotonic()
    named, how = judged(mutant, places[each.place]) if each.place in places else ((), "the place is gone")
    killers = tuple(f"{each.layer} {rule} in {each.place}" for rule in named) or ((how,) if how else ())
    seconds = round(time.monotonic() - started, 3)
    return results.PlantedDefect(f"decision {each.mutant}", RULES[each.rules[0]], killers, seconds)


def sessions_named(names: Collection[str]) -> dict[str, JudgedCall]:
    """The bundled sessions of these names, as places."""
    recorded = sessions_in(line for line in bundled() if _id(line) in names)
    return {place.name: place for place in of_sessions(recorded)}


def _id(line: SessionLine) -> str:
    """The id of the session in a line, as every bundled line begins with it."""
    return "" if isinstance(line.content, UnreadableSession) else line.content[7:80].partition(b'"')[0].decode()
