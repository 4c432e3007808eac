"""Traces as they lie on disk: which files hold them, what of them can be judged, and why the rest cannot."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as T

from model_tests.reports import BadInput
from model_tests.traces import coordinator_verdicts, links, verdicts
from model_tests.traces.schema import BY_NAME, spark_schema
from reference.trace import SCHEMA_VERSION, Kind
from spec.versions import PROFILES

NDJSON: Final = (".ndjson", ".jsonl", ".json")
PARQUET: Final = (".parquet",)

REASON: Final = "reason"
_CORRUPT: Final = "_corrupt_record"
_NEEDED: Final = tuple(dict.fromkeys(("trace", "step", "schema", "api", *verdicts.NEEDED, *links.NEEDED)))
_NEEDED_OF_COORDINATORS: Final = tuple(name for name in coordinator_verdicts.NEEDED if name not in _NEEDED)
_WIDEST: Final = 2**62
"""Beyond this an integer could overflow where a decision adds to it; no offset of a log is that large."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Input set aside: a file, or steps of which the first is named."""

    reason: str
    count: int
    where: str


@dataclass(frozen=True, slots=True)
class Found:
    """The steps that were found, and the files that hold none."""

    steps: DataFrame
    files: tuple[Quarantined, ...]


def read(spark: SparkSession, path: str) -> Found:
    """Every step of the trace files at a path.

    Raises:
        BadInput: there is no trace file, or none that can be read.
    """
    if "://" in path and not path.startswith("file://"):
        return Found(_remote(spark, path), ())
    files = _files(Path(path.removeprefix("file://")))
    damaged = tuple(_damaged(files))
    whole = [file for file in files if str(file) not in {bad.where for bad in damaged}]
    if not whole:
        raise BadInput(f"{path}: no trace file can be read ({damaged[0].where}: {damaged[0].reason})")
    return Found(_local(spark, whole), damaged)


def with_reason(steps: DataFrame) -> DataFrame:
    """The steps with the reason why one cannot be judged; null where it can."""
    return steps.withColumn(REASON, F.coalesce(*_reasons()))


def judgeable(steps: DataFrame) -> DataFrame:
    """The steps without those that are set aside."""
    return steps.where(is_judgeable())


def is_judgeable() -> Column:
    """Whether a step can be judged: never null."""
    present = reduce(and_, (F.col(name).isNotNull() for name in _NEEDED))
    known = (F.col("schema") <= SCHEMA_VERSION) & F.col("profile").isin(*PROFILES)
    return present & ~_lacks_of_coordinators() & known & ~_is_too_wide()


def of_whole_traces(steps: DataFrame) -> DataFrame:
    """The steps of the traces from which none is missing."""
    counted = steps.groupBy("trace").agg(F.count("*").alias("count"), F.max("step").alias("last"))
    return steps.join(counted.where("count = last + 1").select("trace"), "trace", "left_semi")


def _reasons() -> Iterator[Column]:
    yield F.when(F.col(_CORRUPT).isNotNull(), "not a JSON object with the columns of a step")
    for name in _NEEDED:
        yield F.when(F.col(name).isNull(), f"{name} is null")
    for name in _NEEDED_OF_COORDINATORS:
        yield F.when(F.expr(coordinator_verdicts.IS_COORDINATORS) & F.col(name).isNull(), f"{name} is null")
    newer = F.col("schema") > SCHEMA_VERSION
    yield F.when(newer, f"a newer schema than {SCHEMA_VERSION}, which this version reads")
    unknown = ~F.col("profile").isin(*PROFILES)
    yield F.when(unknown, F.concat(F.lit("unknown profile "), F.col("profile")))
    yield F.when(_is_too_wide(), "an integer beyond 2^62, which no log has")


def _lacks_of_coordinators() -> Column:
    absent = reduce(or_, (F.col(name).isNull() for name in _NEEDED_OF_COORDINATORS))
    return F.expr(coordinator_verdicts.IS_COORDINATORS) & absent


def _is_too_wide() -> Column:
    integers = [F.col(name) for name in (*_NEEDED, *_NEEDED_OF_COORDINATORS) if BY_NAME[name].kind is Kind.INTEGER]
    return (F.greatest(*integers) > _WIDEST) | (F.least(*integers) < -_WIDEST)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise BadInput(f"{path}: there is no such file or directory; `eos simulate --out DIR` makes traces")
    found = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _is_data(file, path))
    traces = [file for file in found if file.suffix in (*NDJSON, *PARQUET)]
    if not traces:
        raise BadInput(f"{path}: no traces here, which are files that end in {', '.join((*PARQUET, *NDJSON))}")
    return traces


def _is_data(file: Path, root: Path) -> bool:
    return file.is_file() and not any(part.startswith(("_", ".")) for part in file.relative_to(root).parts)


def _damaged(files: list[Path]) -> Iterator[Quarantined]:
    for file in files:
        try:
            if file.stat().st_size == 0:
                yield Quarantined("the file is empty", 1, str(file))
            elif file.suffix in PARQUET:
                wrong = _of_another_type(pq.read_schema(file))
                if wrong:
                    yield Quarantined(f"columns of another type than a trace's: {', '.join(wrong)}", 1, str(file))
        except (OSError, pa.ArrowException) as error:
            yield Quarantined(f"cannot be read: {str(error).partition('.')[0]}", 1, str(file))


def _of_another_type(schema: pa.Schema) -> list[str]:
    is_kind = {Kind.INTEGER: pa.types.is_integer, Kind.BOOLEAN: pa.types.is_boolean, Kind.TEXT: pa.types.is_string}
    return [
        field.name for field in schema if field.name in BY_NAME and not is_kind[BY_NAME[field.name].kind](field.type)
    ]


def _local(spark: SparkSession, files: list[Path]) -> DataFrame:
    parquet = [str(file) for file in files if file.suffix in PARQUET]
    lines = [str(file) for file in files if file.suffix in NDJSON]
    tables = [_parquet(spark, *parquet)] if parquet else []
    if lines:
        schema = T.StructType([*spark_schema().fields, T.StructField(_CORRUPT, T.StringType())])
        tables.append(spark.read.schema(schema).option("columnNameOfCorruptRecord", _CORRUPT).json(lines))
    return tables[0] if len(tables) == 1 else tables[0].union(tables[1])


def _remote(spark: SparkSession, path: str) -> DataFrame:
    try:
        return _parquet(spark, path)
    except AnalysisException as error:
        raise BadInput(
            f"{path}: cannot be read ({error.getCondition()}); Spark needs the connector of its scheme"
        ) from error


def _parquet(spark: SparkSession, *paths: str) -> DataFrame:
    return spark.read.schema(spark_schema()).parquet(*paths).withColumn(_CORRUPT, F.lit(None).cast("string"))
