"""A group has one effect of each committed record, whoever its members are; where something is changed it has not."""

from typing import Any

import pytest

from model_tests.verify.group_searches import INSTANCES, built
from model_tests.verify.proofs import _refused
from spec.engines.explore import explore
from spec.engines.induction import Prover, prove
from spec.engines.verdict import Holds, Refuted, passed
from spec.systems.group.controls import CONTROLS, BrokenGroup, takes_more
from spec.systems.group.system import group
from spec.systems.group.world import GroupKnobs

DEPTHS = {
    "a past generation commits": 12,
    "a member does not wait for a stable offset": 14,
    "a member reads what is not decided": 5,
    "what is aborted is given to members": 6,
    "offsets have another outcome than outputs": 9,
    "an earlier commit of a transaction comes last": 10,
    "an offset beyond what was read is committed": 5,
    "a transaction is committed without its offset": 7,
    "a member goes on after an abort": 9,
    "the group's offset expires": 7,
}
"""Actions of the shortest violation."""


def test_an_instance_has_exactly_these_states() -> None:
    """Every state of two members was seen, and everything happens."""
    instance = INSTANCES[0].built()

    found = explore(instance.system, instance.finite, instance.system.theorems)

    assert (70_183, 205_043) == (found.states, found.edges)
    assert found.verdict == Holds(22, complete=True)
    assert found.happened == {action.name for action in instance.system.actions}
    assert found.reached.keys() == {goal.name for goal in instance.system.goals}


def test_a_group_is_proved_to_have_each_effect_once() -> None:
    """For any number of generations, transactions and records; and it takes no more than the other systems show."""
    system = group()
    obligations = prove(system)

    assert [] == [str(o) for o in obligations if not passed(o.verdict)]
    claims = len(system.theorems) + len(system.lemmas) * (1 + len(system.actions))
    assert len(obligations) == claims + len(system.steps)


@pytest.mark.parametrize("change", CONTROLS, ids=lambda change: change.name)
def test_a_change_breaks_its_claim(change: BrokenGroup) -> None:
    """The shortest run has so many steps."""
    broken = built(change.name, change.knobs)

    found = explore(broken.system, broken.finite, [broken.system.claim(change.violates)]).verdict

    assert isinstance(found, Refuted)
    assert DEPTHS[change.name] == found.depth


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"without": frozenset({"generation_other"})}, "group_accepts"),
        ({"fetches_stable": False}, "member_begins"),
        ({"one_outcome": False}, "marker_comes"),
    ],
)
def test_a_guard_that_is_left_out_is_missed_by_the_proof(change: dict[str, Any], lost: str) -> None:
    """The action that the guard is of keeps some lemma no more, and the others keep all."""
    system = group(GroupKnobs(**change))
    prover = Prover(system)

    for action in (system.action("group_rebalances"), system.action(lost)):
        kept = all(passed(o.verdict) for o in prover.under(action))
        assert kept == (action.name != lost)


def test_more_than_is_shown_is_not_taken() -> None:
    """Each change that takes more of the other systems is refuted by a state."""
    controls = [control for each in takes_more() for control in _refused([each])]

    assert {"violated"} == {control.got for control in controls}
    assert {step.name for step in group().steps} == {each.lemma.name for each in takes_more()}
