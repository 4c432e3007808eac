"""The chain from the client's call to the reader's record: each link is proved, and has a formula and a control."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from model_tests.common.reports import HOLDS, VIOLATED
from model_tests.verify.chain import reported, run
from model_tests.verify.proofs import SEARCHES, ProofAttempt, misjudged
from model_tests.verify.proved import Proofs, ProvedSystem
from model_tests.verify.theorems import CLAIMED, SYSTEMS
from spec.engines.induction import ALWAYS, Obligation
from spec.engines.verdict import Proved, Unknown
from spec.systems.chain import LINKS, ChainLink, left, systems

LENT = {SYSTEMS[name](CLAIMED).taken_from for name in systems()} - {""}


def obligations(name: str) -> tuple[Obligation, ...]:
    """Of each claim and each lemma of steps one, as if it were proved."""
    system = SYSTEMS[name](CLAIMED)
    claims = [(claim.rule, claim.name, ALWAYS) for claim in system.claims]
    steps = [(step.rule, step.name, step.action.name) for step in system.steps]
    return tuple(Obligation(*of, Proved(), solved=True, seconds=0.0) for of in (*claims, *steps))


@pytest.fixture(scope="module")
def attempt() -> ProofAttempt:
    """All is proved."""
    names = dict.fromkeys((*systems(), *LENT))
    return ProofAttempt(
        Proofs(tuple(ProvedSystem(SYSTEMS[n](CLAIMED), obligations(n), frozenset()) for n in names), ()), (), {}
    )


def with_open(attempt: ProofAttempt, system: str, claim: str) -> ProofAttempt:
    """The same, with one claim that is not proved."""

    def opened(each: ProvedSystem) -> ProvedSystem:
        if each.system.name != system:
            return each
        unknown = (replace(o, verdict=Unknown("gives up")) if o.claim == claim else o for o in each.obligations)
        return replace(each, obligations=tuple(unknown))

    changed = Proofs(tuple(map(opened, attempt.proofs.systems)), ())
    return replace(attempt, proofs=changed)


def test_every_name_is_of_a_theorem_or_a_lemma_of_steps(attempt: ProofAttempt) -> None:
    """Nothing is missing, and the report is plain."""
    report = reported(attempt)
    console = Console(record=True, width=200)
    report.print(console)

    assert HOLDS == report.exit_code
    assert all(each.obligations and not each.missing for each in report.links)
    assert [link.name for link in LINKS] == [each["name"] for each in json.loads(json.dumps(report.to_json()))["links"]]
    assert "in words: " in console.export_text()


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_a_link_fails_with_any_of_its_parts(attempt: ProofAttempt, link: ChainLink) -> None:
    """What is not proved on either side is named."""
    for side in (link.shows, link.takes):
        for system, names in side.items():
            for name in names:
                found = reported(with_open(attempt, system, name))
                wrong = next(each for each in found.links if each.link is link).wrong
                assert VIOLATED == found.exit_code
                assert any(line.startswith(name) for line in wrong)


def test_a_lemma_that_is_lent_counts(attempt: ProofAttempt) -> None:
    """What another system takes for granted is beneath the link."""
    found = reported(with_open(attempt, "transactions", "markers_rise"))

    assert any("markers_rise" in line for each in found.links for line in each.wrong)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_a_link_has_one_formula_and_a_control(link: ChainLink) -> None:
    """The formula is a function that both sides call; the control is one that is run."""
    searched = {(each.system.name, one.built().name) for each in SEARCHES for one in each.broken}
    of_steps = {(each.system.name, each.name) for each in misjudged()}

    assert (link.control.system, link.control.name) in searched | of_steps
    assert bool(link.formula) == bool(link.takes)
    if link.formula:
        module, _, name = link.formula.rpartition(".")
        assert callable(getattr(import_module(module), name))
        assert 2 <= sum(name in path.read_text(encoding="utf-8") for path in Path("spec/systems").rglob("*.py"))


def test_what_is_discharged_is_assumed_by_nobody_in_the_end(attempt: ProofAttempt) -> None:
    """Links take away what they show; all else stays."""
    report = reported(attempt)
    discharged = {assumption for link in LINKS for assumption in link.discharges}
    assumed = {one for each in attempt.proofs.systems for one in each.system.assumptions}

    assert discharged
    assert assumed - discharged == set(report.assumptions)
    assert left(discharged) == ()


@pytest.mark.slow
def test_the_chain_is_proved() -> None:
    """Link by link."""
    report = run(kept=None)

    assert [] == [line for each in report.links for line in each.wrong]
    assert HOLDS == report.exit_code
