"""Random samples for another judge, on the executors: steps for the solver itself, traces for the reference."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from model_tests.check import solver_verdicts
from model_tests.check.sample_judges import REFERENCE, SOLVER, JudgedPlace, made_again, sample_of, solved
from model_tests.check.solver_sample import COLUMNS
from model_tests.judging import trace_files
from model_tests.judging.check_report import JudgeSample
from model_tests.judging.judged_column import evaluate
from model_tests.judging.verdicts import append_results
from model_tests.traces.schema import BY_NAME
from model_tests.traces.schema_types import arrow_schema
from spec.readings.formulas import Sheet
from spec.readings.reading_spark import literal
from spec.versions import PROFILES

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


def _sample(name: str, requested: int, found: DataFrame) -> JudgeSample:
    return sample_of(name, requested, [tuple(row) for row in found.orderBy("trace", "step").collect()])


def _spread(chosen: DataFrame) -> DataFrame:
    """On every core, although a limit leaves one partition."""
    return chosen.repartition(chosen.sparkSession.sparkContext.defaultParallelism)


def _solved(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (_batch(solved(batch.to_pylist())) for batch in batches)


def _made_again(table: pa.Table) -> pa.Table:
    rows = table.sort_by("step").select(arrow_schema().names).to_pylist()
    return pa.Table.from_batches([_batch([made_again(rows)])])


def _batch(rows: Sequence[JudgedPlace]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, t) for c, t in zip(columns, _ARROW.types, strict=True)], schema=_ARROW
    )
