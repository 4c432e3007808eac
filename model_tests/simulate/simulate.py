"""Randomized traces of the reference, made on Spark's workers: seeds in, Parquet out."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

from rich.console import Console

from model_tests.common.derived import digest_of
from model_tests.common.reports import HOLDS, NOTHING_JUDGED, BadInput
from model_tests.simulate.trace_directory import Seeds, TraceDirectory
from model_tests.traces.schema import Row
from reference.recording.trace import SCHEMA_VERSION
from spec.versions import PROFILES

LOCAL: Final = "local[*]"
"""Spark of this machine, with all its cores."""

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


_FIRST_TURN: Final = (
    *("0.11", "1.0", "2.0", "2.4", "2.5", "2.7", "3.6", "3.9.0", "3.9.0-nover"),
    *("4.0-SNAPSHOT", "4.0", "4.1", "4.2", "4.3", "split-out-of-order"),
)
TURNS: Final = (*_FIRST_TURN, *("4.4" if name == "4.3" else name for name in _FIRST_TURN))
"""The profiles that take turns. A further one here would give every seed another trace, so there never is one."""

BLOCK: Final = 10_000_000_000
"""The seeds below take turns. Each later release has as many of its own after them, one block after the other."""

LATER: Final = tuple(name for name in PROFILES if name not in TURNS)
"""The releases that have a block, oldest first."""


def run(
    traces: int, seed: int, out: Path, steps: int = STEPS, master: str = LOCAL, workload: str | None = None
) -> SimulationReport:
    """Make traces from the seeds of `dealt` and write them as Parquet; those that lie there are kept.

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
    wanted = _by_workload(dealt(traces, seed, workload))
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
        from model_tests.simulate import simulation_job  # with pyspark, which a trace made here needs not
        from model_tests.spark.session import session

        spark, trace = session(master), partial(trace_of, steps=steps)
        simulation_job.make(spark, pieces, directory.path, trace, Console(stderr=True))
    if any(directory.missing(wanted, size)):
        raise BadInput(f"{out} lacks traces that executors have written: it must be a directory that all of them share")
    made = sum(len(piece.seeds) for piece in pieces)
    return SimulationReport(traces, directory.steps(), perf_counter() - started, str(out), made)


def reference() -> str:
    """What the source that makes traces comes down to: with another, the same seed may give another trace."""
    return digest_of("reference", "spec.versions", "spec.vocabulary")


def _by_workload(dealt: Seeds) -> dict[str, Seeds]:
    """The seeds of each workload that they choose."""
    turns, found = len(WORKLOADS), dict[str, list[range]]()
    for stretch in dealt.stretches:
        apart = stretch.step % turns
        for first in stretch[: turns if apart else 1]:
            found.setdefault(workload_of(first), []).append(range(first, stretch.stop, turns) if apart else stretch)
    return {workload: Seeds(tuple(stretches)) for workload, stretches in found.items()}


def dealt(traces: int, seed: int, workload: str | None = None) -> Seeds:
    """The seeds of a run of so many traces: `seed`, `seed + 1`, ..., and of each later release its share.

    Args:
        traces: how many.
        seed: the first; a seed in the block of a later release is followed by seeds of that block alone.
        workload: only seeds that choose it.

    Raises:
        BadInput: there is no such workload or seed.
    """
    later = LATER if seed < BLOCK else ()
    share = traces // len(PROFILES)
    firsts = [seed, *(seed + BLOCK * block for block in range(1, len(later) + 1))]
    counts = [traces - share * len(later), *(share for _ in later)]
    stretches = (seeds_of(count, first, workload) for count, first in zip(counts, firsts, strict=True) if count)
    found = Seeds(tuple(stretches))
    profile_of(found.stretches[-1][-1])
    return found


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
    from reference.simulate.simulation import simulate  # which a trace from a file needs not

    profile = PROFILES[profile_of(seed)].under(version_of(seed))
    return list(simulate(seed, profile, steps, workload=workload_of(seed)))


def is_seed(number: int) -> bool:
    """Whether a release has the number among its seeds."""
    return 0 <= number < _seeds_end()


def _seeds_end() -> int:
    return (len(LATER) + 1) * BLOCK


def profile_of(seed: int) -> str:
    """The profile of a seed's trace.

    Raises:
        BadInput: the seed is in the block of a release that there is not.
    """
    block, place = divmod(seed, BLOCK)
    if not block:
        return TURNS[place // len(WORKLOADS) % len(TURNS)]
    if not is_seed(seed):
        raise BadInput(f"there is no seed {seed}: seeds are 0 to {_seeds_end() - 1}")
    return LATER[block - 1]


def version_of(seed: int) -> int:
    """The transaction version of a seed's trace: among transactions, those that its profile has take turns."""
    newest = PROFILES[profile_of(seed)].transaction_version
    if workload_of(seed) != "transactions":
        return newest
    turn = seed % BLOCK // (len(WORKLOADS) * len(_FIRST_TURN))
    return newest - turn % (newest + 1)


def workload_of(seed: int) -> str:
    """The workload of a seed's trace."""
    return WORKLOADS[seed % len(WORKLOADS)]
