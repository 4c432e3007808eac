"""Mutants of the decisions that join logs: audit, trace check and proof name the rule of a decision that is broken."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import pytest

from model_tests.mutants.decisions.call_sites import JudgedCall, Occasions, watched
from model_tests.mutants.decisions.functions import OF_LOGS
from model_tests.mutants.decisions.hunting import judged
from model_tests.mutants.decisions.joined_cases import JoinedCase, joined_places
from model_tests.mutants.decisions.joined_traces import FALSE, joined_traces
from model_tests.mutants.decisions.made import DecisionMutant, by_name, mutants
from spec.engines.induction import Prover, prove_fact
from spec.engines.verdict import Proved
from spec.systems.decision_lemmas import Fact
from spec.systems.language import System
from spec.systems.overdue_lemmas import overdue_facts
from spec.systems.transactions.joining import joining

KNOWN = {
    "judge_join.judge_outcomes: counts.agreeing == 0 becomes counts.agreeing == 1": "txn.one_outcome",
    "judge_join.judge_outcomes: negate(apart) becomes apart": "txn.atomic",
    "judge_join.judge_outcomes: offsets_alone dropped of any_of": "offsets.atomic",
    "judge_join.judge_marker: negate(explained) becomes explained": "txn.marker_once",
    "judge_join.judge_marker: marker.coordinator_epoch >= transaction.coordinator_epoch becomes "
    "marker.coordinator_epoch > transaction.coordinator_epoch": "fence.coordinator_epoch",
    "judge_join.judge_ended_data: data.producer_epoch >= transaction.producer_epoch becomes "
    "data.producer_epoch > transaction.producer_epoch": "fence.stale_epoch",
    "judge_join.excuse: Excuse.CLEANED.value is never chosen where partition.cleaned": "txn.marker_once",
    "judge_orphans.orphan_doubt: data.first_ms > data.known_until_ms becomes "
    "data.first_ms >= data.known_until_ms": "txn.registered_before_data",
    "judge_orphans.judge_raised_epoch: markers.commits == 0 becomes markers.commits != 0": "txn.atomic",
    "judge_overdue.judge_ongoing: False is never chosen where late": "txn.timeout",
    "judge_overdue.judge_prepared: False is never chosen where late": "txn.completes",
}
"""A mutant of each rule, and the rule that the audit names."""


SEEN_BY_ALL = {
    "txn.atomic": (
        "judge_join.judge_outcomes: counts.other > 0 becomes counts.other > 1",
        "judge_orphans.judge_raised_epoch: markers.commits == 0 becomes markers.commits != 0",
    ),
    "txn.one_outcome": (
        "judge_join.has_outcome_of: marker.outcome == transaction.outcome becomes "
        "marker.outcome != transaction.outcome",
        "judge_join.judge_outcomes: counts.agreeing == 0 becomes counts.agreeing == 1",
    ),
    "txn.marker_once": (
        "judge_join.is_of: marker.producer_epoch == transaction.marker_epoch becomes "
        "marker.producer_epoch != transaction.marker_epoch",
        "judge_join.is_of: marker.producer_epoch becomes marker.coordinator_epoch",
    ),
    "txn.registered_before_data": (
        "judge_join.judge_ended_data: data.producer_epoch <= transaction.producer_epoch becomes "
        "data.producer_epoch < transaction.producer_epoch",
        "judge_join.judge_ended_data: negate(data.owned) becomes data.owned",
    ),
    "fence.stale_epoch": (
        "judge_join.judge_ended_data: data.producer_epoch >= transaction.producer_epoch becomes "
        "data.producer_epoch > transaction.producer_epoch",
    ),
    "fence.coordinator_epoch": (
        "judge_join.judge_marker: marker.coordinator_epoch >= transaction.coordinator_epoch becomes "
        "marker.coordinator_epoch > transaction.coordinator_epoch",
        "judge_join.judge_marker: transaction.coordinator_epoch becomes transaction.producer_epoch",
    ),
    "txn.timeout": (
        "judge_overdue.judge_ongoing: False is never chosen where late",
        "judge_overdue.judge_ongoing: until - REAPER_INTERVAL becomes until - REAPER_INTERVAL - 1",
    ),
}
"""Mutants by the rule that audit, trace check and proof name."""

CLOCKS = "its steps are in their order, and it has no clocks of two nodes"
OPERATOR = "it has no operator who aborts by hand"
COPIES = "it has no copy of a log that lacks what another has"
ABSENCE = "a trace may be cut: that a step is not there shows nothing"

UNSEEN: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("judge_join.is_during", "traces"): CLOCKS,
        ("judge_join.is_during", "proofs"): CLOCKS,
        ("judge_join.agrees", "traces"): CLOCKS,
        ("judge_join.agrees", "proofs"): CLOCKS,
        ("judge_join.may_be_by_hand", "traces"): OPERATOR,
        ("judge_join.may_be_by_hand", "proofs"): OPERATOR,
        ("judge_orphans.is_by_hand", "traces"): OPERATOR,
        ("judge_join.judge_copy", "traces"): COPIES,
        ("judge_join.judge_copy", "proofs"): COPIES,
        ("judge_join.is_undecided_repeat", "traces"): COPIES,
        ("judge_join.is_undecided_repeat", "proofs"): COPIES,
        ("judge_join.is_undecided_gap", "traces"): COPIES,
        ("judge_join.is_undecided_gap", "proofs"): COPIES,
        ("judge_orphans._is_later", "traces"): COPIES,
        ("judge_orphans.orphan_kind", "traces"): ABSENCE,
        ("judge_orphans.judge_orphan_marker", "traces"): ABSENCE,
        ("judge_orphans.orphan_doubt", "traces"): ABSENCE,
        ("judge_orphans.judge_orphan_data", "traces"): ABSENCE,
        ("judge_orphans.judge_coordinator_epoch", "audit"): "these cases have no controller's log; recorded ones do",
        ("judge_orphans.judge_coordinator_epoch", "traces"): "a trace has no controller of the coordinators",
        ("judge_orphans.judge_coordinator_epoch", "proofs"): "the system numbers coordinators, and has no controller",
        (
            "judge_overdue.judge_prepared",
            "traces",
        ): "how long markers may take is an operator's question, and no rule's",
        ("judge_overdue.judge_data", "traces"): "its coordinators say until when a transaction may be open",
    }
)
"""By decision and layer, why no mutant of the decision shows there."""

SEEDS = (2, 6, 50, 54)
"""Traces of which every link that reads the join is put to some step."""


@pytest.fixture(scope="module")
def joined() -> Occasions:
    """The calls of the decisions in all joined evidence."""
    about = {mutant.of for mutant in mutants() if mutant.of.family in OF_LOGS}
    return watched(joined_places(), about)


def test_sound_evidence_is_blamed_for_nothing() -> None:
    """Under either transaction version."""
    assert [JoinedCase("sound", version).reported() for version in (0, 2)] == [frozenset(), frozenset()]


@pytest.mark.parametrize("name", KNOWN)
def test_the_audit_names_the_rule_of_a_broken_decision(name: str, joined: Occasions) -> None:
    """As it does of a broken log."""
    mutant = by_name()[name]

    assert any(KNOWN[name] in judged(mutant, place)[0] for place in joined.distinguishing(mutant))


@pytest.fixture(scope="module")
def linked() -> tuple[JudgedCall, ...]:
    """The steps of traces that the join is asked about, true ones and false ones."""
    return tuple(joined_traces(SEEDS))


@cache
def obligations_of(rule: str) -> tuple[System, tuple[Fact, ...]]:
    """The theorems and facts of a rule about the join."""
    system = joining()
    theorems = tuple(claim for claim in system.theorems if claim.rule.id == rule)
    return replace(system, theorems=theorems), tuple(fact for fact in overdue_facts() if fact.rule.id == rule)


def refused(rule: str) -> bool:
    """Whether a theorem or a fact of the rule is not proved under the decisions as they are."""
    system, facts = obligations_of(rule)
    found = (*Prover(system).at_the_start(), *map(prove_fact, facts))
    return any(not isinstance(each.verdict, Proved) for each in found)


def on_traces(mutant: DecisionMutant, linked: tuple[JudgedCall, ...]) -> tuple[str, ...]:
    """The rules that the links name, and do not name without the mutant, which is planted once for all of them."""
    return judged(mutant, JudgedCall("all links", lambda: tuple(rule for place in linked for rule in named(place))))[0]


def named(place: JudgedCall) -> tuple[str, ...]:
    """The rules that a place names; none if the mutant breaks it."""
    try:
        return place.violated()
    except Exception:  # noqa: BLE001  # a mutant may break anything, and that is no rule's word
        return ()


def in_proofs(mutant: DecisionMutant, *rules: str) -> set[str]:
    """Those of the rules that are no longer proved, or of which no formula can be made."""
    with mutant.in_place():
        try:
            return {rule for rule in rules if refused(rule)}
        except TypeError:  # a fact in the place of a number
            return set(rules)


def test_sound_traces_and_proofs_are_blamed_for_nothing(linked: tuple[JudgedCall, ...]) -> None:
    """Every link is put to true steps or made false, and no theorem of the join fails."""
    assert [place.name for place in linked if place.violated()] == []
    assert set(FALSE) == {place.name.rpartition(": ")[2] for place in linked if "made false" in place.name}
    assert [rule for rule in SEEN_BY_ALL if refused(rule)] == []


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule, names in SEEN_BY_ALL.items() for name in names])
def test_all_layers_name_the_rule_of_a_broken_decision(
    rule: str, name: str, joined: Occasions, linked: tuple[JudgedCall, ...]
) -> None:
    """Audit, trace check and proof."""
    mutant = by_name()[name]

    assert any(rule in judged(mutant, place)[0] for place in joined.distinguishing(mutant))
    assert rule in on_traces(mutant, linked)
    assert in_proofs(mutant, rule)


@pytest.mark.slow
def test_a_decision_is_seen_by_every_layer_or_it_is_said_why_not(
    joined: Occasions, linked: tuple[JudgedCall, ...]
) -> None:
    """Some mutant of each, and no mutant of those with a reason."""
    wanted = {mutant.of.name for mutant in mutants() if mutant.of.family in OF_LOGS[1:]}
    proved = {claim.rule.id for claim in joining().theorems} | {fact.rule.id for fact in overdue_facts()}
    seen: set[tuple[str, str]] = set()
    for mutant in (each for each in mutants() if each.of.name in wanted):
        named = {
            "audit": any(judged(mutant, place)[0] for place in joined.distinguishing(mutant)),
            "traces": bool(on_traces(mutant, linked)),
            "proofs": bool(in_proofs(mutant, *proved)),
        }
        seen |= {(mutant.of.name, layer) for layer, is_seen in named.items() if is_seen}
    every = {(name, layer) for name in wanted for layer in ("audit", "traces", "proofs")}

    assert every - seen == set(UNSEEN)
