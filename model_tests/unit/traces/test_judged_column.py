"""Formulas on Spark, compiled to Java: each operator as Python has it, on random formulas and on the corners."""

from random import Random
from typing import Any, Final

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from model_tests.judging.compiled import compiled
from model_tests.judging.judged_column import evaluate
from model_tests.spark.session import session
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.readings.formulas import Sheet
from spec.readings.row_values import Element, GuardedValue, Integers, NamedValues, PresentRows, RowCases

pytestmark = pytest.mark.xdist_group("spark")

NUMBERS: Final = ("n0", "n1", "n2")
FACTS: Final = ("f0", "f1")
TEXTS: Final = ("t0", "t1")
WORDS: Final = ("", "a", "it's", 'say "x"', "\\", "é", "💡", "a")
COLUMNS: Final = (*NUMBERS, *FACTS, *TEXTS)
SCHEMA: Final = T.StructType(
    [
        T.StructField("row", T.LongType()),
        *(T.StructField(name, T.LongType()) for name in NUMBERS),
        *(T.StructField(name, T.BooleanType()) for name in FACTS),
        *(T.StructField(name, T.StringType()) for name in TEXTS),
        T.StructField("many", T.ArrayType(T.LongType())),
    ]
)
ROWS: Final = 200
FORMULAS: Final = 60


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return session()


def rows_of(seed: int) -> list[dict[str, Any]]:
    chance = Random(seed)
    return [
        {name: chance.randint(-2, 3) for name in NUMBERS}
        | {name: chance.random() < 0.5 for name in FACTS}
        | {name: chance.choice(WORDS) for name in TEXTS}
        for _ in range(ROWS)
    ]


