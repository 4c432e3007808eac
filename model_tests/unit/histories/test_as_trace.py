"""One history in every form, and its trace in every command: the same findings, by rule and record."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from model_tests.audit.history_command import run as audit
from model_tests.audit.options import AuditOptions
from model_tests.audit.report import AuditReport
from model_tests.check.check import run as check
from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.as_trace import as_trace, from_trace
from model_tests.histories.from_edn import from_edn
from model_tests.histories.reading import read_operations
from model_tests.histories.report import report_on
from model_tests.histories.severity import Severity
from model_tests.judging.check_report import StepViolation
from model_tests.replay.replay import run as replay
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema import HISTORY_APIS, read_ndjson, write_ndjson
from model_tests.unit.histories.from_trace import as_edn
from model_tests.unit.support.audited_histories import HISTORIES
from model_tests.unit.support.client_runs import (
    ALSO_OUTSIDE,
    PLANTED,
    ClientRun,
    drawn,
    edn,
    journal,
    recorded,
    tools,
)
from model_tests.unit.traces.conftest import judged_alike

Plant = Callable[[ClientRun, random.Random], None]
Finding = tuple[str, str, str, tuple[int, ...]]
"""Rule, class, partition and offsets."""


def of_audit(report: AuditReport) -> set[Finding]:
    """What an audit finds to be violated."""
    cases = (case for one in report.clients.classes for case in one.cases)
    violations = (case for case in cases if case.severity is Severity.VIOLATION)
    return {(_rule(report, one.kind), one.kind.value, one.key, one.offsets) for one in violations}


def _rule(report: AuditReport, kind: AnomalyKind) -> str:
    return next(one.rule.id for one in report.clients.classes if one.kind is kind)


def of_steps(violations: Iterable[StepViolation]) -> set[Finding]:
    """What the check of a trace finds, or its replay."""
    return {(one.rule, one.guard, one.values["partition"], tuple(one.values["offsets"])) for one in violations}


def planted(seed: int, plant: Plant | None, *, transactional: bool) -> ClientRun:
    """A run in which something goes wrong, if anything."""
    chance = random.Random(seed)
    run = drawn(chance, transactional)
    if plant is not None:
        plant(run, chance)
    return run


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """One run in one form, with its trace.

    Attributes:
        expected: what the audit finds in the run as EDN.
        trace: file of the trace, whose number is that of the form.
    """

    name: str
    plant: Plant | None
    expected: set[Finding]
    given: AuditOptions
    trace: Path


def written_forms(directory: Path, seeds: range) -> Iterator[WrittenForm]:
    """Runs of these seeds in which nothing goes wrong, or one thing, in every form that can have them."""
    for seed, plant, transactional in product(seeds, (None, *PLANTED), (True, False)):
        if not transactional and plant is not None and plant not in ALSO_OUTSIDE:
            continue
        named = f"{seed}-{plant.__name__ if plant else 'sound'}-{transactional}"
        (directory / named).mkdir()
        run, expected = planted(seed, plant, transactional=transactional), set[Finding]()
        for form in (edn, journal, recorded) if transactional else (edn, journal, recorded, tools):
            given = form(run, directory / named)
            expected = of_audit(audit(given)) if form is edn else expected
            number, file = (
                len(list((directory / "traces").iterdir())),
                directory / "traces" / f"{named}-{form.__name__}.ndjson",
            )
            write_ndjson(as_trace(read_operations(given.history, received=given.received), number), file)
            yield WrittenForm(file.stem, plant, expected, given, file)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_form_has_the_same_findings_in_every_command(tmp_path: Path, seed: int) -> None:
    """EDN, journal, what `eos record` writes, and lines of system tests; audit, check and replay."""
    (tmp_path / "traces").mkdir()
    forms = list(written_forms(tmp_path, range(seed, seed + 1)))
    checked = check(str(tmp_path / "traces"))
    of_check: dict[int, list[StepViolation]] = {}
    for violation in checked.violations:
        of_check.setdefault(violation.trace, []).append(violation)

    for number, form in enumerate(forms):
        rules = {rule for rule, *_ in form.expected}
        assert {PLANTED[form.plant]} <= rules if form.plant else not rules, form.name
        replayed = replay(form.trace)
        found = [of_audit(audit(form.given)), of_audit(audit(AuditOptions(history=str(form.trace))))]
        found += [of_steps(of_check.get(number, [])), of_steps(replayed.violations)]
        assert found == [form.expected] * 4, form.name
        assert replayed.exit_code == (VIOLATED if form.expected else HOLDS)
    assert {form.plant for form in forms} == {None, *PLANTED}


@pytest.mark.parametrize("name", [f"{kind}{clean}" for kind in AnomalyKind for clean in (".clean", "")])
def test_a_history_is_the_same_through_its_trace(name: str) -> None:
    """In every class, with everything that is suspicious or undecided."""
    history = from_edn((HISTORIES / f"{name}.edn").read_text().splitlines())

    again = report_on(from_trace(as_trace(history)), "history")

    assert again.to_json() == report_on(history, "history").to_json()


def test_histories_of_the_simulator_are_the_same_through_their_traces() -> None:
    """With retries, aborts and readers that lag."""
    records = 0
    for seed in (6, 14, 30, 34):
        history = from_edn(as_edn(trace_of(seed)).splitlines())
        report = report_on(history, "history")
        assert report_on(from_trace(as_trace(history)), "history").to_json() == report.to_json()
        records += report.records

    assert records > 100


def test_things_that_are_written_alike_stay_apart() -> None:
    """The number 1 and the text "1", as values and as keys."""
    sends = " ".join(f"[:send {key} [{at} {value}]]" for key in ("1", '"1"') for at, value in enumerate(("1", '"1"')))

    history = from_edn([f"{{:type :ok, :f :txn, :value [{sends}], :process 0, :index 0}}"])
    again = from_trace(as_trace(history))

    assert (len(history.keys), len(history.values)) == (len(again.keys), len(again.values)) == (2, 2)


def test_in_a_trace_that_lacks_a_row_absence_proves_nothing(tmp_path: Path) -> None:
    """The record may have been given in it."""
    rows = list(as_trace(from_edn((HISTORIES / "lost-write.edn").read_text().splitlines())))
    assert {row["api"] for row in rows} <= HISTORY_APIS
    write_ndjson(rows, tmp_path / "whole.ndjson")
    write_ndjson(rows[:-1], tmp_path / "cut.ndjson")
    write_ndjson([row for row in rows if row["step"] != 3], tmp_path / "gap.ndjson")

    assert [one.guard for one in check(str(tmp_path / "whole.ndjson")).violations] == ["lost-write"]
    for name in ("cut", "gap"):
        assert check(str(tmp_path / f"{name}.ndjson")).violations == ()
    assert list(read_ndjson(tmp_path / "whole.ndjson")) == rows


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_spark_judges_histories_beside_other_traces(tmp_path: Path) -> None:
    """Two histories and a simulated trace in one file."""
    rows = [dict(row) for row in trace_of(6)]
    for number, name in ((1_000, "torn-transaction"), (1_001, "G1c")):
        rows += as_trace(from_edn((HISTORIES / f"{name}.edn").read_text().splitlines()), number)
    write_ndjson(rows, tmp_path / "traces.ndjson")

    report = judged_alike(tmp_path / "traces.ndjson")

    assert {(one.trace, one.guard) for one in report.violations} >= {(1_000, "torn-transaction"), (1_001, "G1c")}
    assert not HISTORY_APIS & report.passed_over.keys()
