"""How fast a broker is probed: the same sessions judged and not, over one connection; nodes are another process."""

import time
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Final, NamedTuple

from model_tests.bench import serving
from model_tests.common.addresses import addresses_of
from model_tests.conform.side_by_side import MakeSide
from model_tests.probe.judging import LIVE
from model_tests.probe.observing import level_of
from model_tests.probe.play import Player
from model_tests.probe.pool import NamePool
from model_tests.probe.script import Script, drawn
from model_tests.probe.target import Pace, Target
from spec.versions import NEWEST

FAMILIES: Final = ("A", "B", "C", "D")
"""Those of one connection."""

NO_SIDES: Final[Mapping[str, MakeSide]] = {}
PATIENCE_S: Final = 30.0  # how long the server may take for one answer, in seconds: hundreds of times what it takes


class ProbedLoad(NamedTuple):
    """Steps of sessions.

    Attributes:
        judged: a second, each judged as it is recorded.
        ratio: of the time to that of the same requests that nobody judges.
    """

    judged: float
    ratio: float


def timed(seeds: int, rounds: int) -> ProbedLoad:
    """Sessions of each family and so many seeds, judged and not in turn; the median of some rounds."""
    with serving.served(1, judged=False) as nodes:
        target = Target(tuple(addresses_of(nodes.servers)), PATIENCE_S, Pace(0))
        target.open()
        pool = NamePool(target)
        scripts = [drawn(family, seed, implicit=True) for seed in range(seeds) for family in FAMILIES]
        for sides in (NO_SIDES, LIVE):  # what is made once, as the code of messages, is made now
            _seconds(target, pool, scripts[: len(FAMILIES)], sides)
        runs = [[_seconds(target, pool, scripts, sides) for sides in (NO_SIDES, LIVE)] for _ in range(rounds)]
        pool.remove()
        target.close()
    steps = runs[0][0][0]
    plain, judged = (median(seconds for _, seconds in each) for each in zip(*runs, strict=True))
    return ProbedLoad(steps / judged, judged / plain)


def _seconds(target: Target, pool: NamePool, scripts: list[Script], sides: Mapping[str, MakeSide]) -> tuple[int, float]:
    """How many steps were played, and how long that took; topics are made before."""
    steps, passed = 0, 0.0
    for player in _players(target, pool, scripts, sides):
        began = time.perf_counter()
        steps += len(player.play().typed)
        passed += time.perf_counter() - began
    return steps, passed


def _players(target: Target, pool: NamePool, scripts: list[Script], sides: Mapping[str, MakeSide]) -> Iterator[Player]:
    level = level_of(target)
    for script in scripts:
        names = pool.take(script.family)
        yield Player(target, NEWEST, level, names, script, shared=False, sides=sides)
        pool.give_back(names)
