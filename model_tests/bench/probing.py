"""How fast a broker is probed: the same sessions judged and not, over one connection; nodes are another process."""

import time
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Final, NamedTuple

from model_tests.bench import serving
from model_tests.bench.cpus import on_cpus
from model_tests.common.addresses import addresses_of
from model_tests.conform.side_by_side import MakeSide
from model_tests.probe.families import drawn
from model_tests.probe.judging import LIVE
from model_tests.probe.observing import level_of
from model_tests.probe.play import Player
from model_tests.probe.pool import NamePool
from model_tests.probe.script import Script
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
        ratio: of the time to that of the same requests without a judge.
        computed: milliseconds of CPU time for a judged step, of client, judge and nodes.
        computed_ratio: of that to the CPU time of the same requests without a judge.
    """

    judged: float
    ratio: float
    computed: float
    computed_ratio: float


class _TimedRun(NamedTuple):
    """Seconds, and seconds of CPU time of both processes, for so many steps."""

    steps: int
    passed: float
    computed: float


def timed(seeds: int, rounds: int, cpus: int) -> ProbedLoad:
    """Sessions of each family and so many seeds, judged and not in turn; the median of some rounds.

    Args:
        seeds: of each family.
        rounds: of all sessions.
        cpus: for client, judge and nodes together. They compute in turns, so each of two CPUs idles half of the time,
            and how fast it wakes up is measured, too.
    """
    with on_cpus(cpus), serving.served(1, judged=False) as nodes:
        target = Target(tuple(addresses_of(nodes.servers)), PATIENCE_S, Pace(0))
        target.open()
        pool = NamePool(target)
        scripts = [drawn(family, seed, implicit=True) for seed in range(seeds) for family in FAMILIES]
        for sides in (NO_SIDES, LIVE):  # what is made once, as the code of messages, is made now
            _run(nodes, target, pool, scripts[: len(FAMILIES)], sides)
        runs = [[_run(nodes, target, pool, scripts, sides) for sides in (NO_SIDES, LIVE)] for _ in range(rounds)]
        pool.remove()
        target.close()
    (plain, plain_computed), (judged, judged_computed) = (
        (median(run.passed for run in each), median(run.computed for run in each)) for each in zip(*runs, strict=True)
    )
    steps = runs[0][1].steps
    return ProbedLoad(steps / judged, judged / plain, judged_computed / steps * 1e3, judged_computed / plain_computed)


def _run(
    nodes: serving.ServerProcess, target: Target, pool: NamePool, scripts: list[Script], sides: Mapping[str, MakeSide]
) -> _TimedRun:
    """How many steps were played, and what that took; topics are made before."""
    run = _TimedRun(0, 0.0, 0.0)
    for player in _players(target, pool, scripts, sides):
        began, used = time.perf_counter(), time.process_time() + nodes.usage().computed
        steps = len(player.play().typed)
        passed = time.perf_counter() - began
        computed = time.process_time() + nodes.usage().computed - used
        run = _TimedRun(run.steps + steps, run.passed + passed, run.computed + computed)
    return run


def _players(target: Target, pool: NamePool, scripts: list[Script], sides: Mapping[str, MakeSide]) -> Iterator[Player]:
    level = level_of(target)
    for script in scripts:
        names = pool.take(script.family)
        yield Player(target, NEWEST, level, names, script, shared=False, sides=sides)
        pool.give_back(names)
