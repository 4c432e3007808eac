"""The trace check on Spark: the plan, random samples for another judge, and the executor.

The plan leads from the steps that were read to counted verdicts, with one shuffle. The samples are judged on the
executors: steps by the solver itself, traces by the reference.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import types as T

from model_tests.check import sample_judges, step_formulas
from model_tests.check.sample_judges import COLUMNS, REFERENCE, SOLVER, JudgedPlace, made_again, sample_of, solved
from model_tests.check.step_formulas import (
    ELEMENTS,
    FIT,
    OF_NO_CLIENT,
    OF_TRACE,
    REPORTED,
    ROWS,
    SHARES,
    VERDICT,
    cases_of_link,
    cases_of_step,
)
from model_tests.common.reports import BadInput
from model_tests.judging import chains, trace_files, unjudged_steps
from model_tests.judging.check_report import Counted, JudgeSample
from model_tests.judging.history_links import SESSION
from model_tests.judging.judged_column import evaluate
from model_tests.judging.step_assumptions import Fault
from model_tests.judging.step_table import DUPLICATE, LATE, UNFIT
from model_tests.judging.verdicts import KEPT, append_results
from model_tests.spark.session import session
from model_tests.traces.schema import BY_NAME, STEP_BITS
from model_tests.traces.schema_types import arrow_schema
from spec.readings.formulas import Sheet
from spec.readings.reading_spark import literal
from spec.versions import PROFILES

_ITS_VERDICT: Final = "its_verdict"


def counted(steps: DataFrame, apart: int) -> DataFrame:
    """How often each verdict came, by all that the report distinguishes, and where first.

    Columns: `chain` (0: the step itself), `kind`, `profile`, `transaction_version`, `branch`, `judged` and `violated`
    (sets of rules), `apart` (the trace is numbered `apart` or more), `unfit` (why the step was set aside), `unclean`
    (an unclean election came before), `faults` (of the whole trace; 0 but on chains of histories), `complete` (no step
    of the trace is missing), `count`, `traces` (those that begin here), `trace` and `step` of the first where a rule is
    violated. Violations of rules about client events are counted for each key of a chain.
    """
    judged = linked(laid_out(judged_alone(steps)))
    share = F.when(_is_history(), F.col(chains.OF_KEY)).otherwise(F.pmod(F.col("trace"), F.lit(SHARES)))
    share = F.when(F.col("violated") != 0, share).otherwise(F.lit(-1))
    judged = judged.withColumn("apart", F.col("trace") >= apart)
    keys = (chains.CHAIN, *VERDICT, "profile", "transaction_version", "apart", *OF_TRACE)
    place = F.when(F.col("violated") != 0, F.shiftleft("trace", STEP_BITS).bitwiseOR(F.col("step")))
    totals = judged.groupBy(*keys, share.alias("share")).agg(
        F.count("*").alias("count"),
        F.sum(F.col("begins").cast("bigint")).alias("traces"),
        F.min(place).alias("first"),  # one integer: of a struct, Spark would sort all rows to find the least
    )
    trace, step = F.shiftright("first", STEP_BITS), F.col("first").bitwiseAND(F.lit(2**STEP_BITS - 1))
    return totals.select(*keys, "count", "traces", trace.alias("trace"), step.alias("step"))


def judged_alone(steps: DataFrame) -> DataFrame:
    """Each step with its verdict, where it has one, and the rows of the chains that it is on."""
    return evaluate(steps, (), *cases_of_step(Sheet()))


def laid_out(judged: DataFrame) -> DataFrame:
    """Steps together by trace, in order; and of each what only its trace shows: once the one shuffle is done."""
    trace, in_order = Window.partitionBy("trace"), Window.partitionBy("trace").orderBy("step")
    twice = (F.lag("step", 1, -1).over(in_order) == F.col("step")) | (
        F.lead("step", 1, -1).over(in_order) == F.col("step")
    )
    late = F.coalesce(F.lag("world_ms").over(in_order) > F.col("world_ms"), F.lit(False)) & (F.col("world_ms") >= 0)
    begins = F.row_number().over(in_order) == 1
    unclean = F.max(F.col("fault") == Fault.UNCLEAN.value).over(in_order)
    resets = F.sum("anew").over(in_order)
    ordered = {"twice": twice, "late": late, "begins": begins, "unclean": unclean, SESSION: resets}
    by_trace = judged.repartition("trace").withColumns(ordered)
    complete = (F.max("step").over(trace) + 1 == F.count("*").over(trace)) & (F.min("step").over(trace) == 0)
    sound = F.min(F.col(FIT) & ~F.col("twice")).over(trace)
    unfit = F.when(~F.col(FIT), F.lit(UNFIT)).when(F.col("twice"), F.lit(DUPLICATE))
    unfit = unfit.when(F.col("late"), F.lit(LATE)).otherwise(F.lit(""))
    faults = F.bit_or("fault").over(trace)
    return by_trace.withColumns({"complete": complete, "sound": sound, "unfit": unfit, "faults": faults})


def linked(steps: DataFrame) -> DataFrame:
    """The verdicts of steps themselves, and those of every chain that they are on."""
    kept = (*KEPT, _ITS_VERDICT, "begins", "unclean", "unfit", "complete", chains.CHAIN, chains.OF_KEY, "faults")
    rows = _on_chains(steps).withColumn(chains.HAS_PREVIOUS, F.col(chains.PREVIOUS).isNotNull())
    judged = evaluate(rows, kept, cases_of_link(Sheet()), elements=ELEMENTS)
    itself = F.col(chains.CHAIN) == chains.ITSELF
    counts = F.col("unfit").isin("", LATE)
    return judged.select(
        *(chains.CHAIN, chains.OF_KEY),
        *("trace", "step", "profile", "transaction_version", "unclean", "unfit", "complete"),
        F.when(_is_history(), F.col("faults")).otherwise(F.lit(0)).alias("faults"),
        (itself & F.col("begins")).alias("begins"),
        F.coalesce(f"{_ITS_VERDICT}.branch", F.lit(-1)).alias("branch"),
        *(_either(counts, name) for name in ("kind", "judged", "violated")),
    )


def _on_chains(steps: DataFrame) -> DataFrame:
    """Each step once for itself and once for each chain that it is on, there with what came before it.

    Client events are on no chain where steps of the trace are missing or set aside.
    """
    passed_by = (F.col("kind") == "") & F.col(OF_NO_CLIENT).isNotNull()
    kind = F.when(passed_by, F.concat(F.lit(unjudged_steps.KIND), F.col(OF_NO_CLIENT))).otherwise(F.col("kind"))
    chain = F.col(f"row.{chains.CHAIN}")
    is_history = chain >= step_formulas.FIRST
    exploded = steps.withColumn("kind", kind).select("*", F.explode(ROWS).alias("row"))
    exploded = exploded.where(~is_history | (F.col("sound") & F.col("complete")))
    rows = exploded.select(
        *(*KEPT, "begins", "unclean", "unfit", "complete", "sound", "faults"),
        *(
            F.col(f"row.{name}").alias(name)
            for name in (chains.OF_KEY, chains.CHAIN, chains.LEFT, chains.AT, chains.MARK)
        ),
        F.when(is_history, F.col(REPORTED)).otherwise(F.col(f"row.{chains.FOUND}")).alias(chains.FOUND),
        F.when(chain.isin(*step_formulas.IN_SESSION), F.col(SESSION)).otherwise(F.lit(0)).alias("session"),
        F.when(chain == chains.ITSELF, _verdict_of("{}"))
        .when(chain == chains.OF_REPLICATION, _verdict_of("also_{}"))
        .alias(_ITS_VERDICT),
    )
    on_chain = Window.partitionBy(*chains.KEY, "session").orderBy(chains.AT, "step")
    earlier = on_chain.rowsBetween(Window.unboundedPreceding, -1)
    leaves = F.when(_is_history(), F.col(chains.FOUND)).otherwise(F.col(chains.LEFT))
    return rows.withColumns(
        {
            chains.PREVIOUS: F.when(F.col("sound"), F.lag(leaves).over(on_chain)),
            chains.LATEST: F.last(chains.MARK, ignorenulls=True).over(earlier),
        }
    )


def _is_history() -> Column:
    """Whether a row is on a chain of client events."""
    return F.col(chains.CHAIN) >= step_formulas.FIRST


def _verdict_of(named: str) -> Column:
    return F.struct(*(F.col(named.format(name)).alias(name) for name in VERDICT))


def _either(counts: Column, name: str) -> Column:
    """A column of the step's own verdict, or else of the one on its chain; 0 or empty if the step does not count."""
    nothing = F.lit("") if name == "kind" else F.lit(0).cast("bigint")
    return F.when(counts, F.coalesce(f"{_ITS_VERDICT}.{name}", f"link_{name}")).otherwise(nothing).alias(name)


