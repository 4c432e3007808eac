"""Finite instances of a system: which values the arguments of its functions and actions have."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product

from spec.algebra import Term
from spec.protocol.lso import smaller
from spec.systems.language import Function, Least, Sort, State, System


class Vacuous(Exception):
    """A system of which less can happen, or more is excluded, than it says: names the culprit."""


@dataclass(frozen=True, slots=True)
class Finite:
    """The values of each sort, by its name."""

    values: Mapping[str, tuple[int, ...]]

    def of(self, sort: Sort) -> tuple[int, ...]:
        """The values of one sort.

        Raises:
            Vacuous: the instance gives the sort no value.
        """
        if not self.values.get(sort.name):
            raise Vacuous(f"the instance has no {sort.name}")
        return self.values[sort.name]

    def points(self, over: tuple[Sort, ...]) -> Iterator[tuple[int, ...]]:
        """Every tuple of arguments of these sorts."""
        return product(*(self.of(sort) for sort in over))


def demand_all_happen(system: System, happened: frozenset[str]) -> None:
    """Refuse a system with an action that cannot happen, or with a dormant one that can.

    Raises:
        Vacuous: there is such an action; it is named.
    """
    for action in system.actions:
        if action.dormant and action.name in happened:
            raise Vacuous(f"{action.name} must never happen in {system.name}, and does")
        if not action.dormant and action.name not in happened:
            raise Vacuous(f"{action.name} can never happen in {system.name}")


def instance_of(system: System, sizes: Mapping[str, int]) -> Finite:
    """The instance in which each sort has the whole numbers below its size; a sort without one has 0 alone."""
    over = (
        *(variable.over for variable in system.variables),
        *(least.among for least in system.derived),
        *(action.over for action in system.actions),
        *(claim.over for claim in system.claims),
    )
    sorts = {sort.name for each in over for sort in each}
    return Finite({name: tuple(range(sizes.get(name, 1))) for name in sorts})


def derived(system: System, finite: Finite) -> Mapping[str, Callable[[State], Function]]:
    """The derived functions of every state of an instance, worked out over all of its points."""
    return {name: partial(_known, value) for name, value in derived_values(system, finite).items()}


def derived_values(system: System, finite: Finite) -> Mapping[str, Callable[..., Term]]:
    """The same from a state and arguments, worked out each time."""
    return {least.name: partial(_least, least, tuple(finite.points(least.among))) for least in system.derived}


def _least(least: Least, points: tuple[tuple[int, ...], ...], state: State, *at: Term) -> Term:
    return reduce(smaller, (least.value(state, *at, *point) for point in points))


def _known(value: Callable[..., Term], state: State) -> Function:
    return _remembered(partial(value, state))


def _remembered(function: Function) -> Function:
    """The function, its value at each point of the instance worked out once."""
    known: dict[tuple[int, ...], Term] = {}

    def value(*at: Term) -> Term:
        if not all(isinstance(part, int) for part in at):
            return function(*at)
        if at not in known:
            known[at] = function(*at)
        return known[at]

    return value
