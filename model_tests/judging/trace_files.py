"""Traces as they lie on disk: which files hold them, what of them can be judged, and why the rest cannot."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as F
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession, Window
from pyspark.sql import types as T

from model_tests.common.reports import BadInput
from model_tests.judging import coordinator_verdicts, links, verdicts
from model_tests.judging.coordinator_verdicts import of_coordinator
from model_tests.traces.files_at import NDJSON, PARQUET, damaged_among, is_elsewhere, trace_files
from model_tests.traces.quarantine import Quarantined
from model_tests.traces.schema import BY_NAME, STEP_BITS, Row
from model_tests.traces.schema_types import spark_schema
from reference.recording.trace import SCHEMA_VERSION, ColumnType
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.readings.formulas import Sheet
from spec.versions import PROFILES
from spec.vocabulary import Api

MAY_BE_UNSAID: Final = frozenset(("delivered",))
"""Columns that may be left out of a step with another meaning than that they do not apply."""

REASON: Final = "reason"
FILE: Final = "_file"
"""The column with the file that a step stands in."""

UNFIT: Final = "unfit"
DUPLICATE: Final = "the step stands there more than once"
"""Why a step is set aside: by itself, or for what its trace has besides."""

LATE: Final = "the step follows one that is later by the world's clock (world_ms); judged where it stands"

CUT: Final = "steps of the trace are missing: its client events are not judged"

_CORRUPT: Final = "_corrupt_record"
NEEDED: Final = tuple(dict.fromkeys(("trace", "step", "schema", "api", *verdicts.NEEDED, *links.NEEDED)))
"""Columns without which no step can be judged."""
_NEEDED_OF_COORDINATORS: Final = tuple(name for name in coordinator_verdicts.NEEDED if name not in NEEDED)
_UNTOLD: Final = "?"
"""In place of a text that a step does not say."""
INTEGERS: Final = tuple(name for name, column in BY_NAME.items() if column.kind is ColumnType.INTEGER)
"""Columns of integers."""
WIDEST: Final = 2**62
"""Beyond this an integer could overflow where a decision adds to it; no offset of a log is that large."""
TOO_WIDE: Final = "an integer beyond 2^62, which no log has"
_LAST_TRACE, _LAST_STEP = 2 ** (62 - STEP_BITS) - 1, 2**STEP_BITS - 1

Of: TypeAlias = Callable[[str], Term]
"""The value of a column of a step, by its name."""


def _is_not_numbered(of: Of) -> Term:
    trace, step = of("trace"), of("step")
    return any_of(trace < 0, trace > _LAST_TRACE, step < 0, step > _LAST_STEP)


def _is_append_of_nobody(of: Of) -> Term:
    return all_of(of("origin") < 0, any_of(of("appended"), of("api") == Api.PRODUCE))


UNJUDGEABLE: Final[Mapping[str, Callable[[Of], Term]]] = MappingProxyType(
    {
        f"a newer schema than {SCHEMA_VERSION}, which this version reads": lambda of: of("schema") > SCHEMA_VERSION,
        "no version of the schema, which count from 1": lambda of: of("schema") < 1,
        f"not numbered as steps are: trace from 0 to {_LAST_TRACE}, step from 0 to {_LAST_STEP}": _is_not_numbered,
        "an append without the origin of its request (0 for a client)": _is_append_of_nobody,
    }
)
"""Why a step that lacks nothing is not judged all the same: on columns of a table, and on the values of one row."""


@dataclass(frozen=True, slots=True)
class PathContents:
    """What was found at a path.

    Attributes:
        steps: every step.
        placed: the same with the file of each, which takes longer to read.
        files: those that hold no step.
    """

    steps: DataFrame
    placed: DataFrame
    files: tuple[Quarantined, ...]


def read(spark: SparkSession, path: str, *, thoroughly: bool = False) -> PathContents:
    """Every step of the trace files at a path.

    Args:
        spark: the session.
        path: a file or a directory, or a URL.
        thoroughly: every page of every file is looked at beforehand, not only a file's own metadata.

    Raises:
        BadInput: there is no trace file, or none that can be read.
    """
    if is_elsewhere(path):
        return _found([_remote(spark, path)], ())
    files = trace_files(Path(path.removeprefix("file://")))
    damaged = tuple(damaged_among(files, thoroughly=thoroughly))
    whole = [file for file in files if str(file) not in {bad.where for bad in damaged}]
    if not whole:
        raise BadInput(f"{path}: no trace file can be read ({damaged[0].where}: {damaged[0].reason})")
    return _found(_local(spark, whole), damaged)


def unfit(steps: DataFrame) -> Iterator[Quarantined]:
    """For each reason why a step cannot be judged: their number, their file, and the first.

    Args:
        steps: every step that was read, with its file.
    """
    reasons = steps.where(~is_judgeable()).withColumn(REASON, F.coalesce(*_reasons(steps.columns)))
    yield from _set_aside(reasons.groupBy(REASON))


def duplicates(steps: DataFrame) -> Iterator[Quarantined]:
    """Steps of one number in one trace: none of them is judged, since it is not known which is true."""
    twice = F.count("*").over(Window.partitionBy("trace", "step")) > 1
    found = steps.where("trace is not null and step is not null").withColumn("twice", twice).where("twice")
    yield from _set_aside(found.groupBy(F.lit(DUPLICATE).alias(REASON)))


def late(steps: DataFrame) -> Iterator[Quarantined]:
    """Steps that came before the step before them: the trace is not in the order in which it came about.

    Args:
        steps: every step that was read, with its file.
    """
    before = F.lag("world_ms").over(Window.partitionBy("trace").orderBy("step"))
    reported = (
        steps.where(is_judgeable()).withColumn("late", before > F.col("world_ms")).where("late and world_ms >= 0")
    )
    yield from _set_aside(reported.groupBy(F.lit(LATE).alias(REASON)))


def cut(steps: DataFrame) -> Iterator[Quarantined]:
    """Traces of which steps are missing: what they have is judged, but for what only a whole trace shows.

    Args:
        steps: every step that was read, with its file.
    """
    numbers = steps.groupBy("trace").agg(
        F.count_distinct("step").alias("steps"),
        F.max("step").alias("last"),
        F.min(is_judgeable()).alias("fit"),
        F.min(FILE).alias(FILE),
    )
    missing = numbers.where("fit and last + 1 != steps").agg(
        F.count("*").alias("traces"), F.min(F.struct("*")).alias("first")
    )
    row = missing.first()
    if row is not None and row["traces"]:
        yield Quarantined(CUT, row["traces"], f"first: trace {row['first']['trace']}, {row['first'][FILE]}")


def _set_aside(by_reason: GroupedData) -> Iterator[Quarantined]:
    first = F.min(F.struct("trace", "step", FILE)).alias("first")
    for row in by_reason.agg(F.count("*").alias("count"), first).orderBy(REASON).collect():
        trace, step, file = row["first"]
        yield Quarantined(row[REASON], row["count"], f"first: trace {trace}, step {step}, {file}")


def table_of(
    steps: DataFrame,
    wanted: Column,
    columns: Iterable[str],
    *,
    all_fit: bool = False,
) -> pa.Table:
    """The steps that are wanted and can be judged, by trace and in order; of what a step leaves out, what is absent.

    Args:
        steps: every step that was read.
        wanted: which of them.
        columns: that are wanted, beside the numbers of trace and step.
        all_fit: whether it is known that each can be judged, so that no other column need be read.
    """
    chosen = steps.where(wanted if all_fit else wanted & is_judgeable())
    table = chosen.select(*dict.fromkeys(("trace", "step", *columns))).toArrow()
    said = {name: table[name] for name in table.column_names}
    filled = (name for name in said if name not in MAY_BE_UNSAID)
    said |= {name: pc.fill_null(said[name], BY_NAME[name].absent) for name in filled}
    return pa.table(said).sort_by([("trace", "ascending"), ("step", "ascending")])


def rows_in(table: pa.Table) -> list[Row]:
    """The steps of a table, each by the names of its columns."""
    names = table.column_names
    values = (table[name].to_pylist() for name in names)
    return [dict(zip(names, of_row, strict=True)) for of_row in zip(*values, strict=True)]


def is_judgeable() -> Column:
    """Whether a step can be judged: never null."""
    return F.coalesce(_is_fit(F.col, lambda name: F.col(name).isNotNull(), _is_too_wide()), F.lit(False))


def is_fit(sheet: Sheet) -> Term:
    """The same as a formula."""
    return _is_fit(sheet.column, sheet.given, sheet.beyond(WIDEST, INTEGERS))


def _is_fit(of: Of, given: Of, too_wide: Term) -> Term:
    """A step lacks nothing, and its values can be judged."""
    known = any_of(*(of("profile") == name for name in PROFILES))
    lacks = all_of(_is_coordinators(of, given), any_of(*(negate(given(name)) for name in _NEEDED_OF_COORDINATORS)))
    judgeable = (negate(is_so(of)) for is_so in UNJUDGEABLE.values())
    return all_of(*map(given, NEEDED), known, negate(lacks), *judgeable, negate(too_wide))


def _is_coordinators(of: Of, given: Of) -> Term:
    """A step is a coordinator's, or would be if it named its id."""
    return of_coordinator(lambda name: choose(given(name), of(name), _UNTOLD))


