"""The join of logs blames what the claims of the transactions forbid, and no more: proved of every state."""

import pytest

from spec.engines.induction import Prover, prove_fact
from spec.engines.verdict import Proved
from spec.systems.decision_lemmas import Fact
from spec.systems.overdue_lemmas import overdue_facts
from spec.systems.transactions.joining import THEOREMS, joining


def test_every_theorem_is_proved() -> None:
    """Of all states, reachable or not: no lemma is needed."""
    found = tuple(Prover(joining()).at_the_start())

    assert [] == [str(each) for each in found if not isinstance(each.verdict, Proved)]
    assert len(found) == len(THEOREMS)
    assert not any(each.needs for each in found)


@pytest.mark.parametrize("fact", overdue_facts(), ids=lambda fact: fact.name)
def test_what_is_overdue_a_coordinator_would_have_ended(fact: Fact) -> None:
    """For all inputs."""
    assert isinstance(prove_fact(fact).verdict, Proved)
