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

from spec.algebra import Term
from spec.readings.formulas import Sheet, columns_read
from spec.readings.java_source import BOOLEAN, LONG, METHOD, PACKAGE, TEXT, ColumnSlot, JavaClass, Kinds, source_of
from spec.readings.row_values import (
    Element,
    GuardedValue,
    Integers,
    NamedValues,
    PresentRows,
    RowCases,
    Value,
    terms_of,
)

_TYPES: Final = {LONG: T.LongType(), BOOLEAN: T.BooleanType(), TEXT: T.StringType()}
_KINDS: Final = {"bigint": LONG, "boolean": BOOLEAN, "string": TEXT}
_RESULTS: Final = "_results"


_loaded: dict[tuple[str, str], Any] = {}
"""The compiled classes by the application of Spark that has them, and their name."""


def evaluate(
    table: DataFrame,
    kept: Iterable[str],
    *together: RowCases | Mapping[str, Value],
    elements: Mapping[str, Element] | None = None,
) -> DataFrame:
    """The table's `kept` columns, and the value of each result as a column of its name.

    Args:
        table: integers, facts and text; a null is what the schema calls absent.
        kept: columns that are handed on.
        together: results that do not depend on one another.
        elements: columns of the formulas that are no column of the table, and in which of its arrays they stand.
    """
    all_cases = [cases if isinstance(cases, RowCases) else RowCases((), cases) for cases in together]
    read = sorted(columns_read(*(term for cases in all_cases for term in _terms(cases))))
    places = _places(table, read, elements or {})
    values = {name: value for cases in all_cases for name, value in cases.otherwise.items()}
    results = _fields(values, Kinds(places.of))
    judge = _compiled(table.sparkSession, source_of(all_cases, places.of))
    judged = table.select(*kept, _call(table.sparkSession, judge, places, results).alias(_RESULTS))
    return judged.select(*kept, *(F.col(_RESULTS)[name].alias(name) for name in results.names))


def _terms(cases: RowCases) -> Iterator[Term]:
    for fact, results in cases.cases:
        yield fact
        yield from (term for result in results.values() for term in terms_of(result))
    yield from (term for result in cases.otherwise.values() for term in terms_of(result))


def _fields(values: Mapping[str, Value], kinds: Kinds) -> T.StructType:
    fields = (
        T.StructField(name, _type_of(value, kinds), isinstance(value, GuardedValue)) for name, value in values.items()
    )
    return T.StructType(list(fields))


def _type_of(value: Value, kinds: Kinds) -> T.DataType:
    match value:
        case Integers():
            return T.ArrayType(T.LongType(), containsNull=False)
        case GuardedValue(_, inner):
            return _type_of(inner, kinds)
        case NamedValues(fields):
            return _fields(fields, kinds)
        case PresentRows(members):
            return T.ArrayType(_type_of(members[0][1], kinds), containsNull=False)
    return _TYPES[kinds.of(Sheet().constant(value))]


class _ColumnPlaces(NamedTuple):
    """Where each column stands that is read: the integers, what is beside them, and the place of each."""

    integers: list[Column]
    arrays_and_texts: list[Column]
    of: dict[str, ColumnSlot]


def _places(table: DataFrame, read: Iterable[str], elements: Mapping[str, Element]) -> _ColumnPlaces:
    kinds = {field.name: field.dataType.simpleString() for field in table.schema.fields}
    places, arrays = _ColumnPlaces([], [], {}), dict[str, int]()
    for name in read:
        if name in elements:
            array, at, is_fact, absent = elements[name]
            position = arrays.setdefault(array, len(places.arrays_and_texts))
            places.arrays_and_texts.extend([F.col(array)] if position == len(places.arrays_and_texts) else [])
            places.of[name] = ColumnSlot(position, BOOLEAN if is_fact else LONG, at, absent)
        else:
            kind = _KINDS[kinds[name]]
            among = places.arrays_and_texts if kind == TEXT else places.integers
            places.of[name] = ColumnSlot(len(among), kind)
            among.append(F.col(name) if kind != BOOLEAN else F.col(name).cast("bigint"))
    return places


def _call(spark: SparkSession, judge: Any, places: _ColumnPlaces, results: T.StructType) -> Column:
    """The column that calls the class's method."""
    jvm = spark.sparkContext._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils  # type: ignore[union-attr]
    integers = F.array(*places.integers).cast("array<bigint>")
    given = [expressions.expression(column._jc) for column in (integers, F.struct(*places.arrays_and_texts))]
    call = jvm.org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke(  # type: ignore[union-attr]
        judge,
        jvm.org.apache.spark.sql.types.DataType.fromJson(results.json()),  # type: ignore[union-attr]
        METHOD,
        jvm.PythonUtils.toSeq(given),  # type: ignore[union-attr]
        jvm.PythonUtils.toSeq([]),  # type: ignore[union-attr]
        False,  # a null is looked for by the class itself
        False,  # never null
        False,  # for Spark, another value each time: it would call it anew wherever a result is needed
        getattr(getattr(jvm.scala, "None$"), "MODULE$"),  # type: ignore[union-attr]
    )
    return Column(expressions.column(call))


def _compiled(spark: SparkSession, source: JavaClass) -> Any:
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
