from collections.abc import Iterable
from typing import Any, Final

import pytest

from model_tests.judging.compiled import DEEPEST, compiled, source_of
from model_tests.judging.coordinator_verdicts import as_recorded, is_coordinators
from model_tests.judging.judges import append_judge, coordinator_judge
from model_tests.judging.verdicts import BITS, REFUSED, judged
from model_tests.traces.schema import coordinator_step_of, step_of
from model_tests.unit.monitor.perturbed import changed_traces, random_appends
from spec.algebra import all_of, any_of, choose, negate
from spec.judging.judge import RuleCheck
from spec.judging.judge_coordinator import judge
from spec.protocol.coordinator_steps import DECISIONS
from spec.readings.formulas import Sheet
from spec.versions import PROFILES

APPENDS: Final = 3_000
SEED: Final = 20_261_121


def test_appends_are_judged_as_the_interpreted_reading_judges_them() -> None:
    """On random appends of every profile, compiled and interpreted name the same branch and rules."""
    rows = list(random_appends(APPENDS, SEED))

    quick = [append_judge(row["profile"])(row) for row in rows]

    assert [interpreted_append(row) for row in rows] == quick
    assert {True, False} == {violated == 0 for _, _, violated in quick}


def test_steps_of_coordinators_are_judged_as_the_interpreted_reading_judges_them() -> None:
    """On steps of every kind with changed columns, compiled and interpreted name the same branch and rules."""
    rows = [row for row in changed_traces(range(2, 90, 3), share=0.5) if is_coordinators(row)]

    quick = [coordinator_judge(row["api"], row["profile"], row["transaction_version"])(row) for row in rows]

    assert [interpreted_coordinator(row) for row in rows] == quick
    assert set(DECISIONS) == {row["api"] for row in rows}
    assert {True, False} == {violated == 0 for _, _, violated in quick}


def interpreted_append(row: dict[str, Any]) -> tuple[int, int, int]:
    expected, checks = judged(step_of(row.__getitem__), PROFILES[row["profile"]], row[REFUSED])
    return (int(expected.branch), *bits(checks))


def interpreted_coordinator(row: dict[str, Any]) -> tuple[int, int, int]:
    profile = as_recorded(PROFILES[row["profile"]], row["transaction_version"])
    expected, checks = judge(row["api"], coordinator_step_of(row.__getitem__), profile)
    return (int(expected.branch), *bits(checks))


def bits(checks: Iterable[RuleCheck]) -> tuple[int, int]:
    at_stake = [check for check in checks if check.at_stake]
    broken = {check.rule for check in at_stake if not check.holds}
    return sum(BITS[rule] for rule in {check.rule for check in at_stake}), sum(BITS[rule] for rule in broken)


def test_a_shared_part_stands_once() -> None:
    """What two results use is computed in one line, and what one uses stands where it is used."""
    sheet = Sheet()
    low = sheet.column("low")
    wide = (sheet.column("high") - low) >= 3

    source = source_of({"wide": wide, "known": all_of(wide, negate(low == -1))})

    assert 1 == source.count("row['high']")
    assert 1 == source.count("row['low']")
    assert (True, False) == compiled({"wide": wide, "known": all_of(wide, negate(low == -1))})({"low": -1, "high": 2})


def test_a_choice_computes_only_what_it_chooses() -> None:
    """A column that is missing is no error where the choice leaves it out."""
    sheet = Sheet()
    judge = compiled({"chosen": choose(sheet.column("known"), sheet.column("value"), 7)})

    assert (7,) == judge({"known": False})


def test_a_fact_may_be_deeper_than_parentheses_may_be() -> None:
    """Python's parser gives up at 200 levels of parentheses; a part in between gets a line of its own."""
    sheet = Sheet()
    fact = sheet.column("column_0") == 0
    for number in range(1, 10 * DEEPEST):
        fact = any_of(all_of(fact, sheet.column(f"column_{number}") == 0), sheet.column(f"column_{number}") == 1)

    judge = compiled({"fact": fact})

    assert (True,) == judge({f"column_{number}": 0 for number in range(10 * DEEPEST)})


@pytest.mark.parametrize(("constant", "expected"), [(True, True), (3, 3), ("seq", "seq")])
def test_a_constant_result_is_itself(constant: object, expected: object) -> None:
    """What a profile makes constant costs nothing."""
    assert (expected,) == compiled({"constant": constant})({})
