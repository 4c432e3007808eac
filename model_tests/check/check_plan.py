"""The plan of the trace check: from steps as they were read to verdicts counted, with one shuffle."""

from collections.abc import Mapping
from typing import Final

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Window

from model_tests.check import history_columns
from model_tests.judging import (
    chains,
    coordinator_verdicts,
    replication_verdicts,
    trace_files,
    unjudged_steps,
    verdicts,
)
from model_tests.judging.history_links import SESSION, begins_anew
from model_tests.judging.judged_column import evaluate
from model_tests.judging.step_assumptions import Fault, fault_of
from model_tests.judging.trace_files import DUPLICATE, LATE, UNFIT
from model_tests.judging.verdicts import KEPT
from model_tests.traces.schema import STEP_BITS
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.readings.formulas import Sheet
from spec.readings.java_source import RowCases
from spec.readings.row_values import GuardedValue, Those, Value
from spec.versions import PROFILES

SHARES: Final = 1024
"""Shares of traces, each of which gives the first of its violations of a kind."""

_VERDICT: Final = ("kind", "branch", "judged", "violated")
_NO_VERDICT: Final[Mapping[str, Term]] = {"kind": "", "branch": 0, "judged": 0, "violated": 0}
_ITS_VERDICT: Final = "its_verdict"
_FIT: Final = "fit"
_ROWS: Final = "rows"
_REPORTED: Final = "reported"
_OF_NOBODY: Final = "of_nobody"
"""The api of a step that is on no chain."""
_OF_TRACE: Final = ("unfit", "unclean", "faults", "complete")


def counted(steps: DataFrame, apart: int) -> DataFrame:
    """How often each verdict came, by all that the report distinguishes, and where first.

    Columns: `chain` (0: the step itself), `kind`, `profile`, `transaction_version`, `branch`, `judged` and `violated`
    (sets of rules), `apart` (the trace is numbered `apart` or more), `unfit` (why the step was set aside), `unclean`
    (an unclean election came before), `faults` (of the whole trace; 0 but on chains of histories), `complete` (no step
    of the trace is missing), `count`, `traces` (those that begin here), `trace` and `step` of the first where a rule is
    violated. Violations of rules about client events are counted for each key of a chain.
    """
    judged = linked(laid_out(judged_alone(steps)))
    share = F.when(history_columns.is_history(), F.col(chains.OF_KEY)).otherwise(F.pmod(F.col("trace"), F.lit(SHARES)))
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
    sheet = Sheet()
    return evaluate(steps, (), _shown(sheet), _verdict(sheet), _also(sheet))


def _shown(sheet: Sheet) -> RowCases:
    """What a step shows beside its verdict: whether it is fit, its client event, and the rows of its chains."""
    fit = trace_files.is_fit(sheet)
    by_clients, by_readers, of_nodes = history_columns.rows_of_step(sheet)
    alone = Those(((True, chains.itself(sheet)),))
    return RowCases(
        (
            (negate(fit), _with_rows(sheet, alone, fit=False)),
            *((is_so, _with_rows(sheet, rows, fit=True)) for is_so, rows in (by_clients, by_readers)),
        ),
        _with_rows(sheet, of_nodes, fit=True),
    )


def _with_rows(sheet: Sheet, rows: Those, *, fit: bool) -> dict[str, Value]:
    of_nobody = negate(any_of(*(is_on for is_on, _ in rows.members[1:]))) if fit else False
    return {
        **{name: sheet.column(name) for name in KEPT},
        _FIT: fit,
        "fault": fault_of(sheet.column),
        "anew": choose(begins_anew(sheet.column), 1, 0),
        "world_ms": sheet.column("world_ms"),
        _OF_NOBODY: GuardedValue(of_nobody, sheet.column("api")),
        _REPORTED: history_columns.reported(sheet),
        _ROWS: rows,
    }


def _verdict(sheet: Sheet) -> RowCases:
    """The verdict on a step, if it is an append or a transaction coordinator's."""
    api, fit = sheet.column("api"), trace_files.is_fit(sheet)
    of_append = all_of(sheet.column("origin") >= 0, fit), verdicts.append_results(sheet, PROFILES)
    of_coordinators = all_of(coordinator_verdicts.of_coordinator(sheet.column), fit)
    by_api = coordinator_verdicts.all_coordinator_results(sheet, PROFILES)
    cases = [(all_of(api == name, of_coordinators), results) for name, results in by_api.items()]
    return RowCases((of_append, *cases), _NO_VERDICT)


def _also(sheet: Sheet) -> RowCases:
    """The verdict on a step as one of replication."""
    by_api = replication_verdicts.all_replication_results(sheet, PROFILES)
    api, fit = sheet.column("api"), trace_files.is_fit(sheet)
    cases = ((all_of(api == name, fit), _named_also(results)) for name, results in by_api.items())
    return RowCases(tuple(cases), _named_also(_NO_VERDICT))


