"""What each hand-written defect of a system does to the number of states, exactly."""

from collections.abc import Mapping
from typing import Final

import pytest

from model_tests.verify.proofs import SEARCHES
from model_tests.verify.state_counts import DEFECTS, counted, of_systems
from spec.engines.explore import explore
from spec.engines.verdict import Holds

DIFFERENCES: Final[Mapping[str, tuple[int, int]]] = {
    "KAFKA-17754: a late EndTxn ends the next transaction": (1193, 167),
    "a late Produce joins the next transaction": (1340, 167),
    "a late Produce opens a transaction that hangs": (44, 62),
    "KIP-447: no commit is held against the group's generation": (264, 236),
    "KAFKA-15784: the group is looked at before the coordinator is asked": (246, 236),
    "KAFKA-18575: a transaction of another epoch counts as ongoing": (478, 430),
    "KAFKA-18654: a marker takes the next transaction's guard": (732, 430),
    "KAFKA-18660: the identity is looked at before the pending transition": (784, 394),
    "KAFKA-19367: a fence bumps twice": (742, 1090),
    "KAFKA-19446: a late marker ends the next transaction": (115, 81),
    "KAFKA-20090: a fence at the last epoch draws no producer id": (874, 1090),
    "KAFKA-9144: producer state expires by the time of its data": (286, 109),
    "KAFKA-14884: the guard is not compared": (66, 62),
    "KAFKA-16352: a late completion takes the next one's place": (123, 109),
    "KAFKA-19999: a repeated marker is refused": (36, 36),
    "a group takes over what is aborted": (88, 88),
    "a reader does not stop at what is open": (98, 70),
    "the coordinator does not wait for its log": (471, 253),
    "window of four, five in flight": (219, 219),
    "six in flight, window of five": (466, 339),
    "duplicate check off": (749, 603),
    "wrap off": (35, 45),
    "a request outlives a turn of the sequence": (38, 27),
    "transactions not yet replicated are ignored": (52, 47),
    "the first unstable offset is not clamped to the log start": (47, 47),
    "a marker does not end the transaction": (42, 47),
    "coordinator check off": (122, 106),
    "acks 1": (402, 414),
    "the high watermark may fall": (441, 414),
    "as many brokers lose records as min.insync.replicas": (2069, 1142),
    "KAFKA-17507: a marker is answered before it is applied": (26, 10),
    "KAFKA-15784: the group is looked at before the coordinator": (24, 20),
    "an offset expires and leaves what is pending, as before 4.0": (246, 245),
    "KAFKA-14055: keys of markers are compared": (1299, 1311),
}
"""States of the broken system and of the mended one, where both are few."""


BY_NAME: Final = {each.name: (system, each) for system, defects in DEFECTS.items() for each in defects}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_defect_opens_or_closes_exactly_these_states(name: str) -> None:
    """In the instance of its control, searched as a whole."""
    found = counted(*BY_NAME[name])

    assert DIFFERENCES[name] == (found.broken, found.mended)
    assert found.whole
    assert f"{found.broken - found.mended:+}" in str(found)


def test_what_is_cut_short_says_so() -> None:
    """For a search that saw more than its limit, no difference is reported."""
    found = list(of_systems(most_states=5))

    assert not any(each.whole for each in found)
    assert all("as far as was counted" in str(each) for each in found)


def test_every_control_of_every_search_is_counted() -> None:
    """A new one is on the page; some are left to the tests and counted all the same."""
    controls = {(each.system.name, broken.violates) for each in SEARCHES for broken in each.broken}

    counted_here = {(each.mended().system.name, each.violates) for defects in DEFECTS.values() for each in defects}
    assert controls <= counted_here
    assert sum(len(each.broken) for each in SEARCHES) <= sum(map(len, DEFECTS.values()))


@pytest.mark.parametrize("system", DEFECTS)
def test_what_is_mended_keeps_the_claim(system: str) -> None:
    """In the smallest instance of each system's defects; of transactions, tests of their own see it of each."""
    each = min(DEFECTS[system], key=lambda one: one.name)
    instance = each.mended()

    verdict = explore(instance.system, instance.finite, [instance.system.claim(each.violates)]).verdict

    assert isinstance(verdict, Holds)
