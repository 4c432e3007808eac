"""The plan of the trace check: from steps as they were read to verdicts counted, with one shuffle."""

from collections.abc import Mapping
from functools import reduce
from typing import Final

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Window

from model_tests.traces import (
    chains,
    coordinator_verdicts,
    history_columns,
    passed_over,
    replication_verdicts,
    trace_files,
    verdicts,
)
from model_tests.traces.circumstances import Fault, fault_of
from model_tests.traces.formulas import Sheet
from model_tests.traces.history_links import SESSION
from model_tests.traces.java_source import Cases
from model_tests.traces.judged_column import evaluate
from model_tests.traces.reading_spark import literal
from model_tests.traces.schema import BY_NAME
from model_tests.traces.trace_files import DUPLICATE, LATE, STEP_BITS, UNFIT
from model_tests.traces.verdicts import KEPT
from spec.algebra import Term, all_of
from spec.versions import PROFILES

SHARES: Final = 1024
"""Shares of traces of which each tells the first of its violations of a kind."""

_VERDICT: Final = ("kind", "branch", "judged", "violated")
_NO_VERDICT: Final[Mapping[str, Term]] = {"kind": "", "branch": 0, "judged": 0, "violated": 0}
_ALSO: Final = tuple(f"also_{name}" for name in _VERDICT)
"""The verdict on a step of replication, beside what it is besides."""
_FIT: Final = "fit"
_IS_APPEND: Final = "is_append"
_IS_COORDINATORS: Final = "is_coordinators"
_ROWS: Final = "rows"
_OF_NOBODY: Final = "of_nobody"
_BESIDE: Final = ("fault", "anew", "world_ms", history_columns.TOLD)
"""What a step shows beside its verdict: a fault, that a reader begins anew, and what it tells."""
_OF_TRACE: Final = ("unfit", "unclean", "faults", "complete")


def counted(steps: DataFrame, apart: int) -> DataFrame:
    """How often each verdict came, by all that the report tells apart, and where first.

    Columns: `chain` (0: the step itself), `kind`, `profile`, `transaction_version`, `branch`, `judged` and `violated`
    (sets of rules), `apart` (the trace is numbered `apart` or more), `unfit` (why the step was set aside), `unclean`
    (an unclean election came before), `faults` (of the whole trace; 0 but on chains of histories), `complete` (no step
    of the trace is missing), `count`, `traces` (those that begin here), `trace` and `step` of the first where a rule is
    violated. Violations on chains of histories are counted for each trace.
    """
    judged = linked(laid_out(judged_alone(steps)))
    share = F.when(history_columns.is_history(), F.col("trace")).otherwise(F.pmod(F.col("trace"), F.lit(SHARES)))
    share = F.when(F.col("violated") != 0, share).otherwise(F.lit(-1))
    judged = judged.withColumn("apart", F.col("trace") >= apart)
    keys = (chains.CHAIN, *_VERDICT, "profile", "transaction_version", "apart", *_OF_TRACE)
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
    given = _present(steps.withColumn(_FIT, trace_files.is_judgeable()))
    kinds = {_IS_APPEND: verdicts.APPEND, _IS_COORDINATORS: coordinator_verdicts.IS_COORDINATORS}
    given = given.withColumns({name: F.expr(f"{_FIT} and {fact}") for name, fact in kinds.items()})
    return evaluate(_with_rows(given), (*KEPT, _FIT, *_BESIDE, _ROWS), _verdict(Sheet()), _also(Sheet()))


def _present(steps: DataFrame) -> DataFrame:
    """The steps with what is absent in place of nulls, so that no code is made for them."""
    absent = {name: F.coalesce(name, literal(column.absent)) for name, column in BY_NAME.items()}
    return steps.withColumns({name: value for name, value in absent.items() if name not in history_columns.NULLABLE})


def _verdict(sheet: Sheet) -> Cases:
    """The verdict on a step, if it is an append or a transaction coordinator's."""
    api, of_coordinators = sheet.column("api"), sheet.column(_IS_COORDINATORS)
    by_api = coordinator_verdicts.all_coordinator_results(sheet, PROFILES)
    cases = [(all_of(of_coordinators, api == name), results) for name, results in by_api.items()]
    otherwise = {**_NO_VERDICT, "kind": sheet.column(_OF_NOBODY)}
    return Cases(((sheet.column(_IS_APPEND), verdicts.append_results(sheet, PROFILES)), *cases), otherwise)


def _also(sheet: Sheet) -> Cases:
    """The verdict on a step as one of replication."""
    by_api = replication_verdicts.all_replication_results(sheet, PROFILES)
    api, fit = sheet.column("api"), sheet.column(_FIT)
    cases = ((all_of(fit, api == name), _named_also(results)) for name, results in by_api.items())
    return Cases(tuple(cases), _named_also(_NO_VERDICT))