_DIFFERENCE: Final = T.StructType(
    [
        T.StructField("trace", T.LongType()),
        T.StructField("step", T.LongType()),
        T.StructField("reported", T.StringType()),
    ]
)
_ARROW: Final = pa.schema([("trace", pa.int64()), ("step", pa.int64()), ("reported", pa.string())])


# --- samples for another judge ----------------------------------------------------------------------------------------


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
    kept = tuple(dict.fromkeys(("trace", "step", *COLUMNS, *sample_judges.VERDICT_COLUMNS)))
    return evaluate(appends, kept, {name: results[name] for name in sample_judges.VERDICT})


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
    """Spread the chosen rows over all cores: a limit leaves them in one partition."""
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


# --- the check --------------------------------------------------------------------------------------------------------


_UNREADABLE: Final = "FAILED_READ_FILE"
"""How Spark's error conditions begin if the content of a file does not have the declared form."""

Judged = TypeVar("Judged")


class OnSpark:
    """Spark, on the executors of a master."""

    def __init__(self, path: str, master: str) -> None:
        """The traces at a path or URL."""
        self._path, self._spark = path, session(master)
        self._read(thoroughly=False)

    def _read(self, *, thoroughly: bool) -> None:
        found = trace_files.read(self._spark, self._path, thoroughly=thoroughly)
        self.steps, self.files = found.steps, found.files

    def judging(self, judge: Callable[[], Judged]) -> Judged:
        """Judge, and once more where a file turns out to be damaged, which is then set aside as a whole."""
        try:
            return judge()
        except PySparkException as error:
            if not str(error.getCondition()).startswith(_UNREADABLE):
                raise
            self._read(thoroughly=True)
            if not self.files:
                raise BadInput(f"{self._path}: Spark cannot read it: {str(error).splitlines()[0]}") from error
            return judge()

    def counted(self, apart: int) -> list[Counted]:
        """How often each verdict came, and where first."""
        return [row.asDict() for row in counted(self.steps.steps, apart).collect()]

    def samples(self, z3_sample: int, reference_sample: int) -> Iterator[JudgeSample]:
        """Random samples for another judge, on the executors."""
        if z3_sample:
            yield to_the_solver(self.steps.steps, z3_sample)
        if reference_sample:
            yield to_the_reference(self.steps.steps, reference_sample)
