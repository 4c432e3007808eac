"""Traces as they lie on disk: which files hold them, what of them can be judged, and why the rest cannot."""

import gzip
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession, Window
from pyspark.sql import types as T

from model_tests.reports import BadInput
from model_tests.traces import coordinator_verdicts, links, verdicts
from model_tests.traces.schema import BY_NAME, spark_schema
from reference.trace import SCHEMA_VERSION, Kind
from spec.versions import PROFILES

_LINES: Final = (".ndjson", ".jsonl", ".json")
NDJSON: Final = (*_LINES, *(f"{ending}.gz" for ending in _LINES))
PARQUET: Final = (".parquet",)

REASON: Final = "reason"
FILE: Final = "_file"
"""The column that says in which file a step stands."""

UNFIT: Final = "unfit"
DUPLICATE: Final = "the step stands there more than once"
"""Why a step is set aside: by itself, or for what its trace has besides."""

LATE: Final = "the step is told after one that the world's clock (world_ms) has later; judged where it stands"

CUT: Final = "steps of the trace are missing: what clients tell in it is not judged"

_CORRUPT: Final = "_corrupt_record"
NEEDED: Final = tuple(dict.fromkeys(("trace", "step", "schema", "api", *verdicts.NEEDED, *links.NEEDED)))
"""Columns without which no step can be judged."""
_NEEDED_OF_COORDINATORS: Final = tuple(name for name in coordinator_verdicts.NEEDED if name not in NEEDED)
_WIDEST: Final = 2**62
"""Beyond this an integer could overflow where a decision adds to it; no offset of a log is that large."""
_BLOCK: Final = 1 << 20
"""Bytes of a compressed file that are read at once."""
STEP_BITS: Final = 22
"""Bits of a step's number in its trace: it and the trace's number fit into one integer."""
_NUMBERED: Final = f"trace between 0 and {2 ** (62 - STEP_BITS) - 1} and step between 0 and {2**STEP_BITS - 1}"


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
    files = trace_files(Path(path.removeprefix("file://")))
    damaged = tuple(_damaged(files))
    whole = [file for file in files if str(file) not in {bad.where for bad in damaged}]
    if not whole:
        raise BadInput(f"{path}: no trace file can be read ({damaged[0].where}: {damaged[0].reason})")
    return Found(_local(spark, whole), damaged)


def unfit(steps: DataFrame) -> Iterator[Quarantined]:
    """For each reason why a step cannot be judged: how many, in which file, and the first."""
    reasons = steps.where(~is_judgeable()).withColumn(REASON, F.coalesce(*_reasons()))
    yield from _set_aside(reasons.groupBy(REASON))


def duplicates(steps: DataFrame) -> Iterator[Quarantined]:
    """Steps of one number in one trace: none of them is judged, since nobody can say which is true."""
    twice = F.count("*").over(Window.partitionBy("trace", "step")) > 1
    yield from _set_aside(steps.withColumn("twice", twice).where("twice").groupBy(F.lit(DUPLICATE).alias(REASON)))


def late(steps: DataFrame) -> Iterator[Quarantined]:
    """Steps that came before the step before them: the trace is not told in the order in which it came about.

    Args:
        steps: every step that was read, with its file.
    """
    before = F.lag("world_ms").over(Window.partitionBy("trace").orderBy("step"))
    told = steps.where(is_judgeable()).withColumn("late", before > F.col("world_ms")).where("late and world_ms >= 0")
    yield from _set_aside(told.groupBy(F.lit(LATE).alias(REASON)))


