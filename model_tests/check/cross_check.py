"""Random samples for another judge, on the executors: steps for the solver itself, traces for the reference."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from model_tests.check import solver_verdicts
from model_tests.check.solver_sample import COLUMNS, disagreements
from model_tests.check.solver_verdicts import differing_verdicts
from model_tests.judging import trace_files
from model_tests.judging.check_report import JudgeSample
from model_tests.judging.judged_column import evaluate
from model_tests.judging.verdicts import append_results
from model_tests.simulate.simulate import is_seed, trace_of
from model_tests.traces.schema import BY_NAME, ndjson_line
from model_tests.traces.schema_types import arrow_schema
from spec.engines.reading_z3 import INTEGERS
from spec.readings.formulas import Sheet
from spec.readings.reading_spark import literal
from spec.versions import PROFILES
from spec.vocabulary import ABSENT

SOLVER: Final = "z3"
REFERENCE: Final = "reference"

REPORTED: Final = 20
"""Steps or traces that differ, at most, in the report."""

_DIFFERENCE: Final = T.StructType(
    [
        T.StructField("trace", T.LongType()),
        T.StructField("step", T.LongType()),
        T.StructField("reported", T.StringType()),
    ]
)
_ARROW: Final = pa.schema([("trace", pa.int64()), ("step", pa.int64()), ("reported", pa.string())])


def to_the_solver(steps: DataFrame, count: int, seed: int = 0) -> JudgeSample:
    """Whether on so many random appends the solver decides as Python does, and its verdict is that of the columns.

    Args:
        steps: every step that was read.
        count: number wanted; fewer if there are no more.
        seed: of the choice.
    """
    order = F.xxhash64("trace", "step", literal(seed))
    appends = steps.where(trace_files.is_judgeable()).where("origin >= 0")
    chosen = appends.orderBy(order, "trace", "step").limit(count)
    return _sample(SOLVER, count, _spread(with_verdicts(chosen)).mapInArrow(_solved, _DIFFERENCE))


def with_verdicts(appends: DataFrame) -> DataFrame:
    """Appends with the verdict that the columns give on each."""
    results = append_results(Sheet(), PROFILES)
    kept = tuple(dict.fromkeys(("trace", "step", *COLUMNS, *solver_verdicts.COLUMNS)))
    return evaluate(appends, kept, {name: results[name] for name in solver_verdicts.VERDICT})


def to_the_reference(steps: DataFrame, count: int, seed: int = 0) -> JudgeSample:
    """Whether so many random traces come again, byte by byte, from the seeds that they are numbered by.

    Args:
        steps: every step that was read.
        count: number wanted; fewer if there are no more.
        seed: of the choice.
    """
    fit = steps.where(trace_files.is_judgeable()).select(*BY_NAME)
    traces = fit.select("trace").distinct().orderBy(F.xxhash64("trace", literal(seed)), "trace").limit(count)
    chosen = fit.join(F.broadcast(traces), "trace").select(*BY_NAME)
    return _sample(REFERENCE, count, chosen.groupBy("trace").applyInArrow(_made_again, _DIFFERENCE))


def _sample(name: str, asked: int, found: DataFrame) -> JudgeSample:
    rows = found.orderBy("trace", "step").collect()
    differing = [row for row in rows if row["reported"]]
    reported = tuple(f"trace {row['trace']}, step {row['step']}: {row['reported']}" for row in differing[:REPORTED])
    return JudgeSample(name, asked, len(rows), len(differing), reported)


def _spread(chosen: DataFrame) -> DataFrame:
    """On every core, although a limit leaves one partition."""
    return chosen.repartition(chosen.sparkSession.sparkContext.defaultParallelism)


def _solved(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = batch.to_pylist()
        wrong = {(row["trace"], row["step"]) for row in disagreements(rows, INTEGERS)}
        reported = dict.fromkeys(wrong, "the solver decides otherwise than Python")
        reported |= {(row["trace"], row["step"]): f"by the columns {said}" for row, said in differing_verdicts(rows)}
        yield _batch([(row["trace"], row["step"], reported.get((row["trace"], row["step"]), "")) for row in rows])


def _made_again(table: pa.Table) -> pa.Table:
    rows = table.sort_by("step").select(arrow_schema().names).to_pylist()
    seed = rows[0]["trace"]
    step, reported = difference(rows, trace_of(seed, len(rows)) if is_seed(seed) else [])
    return pa.Table.from_batches([_batch([(seed, step, reported)])])


def difference(rows: list[dict[str, Any]], again: list[Any]) -> tuple[int, str]:
    """The first step in which a trace is not what the reference makes, and in which columns; none if it is."""
    for row, made in zip(rows, again, strict=False):
        if ndjson_line(row) != ndjson_line(made):
            other = [name for name in BY_NAME if row[name] != made[name]]
            said = ", ".join(f"{name} is {row[name]!r}, the reference has {made[name]!r}" for name in other[:5])
            return int(row["step"]), said
    if len(rows) != len(again):
        return min(len(rows), len(again)), f"{len(rows)} steps, the reference makes {len(again)}"
    return ABSENT, ""


def _batch(rows: list[tuple[int, int, str]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, t) for c, t in zip(columns, _ARROW.types, strict=True)], schema=_ARROW
    )