def _named_also(results: Mapping[str, Term]) -> dict[str, Term]:
    return {f"also_{name}": results[name] for name in _VERDICT}


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
    sound = F.min(F.col(_FIT) & ~F.col("twice")).over(trace)
    unfit = F.when(~F.col(_FIT), F.lit(UNFIT)).when(F.col("twice"), F.lit(DUPLICATE))
    unfit = unfit.when(F.col("late"), F.lit(LATE)).otherwise(F.lit(""))
    faults = F.bit_or("fault").over(trace)
    return by_trace.withColumns({"complete": complete, "sound": sound, "unfit": unfit, "faults": faults})


def linked(steps: DataFrame) -> DataFrame:
    """The verdicts of steps themselves, and those of every chain that they are on."""
    kept = (*KEPT, _ITS_VERDICT, "begins", "unclean", "unfit", "complete", chains.CHAIN, chains.OF_KEY, "faults")
    rows = _on_chains(steps).withColumn(chains.HAS_PREVIOUS, F.col(chains.PREVIOUS).isNotNull())
    sheet = Sheet()
    cases = tuple(
        (fact, _named_link(of)) for fact, of in (*chains.link_results(sheet), *history_columns.history_results(sheet))
    )
    elements = dict((*chains.elements(), *history_columns.elements()))
    judged = evaluate(rows, kept, RowCases(cases, _named_link(_NO_VERDICT)), elements=elements)
    itself = F.col(chains.CHAIN) == chains.ITSELF
    counts = F.col("unfit").isin("", LATE)
    return judged.select(
        *(chains.CHAIN, chains.OF_KEY),
        *("trace", "step", "profile", "transaction_version", "unclean", "unfit", "complete"),
        F.when(history_columns.is_history(), F.col("faults")).otherwise(F.lit(0)).alias("faults"),
        (itself & F.col("begins")).alias("begins"),
        F.coalesce(f"{_ITS_VERDICT}.branch", F.lit(-1)).alias("branch"),
        *(_either(counts, name) for name in ("kind", "judged", "violated")),
    )


def _named_link(results: Mapping[str, Term]) -> dict[str, Term]:
    return {f"link_{name}": results[name] for name in _VERDICT}


def _on_chains(steps: DataFrame) -> DataFrame:
    """Each step once for itself and once for each chain that it is on, there with what came before it.

    Client events are on no chain where steps of the trace are missing or set aside.
    """
    passed_by = (F.col("kind") == "") & F.col(_OF_NOBODY).isNotNull()
    kind = F.when(passed_by, F.concat(F.lit(unjudged_steps.KIND), F.col(_OF_NOBODY))).otherwise(F.col("kind"))
    chain = F.col(f"row.{chains.CHAIN}")
    is_history = chain >= history_columns.FIRST
    exploded = steps.withColumn("kind", kind).select("*", F.explode(_ROWS).alias("row"))
    exploded = exploded.where(~is_history | (F.col("sound") & F.col("complete")))
    rows = exploded.select(
        *(*KEPT, "begins", "unclean", "unfit", "complete", "sound", "faults"),
        *(
            F.col(f"row.{name}").alias(name)
            for name in (chains.OF_KEY, chains.CHAIN, chains.LEFT, chains.AT, chains.MARK)
        ),
        F.when(is_history, F.col(_REPORTED)).otherwise(F.col(f"row.{chains.FOUND}")).alias(chains.FOUND),
        F.when(history_columns.is_in_session(chain), F.col(SESSION)).otherwise(F.lit(0)).alias("session"),
        F.when(chain == chains.ITSELF, _verdict_of("{}"))
        .when(chain == chains.OF_REPLICATION, _verdict_of("also_{}"))
        .alias(_ITS_VERDICT),
    )
    on_chain = Window.partitionBy(*chains.KEY, "session").orderBy(chains.AT, "step")
    earlier = on_chain.rowsBetween(Window.unboundedPreceding, -1)
    leaves = F.when(history_columns.is_history(), F.col(chains.FOUND)).otherwise(F.col(chains.LEFT))
    return rows.withColumns(
        {
            chains.PREVIOUS: F.when(F.col("sound"), F.lag(leaves).over(on_chain)),
            history_columns.LATEST: F.last(chains.MARK, ignorenulls=True).over(earlier),
        }
    )


def _verdict_of(named: str) -> Column:
    return F.struct(*(F.col(named.format(name)).alias(name) for name in _VERDICT))


def _either(counts: Column, name: str) -> Column:
    """Of the verdict on the step itself, or else of the one on its chain; nothing where the step does not count."""
    nothing = F.lit("") if name == "kind" else F.lit(0).cast("bigint")
    return F.when(counts, F.coalesce(f"{_ITS_VERDICT}.{name}", f"link_{name}")).otherwise(nothing).alias(name)
