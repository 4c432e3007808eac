"""The bundled sessions: all of them, or a sample in which every family of every file has its part."""

import random
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final

from model_tests.conform.files import LocatedSession, SessionLine, UnreadableSession, lines, parsed
from model_tests.conform.sessions import FAMILIES, Session

RECORDINGS: Final = Path(__file__).parent / "recordings"
SEED: Final = 20261121
"""Of the sample that is taken."""

LEAST: Final = 3
"""Sessions of every family of every file that any sample has, where there are so many."""

_FAMILY: Final = re.compile(rb'\{"id":"[^"\\]*","family":"(\w+)"')


@dataclass(frozen=True, slots=True)
class SessionSample:
    """Lines of sessions, and how many sessions they were chosen from."""

    lines: tuple[SessionLine, ...]
    of: int


def bundled(families: Collection[str] = tuple(FAMILIES)) -> Iterator[SessionLine]:
    """The lines of the bundled sessions of some families, in order; and whatever cannot be read."""
    return (line for line in lines([RECORDINGS]) if _family(line) in (*families, ""))


def sample(one_in: int, families: Collection[str] = tuple(FAMILIES)) -> SessionSample:
    """One of so many bundled sessions, always the same ones, in order; and whatever cannot be read."""
    chosen: list[SessionLine] = []
    of = 0
    for _, of_file in groupby(bundled(families), key=attrgetter("file")):
        there = list(of_file)
        chosen += _sample(there, one_in)
        of += sum(1 for line in there if _family(line))
    return SessionSample(tuple(chosen), of)


def sessions_in(lines: Iterable[SessionLine]) -> Iterator[Session]:
    """The sessions in lines, one after another as they are asked for."""
    return (found.session for found in map(parsed, lines) if isinstance(found, LocatedSession))


def _sample(of_file: Sequence[SessionLine], one_in: int) -> Iterator[SessionLine]:
    by_family: defaultdict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(of_file):
        by_family[_family(line)].append(index)
    chance = random.Random(f"{SEED} {Path(of_file[0].path).name}")
    chosen = by_family.pop("", [])
    for indices in by_family.values():
        chosen += chance.sample(indices, max(len(indices) // one_in, min(LEAST, len(indices))))
    return (of_file[index] for index in sorted(chosen))


def _family(line: SessionLine) -> str:
    """The family of the session in a line, as every bundled line begins with it; empty where it does not."""
    begins = None if isinstance(line.content, UnreadableSession) else _FAMILY.match(line.content)
    return begins[1].decode() if begins else ""