def table_of(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame([{"row": at, **row} for at, row in enumerate(rows)], SCHEMA)


def values(table: DataFrame, results: RowCases | dict[str, Term], **options: Any) -> list[dict[str, Any]]:
    judged = evaluate(table, ("row",), results, **options).orderBy("row").collect()
    return [{name: value for name, value in row.asDict().items() if name != "row"} for row in judged]


class Invented:
    """Random formulas over the columns; what was made before is used again."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.sheet = Sheet()
        self.facts: list[Term] = [self.sheet.column(name) for name in FACTS]
        self.numbers: list[Term] = [self.sheet.column(name) for name in NUMBERS]
        self.texts: list[Term] = [self.sheet.column(name) for name in TEXTS]
        for _ in range(FORMULAS):
            self.facts.append(self.fact())
            self.numbers.append(self.number())

    def fact(self) -> Term:
        one, other = self.chance.choices(self.facts, k=2)
        left, right = self.chance.choices(self.numbers, k=2)
        word = self.chance.choice(WORDS)
        return self.chance.choice(
            (
                lambda: all_of(one, other),
                lambda: any_of(one, other),
                lambda: negate(one),
                lambda: one == other,
                lambda: left == right,
                lambda: left < right,
                lambda: left <= 1,
                lambda: left > right,
                lambda: right >= -1,
                lambda: self.chance.choice(self.texts) == word,
                lambda: self.texts[0] == self.texts[1],
                lambda: self.sheet.among("t0", self.chance.sample(WORDS, 2)),
                lambda: choose(one, other, left < 2),
            )
        )()

    def number(self) -> Term:
        left, right = self.chance.choices(self.numbers[:20], k=2)
        choices = (
            lambda: left + 1,
            lambda: 2 - left,
            lambda: left - right,
            lambda: choose(self.facts[-1], left, right),
        )
        return self.chance.choice(choices)()


@pytest.mark.parametrize("seed", range(3))
def test_random_formulas_are_on_spark_what_they_are_in_python(spark: SparkSession, seed: int) -> None:
    """Every operator, parts that are used again, and text that Java writes otherwise, on the same rows."""
    invented, rows = Invented(seed), rows_of(seed)
    terms = (*invented.facts[-30:], *invented.numbers[-30:], choose(invented.facts[-1], "é", "it's"))
    results = {f"r{at}": term for at, term in enumerate(terms)}
    judge = compiled(results)

    assert [dict(zip(results, judge(row), strict=True)) for row in rows] == values(table_of(spark, rows), results)


def test_the_first_kind_that_applies_is_judged_and_no_other_is_asked(spark: SparkSession) -> None:
    """A kind that comes later would overflow on these rows."""
    sheet = Sheet()
    number, fact = sheet.column("n0"), sheet.column("f0")
    overflows = number - (2**63 - 1)
    cases = RowCases(((number <= 0, {"is": 1}), (fact, {"is": number}), (number < 0, {"is": overflows})), {"is": -7})
    rows = [{"n0": -2, "f0": True}, {"n0": 2, "f0": True}, {"n0": 2, "f0": False}]

    assert [{"is": 1}, {"is": 2}, {"is": -7}] == values(table_of(spark, rows), cases)


def test_what_is_null_is_absent(spark: SparkSession) -> None:
    """An integer is -1, a fact false, and text empty, as in the schema."""
    sheet = Sheet()
    results = {"n": sheet.column("n0"), "f": sheet.column("f0"), "empty": sheet.column("t0") == ""}

    assert [{"n": -1, "f": False, "empty": True}] == values(table_of(spark, [{}]), results)


def test_a_value_is_taken_from_an_array_or_is_absent_where_that_ends(spark: SparkSession) -> None:
    """Nulls in the array, arrays that are too short, and none at all."""
    sheet = Sheet()
    elements = {
        "second": Element("many", 1, is_fact=False, absent=-5),
        "is_one": Element("many", 1, is_fact=True, absent=False),
    }
    results = {name: sheet.column(name) for name in elements}
    rows: list[dict[str, Any]] = [{"many": [4, 1]}, {"many": [4, 3]}, {"many": [4, None]}, {"many": [4]}, {}]

    reported = [row["second"] for row in values(table_of(spark, rows), results, elements=elements)]
    facts = [row["is_one"] for row in values(table_of(spark, rows), results, elements=elements)]

    assert [1, 3, -5, -5, -5] == reported
    assert [True, False, False, False, False] == facts


def test_a_product_is_one_and_null_is_known(spark: SparkSession) -> None:
    """Null is distinguished from what is absent, in integers, facts and text."""
    sheet = Sheet()
    results = {f"has_{name}": sheet.given(name) for name in COLUMNS} | {"product": 3 * sheet.column("n0")}
    reported = {"n0": 5, "f0": False, "t0": ""}

    (found,) = values(table_of(spark, [reported]), results)

    assert 15 == found.pop("product")
    assert {f"has_{name}": name in reported for name in COLUMNS} == found


def test_an_integer_beyond_is_found_in_any_of_the_columns(spark: SparkSession) -> None:
    """On either side, and not in a column that is not read."""
    beyond = {"beyond": Sheet().beyond(10, ("n0", "n1"))}
    rows: list[dict[str, Any]] = [{"n0": 10, "n1": -10, "n2": 99}, {"n1": 11}, {"n0": -11}, {"n0": -(2**63)}, {}]

    assert [False, True, True, True, False] == [row["beyond"] for row in values(table_of(spark, rows), beyond)]


def test_keys_are_reported_apart_by_each_of_their_parts_and_by_their_order(spark: SparkSession) -> None:
    """Texts and integers; what is alike has the same."""
    sheet = Sheet()
    key = {"key": sheet.hashed(7, sheet.column("t0"), sheet.column("t1"), sheet.column("n0"), sheet.column("n1"))}
    other = {"key": sheet.hashed(8, sheet.column("t0"), sheet.column("t1"), sheet.column("n0"), sheet.column("n1"))}
    rows = [
        {"t0": "a", "t1": "bc", "n0": 1, "n1": 2},
        {"t0": "ab", "t1": "c", "n0": 1, "n1": 2},
        {"t0": "bc", "t1": "a", "n0": 1, "n1": 2},
        {"t0": "a", "t1": "bc", "n0": 2, "n1": 1},
        {"t0": "a", "t1": "bc", "n0": 1, "n1": 2},
    ]

    keys = [row["key"] for row in values(table_of(spark, rows), key)]

    assert keys[0] == keys[4]
    assert 4 == len(set(keys))
    assert values(table_of(spark, rows[:1]), other)[0]["key"] not in keys


def test_results_are_arrays_and_records_too(spark: SparkSession) -> None:
    """Of formulas; null where a fact does not hold, and only those records whose fact does."""
    sheet = Sheet()
    number, text, fact = sheet.column("n0"), sheet.column("t0"), sheet.column("f0")
    record = NamedValues(
        {"is": text, "twice": Integers((number, number + number)), "last": GuardedValue(negate(fact), number)}
    )
    other = NamedValues({"is": "é", "twice": Integers(()), "last": GuardedValue(False, 0)})
    results = {
        "maybe": GuardedValue(fact, Integers((number, 7))),
        "some": PresentRows(((fact, record), (number < 3, other))),
    }
    rows = [{"n0": 2, "t0": "a", "f0": True}, {"n0": 5, "t0": "b", "f0": False}]

    first, second = values(table_of(spark, rows), results)

    assert [2, 7] == first["maybe"]
    assert [("a", [2, 4], None), ("é", [], None)] == [tuple(one) for one in first["some"]]
    assert {"maybe": None, "some": []} == second


def test_an_overflow_is_an_error(spark: SparkSession) -> None:
    """No sum is silently another number."""
    with pytest.raises(Py4JJavaError, match="overflow"):
        values(table_of(spark, [{"n0": 2**62}]), {"sum": Sheet().column("n0") + 2**62})


def test_the_class_is_called_once_a_row(spark: SparkSession) -> None:
    """However many of its results are read, and whatever is read of them afterwards."""
    sheet = Sheet()
    results = {"one": sheet.column("n0") + 1, "two": sheet.column("n0") + 2}
    judged = evaluate(table_of(spark, [{"n0": 1}]), ("row",), results).where("one = 2 and two = 3")

    plan = str(judged._jdf.queryExecution().executedPlan())

    assert 1 == judged.count()
    assert 1 == plan.count("static_invoke")
