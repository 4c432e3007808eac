"""Bad traces: each is named under its own rule at its step, by the monitor and on Spark, and its twin is clean."""

from shutil import copy
from typing import Final

import pytest

from model_tests.corruption.bad.catalogue import BAD
from model_tests.corruption.bad.files import HERE, TRACES, TWIN, TWINS, ExpectedVerdict, expected, readme, rows_of
from model_tests.corruption.bad.made import violations
from model_tests.judging.check_report import CheckReport
from model_tests.monitor.files import read_trace
from model_tests.traces.schema import Row
from model_tests.unit.traces.conftest import judged_alike
from spec.rules import RULES

EXPECTED: Final = expected()
MOST_BYTES: Final = 1_000_000


def reported(each: ExpectedVerdict) -> tuple[int, int, str, str]:
    return (each.trace, each.step, each.rule, each.guard)


def test_every_rule_that_owes_evidence_from_traces_has_a_bad_trace() -> None:
    """In the order of the registry, and kept as in the catalogue."""
    owing = [rule.id for rule in RULES.values() if "T" in rule.owes]

    assert owing == [bad.rule.id for bad in BAD]
    assert owing == [each.rule for each in EXPECTED]
    assert [bad.how for bad in BAD] == [each.how for each in EXPECTED]


def test_the_text_beside_the_files_describes_them() -> None:
    """It is made of what is expected; the files are small, and no others are there."""
    files = sorted([*TRACES.iterdir(), *TWINS.iterdir()])

    assert readme() == (HERE / "README.md").read_text(encoding="utf-8")
    assert sorted(file for each in EXPECTED for file in (each.file, each.twin)) == files
    assert sum(file.stat().st_size for file in files) < MOST_BYTES


@pytest.mark.parametrize("each", EXPECTED, ids=[each.rule for each in EXPECTED])
def test_the_monitor_names_the_rule_at_its_step(each: ExpectedVerdict) -> None:
    """No step before is false, and the guard is named."""
    found = violations(rows_of(each.file))

    assert reported(each) in [(v.trace, v.step, v.rule, v.guard) for v in found]
    assert each.step == min(v.step for v in found)


@pytest.mark.parametrize("each", EXPECTED, ids=[each.rule for each in EXPECTED])
def test_its_twin_is_true(each: ExpectedVerdict) -> None:
    """And another trace."""
    true = rows_of(each.twin)

    assert [] == violations(true)
    assert without_number(true) != without_number(rows_of(each.file))


def without_number(rows: list[Row]) -> list[Row]:
    return [{**row, "trace": 0} for row in rows]


def test_a_bad_trace_is_a_trace_that_can_be_replayed() -> None:
    """`eos replay FILE` reads it."""
    first = EXPECTED[1]

    assert rows_of(first.file) == list(read_trace(first.file))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> CheckReport:
    """The check's report on all bad traces and all twins, in one job."""
    directory = tmp_path_factory.mktemp("bad")
    for each in EXPECTED:
        copy(each.file, directory / f"bad-{each.file.name}")
        copy(each.twin, directory / f"twin-{each.twin.name}")
    return judged_alike(directory)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("each", EXPECTED, ids=[each.rule for each in EXPECTED])
def test_the_check_names_the_rule_at_its_step(each: ExpectedVerdict, report: CheckReport) -> None:
    """As the monitor does."""
    found = {(v.trace, v.step, v.rule, v.guard) for v in report.violations}

    assert reported(each) in found


@pytest.mark.xdist_group("spark")
def test_no_twin_breaks_a_rule(report: CheckReport) -> None:
    """Nothing is set aside either."""
    assert [] == [str(v) for v in report.violations if v.trace >= EXPECTED[0].trace + TWIN]
    assert () == report.quarantined
    assert 2 * len(EXPECTED) == report.traces
