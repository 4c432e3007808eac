"""What must not pass for a proof, put to the whole command: each is an error, by the name of the culprit."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import pytest

from model_tests.verify import proofs, prove, proving
from model_tests.verify.model_checking import Instanced, vacuous
from model_tests.verify.prove import ProofReport
from model_tests.verify.proving import here
from model_tests.verify.theorems import SYSTEMS
from spec import rules
from spec.algebra import any_of, negate
from spec.engines.finite import instance_of
from spec.engines.solving import SolverSettings
from spec.systems.ids.system import ids
from spec.systems.language import System


def proved(system: System, monkeypatch: pytest.MonkeyPatch) -> ProofReport:
    """The command's message about the rule when this is its system."""
    instead: Mapping[str, object] = MappingProxyType({**SYSTEMS, "ids": lambda _: system})
    monkeypatch.setattr(proving, "SYSTEMS", instead)
    monkeypatch.setattr(proofs, "SYSTEMS", instead)
    monkeypatch.setattr(prove, "searched", lambda *_: ((), ()))
    return prove.run(rules.IDS_UNIQUE, kept=None, spread=here)


def listed(found: ProofReport) -> list[dict[str, object]]:
    obligations = found.to_json()["obligations"]
    assert isinstance(obligations, list)
    return obligations


def test_the_true_system_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the others would say nothing."""
    found = proved(ids(), monkeypatch)

    assert (0, ()) == (found.exit_code, found.vacuous)


def test_an_unknown_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the solver may not work at all, it is no success, and the obligations are named."""
    monkeypatch.setattr(prove, "SolverSettings", partial(SolverSettings, few=1, many=1))

    found = proved(ids(), monkeypatch)

    assert 1 == found.exit_code
    assert {"proved", "unknown"} == {obligation["verdict"] for obligation in listed(found)}
    assert [True] == [" under " in result.detail and "not proved" in result.detail for result in found.results]


def test_contradictory_lemmas_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every obligation is proved from them, and the command fails nevertheless."""
    system = ids()
    first = system.lemmas[0]
    contrary = replace(first, name="the_contrary", holds=lambda *at: negate(first.holds(*at)))

    found = proved(replace(system, lemmas=(*system.lemmas, contrary)), monkeypatch)

    assert 1 == found.exit_code
    assert "the_contrary" in found.vacuous[0]


def test_a_lemma_that_is_false_at_the_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its obligation is refuted, by the name of the lemma."""
    system = ids()
    false = replace(system.lemmas[0], name="false_at_first", over=(), holds=lambda _: any_of())

    found = proved(replace(system, lemmas=(*system.lemmas, false)), monkeypatch)

    refuted = {o["lemma"]: o["action"] for o in listed(found) if o["verdict"] == "refuted"}
    assert 1 == found.exit_code
    assert {"false_at_first": "at the start"} == refuted


def test_an_action_that_can_never_happen_is_an_error_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps every lemma, being impossible."""
    system = ids()
    never = replace(system.actions[0], guard=lambda *_: iter((False,)))

    found = proved(replace(system, actions=(never, *system.actions[1:])), monkeypatch)

    assert 1 == found.exit_code
    assert never.name in found.vacuous[0]


def test_an_action_that_can_never_happen_is_an_error_of_the_search() -> None:
    """So is a goal that is never reached."""
    system = ids()
    never = replace(system.actions[0], guard=lambda *_: iter((False,)))
    idle = replace(system, actions=(never, *system.actions[1:]))
    instance = Instanced("idle", idle, idle, instance_of(idle, {}))

    assert f"{never.name} can never happen in ids" in list(vacuous([instance]))
