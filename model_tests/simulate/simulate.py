"""Randomized traces of the reference, made on Spark's workers: seeds in, Parquet out."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

from rich.console import Console

from model_tests.common.reports import HOLDS, NOTHING_JUDGED, BadInput
from model_tests.simulate import simulation_job
from model_tests.simulate.trace_directory import TraceDirectory, digest_of
from model_tests.spark.session import LOCAL, session
from model_tests.traces.schema import Row
from reference.recording.trace import SCHEMA_VERSION
from reference.simulate.simulation import simulate
from spec.versions import KAFKA_4_3, NEWEST, PROFILES

STEPS: Final = 200
WORKLOADS: Final = ("raw", "producers", "transactions", "replicas")
"""The workloads, which take turns: anything at one partition, idempotent producers, transactional producers, and
brokers that replicate."""

_FILES: Final = 32
_FEWEST, _MOST = 25, 250
"""Traces of one file, which is what one task makes: so many that there are about `_FILES`, within these bounds."""


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What lies in the directory.

    Attributes:
        traces: that lie there.
        steps: of all of them.
        made: traces that were made now; the others were there.
    """

    traces: int
    steps: int
    seconds: float
    out: str
    made: int

    @property
    def exit_code(self) -> int:
        """Whether there is something to judge."""
        return HOLDS if self.steps else NOTHING_JUDGED

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values."""
        return asdict(self)

    def print(self, console: Console) -> None:
        """One line, and the command that judges what was made."""
        before = "" if self.made == self.traces else f", {self.traces - self.made} of them from before"
        console.print(f"{self.traces} traces{before}, {self.steps} steps, {self.seconds:.1f} s", highlight=False)
        console.print(f"eos check {self.out}", markup=False, highlight=False)


def run(
    traces: int, seed: int, out: Path, steps: int = STEPS, master: str = LOCAL, workload: str | None = None
) -> SimulationReport:
    """Make traces from the seeds `seed`, `seed + 1`, ... and write them as Parquet; those that lie there are kept.

    Args:
        traces: their number.
        seed: the first; of a given workload, the first that chooses it.
        out: directory for them, which all executors see.
        steps: length of each.
        master: of Spark.
        workload: only traces of this workload; all take turns without it.

    Raises:
        BadInput: there is no such workload, or the directory was begun with something else.
    """
    started = perf_counter()
    wanted = _by_workload(seeds_of(traces, seed, workload))
    begun = {
        "seed": seed,
        "steps": steps,
        "workload": workload,
        "schema": SCHEMA_VERSION,
        "profiles": list(PROFILES),
        "reference": reference(),
    }
    directory = TraceDirectory(out.absolute(), begun, len(WORKLOADS))
    size = min(max(traces // _FILES, _FEWEST), _MOST)
    pieces = list(directory.missing(wanted, size))
    if pieces:
        spark, trace = session(master), partial(trace_of, steps=steps)
        simulation_job.make(spark, pieces, directory.path, trace, Console(stderr=True))
    if any(directory.missing(wanted, size)):
        raise BadInput(f"{out} lacks traces that executors have written: it must be a directory that all of them share")
    made = sum(len(piece.seeds) for piece in pieces)
    return SimulationReport(traces, directory.steps(), perf_counter() - started, str(out), made)


def reference() -> str:
    """What the source that makes traces comes down to: with another, the same seed may give another trace."""
    return digest_of("reference", "spec.versions", "spec.vocabulary")


def _by_workload(seeds: range) -> dict[str, range]:
    """The seeds of each workload that they choose."""
    turns = len(WORKLOADS)
    if seeds.step == turns:
        return {workload_of(seeds[0]): seeds}
    firsts = seeds[:turns]
    return {workload_of(first): range(first, seeds.stop, turns) for first in firsts}


def seeds_of(traces: int, seed: int, workload: str | None = None) -> range:
    """So many seeds from `seed` on, of one workload or of all.

    Raises:
        BadInput: there is no such workload.
    """
    if workload is None:
        return range(seed, seed + traces)
    if workload not in WORKLOADS:
        raise BadInput(f"there is no workload {workload!r}; there are {', '.join(WORKLOADS)}")
    turns = len(WORKLOADS)
    first = seed + (WORKLOADS.index(workload) - seed) % turns
    return range(first, first + traces * turns, turns)


def trace_of(seed: int, steps: int = STEPS) -> list[Row]:
    """The trace of a seed, with the workload, the profile and the transaction version that the seed chooses."""
    profile = PROFILES[profile_of(seed)].under(version_of(seed))
    return list(simulate(seed, profile, steps, workload=workload_of(seed)))


RELEASES: Final = tuple(name for name in PROFILES if name != NEWEST.name)
"""The profiles that take turns; the newest release shares those of the one before, so that it deals no seed anew."""


def profile_of(seed: int) -> str:
    """The profile of a seed's trace: all take turns, the newest release in every other turn of the one before it."""
    turn, place = divmod(seed // len(WORKLOADS), len(RELEASES))
    newest = RELEASES[place] == KAFKA_4_3.name and turn % 2 == 1
    return NEWEST.name if newest else RELEASES[place]


def version_of(seed: int) -> int:
    """The transaction version of a seed's trace: among transactions, those that its profile has take turns."""
    newest = PROFILES[profile_of(seed)].transaction_version
    if workload_of(seed) != "transactions":
        return newest
    return newest - seed // (len(WORKLOADS) * len(RELEASES)) % (newest + 1)


def workload_of(seed: int) -> str:
    """The workload of a seed's trace."""
    return WORKLOADS[seed % len(WORKLOADS)]
