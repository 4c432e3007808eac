"""Branches of decisions: which can be reached is derived, and a batch reaches nearly all of them."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import pytest

from model_tests.monitor.monitor import Finding
from model_tests.monitor.runs import run_of
from model_tests.traces.branch_coverage import Coverage, Met, coverage
from model_tests.traces.reachable import derived, table
from model_tests.traces.simulate import WORKLOADS
from spec.versions import PROFILES

SEED: Final = 300_000
TRACES: Final = 4 * len(WORKLOADS) * len(PROFILES)
LEAST: Final = 0.80
"""Of so small a batch, over all releases; measured it was 0.86."""


def met(findings: Counter[Finding]) -> Iterable[Met]:
    return (Met(found.kind, found.profile, found.branch, count) for found, count in findings.items())


@pytest.fixture(scope="module")
def of_batch() -> tuple[Coverage, ...]:
    """A batch of traces, judged while they are made."""
    found: Counter[Finding] = Counter()
    for seed in range(SEED, SEED + TRACES):
        found.update(run_of(seed).play().findings)
    return coverage(met(found))


def test_a_batch_reaches_most_branches_of_every_release(of_batch: tuple[Coverage, ...]) -> None:
    """What it does not reach is listed."""
    assert list(PROFILES) == [each.profile for each in of_batch]
    assert sum(each.share for each in of_batch) / len(of_batch) >= LEAST
    for each in of_batch:
        assert all(name in str(each) for name in each.unreached)


def test_nothing_is_reached_that_the_solver_excludes(of_batch: tuple[Coverage, ...]) -> None:
    """Else a branch would be missing among those to be reached."""
    assert [] == [(each.profile, each.unexpected) for each in of_batch if each.unexpected]


@pytest.mark.parametrize("profile", ["0.11"])
def test_the_table_is_what_is_derived(profile: str) -> None:
    """`write_table` writes it anew."""
    assert table()[profile] == derived(PROFILES[profile])


def test_what_is_not_met_is_unreached() -> None:
    """A single append leaves all else to be reached, under its own release alone."""
    (of_newest,) = coverage([Met("row", "4.3", 0, 7), Met("link", "4.3", -1, 9)])

    assert {"append": {"appended": 7}} == of_newest.hits
    assert of_newest.reachable - 1 == len(of_newest.unreached)
    assert "append.appended" not in of_newest.unreached
