"""Producer ids are handed out once by any number of brokers, and twice when something is changed."""

import pytest

from model_tests.verify.idempotence_searches import IDS_INSTANCES, searched_ids
from model_tests.verify.model_checking import vacuous
from model_tests.verify.results import RunEffort
from spec.engines.explore import explore
from spec.engines.induction import prove
from spec.engines.verdict import Holds, passed
from spec.systems.ids.system import CONTROLS, IdsKnobs, ids, sizes

DEPTHS = {
    "claims are not compared": 8,
    "a claim does not raise the record": 8,
    "a restart begins its block anew": 6,
}
"""Actions of the shortest violation."""

BROKEN = {
    "claims are not compared": (IdsKnobs(compares=False), "blocks_of_two_are_apart under broker_claims"),
    "a claim does not raise the record": (IdsKnobs(raises=False), "blocks_are_claimed under broker_claims"),
    "a restart begins its block anew": (IdsKnobs(forgets=False), "blocks_are_fresh under broker_restarts"),
}
"""Without bounds: the obligation that is no longer proved."""


def test_an_instance_has_exactly_these_states() -> None:
    """Every state of two brokers was seen, and theorem and lemmas hold in each."""
    two = IDS_INSTANCES[0].built()

    found = explore(two.system, two.finite, two.system.claims)

    assert (766, 3188) == (found.states, found.edges)
    assert found.verdict == Holds(14, complete=True)


def test_every_id_is_proved_to_be_handed_out_once() -> None:
    """For any number of brokers and ids, in blocks of 1000."""
    obligations = prove(ids())

    assert [] == [str(o) for o in obligations if not passed(o.verdict)]
    assert len(obligations) == 1 + len(ids().lemmas) * (1 + len(ids().actions))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_system_is_not_proved(name: str) -> None:
    """The obligation that fails is one that the change breaks."""
    knobs, wanted = BROKEN[name]

    open_ones = {str(o) for o in prove(ids(knobs)) if not passed(o.verdict)}

    assert wanted in open_ones


def test_both_searches_find_the_same_shortest_violation() -> None:
    """Every change hands an id out twice."""
    controls = searched_ids().controls(RunEffort.QUICK)

    assert set(DEPTHS) == {name for name, _ in CONTROLS}
    assert all(control.passed for control in controls)
    assert [f"depth {depth}" for depth in DEPTHS.values()] == [c.detail.partition(" by")[0] for c in controls]


def test_everything_happens() -> None:
    """Each action does, and each state of interest is reached."""
    assert [] == list(vacuous([IDS_INSTANCES[0].built()]))


def test_the_true_number_of_ids_is_no_instance() -> None:
    """There are 2^63 of them."""
    with pytest.raises(ValueError, match="not small"):
        sizes(IdsKnobs())
