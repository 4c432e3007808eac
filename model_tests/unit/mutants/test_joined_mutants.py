"""Mutants of the decisions that join logs: the audit names the rule of each decision that is broken."""

import pytest

from model_tests.mutants.decisions.call_sites import Occasions, watched
from model_tests.mutants.decisions.functions import OF_LOGS
from model_tests.mutants.decisions.hunting import judged
from model_tests.mutants.decisions.joined_cases import JoinedCase, joined_places
from model_tests.mutants.decisions.made import by_name, mutants

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
