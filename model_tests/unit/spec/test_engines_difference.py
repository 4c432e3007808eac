"""Two systems compared by the states that they reach."""

from collections.abc import Iterator
from dataclasses import replace

from spec import rules
from spec.algebra import Term
from spec.engines.difference import compared
from spec.engines.finite import instance_of
from spec.engines.verdict import Happening
from spec.systems.language import Action, Claim, State, System, Variable, always


def counting(most: int) -> System:
    """A counter that goes up to a number."""

    def below(state: State) -> Iterator[Term]:
        yield state.count() < most

    def up(state: State) -> State:
        return state.but(count=always(state.count() + 1))

    theorem = Claim("is_counted", rules.SEQ_ORDER, "", (), lambda _: True)
    return System("counter", (Variable("count", (), 0),), (Action("up", (), below, up),), (theorem,), (), (), ())


def test_the_states_of_both_are_counted_and_the_first_difference_is_shown() -> None:
    """The run is as long as the first state that the other system does not reach is deep."""
    four, two = counting(4), counting(2)

    found = compared((four, instance_of(four, {})), (two, instance_of(two, {})))

    assert (5, 3, 3) == (found.here, found.there, found.both)
    assert (Happening("up", ()),) * 3 == found.only_here
    assert found.only_there is None
    assert not found.equal


def test_a_function_that_only_one_has_is_not_compared() -> None:
    """Its states are those that the other one has, seen without it."""
    plain = counting(2)

    def forget(state: State) -> State:
        return state.but(forgotten=always(value=True))

    more = replace(
        plain,
        variables=(*plain.variables, Variable("forgotten", (), initial=False)),
        actions=(*plain.actions, Action("forget", (), lambda _: iter(()), forget)),
    )

    found = compared((more, instance_of(more, {})), (plain, instance_of(plain, {})))

    assert found.equal
    assert 3 == found.both


def test_a_search_that_is_cut_short_compares_nothing() -> None:
    """What the other system would reach is not known."""
    many, few = counting(50), counting(2)

    found = compared((many, instance_of(many, {})), (few, instance_of(few, {})), most_states=10)

    assert not found.whole
    assert not found.equal
    assert found.only_here is None
