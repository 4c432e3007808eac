"""Transactional ids are independent, and what is proved of one holds beside any number of others."""

from dataclasses import replace

import pytest

from spec.engines.explore import explore
from spec.engines.finite import instance_of
from spec.engines.verdict import Holds
from spec.systems.language import System
from spec.systems.transactions.broken import quiet
from spec.systems.transactions.clients import OtherIds
from spec.systems.transactions.decisions import decisions, remembered
from spec.systems.transactions.frame import OF_NO_ID, frame
from spec.systems.transactions.proof import UNBOUNDED, lemmas, proved
from spec.systems.transactions.system import transactions
from spec.systems.transactions.world import Bounds
from spec.versions import NEWEST

OTHERS = {action.name for action in OtherIds(UNBOUNDED, decisions(UNBOUNDED)).all()}


@pytest.fixture(scope="module")
def system() -> System:
    return frame()


def test_no_action_of_an_id_is_left_out(system: System) -> None:
    """Brokers, groups and readers belong to no id; of other ids it is shown that they are seen as they act."""
    own = {action.name for action in proved().actions} - OF_NO_ID - OTHERS

    assert len(OTHERS) > 4
    for name in ("cells_of_others_stay", "cells_of_others_are_not_read", "shared_cells_as_assumed"):
        assert own <= {each.action.name for each in system.steps if each.name == name}


def test_beside_other_ids_everything_holds_in_small_instances() -> None:
    """Every lemma and every theorem in every state, with batches, offsets and producer ids of other ids."""
    bounds = Bounds(transactions=1, generations=2, producer_ids=2)
    knobs = quiet(NEWEST, groups=True, readers=True, other_ids=True, bounds=bounds)
    taken = remembered(decisions(knobs))
    instance = replace(transactions(knobs, taken), lemmas=lemmas(knobs, taken))

    searched = explore(instance, instance_of(instance, knobs.sizes()))

    assert isinstance(searched.verdict, Holds)
    assert searched.verdict.complete
    assert searched.happened >= OTHERS