def _named_also(results: Mapping[str, Term]) -> dict[str, Term]:
    return {f"also_{name}": results[name] for name in _VERDICT}


def _of_nobody() -> Column:
    """What the verdict on a step is called that is on no chain, should no decision be about it either; else empty."""
    on_none = reduce(Column.__and__, (F.get(_ROWS, F.lit(at)).isNull() for at in range(1, history_columns.MOST_ROWS)))
    return F.when(on_none, F.concat(F.lit(passed_over.KIND), F.col("api"))).otherwise("")


def _with_rows(steps: DataFrame) -> DataFrame:
    """The steps with what each shows beside its verdict, and the rows of the chains that it is on."""
    given = steps.select("*", fault_of(F.col).alias("fault"), history_columns.telling())
    told, anew, rows = history_columns.told(), history_columns.anew(), history_columns.rows_of_step(F.col(_FIT))
    given = given.withColumns({history_columns.TOLD: told, "anew": anew, _ROWS: rows})
    return given.withColumn(_OF_NOBODY, _of_nobody())


def laid_out(judged: DataFrame) -> DataFrame:
    """Steps together by trace, in order; and of each what only its trace tells: once the one shuffle is done."""
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
    sound = F.min(F.col(_FIT) & ~F.col("twice")).over(trace)
    unfit = F.when(~F.col(_FIT), F.lit(UNFIT)).when(F.col("twice"), F.lit(DUPLICATE))
    unfit = unfit.when(F.col("late"), F.lit(LATE)).otherwise(F.lit(""))
    faults = F.bit_or("fault").over(trace)
    return by_trace.withColumns({"complete": complete, "sound": sound, "unfit": unfit, "faults": faults})


def linked(steps: DataFrame) -> DataFrame:
    """The verdicts of steps themselves, and those of every chain that they are on."""
    kept = (*KEPT, *_VERDICT, *_ALSO, "begins", "unclean", "unfit", "complete", chains.CHAIN, "faults")
    rows = _on_chains(steps).withColumn(chains.HAS_PREVIOUS, F.col("previous").isNotNull())
    sheet = Sheet()
    cases = tuple(
        (fact, _named_link(of)) for fact, of in (*chains.link_results(sheet), *history_columns.history_results(sheet))
    )
    elements = dict((*chains.elements(), *history_columns.elements()))
    judged = evaluate(rows, kept, Cases(cases, _named_link(_NO_VERDICT)), elements=elements)
    itself = F.col(chains.CHAIN) == chains.ITSELF
    also = F.col(chains.CHAIN) == chains.OF_REPLICATION
    counts = F.col("unfit").isin("", LATE)
    return judged.select(
        chains.CHAIN,
        *("trace", "step", "profile", "transaction_version", "unclean", "unfit", "complete"),
        F.when(history_columns.is_history(), F.col("faults")).otherwise(F.lit(0)).alias("faults"),
        (itself & F.col("begins")).alias("begins"),
        F.when(itself, F.col("branch")).when(also, F.col("also_branch")).otherwise(F.lit(-1)).alias("branch"),
        *(_either(itself, also, counts, name) for name in ("kind", "judged", "violated")),
    )


def _named_link(results: Mapping[str, Term]) -> dict[str, Term]:
    return {f"link_{name}": results[name] for name in _VERDICT}


def _on_chains(steps: DataFrame) -> DataFrame:
    """Each step once for itself and once for each chain that it is on, there with what came before it."""
    rows = steps.select("*", F.explode(_ROWS).alias("row")).where("row is not null")
    rows = rows.select(*(name for name in rows.columns if name not in (_ROWS, "row")), "row.*")
    session = F.when(history_columns.is_in_session(), F.col(SESSION)).otherwise(F.lit(0))
    rows = rows.withColumn("session", session)
    on_chain = Window.partitionBy(*chains.KEY, "session").orderBy(chains.AT, "step")
    earlier = on_chain.rowsBetween(Window.unboundedPreceding, -1)
    whole = F.col("sound") & F.col("complete")
    return rows.withColumns(
        {
            "previous": F.when(F.col("sound"), F.lag("left").over(on_chain)),
            history_columns.PREVIOUS: F.when(whole, F.lag(history_columns.TOLD).over(on_chain)),
            history_columns.LATEST: F.when(whole, F.last(chains.MARK, ignorenulls=True).over(earlier)),
        }
    )


def _either(itself: Column, also: Column, counts: Column, name: str) -> Column:
    nothing = F.lit("") if name == "kind" else F.lit(0).cast("bigint")
    of_row = F.when(itself, F.col(name)).when(also, F.col(f"also_{name}")).otherwise(F.col(f"link_{name}"))
    return F.when(counts, of_row).otherwise(nothing).alias(name)
