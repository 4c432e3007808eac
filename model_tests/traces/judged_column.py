"""Formulas as a column of Spark: compiled by the Java compiler that Spark brings, called from the code it generates."""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZipFile

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as T

from model_tests.traces.formulas import columns_read
from model_tests.traces.java_source import (
    BOOLEAN,
    LONG,
    METHOD,
    PACKAGE,
    TEXT,
    Cases,
    Place,
    Source,
    result_kinds,
    source_of,
)
from spec.algebra import Term

_TYPES: Final = {LONG: T.LongType(), BOOLEAN: T.BooleanType(), TEXT: T.StringType()}
_KINDS: Final = {"bigint": LONG, "boolean": BOOLEAN, "string": TEXT}
_RESULTS: Final = "_results"


class Element(NamedTuple):
    """Where a value stands that is no column of its own: in a column of arrays of integers.

    Attributes:
        array: the column.
        at: the position.
        is_fact: whether 1 says yes and any other integer no.
        absent: what it is where there is no such element.
    """

    array: str
    at: int
    is_fact: bool
    absent: Term


_loaded: dict[tuple[str, str], Any] = {}
"""The compiled classes by the application of Spark that has them, and their name."""


def evaluate(
    table: DataFrame,
    kept: Iterable[str],
    *together: Cases | Mapping[str, Term],
    elements: Mapping[str, Element] | None = None,
) -> DataFrame:
    """The table's `kept` columns, and the value of each result as a column of its name.

    Args:
        table: integers, facts and text; a null is what the schema calls absent.
        kept: columns that are handed on.
        together: results that do not depend on one another.
        elements: columns of the formulas that are no column of the table, and in which of its arrays they stand.
    """
    all_cases = [cases if isinstance(cases, Cases) else Cases((), cases) for cases in together]
    read = sorted(columns_read(*(term for cases in all_cases for term in _terms(cases))))
    places, columns = _places(table, read, elements or {})
    kinds = {name: kind for cases in all_cases for name, kind in result_kinds(cases, places).items()}
    judge = _compiled(table.sparkSession, source_of(all_cases, places))
    judged = table.select(*kept, _call(table.sparkSession, judge, columns, kinds).alias(_RESULTS))
    return judged.select(*kept, *(F.col(_RESULTS)[name].alias(name) for name in kinds))


def _terms(cases: Cases) -> Iterator[Term]:
    yield from (term for fact, results in cases.cases for term in (fact, *results.values()))
    yield from cases.otherwise.values()


def _places(
    table: DataFrame, read: Iterable[str], elements: Mapping[str, Element]
) -> tuple[dict[str, Place], tuple[str, ...]]:
    """Where each column that is read stands in the row that is handed over, and the columns of that row."""
    kinds = {field.name: field.dataType.simpleString() for field in table.schema.fields}
    columns = tuple(dict.fromkeys(elements[name][0] if name in elements else name for name in read))
    position = {name: at for at, name in enumerate(columns)}
    places = {}
    for name in read:
        if name in elements:
            array, at, is_fact, absent = elements[name]
            places[name] = Place(position[array], BOOLEAN if is_fact else LONG, at, absent)
        else:
            places[name] = Place(position[name], _KINDS[kinds[name]])
    return places, columns


def _call(spark: SparkSession, judge: Any, columns: Iterable[str], kinds: Mapping[str, str]) -> Column:
    """The column that calls the class's method on a row of these columns."""
    jvm = spark.sparkContext._jvm
    fields = [T.StructField(name, _TYPES[kind], nullable=False) for name, kind in kinds.items()]
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils  # type: ignore[union-attr]
    row = expressions.expression(F.struct(*columns)._jc)
    call = jvm.org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke(  # type: ignore[union-attr]
        judge,
        jvm.org.apache.spark.sql.types.DataType.fromJson(T.StructType(fields).json()),  # type: ignore[union-attr]
        METHOD,
        jvm.PythonUtils.toSeq([row]),  # type: ignore[union-attr]
        jvm.PythonUtils.toSeq([]),  # type: ignore[union-attr]
        False,  # a null is looked for by the class itself
        False,  # never null
        False,  # for Spark, another value each time: it would call it anew wherever a result is asked for
        getattr(getattr(jvm.scala, "None$"), "MODULE$"),  # type: ignore[union-attr]
    )
    return Column(expressions.column(call))


def _compiled(spark: SparkSession, source: Source) -> Any:
    """The class, known to this session and to its executors."""
    key = (spark.sparkContext.applicationId, source.name)
    if key not in _loaded:
        jvm = spark.sparkContext._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()  # type: ignore[union-attr]
        compiler.cook(source.text)
        codes = compiler.getBytecodes()
        jar = _jars() / f"{source.name}.jar"
        with ZipFile(jar, "w") as packed:
            for entry in codes.entrySet():
                packed.writestr(f"{entry.getKey().replace('.', '/')}.class", bytes(entry.getValue()))
        spark._jsparkSession.sessionState().resourceLoader().addJar(str(jar))
        _loaded[key] = spark._jsparkSession.sharedState().jarClassLoader().loadClass(f"{PACKAGE}.{source.name}")
    return _loaded[key]


@cache
def _jars() -> Path:
    """A directory of this process alone, for as long as it runs."""
    made = Path(tempfile.mkdtemp(prefix="eos-compiled-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
