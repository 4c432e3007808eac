"""The theorems on the page: what their proofs need, and that nothing is shown as one that is not proved."""

import re
from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from model_tests.unit.docs.extensions import extension
from model_tests.verify.assumed import as_json
from model_tests.verify.liveness_searches import AfterFault
from model_tests.verify.proofs import systems_of
from model_tests.verify.proved import ProvedSystem
from model_tests.verify.theorems import CLAIMED, SYSTEMS, theorems
from spec import rules
from spec.engines.induction import prove
from spec.engines.verdict import Unknown
from spec.rules import Rule
from spec.systems.assumptions import ids as ids_of
from spec.systems.assumptions import registered
from spec.systems.chain import LINKS
from spec.systems.chain import systems as chain_systems
from spec.systems.ids.system import ids

facts = extension("proof_facts")
pages = extension("proof_pages")
judged = extension("judged_pages")
chain = extension("chain_pages")


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
    assert [each["id"] for each in found["assumptions"]] == [each.id for each in of_ids.system.assumptions]


@pytest.mark.parametrize("rule", facts.THEOREMS, ids=lambda rule: rule.id)
def test_the_page_has_the_assumptions_of_the_proof(rule: Rule) -> None:
    """Those, and no others, that the command has of each theorem; by number, with what breaks without each."""
    proved = [ProvedSystem(SYSTEMS[name](CLAIMED), (), frozenset()) for name in systems_of([rule])]
    found = facts.facts_of(rule, proved)
    on_page = [theorem for theorem in theorems([rule]) if theorem.name in found["theorems"]]
    of_theorems = {tuple(ids_of(theorem.assumptions)) for theorem in on_page}

    assert {tuple(each["id"] for each in found["assumptions"])} == of_theorems
    assert pages.numbers(found) == ", ".join(*of_theorems)
    shown = "".join(node.astext() for node in pages._assumed(rule.id, found))
    assert all(
        f"{each['id']} {each['name'].replace('_', ' ')}: {each['statement']}" in shown for each in found["assumptions"]
    )


def test_the_page_of_assumptions_has_every_one() -> None:
    """With what breaks without it, or why nothing can."""
    rows = [pages.Assumptions._row(None, as_json(assumption)) for assumption in registered()]

    assert [assumption.id for assumption in registered()] == [row[0] for row in rows]
    assert all(row[2] and row[3] for row in rows)


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


def test_the_page_has_each_fault_with_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table for each, folded, after the meaning of its columns."""
    rows = [AfterFault("one", "acts", "small", 3), AfterFault("one", "rests", "small", 4), AfterFault("two", "acts")]
    monkeypatch.setattr(pages, "happenings", lambda: [asdict(row) for row in rows])

    shown = [node.astext() for node in pages.AfterFaults.__new__(pages.AfterFaults).run()]

    assert all(f"\n\n{field.name}\n\n" in shown[1] for field in fields(AfterFault))
    assert ["one", "two"] == [re.findall("After: (.*)</summary>", text)[0] for text in shown if "After: " in text]
    assert any("rests" in text and "4" in text for text in shown)


def test_the_page_has_every_step_that_is_judged() -> None:
    """The lemmas of all versions, the actions that have none, and the recorded steps that no action is."""
    text = "\n".join(node.astext() for node in judged.JudgedSteps.__new__(judged.JudgedSteps).run())

    steps = [lemma for name in judged.ELSEWHERE for version in (1, 2) for lemma in SYSTEMS[name](version).steps]
    assert all(lemma.sentence in text and lemma.action.name in text for lemma in steps)
    assert all(action in text for reasons in judged.ELSEWHERE.values() for action in (*reasons, *judged.LEFT_OUT))


def test_the_page_has_every_link_of_the_chain() -> None:
    """With both sides, its control, and what stays in words."""
    text = "\n".join(node.astext() for node in chain.ProofChain.__new__(chain.ProofChain).run())

    for link in LINKS:
        names = (f"{system}.{name}" for side in (link.shows, link.takes) for system in side for name in side[system])
        assert all(part in text for part in (link.sentence, link.in_words, link.formula, str(link.control), *names))


def test_the_theorem_stands_beside_what_it_assumes() -> None:
    """What is left of the assumptions of its systems, each with a control or the reason why there is none."""
    text = "\n".join(node.astext() for node in chain.ChainAssumptions.__new__(chain.ChainAssumptions).run())

    discharged = {one for link in LINKS for one in link.discharges}
    made = {one for name in chain_systems() for one in SYSTEMS[name](CLAIMED).assumptions}
    assert discharged & made
    for one in made:
        assert (one.statement in text) == (one not in discharged)
    assert all(str(control) in text for one in made - discharged for control in one.controls)
