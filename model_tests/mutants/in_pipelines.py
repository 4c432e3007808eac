"""Mutants that pipelines see, and the true pipelines."""

from collections.abc import Iterable

from model_tests.machines.pipeline_runs import run_pipeline
from model_tests.mutants.defects.hunting import SEEDS, hunted, without_defect
from model_tests.mutants.defects.planted import Planted
from model_tests.verify.results import PlantedDefect


def hunt_in_pipelines(planted: Planted, seeds: Iterable[int] = SEEDS) -> PlantedDefect:
    """Run pipelines with the defect, until an invariant of the rule that it breaks has seen it."""
    return hunted(planted, run_pipeline, seeds)


def true_pipelines(runs: int) -> tuple[str, ...]:
    """Run pipelines without any defect: what broke."""
    return without_defect(run_pipeline, runs, "pipelines")
