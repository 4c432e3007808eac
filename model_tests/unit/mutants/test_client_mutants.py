"""Mutants of the decisions over client histories: a history, or a journal beside logs, names the rule of each."""

from typing import Final

import pytest

from model_tests.mutants.decisions.call_sites import Occasions, watched
from model_tests.mutants.decisions.client_cases import STORIES, all_stories, client_places, reported
from model_tests.mutants.decisions.hunting import judged
from model_tests.mutants.decisions.made import DecisionMutant, mutants

OF: Final = "judge_clients"

RULES_OF: Final = {
    "judge_value": {"seq.exactly_once"},
    "judge_place": {"repl.committed_survives"},
    "judge_acknowledged": {"repl.committed_survives"},
    "judge_passed": {"repl.committed_survives"},
    "judge_unseen": {"txn.client_verdict"},
    "judge_given": {"txn.client_verdict"},
    "judge_own": {"lso.read_committed"},
    "judge_sent_back": {"seq.order"},
    "judge_sent_apart": {"seq.order"},
    "judge_read_back": {"lso.read_committed"},
    "judge_read_past": {"lso.read_committed"},
    "judge_torn": {"txn.atomic"},
    "judge_outputs": {"offsets.atomic"},
    "judge_passed_over": {"offsets.atomic"},
    "judge_consumed": {"offsets.atomic"},
    "judge_acknowledged_next": {"seq.exactly_once"},
    "judge_answer": {"txn.client_verdict", "seq.exactly_once"},
    "judge_fates": {"txn.atomic"},
}
"""The rules of which a mutant of the decision must be named by one."""


def of_decision(name: str) -> list[DecisionMutant]:
    return [mutant for mutant in mutants() if mutant.of.name == f"{OF}.{name}"]


@pytest.fixture(scope="module")
def met() -> Occasions:
    """The calls of the decisions in all client histories."""
    return watched(client_places(), {mutant.of for mutant in mutants() if mutant.of.family == OF})


def named_by(mutant: DecisionMutant, met: Occasions) -> set[str]:
    """The rules that the first place names that notices the mutant."""
    return next((set(named) for place in met.distinguishing(mutant) if (named := judged(mutant, place)[0])), set())


def test_every_story_adds_something_to_find() -> None:
    """But the sound one, in a history of all; what is found is the same each time."""
    found = reported(all_stories())

    assert found == reported(all_stories())
    assert len(found) > 5 * len(STORIES)


@pytest.mark.parametrize("name", [name for name in RULES_OF if of_decision(name)])
def test_a_broken_decision_is_named_by_its_rule(name: str, met: Occasions) -> None:
    """The first mutant of each."""
    assert named_by(of_decision(name)[0], met) & RULES_OF[name]


@pytest.mark.slow
def test_every_broken_decision_is_named(met: Occasions) -> None:
    """By a rule of its own, or of those that use it."""
    named = {mutant.name: named_by(mutant, met) for mutant in mutants() if mutant.of.family == OF}
    own = {name: rules for name, rules in named.items() if name.split(": ")[0].removeprefix(f"{OF}.") in RULES_OF}

    assert [name for name, rules in named.items() if not rules] == []
    assert [
        name for name, rules in own.items() if not rules & RULES_OF[name.split(": ")[0].removeprefix(f"{OF}.")]
    ] == []
