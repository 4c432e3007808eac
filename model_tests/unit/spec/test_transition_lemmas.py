"""Every change of state that a coordinator's decision makes is an edge of Kafka's graph, for all inputs."""

from dataclasses import replace

import pytest

from spec.algebra import choose
from spec.engines.induction import prove_fact
from spec.engines.verdict import Proved, Refuted
from spec.protocol.coordinator import TransactionEntry, Transition
from spec.systems import coordinator_decision_lemmas as facts
from spec.systems.coordinator_decision_lemmas import (
    MOVES,
    RenamedIds,
    RequestFields,
    broken_transition_facts,
    fact,
    transition_facts,
)
from spec.systems.decision_lemmas import Fact
from spec.versions import NEWEST, PROFILES, Profile
from spec.vocabulary import TransactionState as State


@pytest.mark.parametrize("fact", transition_facts(), ids=lambda fact: fact.name)
def test_every_move_is_along_an_edge(fact: Fact) -> None:
    """Under every transaction version."""
    assert Proved() == prove_fact(fact).verdict


@pytest.mark.parametrize("release", ["0.11", "3.9.0", "4.0"])
def test_older_releases_have_the_same_graph(release: str) -> None:
    """Whatever else differs."""
    profile = PROFILES[release]
    version = profile.transaction_version

    verdicts = [prove_fact(each).verdict for each in transition_facts(profile) if each.name.endswith(f"{version}]")]

    assert [Proved()] * len(MOVES) == verdicts


@pytest.mark.parametrize("fact", broken_transition_facts(), ids=lambda fact: fact.name)
def test_a_completion_of_what_is_not_prepared_is_found(fact: Fact) -> None:
    """The control."""
    assert isinstance(prove_fact(fact).verdict, Refuted)


@pytest.mark.parametrize("target", [State.PREPARE_COMMIT, State.PREPARE_ABORT, State.ONGOING])
def test_the_graph_is_no_wider_than_the_decisions_need(target: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the edges from what is open, some decision leaves the graph."""
    narrower = {**facts.BEFORE, target: facts.BEFORE[target] - {State.ONGOING}}
    monkeypatch.setattr(facts, "BEFORE", narrower)

    assert any(isinstance(prove_fact(each).verdict, Refuted) for each in transition_facts() if "version 1" in each.name)


def test_a_commit_of_what_has_ended_is_found() -> None:
    """A decision that prepares a commit wherever it is requested."""

    def anywhere(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
        decided = MOVES["ending"][0](entry, asking, names, profile)
        state = choose(asking.commits, State.PREPARE_COMMIT.value, State.PREPARE_ABORT.value)
        target = replace(entry, state=state)
        return replace(decided, appends=True, target=target, entry=replace(entry, pending=state))

    changed = fact("commits anywhere", anywhere, MOVES["ending"][1], NEWEST)

    assert isinstance(prove_fact(changed).verdict, Refuted)
