"""Producer ids of the transactions are names: no action, theorem or decision asks which of two is larger (A10)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spec.engines.data_independence import NameTerms
from spec.systems.language import Action, State, always, update
from spec.systems.transactions.proof import proved
from spec.systems.transactions.world import PARTITION, PRODUCER

SYSTEM = proved()


@pytest.fixture(scope="module")
def names() -> NameTerms:
    return NameTerms(SYSTEM, PRODUCER, lambda called: called.endswith("producer_id") or called == "drawn")


def test_nothing_asks_of_a_producer_id_more_than_which_it_is(names: NameTerms) -> None:
    """Guards and effects of every action, the decisions within them, theorems, and what is derived from a state."""
    found = {action.name: names.misused_by(action, "drawn") for action in SYSTEM.actions}

    assert {} == {name: lines for name, lines in found.items() if lines}
    assert [] == names.misused_by_claims()


def test_drawing_is_the_one_sum(names: NameTerms) -> None:
    """Without leave to draw the next id, an action that draws one is found, and one that draws none is not."""
    initializes, fences = (names.misused_by(SYSTEM.action(f"coordinator_{it}")) for it in ("initializes", "fences"))

    assert any("+(drawn, 1)" in line for line in initializes)
    assert [] == fences


def _guarded_by(fact: Callable[[State], Any]) -> Action:
    return Action("changed", (), lambda state: iter((fact(state),)), lambda state: state)


def _leaving(**changed: Callable[[State], Any]) -> Action:
    def effect(state: State) -> State:
        return state.but(**{name: always(value(state)) for name, value in changed.items()})

    return Action("changed", (), lambda _: iter(()), effect)


def _by_epoch(state: State, partition: Any) -> State:
    epoch = state.memory().producer_epoch
    return state.but(latest_coordinator=update(state.latest_coordinator, epoch, partition, to=1))


MISUSES = {
    "which is larger": _guarded_by(lambda state: state.memory().producer_id < state.drawn()),
    "a number": _guarded_by(lambda state: state.memory().producer_id == 7),
    "an epoch": _guarded_by(lambda state: state.memory().producer_id == state.memory().producer_epoch),
    "how far apart": _guarded_by(lambda state: state.drawn() - state.memory().producer_id == 1),
    "at least 1": _guarded_by(lambda state: state.memory().producer_id >= 1),
    "an id where none belongs": _leaving(coordinator_epoch=lambda state: state.drawn()),
    "a sum where an id belongs": _leaving(newest=lambda s: replace(s.newest(), producer_id=s.drawn() + 2)),
    "a number where an id belongs": _leaving(newest=lambda s: replace(s.newest(), producer_id=3)),
    "an epoch among ids": Action("changed", (PARTITION,), lambda *_: iter(()), _by_epoch),
}


@pytest.mark.parametrize("asks", MISUSES)
def test_an_action_that_asks_more_is_found(asks: str, names: NameTerms) -> None:
    """Whether it compares ids, reckons with them, or takes something else for one."""
    assert [] != names.misused_by(MISUSES[asks], "drawn")


def test_absence_may_be_asked_in_any_way(names: NameTerms) -> None:
    """-1 is no id, and an id may be forgotten."""
    asks = _guarded_by(lambda s: (s.memory().next_producer_id >= 0) == (s.newest().producer_id == -1))
    forgets = _leaving(newest=lambda s: replace(s.newest(), producer_id=-1))

    assert [] == names.misused_by(asks) + names.misused_by(forgets)
