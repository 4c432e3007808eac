"""Every defect planted in the log on disk is caught by the rule that it breaks, and the true log is not."""

import pytest

from model_tests.machines.disk_invariants import DISK_RULES
from model_tests.machines.disk_runs import run_on_disk
from model_tests.mutants.defects.of_disk import OF_DISK
from model_tests.mutants.defects.planted import Planted, hunted, without_defect
from model_tests.mutants.part import caught, survival
from model_tests.unit.mutants.few import few


@pytest.mark.parametrize("planted", few(OF_DISK, 12))
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
