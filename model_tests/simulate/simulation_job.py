"""The Spark job that simulates: each task makes the traces of some seeds and writes them as one Parquet file.

The rows never leave the worker: from Python to Parquet by Arrow, without the JVM.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import Accumulator
from pyspark.sql import SparkSession
from rich.console import Console

from model_tests.simulate.trace_directory import Piece, whole
from model_tests.spark.progress import AFTER, followed
from model_tests.spark.worker import begin_task
from model_tests.traces.schema import Row
from model_tests.traces.schema_types import arrow_schema, record_batch


@contextmanager
def shown(traces: int, done: Callable[[], tuple[int, int]], console: Console, after: float = AFTER) -> Iterator[None]:
    """Show progress while the body runs.

    Args:
        traces: number of traces to make.
        done: traces and steps made so far.
        console: where; nothing is shown where it is no terminal.
        after: seconds of which nothing is shown.
    """
    started = perf_counter()

    def look() -> tuple[int, str]:
        made, steps = done()
        return made, progress_line(made, traces, steps, perf_counter() - started)

    with followed(traces, look, "simulating", console, after):
        yield


def progress_line(made: int, traces: int, steps: int, seconds: float) -> str:
    """How far it is, in words.

    Args:
        made: traces so far.
        traces: number of traces wanted.
        steps: in those that are made.
        seconds: since it began.
    """
    return f"{made:,} of {traces:,} traces, {steps:,} steps, {steps / max(seconds, 1e-9):,.0f} steps/s"


COMPRESSION: Final = "zstd"

_BATCH: Final = 20
"""Traces that are rows of Python at one time."""

_TOGETHER: Final = 80
"""Traces in one row group: what a search for some traces passes over as a whole."""

TraceOf: TypeAlias = Callable[[int], Sequence[Row]]
"""The trace of a seed."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Traces and steps that tasks have made, as far as the driver has heard."""

    traces: Accumulator[int]
    steps: Accumulator[int]


def make(spark: SparkSession, pieces: Sequence[Piece], directory: Path, trace_of: TraceOf, console: Console) -> None:
    """Make the pieces, each in a task of its own, and show how far it is.

    Args:
        spark: the session.
        pieces: of the work, a task each.
        directory: of the logs.
        trace_of: makes the rows of one trace.
        console: that shows how far it is.
    """
    context = spark.sparkContext
    counters = Counters(context.accumulator(0), context.accumulator(0))
    task = partial(_make, directory=directory, trace_of=trace_of, counters=counters)
    wanted = sum(len(piece.seeds) for piece in pieces)
    with shown(wanted, lambda: (counters.traces.value, counters.steps.value), console):
        context.parallelize(pieces, len(pieces)).foreach(task)


def _make(piece: Piece, directory: Path, trace_of: TraceOf, counters: Counters) -> None:
    begin_task()
    steps = write_piece(piece, directory, trace_of)
    counters.traces.add(len(piece.seeds))
    counters.steps.add(steps)


def write_piece(piece: Piece, directory: Path, trace_of: TraceOf) -> int:
    """Write the traces of a piece, and return the number of their steps; another attempt writes the same again."""
    file, steps = directory / piece.name, 0
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole(file) as unfinished, pq.ParquetWriter(unfinished, arrow_schema(), compression=COMPRESSION) as writer:
        for start in range(0, len(piece.seeds), _TOGETHER):
            group = piece.seeds[start : start + _TOGETHER]
            table = pa.Table.from_batches(
                [_batch(group[at : at + _BATCH], trace_of) for at in range(0, len(group), _BATCH)]
            )
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            steps += table.num_rows
    return steps


def _batch(seeds: range, trace_of: TraceOf) -> pa.RecordBatch:
    return record_batch([row for seed in seeds for row in trace_of(seed)])
