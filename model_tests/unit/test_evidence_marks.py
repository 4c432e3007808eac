"""Every rule has its evidence: a mark for each kind that it owes, and no mark for what is no rule."""

import pytest

from model_tests.judging.history_links import HISTORY_CHAINS
from model_tests.new_rule import UNSTATED
from model_tests.verify.coverage import import_production_modules, marks, owed
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


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_is_stated_and_has_a_source(rule: Rule) -> None:
    """What `eos new-rule` writes in their places is neither."""
    assert rule.statement != UNSTATED
    assert UNSTATED not in rule.source


def test_marks_name_registered_rules(marked: dict[tuple[str, Layer], tuple[str, ...]]) -> None:
    """A mark for a rule that is not registered is evidence for nothing."""
    assert set() == {rule for rule, _ in marked} - set(RULES)


def test_the_source_has_the_marks_that_importing_makes(marked: dict[tuple[str, Layer], tuple[str, ...]]) -> None:
    """`eos rules ID` reads them there, because importing every module takes seconds."""
    assert {cell: sorted(names) for cell, names in marks().items()} == {
        cell: sorted(names) for cell, names in marked.items()
    }


def test_history_checks_are_marked_with_the_rule_that_they_judge() -> None:
    """The mark and the check name the rule in two places."""
    links = {link for chain in HISTORY_CHAINS.values() for link in chain.links}

    wrong = [
        link.name
        for link in links
        if f"spec.judging.judge_history.{link.name}" not in marks().get((link.rule.id, Layer.TRACE), ())
    ]
    assert wrong == []
