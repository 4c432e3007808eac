"""The time of column verdicts, compared with a warm bare scan of the same Parquet, in one Spark session."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from model_tests.check.samples import random_steps, undecided
from model_tests.judging.judged_column import evaluate
from model_tests.spark.session import LOCAL, session
from spec.algebra import Term
from spec.protocol.append import append
from spec.protocol.records import flatten
from spec.readings.formulas import Sheet
from spec.versions import NEWEST

ROUNDS: Final = 5
"""Times that scan and verdicts take turns, after one round that warms up; the fastest of each counts."""

_FILE_ROWS: Final = 500_000
"""Steps of one file."""


@dataclass(frozen=True, slots=True)
class ColumnTiming:
    """Seconds of the fastest round of each."""

    rows: int
    scan_seconds: float
    verdict_seconds: float

    @property
    def ratio(self) -> float:
        """Verdicts as a multiple of the scan."""
        return self.verdict_seconds / self.scan_seconds


def column_verdicts(rows: int, directory: Path, master: str = LOCAL) -> ColumnTiming:
    """Time the branch and every next-state column of random steps against reading the same columns."""
    _write(rows, directory)
    steps = session(master).read.parquet(str(directory))
    decided = evaluate(steps, (), _results())
    rounds = [(_seconds(steps), _seconds(decided)) for _ in range(ROUNDS + 1)][1:]
    return ColumnTiming(rows, min(scan for scan, _ in rounds), min(verdict for _, verdict in rounds))


def _results() -> dict[str, Term]:
    """The branch, the reply and the entry after, as formulas."""
    column: Callable[[str], Term] = Sheet().column
    entry, request, verification = undecided(column)
    decision = append(entry, request, NEWEST, verification)
    after = {f"after_{name}": value for name, value in flatten(decision.entry)}
    return {"branch": decision.branch, **dict(flatten(decision.reply)), **after}


def _write(rows: int, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, rows, _FILE_ROWS)):
        table = random_steps(min(_FILE_ROWS, rows - start), seed=number)
        del table["profile"]
        pq.write_table(pa.table(table), directory / f"{number:04}.parquet")


def _seconds(table: DataFrame) -> float:
    started = perf_counter()
    table.write.format("noop").mode("overwrite").save()
    return perf_counter() - started
