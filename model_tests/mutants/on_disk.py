"""Mutants that the log on disk sees, and the true log on disk."""

from collections.abc import Iterable

from model_tests.machines.disk_runs import run_on_disk
from model_tests.mutants.defects.hunting import SEEDS, hunted, without_defect
from model_tests.mutants.defects.planted import Planted
from model_tests.verify.results import PlantedDefect


def hunt_on_disk(planted: Planted, seeds: Iterable[int] = SEEDS) -> PlantedDefect:
    """Run a partition on disk with the defect, until an invariant of the rule that it breaks has seen it."""
    return hunted(planted, run_on_disk, seeds)


def true_disk(runs: int) -> tuple[str, ...]:
    """Run a partition on disk without any defect: what broke."""
    return without_defect(run_on_disk, runs, "log on disk")