def cut(steps: DataFrame) -> Iterator[Quarantined]:
    """Traces of which steps are missing: what they have is judged, but for what only a whole trace tells.

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


def rows_of(
    steps: DataFrame, traces: Iterable[int], columns: Iterable[str] = tuple(BY_NAME)
) -> dict[int, list[dict[str, Any]]]:
    """The steps of some traces that can be judged, in order, with these columns; what a step leaves out is absent."""
    wanted, rows = tuple(dict.fromkeys(("trace", "step", *columns))), defaultdict[int, list[dict[str, Any]]](list)
    found = steps.where(F.col("trace").isin(sorted(traces))).where(is_judgeable()).select(*wanted)
    for row in found.collect():
        given = {name: BY_NAME[name].absent if row[name] is None else row[name] for name in wanted}
        rows[row["trace"]].append(given)
    return {trace: sorted(found, key=itemgetter("step")) for trace, found in rows.items()}


def is_judgeable() -> Column:
    """Whether a step can be judged: never null."""
    present = F.expr(" and ".join(f"{name} is not null" for name in NEEDED))
    known = (F.col("schema") <= SCHEMA_VERSION) & F.col("profile").isin(*PROFILES)
    return F.coalesce(present & ~_lacks_of_coordinators() & known & ~_is_too_wide() & F.expr(_NUMBERED), F.lit(False))


def _reasons() -> Iterator[Column]:
    yield F.when(F.col(_CORRUPT).isNotNull(), "not a JSON object with the columns of a step")
    for name in NEEDED:
        yield F.when(F.col(name).isNull(), f"{name} is null")
    for name in _NEEDED_OF_COORDINATORS:
        yield F.when(F.expr(coordinator_verdicts.IS_COORDINATORS) & F.col(name).isNull(), f"{name} is null")
    newer = F.col("schema") > SCHEMA_VERSION
    yield F.when(newer, f"a newer schema than {SCHEMA_VERSION}, which this version reads")
    unknown = ~F.col("profile").isin(*PROFILES)
    yield F.when(unknown, F.concat(F.lit("unknown profile "), F.col("profile")))
    yield F.when(_is_too_wide(), "an integer beyond 2^62, which no log has")
    yield F.when(~F.expr(_NUMBERED), f"not numbered as steps are: {_NUMBERED}")


def _lacks_of_coordinators() -> Column:
    absent = " or ".join(f"{name} is null" for name in _NEEDED_OF_COORDINATORS)
    return F.expr(f"({coordinator_verdicts.IS_COORDINATORS}) and ({absent})")


def _is_too_wide() -> Column:
    integers = [name for name in (*NEEDED, *_NEEDED_OF_COORDINATORS) if BY_NAME[name].kind is Kind.INTEGER]
    all_of_them = F.array(*integers)
    return (F.array_max(all_of_them) > _WIDEST) | (F.array_min(all_of_them) < -_WIDEST)


def trace_files(path: Path) -> list[Path]:
    """The trace files at a path, in order.

    Raises:
        BadInput: there is none.
    """
    if not path.exists():
        raise BadInput(f"{path}: there is no such file or directory; `eos simulate --out DIR` makes traces")
    found = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _is_data(file, path))
    traces = [file for file in found if file.name.endswith((*NDJSON, *PARQUET))]
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
            elif file.suffix == ".gz":
                _read_through(file)
        except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
            yield Quarantined(f"cannot be read: {str(error).partition('.')[0]}", 1, str(file))


def _read_through(file: Path) -> None:
    """Spark would give up all files for one that is not whole."""
    with gzip.open(file) as packed:
        while packed.read(_BLOCK):
            pass


def _of_another_type(schema: pa.Schema) -> list[str]:
    is_kind = {Kind.INTEGER: pa.types.is_integer, Kind.BOOLEAN: pa.types.is_boolean, Kind.TEXT: pa.types.is_string}
    return [
        field.name for field in schema if field.name in BY_NAME and not is_kind[BY_NAME[field.name].kind](field.type)
    ]


def _local(spark: SparkSession, files: list[Path]) -> DataFrame:
    parquet = [str(file) for file in files if file.suffix in PARQUET]
    lines = [str(file) for file in files if file.name.endswith(NDJSON)]
    tables = [_parquet(spark, *parquet)] if parquet else []
    if lines:
        schema = T.StructType([*spark_schema().fields, T.StructField(_CORRUPT, T.StringType())])
        found = spark.read.schema(schema).option("columnNameOfCorruptRecord", _CORRUPT).json(lines)
        tables.append(found.withColumn(FILE, F.col("_metadata.file_path")))
    return tables[0] if len(tables) == 1 else tables[0].union(tables[1])


def _remote(spark: SparkSession, path: str) -> DataFrame:
    try:
        return _parquet(spark, path)
    except AnalysisException as error:
        raise BadInput(
            f"{path}: cannot be read ({error.getCondition()}); Spark needs the connector of its scheme"
        ) from error


def _parquet(spark: SparkSession, *paths: str) -> DataFrame:
    found = spark.read.schema(spark_schema()).parquet(*paths)
    beside = {_CORRUPT: F.lit(None).cast("string"), FILE: F.col("_metadata.file_path")}
    return found.withColumns(beside)
