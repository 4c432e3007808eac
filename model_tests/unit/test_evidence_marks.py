"""Every rule says where to look: a mark for each kind of evidence that it owes, and no mark for what is no rule."""

import pytest

from model_tests.verify.coverage import owed
from model_tests.verify.modules import import_production_modules
from spec.evidence import Layer, checks
from spec.rules import RULES, Rule


@pytest.fixture(scope="module")
def marked() -> dict[tuple[str, Layer], tuple[str, ...]]:
    import_production_modules()
    return checks()


@pytest.mark.parametrize(("rule", "layer"), [pytest.param(*cell, id=f"{cell[0].id}-{cell[1]}") for cell in owed()])
def test_evidence_that_is_owed_has_a_marked_check(
    rule: Rule, layer: Layer, marked: dict[tuple[str, Layer], tuple[str, ...]]
) -> None:
    """A rule names at least one check that brings the evidence."""
    assert marked.get((rule.id, layer)), f"nothing is marked @evidences({rule.id}, {layer})"


def test_marks_name_registered_rules(marked: dict[tuple[str, Layer], tuple[str, ...]]) -> None:
    """A mark for a rule that is not registered is evidence for nothing."""
    assert set() == {rule for rule, _ in marked} - set(RULES)
