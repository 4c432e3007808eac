"""Every defect planted in the group coordinator is caught by the rule that it breaks, and the true one is not."""

import pytest

from model_tests.conform.side_by_side import disagreements
from model_tests.mutants.defects.of_groups import OF_GROUPS
from model_tests.mutants.defects.planted import Planted
from model_tests.mutants.part import caught, hunt_in_sessions, sessions_of_groups, survival
from model_tests.unit.mutants.few import few
from spec import rules

OFFSETS_RULES = (rules.OFFSETS_ATOMIC, rules.OFFSETS_STABLE_FETCH, rules.OFFSETS_GENERATION_FENCE)


@pytest.mark.parametrize("planted", few(OF_GROUPS, 5))
def test_a_defect_of_the_group_coordinator_is_caught_by_its_rule(planted: Planted) -> None:
    """A recorded session disagrees in a step about the rule that the defect breaks."""
    found = hunt_in_sessions(planted)

    assert caught(found), survival(found)


def test_the_true_group_coordinator_survives() -> None:
    """Where the defects are caught, nothing is wrong without them."""
    assert [] == list(disagreements(sessions_of_groups()[:120]))


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