def _reasons(columns: Iterable[str]) -> Iterator[Column]:
    if _CORRUPT in columns:
        yield F.when(F.col(_CORRUPT).isNotNull(), "not a JSON object with the columns of a step")
    for name in NEEDED:
        yield F.when(F.col(name).isNull(), f"{name} is null")
    of_coordinators = _is_coordinators(F.col, lambda name: F.col(name).isNotNull())
    for name in _NEEDED_OF_COORDINATORS:
        yield F.when(of_coordinators & F.col(name).isNull(), f"{name} is null")
    unknown = ~F.col("profile").isin(*PROFILES)
    yield F.when(unknown, F.concat(F.lit("unknown profile "), F.col("profile")))
    yield F.when(_is_too_wide(), TOO_WIDE)
    for reason, is_so in UNJUDGEABLE.items():
        yield F.when(is_so(F.col), reason)


def _is_too_wide() -> Column:
    return (F.greatest(*INTEGERS) > WIDEST) | (F.least(*INTEGERS) < -WIDEST)


_PATTERN: Final = re.compile(r"[{}\[\]*?\\]")
"""What Spark takes for a pattern in a path."""


def _as_named(file: Path) -> str:
    """The path of this one file, whatever brackets and stars its name has."""
    return _PATTERN.sub(lambda found: f"\\{found[0]}", str(file))


