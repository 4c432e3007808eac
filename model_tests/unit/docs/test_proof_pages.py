"""The theorems on the page: what their proofs need, and that nothing is shown as one that is not proved."""

from dataclasses import replace
from typing import Any

import pytest

from model_tests.unit.docs.extensions import extension
from model_tests.verify.proved import ProvedSystem
from spec import rules
from spec.engines.induction import prove
from spec.engines.verdict import Unknown
from spec.systems.ids.system import ids

facts = extension("proof_facts")
pages = extension("proof_pages")


@pytest.fixture(scope="module")
def of_ids() -> ProvedSystem:
    return ProvedSystem(ids(), prove(ids()), frozenset())


def test_needs_are_those_of_the_obligations(of_ids: ProvedSystem) -> None:
    """By action, each lemma once, the lemma itself aside."""
    needs = facts.needs_by_action(of_ids.obligations)

    assert {o.action for o in of_ids.obligations} == set(needs)
    assert all(
        o.needs - {o.claim} <= set(needs[o.action]) <= {claim.name for claim in ids().claims}
        for o in of_ids.obligations
    )
    assert any(needs.values())


def test_a_theorem_has_proof_witness_and_control(of_ids: ProvedSystem) -> None:
    """Found by the solver and by searches."""
    found = facts.facts_of(rules.IDS_UNIQUE, [of_ids])

    assert found["proved"]
    assert min(found["witness"].values()) > 0
    assert found["control"]["depth"] > 0
    assert found["assumptions"][0].startswith("A1 ")
    assert pages.numbers(found).startswith("A1")


def test_assumptions_are_told_by_their_numbers() -> None:
    """However a system lists them: a reader looks for A5 between A4 and A7."""
    of = {"assumptions": ["A1 clean elections", "A12 one group", "A7 no guard", "A5 numbers"]}

    assert ["A1", "A5", "A7", "A12"] == [line.split()[0] for line in pages.in_order(of)]
    assert "A1, A5, A7, A12" == pages.numbers(of)


class Refusing:
    """A directive whose errors are raised as they are."""

    def error(self, message: str) -> Exception:
        return ValueError(message)


def whole(**changed: Any) -> dict[str, Any]:
    return {"a.rule": {"proved": True, "witness": {"goal": 3}, "control": {"depth": 4}, **changed}}


@pytest.mark.parametrize("missing", [{"proved": False}, {"witness": {}}, {"control": {}}, {"control": {"depth": -1}}])
def test_what_lacks_one_of_them_is_no_theorem(missing: dict[str, Any]) -> None:
    """The page is not built."""
    pages._demand(Refusing(), whole())

    with pytest.raises(ValueError, match=r"a\.rule is no theorem"):
        pages._demand(Refusing(), whole(**missing))


def test_what_is_open_is_not_proved(of_ids: ProvedSystem) -> None:
    """One obligation is enough."""
    first, *others = of_ids.obligations
    open_one = replace(of_ids, obligations=(replace(first, verdict=Unknown("no reason")), *others))

    assert not facts.facts_of(first.rule, [open_one])["proved"]
