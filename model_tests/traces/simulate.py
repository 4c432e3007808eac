"""Randomized traces of the reference, made on Spark's workers: seeds in, Parquet out."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from model_tests.reports import HOLDS, NOTHING_JUDGED, BadInput
from model_tests.traces.schema import Row, arrow_schema, spark_schema
from model_tests.traces.session import LOCAL, session
from reference.simulate import simulate
from spec.versions import PROFILES

STEPS: Final = 200
WORKLOADS: Final = ("raw", "producers", "transactions", "replicas")
"""The workloads, which take turns: anything at one partition, idempotent producers, transactional producers, and
brokers that replicate."""

_BATCH: Final = 20
"""Traces in one Arrow batch."""


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What was made."""

    traces: int
    steps: int
    seconds: float
    out: str

    @property
    def exit_code(self) -> int:
        """Whether there is something to judge."""
        return HOLDS if self.steps else NOTHING_JUDGED

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON values."""
        return asdict(self)

    def print(self, console: Console) -> None:
        """One line, and the command that judges what was made."""
        console.print(f"{self.traces} traces, {self.steps} steps, {self.seconds:.1f} s", highlight=False)
        console.print(f"eos check {self.out}", markup=False, highlight=False)


def run(
    traces: int, seed: int, out: Path, steps: int = STEPS, master: str = LOCAL, workload: str | None = None
) -> SimulationReport:
    """Make traces from the seeds `seed`, `seed + 1`, ... and write them as Parquet; what lies there is replaced.

    Args:
        traces: how many.
        seed: the first; of a given workload, the first that chooses it.
        out: directory for them.
        steps: length of each.
        master: of Spark.
        workload: only traces of this workload; all take turns without it.

    Raises:
        BadInput: there is no such workload, or a file where the traces are to go.
    """
    started = perf_counter()
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out} is a file: the traces need a directory of their own")
    seeds = seeds_of(traces, seed, workload)
    spark = session(master)
    simulated(spark, seeds, steps).write.mode("overwrite").parquet(str(out))
    written = spark.read.parquet(str(out)).count()
    return SimulationReport(traces, written, perf_counter() - started, str(out))


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


def simulated(spark: SparkSession, chosen: range, steps: int) -> DataFrame:
    """The steps of the traces of these seeds, in as many partitions as there are cores for."""
    slices = min(len(chosen), spark.sparkContext.defaultParallelism * 2)
    seeds = spark.range(chosen.start, chosen.stop, chosen.step, numPartitions=slices)

    def of_seeds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _simulated(batches, steps)

    return seeds.mapInArrow(of_seeds, spark_schema())


def trace_of(seed: int, steps: int = STEPS) -> list[Row]:
    """The trace of a seed, with the workload, the profile and the transaction version that the seed chooses."""
    profile = PROFILES[profile_of(seed)].under(version_of(seed))
    return list(simulate(seed, profile, steps, workload=workload_of(seed)))


def profile_of(seed: int) -> str:
    """The profile of a seed's trace: all take turns."""
    return list(PROFILES)[seed // len(WORKLOADS) % len(PROFILES)]


def version_of(seed: int) -> int:
    """The transaction version of a seed's trace: among transactions, those that its profile has take turns."""
    newest = PROFILES[profile_of(seed)].transaction_version
    if workload_of(seed) != "transactions":
        return newest
    return newest - seed // (len(WORKLOADS) * len(PROFILES)) % (newest + 1)


def workload_of(seed: int) -> str:
    """The workload of a seed's trace."""
    return WORKLOADS[seed % len(WORKLOADS)]


def _simulated(batches: Iterable[pa.RecordBatch], steps: int) -> Iterator[pa.RecordBatch]:
    seeds = [seed for batch in batches for seed in batch.column("id").to_pylist()]
    for start in range(0, len(seeds), _BATCH):
        rows = [row for seed in seeds[start : start + _BATCH] for row in trace_of(seed, steps)]
        yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema())
