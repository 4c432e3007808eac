"""Defects of groups, of the log on disk, and of pipelines: the rule that each breaks catches it.

The true reference is not caught: nothing breaks without the defects.
"""

from collections import Counter
from typing import Final

import pytest

from model_tests.conform.side_by_side import disagreements
from model_tests.machines.disk_invariants import DISK_RULES
from model_tests.machines.disk_runs import run_on_disk
from model_tests.machines.pipeline_runs import run_pipeline
from model_tests.machines.pipeline_watch import PIPELINE_RULES
from model_tests.mutants.defects.of_disk import OF_DISK
from model_tests.mutants.defects.of_groups import OF_GROUPS
from model_tests.mutants.defects.of_pipelines import OF_PIPELINES
from model_tests.mutants.defects.planted import Planted, hunted, without_defect
from model_tests.mutants.part import PIPELINES_SAMPLE, caught, hunt_in_sessions, sampled, sessions_of_groups, survival
from model_tests.unit.mutants.few import few
from model_tests.verify.results import RunEffort
from spec import rules

# --- the group coordinator --------------------------------------------------------------------------------------------


OFFSETS_RULES = (rules.OFFSETS_ATOMIC, rules.OFFSETS_STABLE_FETCH, rules.OFFSETS_GENERATION_FENCE)


@pytest.mark.parametrize("planted", few(OF_GROUPS, 1))
def test_a_defect_of_the_group_coordinator_is_caught_by_its_rule(planted: Planted) -> None:
    """A recorded session disagrees in a step about the rule that the defect breaks."""
    found = hunt_in_sessions(planted)

    assert caught(found), survival(found)


def test_the_true_group_coordinator_survives() -> None:
    """Where the defects are caught, nothing is wrong without them."""
    assert [] == list(disagreements(sessions_of_groups()[:40]))


def test_a_defect_that_breaks_nothing_survives() -> None:
    """And is reported by its name."""
    found = hunt_in_sessions(Planted("harmless", rules.OFFSETS_ATOMIC, ()), sessions_of_groups()[:5])

    assert not caught(found)
    assert "harmless" in survival(found)


def test_every_rule_of_offsets_has_a_defect_that_breaks_it() -> None:
    """A rule that no defect breaks shows nothing."""
    assert set(OFFSETS_RULES) == {planted.rule for planted in OF_GROUPS}


def test_names_of_group_defects_are_unique() -> None:
    """A survivor is found by its name."""
    names = [planted.name for planted in OF_GROUPS]

    assert sorted(set(names)) == sorted(names)


# --- the log on disk --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planted", few(OF_DISK, 3))
def test_a_defect_of_the_disk_log_is_caught_by_its_rule(planted: Planted) -> None:
    """An invariant of the rule that the defect breaks sees it."""
    found = hunted(planted, run_on_disk)

    assert caught(found), survival(found)


@pytest.mark.slow
def test_the_true_disk_log_survives() -> None:
    """Where the defects are caught, nothing is wrong without them."""
    assert () == without_defect(run_on_disk, 80, "log on disk")


def test_every_rule_of_the_disk_has_a_defect_that_breaks_it() -> None:
    """An invariant that no defect can break shows nothing."""
    assert set() == set(DISK_RULES) - {planted.rule for planted in OF_DISK}


def test_names_of_disk_defects_are_unique() -> None:
    """A survivor is found by its name."""
    names = [planted.name for planted in OF_DISK]

    assert sorted(set(names)) == sorted(names)


# --- pipelines: consumers and groups ----------------------------------------------------------------------------------


ONE_OF_EACH: Final = tuple({planted.rule: planted for planted in reversed(OF_PIPELINES)}.values())
"""One defect for each rule; `eos verify` hunts a sample of all, and a deep run all of them."""


@pytest.mark.parametrize("planted", ONE_OF_EACH, ids=lambda planted: planted.name)
def test_a_defect_of_pipelines_is_caught_by_its_rule(planted: Planted) -> None:
    """An invariant of the rule that the defect breaks sees it."""
    found = hunted(planted, run_pipeline)

    assert caught(found), survival(found)


@pytest.mark.parametrize("planted", few(OF_PIPELINES, 1))
def test_every_defect_of_pipelines_is_caught(planted: Planted) -> None:
    """Likewise, each of them."""
    found = hunted(planted, run_pipeline)

    assert caught(found), survival(found)


def test_the_true_pipelines_survive() -> None:
    """Where the defects are caught, nothing is wrong without them."""
    assert () == without_defect(run_pipeline, 15, "pipelines")


def test_every_rule_of_pipelines_has_a_defect_that_breaks_it() -> None:
    """An invariant that no defect can break shows nothing."""
    assert set() == set(PIPELINE_RULES) - {planted.rule for planted in OF_PIPELINES}
    assert len(OF_PIPELINES) >= 15


def test_names_of_defects_of_pipelines_are_unique() -> None:
    """A survivor is found by its name."""
    names = Counter(planted.name for planted in OF_PIPELINES)

    assert [] == [name for name, times in names.items() if times > 1]


def of_effort(effort: RunEffort) -> list[Planted]:
    return sampled(OF_PIPELINES, effort, PIPELINES_SAMPLE)


def test_a_deep_run_hunts_all_defects_of_pipelines() -> None:
    """A quick one hunts a sample, the same every time."""
    assert list(OF_PIPELINES) == of_effort(RunEffort.DEEP)
    assert 0 < len(of_effort(RunEffort.QUICK)) < len(of_effort(RunEffort.DEFAULT)) < len(OF_PIPELINES)
    assert of_effort(RunEffort.DEFAULT) == of_effort(RunEffort.DEFAULT)
