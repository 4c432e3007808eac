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
RAW_EVERY: Final = 2
"""One trace in so many asks anything of a partition; the others are idempotent producers over a network."""

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


def run(traces: int, seed: int, out: Path, steps: int = STEPS, master: str = LOCAL) -> SimulationReport:
    """Make traces from the seeds `seed`, `seed + 1`, ... and write them as Parquet; what lies there is replaced."""
    started = perf_counter()
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out} is a file: the traces need a directory of their own")
    spark = session(master)
    simulated(spark, traces, seed, steps).write.mode("overwrite").parquet(str(out))
    written = spark.read.parquet(str(out)).count()
    return SimulationReport(traces, written, perf_counter() - started, str(out))


def simulated(spark: SparkSession, traces: int, seed: int, steps: int) -> DataFrame:
    """The steps of the traces of these seeds, in as many partitions as there are cores for."""
    slices = min(traces, spark.sparkContext.defaultParallelism * 2)
    seeds = spark.range(seed, seed + traces, numPartitions=slices)

    def of_seeds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _simulated(batches, steps)

    return seeds.mapInArrow(of_seeds, spark_schema())


def trace_of(seed: int, steps: int = STEPS) -> list[Row]:
    """The trace of a seed, with the workload and the profile that the seed chooses."""
    return list(simulate(seed, PROFILES[profile_of(seed)], steps, workload=workload_of(seed)))


def profile_of(seed: int) -> str:
    """The profile of a seed's trace: all take turns."""
    return list(PROFILES)[seed // RAW_EVERY % len(PROFILES)]


def workload_of(seed: int) -> str:
    """The workload of a seed's trace."""
    return "raw" if seed % RAW_EVERY == 0 else "producers"


def _simulated(batches: Iterable[pa.RecordBatch], steps: int) -> Iterator[pa.RecordBatch]:
    seeds = [seed for batch in batches for seed in batch.column("id").to_pylist()]
    for start in range(0, len(seeds), _BATCH):
        rows = [row for seed in seeds[start : start + _BATCH] for row in trace_of(seed, steps)]
        yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema())
