"""Every rule says where to look: a mark for each kind of evidence that is due, and no mark for anything else."""

import pytest

from model_tests.verify.coverage import Owed, brought
from model_tests.verify.modules import import_production_modules
from spec.evidence import Layer, checks
from spec.rules import RULES


@pytest.fixture(scope="module")
def marked() -> dict[tuple[str, Layer], tuple[str, ...]]:
    import_production_modules()
    return checks()


@pytest.mark.parametrize("owed", list(brought()), ids=lambda owed: f"{owed.rule.id}-{owed.layer}")
def test_evidence_that_is_due_has_a_marked_check(owed: Owed, marked: dict[tuple[str, Layer], tuple[str, ...]]) -> None:
    """A rule whose evidence is due names at least one check that brings it."""
    assert marked.get((owed.rule.id, owed.layer)), f"nothing is marked @evidences({owed.rule.id}, {owed.layer})"


def test_marks_name_registered_rules(marked: dict[tuple[str, Layer], tuple[str, ...]]) -> None:
    """A mark for a rule that is not registered is evidence for nothing."""
    assert set() == {rule for rule, _ in marked} - set(RULES)
