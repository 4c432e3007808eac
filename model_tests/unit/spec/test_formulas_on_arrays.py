"""Formulas on arrays: for every row the value that the compiled Python reading gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from model_tests.check.samples import answered, random_steps
from model_tests.judging.compiled import compiled
from model_tests.judging.judges import VERDICT
from model_tests.judging.verdicts import REFUSED, append_results
from spec.algebra import Term, all_of, any_of, choose, negate
from spec.readings.formulas import Sheet
from spec.readings.formulas_on_arrays import AT_ONCE, ArrayColumns, ArrayProgram, Texts
from spec.versions import NEWEST, PROFILES

ROWS = [
    {"a": a, "b": b, "f": f, "g": g, "t": t}
    for a in (-1, 0, 7)
    for b in (-1, 7)
    for f in (0, 1)
    for g in (0, 1)
    for t in "xy"
]
FORMULAS: dict[str, Callable[[Sheet], Term]] = {
    "compared": lambda sheet: sheet.column("a") < sheet.column("b"),
    "added": lambda sheet: sheet.column("a") + 3 - sheet.column("b"),
    "equal": lambda sheet: sheet.column("a") == sheet.column("b"),
    "negated": lambda sheet: negate(sheet.column("f")),
    "both": lambda sheet: all_of(sheet.column("f"), sheet.column("g"), sheet.column("a") >= 0),
    "either": lambda sheet: any_of(sheet.column("f"), sheet.column("a") > 3),
    "chosen": lambda sheet: choose(sheet.column("f"), sheet.column("a"), 2 * sheet.column("b")),
    "named": lambda sheet: sheet.among("t", ["y", "z"]),
    "text": lambda sheet: sheet.column("t") == "x",
    "never": lambda sheet: all_of(sheet.column("a") > 9, sheet.column("f")),
    "always": lambda sheet: any_of(sheet.column("a") < 9, sheet.column("f")),
}


def columns_of(rows: list[dict[str, Any]]) -> ArrayColumns:
    texts = Texts()
    values = {
        name: np.array([texts.number(v) if isinstance(v := row[name], str) else v for row in rows]) for name in rows[0]
    }
    values |= {name: values[name] == 1 for name in ("f", "g")}
    return ArrayColumns(len(rows), values, texts)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_has_on_every_row_the_value_that_it_has_in_python(name: str) -> None:
    """Every operator, and facts that are everywhere the same."""
    (found,) = ArrayProgram([FORMULAS[name](Sheet())]).run(columns_of(ROWS))

    judge = compiled({"value": FORMULAS[name](Sheet())})
    assert [judge({**row, "f": row["f"] == 1, "g": row["g"] == 1})[0] for row in ROWS] == found.tolist()


def test_what_a_row_leaves_out_is_not_given_and_what_is_too_wide_is_beyond() -> None:
    """At both ends of what integers can be."""
    sheet = Sheet()
    wide = np.array([0, 2**62, 2**62 + 1, -(2**62) - 1, -(2**63)])
    columns = ArrayColumns(5, {"a": wide, "b": wide}, Texts(), {"a": np.array([True, False, True, True, True])})

    given, beyond, of_other = ArrayProgram([sheet.given("a"), sheet.beyond(2**62, ["a"]), sheet.given("b")]).run(
        columns
    )

    assert [True, False, True, True, True] == given.tolist()
    assert [False, False, True, True, True] == beyond.tolist()
    assert [True] * 5 == of_other.tolist()


def test_a_hash_distinguishes_values_and_their_order() -> None:
    """Ten thousand pairs, and the same the other way round."""
    a, b = (column.ravel() for column in np.meshgrid(np.arange(100), np.arange(100, 200)))
    sheet = Sheet()
    pairs = [sheet.hashed(sheet.column("a"), sheet.column("b")), sheet.hashed(sheet.column("b"), sheet.column("a"))]

    hashes = np.concatenate(ArrayProgram(pairs).run(ArrayColumns(len(a), {"a": a, "b": b}, Texts())))

    assert 2 * len(a) == len(np.unique(hashes))


def test_verdicts_on_appends_are_those_of_python() -> None:
    """Of all releases, in more chunks than one, with answers that are right and others that are not."""
    count = AT_ONCE + 500
    table = answered(random_steps(count, 5), NEWEST)
    table["error"] = np.where(np.arange(count) % 5, table["error"], 45)
    table[REFUSED] = np.arange(count) % 7 == 0
    texts = Texts()
    values = {name: np.asarray(column) for name, column in table.items()}
    values["profile"] = np.array([texts.number(name) for name in table["profile"].tolist()])
    results = append_results(Sheet(), PROFILES)

    found = ArrayProgram(results[name] for name in VERDICT).run(ArrayColumns(count, values, texts))

    judge = compiled({name: results[name] for name in VERDICT})
    rows = [
        dict(zip(table, row, strict=True))
        for row in zip(*(np.asarray(c).tolist() for c in table.values()), strict=True)
    ]
    places = range(0, count, 17)
    assert [judge(rows[at]) for at in places] == [tuple(column[at].item() for column in found) for at in places]
    assert found[2].any()
