"""Branches of decisions: which can be reached is derived, and a batch reaches nearly all of them."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import pytest

from model_tests.check.part import not_shown, stale
from model_tests.common.reports import BadInput
from model_tests.judging import branch_coverage, branch_names
from model_tests.judging.branch_coverage import SHOWN, BranchTally, Coverage, coverage, reported, share_of
from model_tests.judging.branch_names import table
from model_tests.judging.check_report import CheckReport
from model_tests.judging.reachable import derived
from model_tests.monitor.monitor import StepFinding
from model_tests.monitor.runs import run_of
from model_tests.simulate.simulate import WORKLOADS
from model_tests.verify.results import RunEffort
from spec.versions import PROFILES

SEED: Final = 300_000
TRACES: Final = 4 * len(WORKLOADS) * len(PROFILES)
LEAST: Final = 0.80
"""Of so small a batch, over all releases; measured it was 0.86."""


def met(findings: Counter[StepFinding]) -> Iterable[BranchTally]:
    return (BranchTally(found.kind, found.profile, found.branch, count) for found, count in findings.items())


@pytest.fixture(scope="module")
def of_batch() -> tuple[Coverage, ...]:
    """A batch of traces, judged while they are made."""
    found: Counter[StepFinding] = Counter()
    for seed in range(SEED, SEED + TRACES):
        found.update(run_of(seed).play().findings)
    return coverage(met(found))


@pytest.mark.slow
def test_a_batch_reaches_most_branches_of_every_release(of_batch: tuple[Coverage, ...]) -> None:
    """What it does not reach is listed."""
    assert list(PROFILES) == [each.profile for each in of_batch]
    assert sum(each.share for each in of_batch) / len(of_batch) >= LEAST
    for each in of_batch:
        assert all(name in str(each) for name in each.unreached[:SHOWN])


@pytest.mark.slow
def test_nothing_is_reached_that_the_solver_excludes(of_batch: tuple[Coverage, ...]) -> None:
    """Else a branch would be missing among those to be reached."""
    assert [] == [(each.profile, each.unexpected) for each in of_batch if each.unexpected]


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["0.11"])
def test_the_table_is_what_is_derived(profile: str) -> None:
    """`write_table` writes it anew."""
    assert table()[profile] == derived(PROFILES[profile])


def test_a_release_that_nothing_was_derived_of_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that derives it."""
    monkeypatch.setattr(branch_coverage, "table", dict)

    with pytest.raises(BadInput, match=r"of what 4\.3 can reach: run make tables"):
        coverage([BranchTally("row", "4.3", 0, 7)])


def test_what_is_not_met_is_unreached() -> None:
    """A single append leaves all else to be reached, under its own release alone."""
    (of_newest,) = coverage([BranchTally("row", "4.3", 0, 7), BranchTally("link", "4.3", -1, 9)])

    assert {"append": {"appended": 7}} == of_newest.hits
    assert of_newest.reachable - 1 == len(of_newest.unreached)
    assert "append.appended" not in of_newest.unreached


def test_what_a_batch_reached_is_reported_by_decision_and_by_release() -> None:
    """How often each branch decided, the share of all, and for each release what is missing."""
    covered = coverage(
        [BranchTally("row", "4.3", 0, 7), BranchTally("row", "0.11", 0, 2), BranchTally("InitProducerId", "4.3", 1, 3)]
    )

    share, of_append, of_ids, *releases = reported(covered)

    assert f"{share_of(covered):.1%}" in share
    assert "append: appended 9" == of_append
    assert of_ids.startswith("InitProducerId: ")
    assert ["0.11", "4.3"] == [line.split(":")[0].removeprefix("branches of ") for line in releases]
    assert "append.duplicate" in releases[0]
    others = len(covered[0].unreached) - SHOWN
    assert releases[0].endswith(f", {others} more (--json FILE has all)")


def test_the_reader_of_the_table_needs_no_solver() -> None:
    """The check of traces reads what was derived."""
    request = "import sys, model_tests.judging.branch_coverage; sys.exit('z3' in sys.modules)"

    assert 0 == subprocess.run([sys.executable, "-c", request], check=False).returncode


@pytest.mark.parametrize(("effort", "fails"), [(RunEffort.QUICK, 1), (RunEffort.DEFAULT, 2)])
def test_a_batch_that_shows_little_fails_by_name(effort: RunEffort, fails: int) -> None:
    """Of its branches hardly one, and of what is known nothing, which a small batch need not show."""
    poor = CheckReport(1, 1, 1.0, (), (), (), (), coverage=coverage([BranchTally("row", "4.3", 0, 1)]))

    reported_of = list(not_shown(poor, effort))

    assert fails == len(reported_of)
    assert "append.duplicate (4.3)" in reported_of[0]
    assert "txn.no_crosstalk" in reported_of[-1] or effort is RunEffort.QUICK


def test_a_stale_table_of_branches_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The share that is reached would be of other branches."""
    fresh = stale()
    monkeypatch.setattr(branch_names, "TABLE", replace(branch_names.TABLE, current=lambda: {"spec.protocol.seq": ""}))

    (line,) = stale()

    assert fresh == ()
    assert "reachable.json is stale for " in line
