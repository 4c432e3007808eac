"""What each hand-written defect of the transactions does to the number of states, exactly."""

from collections.abc import Mapping
from typing import Final

import pytest

from model_tests.verify.state_counts import counted, of_transactions
from spec.systems.transactions.controls import CONTROLS

DIFFERENCES: Final[Mapping[str, tuple[int, int]]] = {
    "KAFKA-17754: a late EndTxn ends the next transaction": (1193, 167),
    "a late Produce joins the next transaction": (1340, 167),
    "a late Produce opens a transaction that hangs": (44, 62),
    "KIP-447: no commit is held against the group's generation": (192, 182),
    "KAFKA-15784: the group is looked at before the coordinator is asked": (183, 182),
    "KAFKA-18575: a transaction of another epoch counts as ongoing": (478, 430),
    "KAFKA-18654: a marker takes the next transaction's guard": (732, 430),
    "KAFKA-18660: the identity is looked at before the pending transition": (784, 394),
    "KAFKA-19367: a fence bumps twice": (742, 1090),
    "KAFKA-19446: a late marker ends the next transaction": (115, 81),
    "KAFKA-20090: a fence at the last epoch draws no producer id": (994, 1090),
    "KAFKA-9144: producer state expires by the time of its data": (286, 109),
    "KAFKA-14884: the guard is not compared": (66, 62),
    "KAFKA-16352: a late completion takes the next one's place": (123, 109),
    "KAFKA-19999: a repeated marker is refused": (36, 36),
    "a group takes over what is aborted": (70, 70),
    "a reader does not stop at what is open": (98, 70),
    "the coordinator does not wait for its log": (471, 253),
}
"""States of the broken system and of the mended one, where both are few."""


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_defect_opens_or_closes_exactly_these_states(name: str) -> None:
    """In the instance of its control, searched as a whole."""
    found = counted(next(each for each in CONTROLS if each.name == name))

    assert DIFFERENCES[name] == (found.broken, found.mended)
    assert found.whole
    assert f"{found.broken - found.mended:+}" in str(found)


def test_what_is_cut_short_says_so() -> None:
    """Of a search that saw more than it may, no difference is told."""
    found = list(of_transactions(most_states=30))

    assert [each.name for each in CONTROLS] == [each.name for each in found]
    assert not any(each.whole for each in found)
    assert all("as far as was counted" in str(each) for each in found)
