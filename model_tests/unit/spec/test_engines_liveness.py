"""Liveness: what a fair run must come to, shown on systems of a few states."""

from collections.abc import Iterator

import pytest

from spec import rules
from spec.algebra import Term, all_of, negate
from spec.engines.components import components
from spec.engines.finite import Finite
from spec.engines.liveness import Livelock, graph_of, never_due, progresses
from spec.engines.verdict import Happening, Holds
from spec.systems.language import Action, Effect, Guard, LivenessClaim, State, System, Variable, always


def light(*fair: str, faults: tuple[str, ...] = ()) -> tuple[System, LivenessClaim]:
    """A light that flickers until it is switched on, and a bulb that breaks and is replaced."""

    def may(on: bool, broken: bool) -> Guard:
        def guard(state: State) -> Iterator[Term]:
            yield all_of(state.on() == on, state.broken() == broken)

        return guard

    def sets(**to: bool) -> Effect:
        return lambda state: state.but(**{name: always(value) for name, value in to.items()})

    actions = (
        Action("switches_on", (), may(False, False), sets(on=True)),
        Action("flickers", (), may(False, False), sets(on=False)),
        Action("breaks", (), may(False, False), sets(broken=True)),
        Action("is_replaced", (), may(False, True), sets(broken=False)),
    )
    variables = (Variable("on", (), initial=False), Variable("broken", (), initial=False))
    claim = LivenessClaim(
        "shines",
        rules.TXN_COMPLETES,
        "It shines in the end.",
        (),
        lambda state: negate(state.on()),
        lambda state: state.on(),
        frozenset(fair),
        lambda action, _: action in faults,
    )
    return System("light", variables, actions, (), (), (), ()), claim


def verdict(system: System, claim: LivenessClaim) -> object:
    """What is said of the claim in the one instance that there is."""
    finite = Finite({})
    return progresses(graph_of(system, finite), finite, claim)


def test_without_a_fair_action_nothing_follows() -> None:
    """A run may stop at once."""
    assert Livelock("shines", (), ()) == verdict(*light())


def test_what_is_always_possible_happens_in_the_end() -> None:
    """Breaking happens finitely often, and replacing is not limited."""
    found = verdict(*light("switches_on", "is_replaced", faults=("breaks",)))

    assert isinstance(found, Holds)
    assert found.complete


def test_what_is_possible_now_and_then_may_never_happen() -> None:
    """Who only sees to it that what stays possible happens, may miss it every time the bulb is whole."""
    found = verdict(*light("switches_on", "is_replaced"))

    assert isinstance(found, Livelock)
    assert {"breaks", "is_replaced"} == {happening.action for happening in found.cycle}


def test_a_cycle_in_which_all_act_that_must_is_fair() -> None:
    """Flickering is not shining, however often it happens."""
    found = verdict(*light("flickers", "is_replaced", faults=("breaks",)))

    assert Livelock("shines", (), (Happening("flickers", ()),)) == found


def test_a_fault_is_no_way_out_of_a_cycle() -> None:
    """Without a replacement the broken bulb ends the run."""
    found = verdict(*light("switches_on", faults=("breaks",)))

    assert Livelock("shines", (Happening("breaks", ()),), ()) == found
    assert "after breaks(), and then nothing has to happen" in str(found)


def test_a_claim_that_is_never_due_is_known() -> None:
    """It would hold of everything."""
    system, claim = light("switches_on")
    never = LivenessClaim(
        claim.name, claim.rule, claim.sentence, (), lambda _: False, claim.until, claim.fair, claim.is_fault
    )
    graph = graph_of(system, Finite({}))

    assert never_due(graph, Finite({}), never)
    assert not never_due(graph, Finite({}), claim)


def test_too_many_states_are_an_error() -> None:
    """Half a graph would prove nothing."""
    with pytest.raises(OverflowError, match="more than 2 states"):
        graph_of(light()[0], Finite({}), most_states=2)


@pytest.mark.parametrize(
    ("successors", "expected"),
    [
        ({0: [1], 1: [0]}, [{0, 1}]),
        ({0: [1], 1: [2], 2: [1]}, [{1, 2}, {0}]),
        ({0: [0], 1: []}, [{0}, {1}]),
        ({0: [1, 2], 1: [3], 2: [3], 3: [4], 4: [3, 5], 5: []}, [{5}, {3, 4}, {1}, {2}, {0}]),
    ],
)
def test_components_are_reported_apart(successors: dict[int, list[int]], expected: list[set[int]]) -> None:
    """Each before those that lead to it."""
    assert expected == [set(component) for component in components(successors)]
