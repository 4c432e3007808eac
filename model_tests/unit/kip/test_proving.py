"""What is not proved of a variant is a state: facts refuted by an input, obligations by a step."""

from dataclasses import replace

import pytest

from model_tests.kip.command import KipReport, heading
from model_tests.kip.proving import drawn, proved_facts
from model_tests.unit.kip.variants import UNCHANGED, shown
from model_tests.unit.support.obligations import obligation
from spec.engines.induction import ALWAYS, Obligation, Prover
from spec.engines.verdict import Proved, Unknown
from spec.protocol.coordinator import TransactionEntry, Transition
from spec.protocol.ending import EndRequest
from spec.systems.transactions.decisions import ReleaseDecisions
from spec.systems.transactions.variant import Variant, facts_of, same_decisions
from spec.versions import Profile
from spec.vocabulary import TransactionState


def test_the_mended_late_bump_is_proved_where_it_changes_something() -> None:
    """The bump never meets an open transaction, and keeps every lemma; without the change it is not proved."""
    variant = shown("late_bump")
    system, unmended = variant.proved(), replace(variant, decisions=same_decisions).proved()
    name = "bump_meets_open_transaction"
    prover = Prover(system)

    assert Proved() == obligation(prover, system, f"bump_ends_no_other under {ALWAYS}").verdict
    assert [Proved()] == [each.verdict for each in prover.under(system.action(name))]
    assert [Unknown] == [type(each.verdict) for each in Prover(unmended).under(unmended.action(name))]


def test_an_obligation_that_fails_has_a_state_and_a_step() -> None:
    """It is printed as a table, and its heading says what happens."""
    variant = replace(shown("late_bump"), decisions=same_decisions)
    failing = next(iter(Prover(variant.proved()).under(variant.proved().action("bump_meets_open_transaction"))))

    (found,) = drawn(variant, [failing])

    assert found.found is not None
    assert found.found.cells
    assert found.found.happening is not None
    assert "bump_meets_open_transaction" == found.found.happening.action
    assert str(found.found.happening) in heading(found)


def test_without_a_state_the_heading_says_so() -> None:
    """What is true in the bounded instance has no counterexample there."""
    variant = shown("late_bump")
    lemma = variant.proved().claim("no_bump_fences")
    claimed = Obligation(lemma.rule, "bump_ends_no_other", ALWAYS, Unknown("asked"), solved=True, seconds=0.0)

    (found,) = drawn(variant, [claimed])

    assert found.found is None
    assert "there is none in the bounded instance" in heading(found)


def test_a_decision_that_loses_the_outcome_is_refuted_by_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1, by the name of the rule."""

    def forgetting(taken: ReleaseDecisions, _: Profile) -> ReleaseDecisions:
        def end(entry: TransactionEntry, request: EndRequest) -> Transition:
            decided = taken.end(entry, request)
            return replace(decided, target=replace(decided.target, state=TransactionState.EMPTY.value))

        return replace(taken, end=end)

    variant = Variant("forgetting", "", decisions=forgetting, instances=UNCHANGED.instances)
    of_ending = tuple(fact for fact in facts_of(variant) if fact.name.startswith("ending_"))
    monkeypatch.setattr("model_tests.kip.proving.facts_of", lambda _: of_ending)

    report = KipReport(variant, proved_facts(variant), None, None, None)

    assert 1 == report.exit_code
    assert any(failure.startswith("txn.one_outcome: ending_keeps_the_outcome") for failure in report.failures)
