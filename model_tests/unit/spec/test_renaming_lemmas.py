"""No decision of the coordinator asks which of two producer ids is larger."""

from dataclasses import replace
from functools import partial

import pytest

from spec.algebra import choose
from spec.engines.induction import prove_fact
from spec.engines.verdict import Proved, Refuted
from spec.protocol.coordinator import TransactionEntry, Transition
from spec.systems import coordinator_decision_lemmas as facts
from spec.systems.coordinator_decision_lemmas import (
    DECISIONS,
    RenamedIds,
    RequestFields,
    decides_alike,
    is_renaming,
    renaming_facts,
)
from spec.systems.decision_lemmas import Fact
from spec.versions import NEWEST, PROFILES, Profile


@pytest.mark.parametrize("fact", renaming_facts(), ids=lambda fact: fact.name)
def test_every_decision_is_the_same_under_other_names(fact: Fact) -> None:
    """For all inputs, reachable or not."""
    assert Proved() == prove_fact(fact).verdict


@pytest.mark.parametrize("release", ["0.11", "3.9.0", "4.0"])
def test_older_releases_do_not_compare_ids_either(release: str) -> None:
    """Whatever else differs."""
    verdicts = [prove_fact(fact).verdict for fact in renaming_facts(PROFILES[release])]

    assert [Proved()] * len(DECISIONS) == verdicts


def by_order(entry: TransactionEntry, asking: RequestFields, names: RenamedIds, profile: Profile) -> Transition:
    """A coordinator that takes a request with a larger id for that of a successor."""
    decided = DECISIONS["ending"](entry, asking, names, profile)
    return replace(decided, error=choose(names.requested > names.held, 0, decided.error))


def test_a_decision_that_asks_which_id_is_larger_is_found() -> None:
    """The fact is not true of just any decision."""
    fact = replace(renaming_facts()[0], holds=partial(decides_alike, by_order, NEWEST))

    assert isinstance(prove_fact(fact).verdict, Refuted)


@pytest.mark.parametrize("name", DECISIONS)
def test_ids_that_become_one_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That drawn ids are new is needed, if it is all that is needed; completing compares nothing."""
    fact = next(each for each in renaming_facts() if each.name.startswith(name))
    monkeypatch.setattr(facts, "combinations", lambda *_: ())

    found = prove_fact(fact).verdict

    assert isinstance(found, Proved if name == "completing" else Refuted)


def test_a_renaming_keeps_absent_ids_absent() -> None:
    """And different ids stay different."""
    names = RenamedIds(held=5, previous=-1, following=-1, requested=5, fresh=7)

    assert is_renaming(names, RenamedIds(9, -1, -1, 9, 2)) is True
    assert is_renaming(names, RenamedIds(9, 3, 3, 9, 2)) is False
    assert is_renaming(names, RenamedIds(9, -1, -1, 8, 2)) is False
