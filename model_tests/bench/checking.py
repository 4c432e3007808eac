"""The speed of the trace check, against Spark that scans and sorts the same Parquet by the same keys.

Each measurement is a process of its own, with a session and a JVM that nothing else has warmed or filled:
`python -m model_tests.bench.checking MASTER ROUNDS PATH...` prints a line of JSON. The first path is a small batch that
brings the session up; then the first of the others is checked once before anything is timed, so that Java has compiled
what they all need. Under `local[N]` the process has no more than N cores, its compiler and collector included.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import pyarrow.parquet as pq

from model_tests.bench.cpus import keep_to_cpus
from model_tests.bench.memory import computed_seconds, peak_mebibytes
from model_tests.check.check import run
from model_tests.spark.session import session
from reference.errors import Impossible

_CORES: Final = re.compile(r"local\[(\d+)\]")
_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"


@dataclass(frozen=True, slots=True)
class CheckTiming:
    """Seconds of the median round, in a session that is up.

    Attributes:
        sort: all columns read, laid out by trace, sorted by trace and step.
        check: everything that `eos check` does.
        sort_computed: seconds of all cores together that scan and sort took.
        check_computed: the same of the check.
        peak: MiB that Python and the JVM had at most, after this batch.
    """

    steps: int
    sort: float
    check: float
    sort_computed: float
    check_computed: float
    peak: float

    @property
    def per_second(self) -> float:
        """Steps that are judged in a second."""
        return self.steps / self.check

    @property
    def ratio(self) -> float:
        """The check as a multiple of scan and sort."""
        return self.check / self.sort

    @property
    def computed_ratio(self) -> float:
        """The same of all cores' time."""
        return self.check_computed / self.sort_computed


def timed(master: str, rounds: int, small: Path, *batches: Path, driver_memory: str = "2g") -> list[CheckTiming]:
    """Time the check of each batch in one session of a process of its own."""
    command = [sys.executable, "-m", "model_tests.bench.checking", master, str(rounds), str(small), *map(str, batches)]
    environment = os.environ | {_ARGUMENTS: f"--driver-memory {driver_memory} pyspark-shell"}
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [CheckTiming(**timing) for timing in json.loads(output.splitlines()[-1])]


def _timing(path: str, master: str, rounds: int) -> CheckTiming:
    timings = [
        (*_clocked(partial(_sort, path, master)), *_clocked(partial(_check, path, master))) for _ in range(rounds)
    ]
    sort, sort_computed, check, check_computed = (median(times) for times in zip(*timings, strict=True))
    steps = sum(pq.read_metadata(file).num_rows for file in Path(path).glob("*.parquet"))
    return CheckTiming(steps, sort, check, sort_computed, check_computed, peak_mebibytes())


def _clocked(timed_part: Callable[[], None]) -> tuple[float, float]:
    """Seconds that passed, and for which all cores together computed."""
    started, computed = perf_counter(), computed_seconds()
    timed_part()
    return perf_counter() - started, computed_seconds() - computed


def _check(path: str, master: str) -> None:
    report = run(path, master)
    if report.violations or report.quarantined:
        raise Impossible(f"the check of true traces says: {report.violations[:1]}, {report.quarantined[:1]}")


def _sort(path: str, master: str) -> None:
    steps = session(master).read.parquet(path)
    laid_out = steps.repartition("trace").sortWithinPartitions("trace", "step")
    laid_out.write.format("noop").mode("overwrite").save()


def keep_to_cores(master: str) -> None:
    """Spark's other processes run on the cores of its tasks, where the system allows to set that."""
    cores = _CORES.fullmatch(master)
    if cores:
        keep_to_cpus(int(cores[1]))


def main(master: str, rounds: int, small: str, paths: Sequence[str]) -> None:
    """Bring the session up, and time each batch."""
    keep_to_cores(master)
    for path in (small, small, *paths[:1]):
        _check(path, master)
    _sort(small, master)
    print(json.dumps([asdict(_timing(path, master, rounds)) for path in paths]))  # noqa: T201  # to who started it


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:])
