"""What is proved is what is judged: the judge of recorded steps agrees with each action of a proved system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from model_tests.verify.proofs import misjudged, step_controls
from model_tests.verify.theorems import SYSTEMS
from spec.algebra import negate
from spec.engines.induction import Obligation, Prover
from spec.engines.verdict import Proved, Refuted
from spec.judging.judge_coordinator import FACTS
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.coordinator_steps import DECISIONS
from spec.systems.idempotence.judged import UNJUDGED as OF_STREAMS
from spec.systems.language import State, StepLemma, always
from spec.systems.partition.judged import UNJUDGED as OF_PARTITIONS
from spec.systems.transactions import judged_memory, judged_steps
from spec.systems.transactions.judged import LEFT_OUT
from spec.systems.transactions.judged import UNJUDGED as OF_TRANSACTIONS

UNJUDGED = {"transactions": OF_TRANSACTIONS, "partition": OF_PARTITIONS, "idempotence": OF_STREAMS}
VERSIONS = (0, 1, 2)
CONSTANT = ("known", "timeout", "start_time", "update_time")
"""Scalars that the system has no other values of."""

SCALARS = [name for name in TransactionEntry.__dataclass_fields__ if name not in CONSTANT]
OF_ENTRIES = ("appends_as_judged", "marker_as_judged", "commits_as_judged")


@pytest.fixture(scope="module")
def provers() -> dict[int, Prover]:
    """Of the transactions, under each version."""
    return {version: Prover(SYSTEMS["transactions"](version)) for version in VERSIONS}


@dataclass(frozen=True)
class JudgedSteps:
    """What the lemmas of steps came to, and by the decisions of which requests.

    Attributes:
        of: the obligations under each transaction version.
        requested: the apis whose decisions the lemmas look up.
    """

    of: Mapping[int, Sequence[Obligation]]
    requested: frozenset[str]


@pytest.fixture(scope="module")
def judged(provers: dict[int, Prover]) -> JudgedSteps:
    """Every step of transactions, solved once."""
    requested: set[str] = set()

    class Asked(dict[str, Any]):
        def __getitem__(self, api: str) -> Any:
            requested.add(api)
            return DECISIONS[api]

    with pytest.MonkeyPatch.context() as change:
        for module in (judged_memory, judged_steps):
            change.setattr(module, "DECISIONS", Asked())
        found = {version: tuple(prover.steps()) for version, prover in provers.items()}
    return JudgedSteps(found, frozenset(requested))


@pytest.mark.parametrize("name", UNJUDGED)
def test_every_action_is_judged_or_says_what_judges_it(name: str) -> None:
    """Not both: an action that is said to be no step has no lemma."""
    for version in VERSIONS:
        system = SYSTEMS[name](version)
        judged = {part for lemma in system.steps for part in lemma.action.name.split(", ")}
        actions = {action.name for action in system.actions}

        assert actions - judged <= set(UNJUDGED[name])
        assert not judged & set(UNJUDGED[name])
    assert set(UNJUDGED[name]) <= {action.name for version in VERSIONS for action in SYSTEMS[name](version).actions}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_steps_of_transactions_are_as_judged(version: int, judged: JudgedSteps) -> None:
    """Under every version: the lemmas need no theorem that is not true of it."""
    found = judged.of[version]

    assert [] == [str(each) for each in found if not isinstance(each.verdict, Proved)]
    assert len(found) == len(SYSTEMS["transactions"](version).steps) > 15


@pytest.mark.parametrize("name", ["partition", "idempotence"])
def test_the_appends_of_the_other_systems_are_as_judged(name: str) -> None:
    """Data, offsets and markers; batches that are appended, and batches that are not."""
    found = list(Prover(SYSTEMS[name](2)).steps())

    assert found
    assert [] == [str(each) for each in found if not isinstance(each.verdict, Proved)]


def test_every_kind_of_recorded_step_is_judged(judged: JudgedSteps) -> None:
    """By the decision that the lemmas ask of it; what none asks for is said with its reason."""
    assert judged.requested == set(DECISIONS) - set(LEFT_OUT)


def test_each_lemma_has_a_control() -> None:
    """A lemma that nothing can refute would show nothing."""
    named = {(name, lemma.name) for name in SYSTEMS for version in VERSIONS for lemma in SYSTEMS[name](version).steps}

    assert {(one.system.name, one.lemma.name) for one in misjudged()} == named


@pytest.mark.parametrize("name", ["partition", "idempotence", "group"])
def test_the_judge_refuses_a_step_of_a_system_with_a_defect(name: str) -> None:
    """The first control of the system; `eos verify` asks for all of them."""
    control = next(one for one in misjudged() if one.system.name == name)

    assert isinstance(Prover(control.system).judged(control.lemma).verdict, Refuted)


@pytest.mark.slow
def test_the_judge_refuses_each_control() -> None:
    """By the name of the lemma and of its action."""
    controls = step_controls()

    assert [] == [control.name for control in controls if control.got != "violated"]
    assert len({control.name for control in controls}) == len(controls)


@pytest.mark.slow
@pytest.mark.parametrize("scalar", SCALARS)
def test_the_judge_refuses_every_other_memory(scalar: str, provers: dict[int, Prover]) -> None:
    """Whichever scalar of the coordinator's entry is another one after the step."""
    for version in (1, 2):
        for lemma in SYSTEMS["transactions"](version).steps:
            if lemma.name not in OF_ENTRIES:
                verdict = provers[version].judged(_with_another(lemma, scalar)).verdict
                assert isinstance(verdict, Refuted), f"{lemma.name} does not look at {scalar}"


def _with_another(lemma: StepLemma, scalar: str) -> StepLemma:
    def effect(state: State, *at: Any) -> State:
        after = lemma.action.effect(state, *at)
        memory = after.memory()
        value = getattr(memory, scalar)
        other = negate(value) if scalar in FACTS else value + 1
        return after.but(memory=always(replace(memory, **{scalar: other})))

    return replace(lemma, action=replace(lemma.action, effect=effect))
