"""Defects planted in consumers and groups are caught by the rule that they break, and the true reference is not."""

from collections import Counter
from typing import Final

import pytest

from model_tests.machines.pipeline_runs import run_pipeline
from model_tests.machines.pipeline_watch import PIPELINE_RULES
from model_tests.mutants.defects.of_pipelines import OF_PIPELINES
from model_tests.mutants.defects.planted import Planted, hunted, without_defect
from model_tests.mutants.part import PIPELINES_SAMPLE, caught, sampled, survival
from model_tests.unit.mutants.few import few
from model_tests.verify.results import RunEffort

ONE_OF_EACH: Final = tuple({planted.rule: planted for planted in reversed(OF_PIPELINES)}.values())
"""One defect for each rule; `eos verify` hunts a sample of all, and a deep run all of them."""


@pytest.mark.parametrize("planted", ONE_OF_EACH, ids=lambda planted: planted.name)
def test_a_defect_of_pipelines_is_caught_by_its_rule(planted: Planted) -> None:
    """An invariant of the rule that the defect breaks sees it."""
    found = hunted(planted, run_pipeline)

    assert caught(found), survival(found)


@pytest.mark.parametrize("planted", few(OF_PIPELINES, 4))
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
