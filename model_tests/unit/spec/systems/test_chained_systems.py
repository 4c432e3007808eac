"""Systems that take the lemmas of another one: each of their obligations is proved, and nothing is taken unproved."""

import pytest

from model_tests.unit.by_default import by_default
from model_tests.verify.theorems import CLAIMED, SYSTEMS
from spec.engines.induction import Prover
from spec.engines.verdict import Proved

CHAINED = [name for name, build in SYSTEMS.items() if build(CLAIMED).taken_from]

BY_DEFAULT = ("new_ids", "completion", "kept", "durable")
"""Of systems that `make verify` proves, all by default: those that take the solver a second or two."""


@pytest.mark.parametrize("name", by_default({name: name for name in CHAINED}, BY_DEFAULT))
def test_every_obligation_is_proved(name: str) -> None:
    """Theorems, lemmas, and what is said of single steps."""
    system = SYSTEMS[name](CLAIMED)
    found = tuple(Prover(system).obligations())

    assert [] == [str(each) for each in found if not isinstance(each.verdict, Proved)]
    assert {claim.name for claim in system.claims} <= {each.claim for each in found}
    assert len(found) == len(set(found))  # values, of which a set may be made


@pytest.mark.parametrize("name", CHAINED)
def test_what_is_taken_is_proved_elsewhere(name: str) -> None:
    """Every hypothesis is a lemma of the system that it is from, under assumptions that are listed here, too."""
    system = SYSTEMS[name](CLAIMED)
    lender = SYSTEMS[system.taken_from](CLAIMED)

    assert {claim.name for claim in system.taken} == {claim.name for claim in lender.lemmas}
    assert set(lender.assumptions) <= set(system.assumptions)


@pytest.mark.parametrize("name", CHAINED)
def test_a_lemma_is_kept_by_every_action(name: str) -> None:
    """A lemma of its own that some action need not keep would be no lemma."""
    system = SYSTEMS[name](CLAIMED)
    actions = {action.name for action in SYSTEMS[system.taken_from](CLAIMED).actions}

    for lemma in system.lemmas:
        assert actions == {step.action.name for step in system.steps if step.name == lemma.name}
