"""The machine of the idempotent append: it holds, it is about every rule, and it sees a planted defect."""

from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, settings

from model_tests.machines import part
from model_tests.machines.idempotence import IDEMPOTENCE_RULES, ForgetfulMachine, IdempotenceMachine
from model_tests.machines.part import failures_of
from model_tests.machines.rule_counts import Ledger, LedgerEntry
from model_tests.mutants.reference import PLANTED
from model_tests.verify.results import RuleVerdict
from spec import rules

SMALL: Final = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def retained() -> tuple[Ledger, list[LedgerEntry | str]]:
    ledger = Ledger()
    return ledger, failures_of(IdempotenceMachine, ledger, SMALL)


def test_the_reference_keeps_every_rule(retained: tuple[Ledger, list[LedgerEntry | str]]) -> None:
    """Nothing breaks, by the invariants and by the specification's decision."""
    _, failures = retained

    assert [] == failures


@pytest.mark.parametrize("rule", IDEMPOTENCE_RULES, ids=lambda rule: rule.id)
def test_every_rule_was_at_stake(retained: tuple[Ledger, list[LedgerEntry | str]], rule: rules.Rule) -> None:
    """An invariant that was never checked on anything has shown nothing."""
    ledger, _ = retained

    assert ledger.at_stake[rule] > 0


def test_a_rule_never_at_stake_is_no_evidence() -> None:
    """A result without anything at stake does not pass."""
    found = part.result(rules.SEQ_FIRST, Ledger(), [], 0.0)

    assert not found.passed


def test_forgotten_producers_are_outside_the_domain() -> None:
    """With state that expires, streams may break; that is known, and nothing else breaks."""
    assert [] == failures_of(ForgetfulMachine, Ledger(), settings(SMALL, max_examples=15))


@pytest.mark.parametrize("name", ["duplicate check dropped", "epoch check dropped", "wrong offset acknowledged"])
def test_the_machine_names_the_rule_that_a_defect_breaks(name: str) -> None:
    """Hypothesis finds a planted defect, and the failure carries the rule."""
    planted = next(planted for planted in PLANTED if planted.name == name)

    ledger = Ledger()

    with planted.in_place():
        failures = failures_of(IdempotenceMachine, ledger, settings(SMALL, phases=[Phase.generate]))

    assert any(isinstance(failure, LedgerEntry) for failure in failures)
    assert planted.rule in {violation.rule for violation in ledger.broken}  # one event may break more than one


def test_a_violation_becomes_a_result() -> None:
    """The result of a broken rule has what was done, and why it is wrong."""
    broken = LedgerEntry(rules.SEQ_ORDER, "invariant", "the order is [1, 0]")

    found = part.result(rules.SEQ_ORDER, Ledger(), [broken], 1.0)

    assert (RuleVerdict.VIOLATED, "[seq.order] by invariant: the order is [1, 0]") == (found.verdict, found.detail)


def test_an_error_that_is_no_violation_is_reported_too() -> None:
    """A machine that stops by itself is a failure in one line, not a rule's."""
    assert "the machine stopped: ValueError: no" == part.reported(ValueError("no\nmore"))
