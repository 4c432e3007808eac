"""What counts as the evidence that a rule owes."""

from dataclasses import replace
from types import MappingProxyType
from typing import Final

import pytest

from model_tests.verify.coverage import joined, owed_by, uncontrolled, uncovered, waived_by
from model_tests.verify.results import Control, PlantedDefect, Result, RuleVerdict
from spec.evidence import Layer
from spec.rules import RULES, Rule

RULE: Final = Rule("seq.example", "An example.", ("KIP-98",), "PT")
REGISTRY: Final = MappingProxyType({RULE.id: RULE})
PROOF: Final = Result(RULE, Layer.PROOF, RuleVerdict.PROVED, 12, 0.5)
TRACE: Final = Result(RULE, Layer.TRACE, RuleVerdict.HOLDS, 1000, 2.0)


def test_all_that_is_owed_covers_a_rule() -> None:
    """With a passing result in every cell that is owed, nothing is said."""
    assert () == uncovered([PROOF, TRACE], rules=REGISTRY)


def test_a_missing_cell_is_named() -> None:
    """Evidence that is owed and has no result is a failure with its rule and its kind."""
    assert ("seq.example: trace is owed and has no result",) == uncovered([PROOF], rules=REGISTRY)


@pytest.mark.parametrize(
    ("owes", "waived", "message"),
    [
        ("", {}, "seq.example owes no evidence"),
        ("PX", {}, "seq.example owes X, which is no kind of evidence"),
        ("PT", {"B": "too deep"}, "seq.example waives B, which it does not owe"),
    ],
)
def test_a_rule_that_could_never_lack_evidence_is_refused(owes: str, waived: dict[str, str], message: str) -> None:
    """Nothing owed, a kind that nothing brings, and a waiver of nothing would each pass without a word."""
    with pytest.raises(ValueError, match=message):
        replace(RULE, owes=owes, waived=waived)


def test_only_the_kinds_that_a_run_was_to_bring_are_asked_for() -> None:
    """A run of some parts is judged by what these parts bring."""
    assert () == uncovered([TRACE], layers=[Layer.TRACE], rules=REGISTRY)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        pytest.param(replace(PROOF, count=0), "judged nothing", id="zero"),
        pytest.param(
            replace(PROOF, verdict=RuleVerdict.UNKNOWN, detail="step"), "which is a failure: step", id="unknown"
        ),
        pytest.param(replace(PROOF, verdict=RuleVerdict.VIOLATED, detail="at 7"), "violated: at 7", id="violated"),
        pytest.param(replace(PROOF, rule=replace(RULE, id="seq.typo")), "a rule that is not registered", id="stranger"),
        pytest.param(replace(PROOF, rule=replace(RULE, statement="Else.")), "not registered", id="another-statement"),
    ],
)
def test_a_result_that_is_no_evidence_is_named(result: Result, message: str) -> None:
    """Zero, unknown, violated and unregistered each fail with a line of their own."""
    lines = uncovered([result, TRACE], layers=[Layer.TRACE], rules=REGISTRY)

    assert 1 == len([line for line in lines if message in line])


def test_a_violation_counts_where_nothing_is_owed() -> None:
    """A rule that is violated by evidence that it does not owe is violated all the same."""
    more = Result(RULE, Layer.AUDIT, RuleVerdict.VIOLATED, 3, 0.1, detail="offset 9")

    assert ("seq.example: audit is violated: offset 9",) == uncovered([PROOF, TRACE, more], rules=REGISTRY)


def test_joined_results_keep_the_worst_verdict_and_the_shallower_depth() -> None:
    """Two parts that judged one cell make one result that claims no more than both."""
    deep = Result(RULE, Layer.BOUNDED, RuleVerdict.HOLDS, 2, 1.0, {"depth": 12, "queries": 2})
    shallow = Result(RULE, Layer.BOUNDED, RuleVerdict.UNKNOWN, 1, 0.5, {"depth": 8, "queries": 1}, "timeout")

    both = joined([deep, shallow])[RULE.id, Layer.BOUNDED]

    expected = Result(RULE, Layer.BOUNDED, RuleVerdict.UNKNOWN, 3, 1.5, {"depth": 8, "queries": 3}, "timeout")
    assert expected == both


def test_waived_evidence_is_not_owed() -> None:
    """A waiver takes its cell off the list and keeps its reason."""
    waiving = replace(RULE, waived={"P": "a proof of its own size"})

    assert (Layer.TRACE,) == owed_by(waiving)
    assert {Layer.PROOF: "a proof of its own size"} == waived_by(waiving)


def test_a_rule_that_nothing_violates_is_named() -> None:
    """Each rule needs a control or a mutant that must violate it."""
    control = Control("window_4", RULE, "refuted", "refuted")
    mutant = PlantedDefect("keeps four batches", RULE, (RULE.id,))

    assert ("seq.example: no control and no mutant violates it",) == uncontrolled([], [], REGISTRY)
    assert () == uncontrolled([control], [], REGISTRY)
    assert () == uncontrolled([], [mutant], REGISTRY)


def test_no_rule_waives_evidence() -> None:
    """A rule that does gives its reason, and this list is where it is noticed."""
    assert [] == [rule.id for rule in RULES.values() if waived_by(rule)]