def _local(spark: SparkSession, files: list[Path]) -> list[DataFrame]:
    parquet = [_as_named(file) for file in files if file.name.endswith(PARQUET)]
    lines = [_as_named(file) for file in files if file.name.endswith(NDJSON)]
    tables = [_parquet(spark, *parquet)] if parquet else []
    if lines:
        schema = T.StructType([*spark_schema().fields, T.StructField(_CORRUPT, T.StringType())])
        tables.append(spark.read.schema(schema).option("columnNameOfCorruptRecord", _CORRUPT).json(lines))
    return tables


def _remote(spark: SparkSession, path: str) -> DataFrame:
    try:
        return _parquet(spark, path)
    except AnalysisException as error:
        raise BadInput(
            f"{path}: cannot be read ({error.getCondition()}); Spark needs the connector of its scheme"
        ) from error


def _parquet(spark: SparkSession, *paths: str) -> DataFrame:
    return spark.read.schema(spark_schema()).parquet(*paths)


def _found(tables: list[DataFrame], damaged: tuple[Quarantined, ...]) -> PathContents:
    placed = [table.withColumn(FILE, F.col("_metadata.file_path")) for table in tables]
    steps, with_files = (reduce(_together, of_kind) for of_kind in (tables, placed))
    return PathContents(steps, with_files, damaged)


def _together(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other, allowMissingColumns=True)
