"""Traces on Spark: what the files at a path hold, what of it can be judged, and why the rest cannot."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession, Window
from pyspark.sql import types as T

import spec.readings.reading_spark  # noqa: F401  # columns are operands of the formulas from here on
from model_tests.common.reports import BadInput
from model_tests.judging.step_fitness import (
    INTEGERS,
    NEEDED,
    NEEDED_OF_COORDINATORS,
    TOO_WIDE,
    UNJUDGEABLE,
    WIDEST,
    fits,
    is_coordinators,
)
from model_tests.judging.step_table import CORRUPT, CUT, DUPLICATE, FILE, LATE, NO_OBJECT, REASON, PathContents, filled
from model_tests.traces.files_at import NDJSON, PARQUET, damaged_among, is_elsewhere, trace_files
from model_tests.traces.schema import BY_NAME, Quarantined
from reference.recording.trace import COLUMNS, ColumnType
from spec.algebra import Term
from spec.versions import PROFILES


@dataclass(frozen=True, slots=True)
class SparkSteps:
    """Every step of some files, as Spark has them.

    Attributes:
        steps: every step.
        placed: the same with the file of each, which takes longer to read.
    """

    steps: DataFrame
    placed: DataFrame

    def filled(self, name: str) -> Column:
        """A column, with what is absent where a step leaves it out."""
        return F.coalesce(F.col(name), F.lit(BY_NAME[name].absent))

    def among(self, name: str, values: Iterable[Any]) -> Column:
        """Whether that column has one of these values."""
        return self.filled(name).isin(sorted(values))

    def table(self, wanted: Term, columns: Iterable[str], *, all_fit: bool = False) -> pa.Table:
        """The steps that are wanted and can be judged, by trace and in order."""
        chosen = self.steps.where(wanted if all_fit else wanted & is_judgeable())
        return filled(chosen.select(*dict.fromkeys(("trace", "step", *columns))).toArrow())

    def unfit(self) -> Iterator[Quarantined]:
        """For each reason why a step cannot be judged: their number, their file, and the first."""
        reasons = self.placed.where(~is_judgeable())
        reasons = reasons.withColumn(REASON, F.coalesce(*_reasons(self.placed.columns)))
        yield from _set_aside(reasons.groupBy(REASON))

    def duplicates(self) -> Iterator[Quarantined]:
        """Steps of one number in one trace: none of them is judged, since it is not known which is true."""
        twice = F.count("*").over(Window.partitionBy("trace", "step")) > 1
        found = self.placed.where("trace is not null and step is not null").withColumn("twice", twice).where("twice")
        yield from _set_aside(found.groupBy(F.lit(DUPLICATE).alias(REASON)))

    def late(self) -> Iterator[Quarantined]:
        """Steps that came before the step before them: the trace is not in the order in which it came about."""
        before = F.lag("world_ms").over(Window.partitionBy("trace").orderBy("step"))
        late = self.placed.where(is_judgeable()).withColumn("late", before > F.col("world_ms"))
        yield from _set_aside(late.where("late and world_ms >= 0").groupBy(F.lit(LATE).alias(REASON)))

    def cut(self) -> Iterator[Quarantined]:
        """Traces of which steps are missing: what they have is judged, but for what only a whole trace shows."""
        numbers = self.placed.groupBy("trace").agg(
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


def read(spark: SparkSession, path: str, *, thoroughly: bool = False) -> PathContents[SparkSteps]:
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


def _set_aside(by_reason: GroupedData) -> Iterator[Quarantined]:
    first = F.min(F.struct("trace", "step", FILE)).alias("first")
    for row in by_reason.agg(F.count("*").alias("count"), first).orderBy(REASON).collect():
        trace, step, file = row["first"]
        yield Quarantined(row[REASON], row["count"], f"first: trace {trace}, step {step}, {file}")


def is_judgeable() -> Column:
    """Whether a step can be judged: never null."""
    return F.coalesce(fits(F.col, lambda name: F.col(name).isNotNull(), _is_too_wide()), F.lit(False))


def _reasons(columns: Iterable[str]) -> Iterator[Column]:
    if CORRUPT in columns:
        yield F.when(F.col(CORRUPT).isNotNull(), NO_OBJECT)
    for name in NEEDED:
        yield F.when(F.col(name).isNull(), f"{name} is null")
    of_coordinators = is_coordinators(F.col, lambda name: F.col(name).isNotNull())
    for name in NEEDED_OF_COORDINATORS:
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
        schema = T.StructType([*spark_schema().fields, T.StructField(CORRUPT, T.StringType())])
        tables.append(spark.read.schema(schema).option("columnNameOfCorruptRecord", CORRUPT).json(lines))
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


def _found(tables: list[DataFrame], damaged: tuple[Quarantined, ...]) -> PathContents[SparkSteps]:
    file = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "file:///")  # as URLs of files are written
    placed = [table.withColumn(FILE, file) for table in tables]
    steps, with_files = (reduce(_together, of_kind) for of_kind in (tables, placed))
    return PathContents(SparkSteps(steps, with_files), damaged)


def _together(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other, allowMissingColumns=True)


def spark_schema() -> T.StructType:
    """The schema of Spark; a null is read, and then set aside."""
    kinds = {ColumnType.INTEGER: T.LongType(), ColumnType.BOOLEAN: T.BooleanType(), ColumnType.TEXT: T.StringType()}
    return T.StructType([T.StructField(column.name, kinds[column.kind], nullable=True) for column in COLUMNS])
