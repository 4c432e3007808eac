"""Explicit search: every reachable state of a finite instance, breadth first, counted exactly.

The functions of a state are tables of Python values. The first violation found is at the end of a shortest trace.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from spec.engines.finite import Finite, derived
from spec.engines.verdict import Happening, Holds, Refuted, Trace, Unknown, Verdict
from spec.systems.language import Action, Claim, Function, State, System, Updated, Variable

Point: TypeAlias = tuple[int, ...]
Tables: TypeAlias = tuple[tuple[int, ...], ...]
"""A state: for each function its values by point, as numbers of known values."""

Moves: TypeAlias = Sequence[tuple[Action, Sequence[Point]]]
"""Every action, with every tuple of arguments that an instance has for it."""


class Values:
    """Every value that occurred in some state, by number, so that states are small and quick to compare."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._values: list[Any] = []

    def number(self, value: Any) -> int:
        """The number of a value; `True` and 1 are two values."""
        key = (type(value), value)
        if key not in self._numbers:
            self._numbers[key] = len(self._values)
            self._values.append(value)
        return self._numbers[key]

    def __getitem__(self, number: int) -> Any:
        return self._values[number]


class Table:
    """A function of the state, as a table; outside the instance it has its initial value."""

    __slots__ = ("_outside", "_places", "_values", "numbers")

    def __init__(self, places: dict[Point, int], values: Values, outside: Any, numbers: tuple[int, ...]) -> None:
        self._places = places
        self._values = values
        self._outside = outside
        self.numbers = numbers

    def __call__(self, *at: int) -> Any:
        """The value at one point."""
        place = self._places.get(at)
        return self._outside if place is None else self._values[self.numbers[place]]


class Layout:
    """How the states of one instance are laid out in tables."""

    def __init__(self, system: System, finite: Finite) -> None:
        self._variables = system.variables
        self._places = {v.name: {at: k for k, at in enumerate(finite.points(v.over))} for v in system.variables}
        self._values = Values()
        self._derived = derived(system, finite)

    def initial(self, system: System) -> Tables:
        """The tables at the start."""
        return self.after(system.initially())

    def state(self, tables: Tables) -> State:
        """The state that these tables are."""
        return State(
            {
                variable.name: Table(self._places[variable.name], self._values, variable.initial, numbers)
                for variable, numbers in zip(self._variables, tables, strict=True)
            },
            self._derived,
        )

    def after(self, state: State) -> Tables:
        """The tables of any state."""
        return tuple(self._tabulated(variable, getattr(state, variable.name)) for variable in self._variables)

    def _tabulated(self, variable: Variable, function: Function) -> tuple[int, ...]:
        places = self._places[variable.name]
        match function:
            case Table():
                return function.numbers
            case Updated(before, at, value):
                numbers = list(self._tabulated(variable, before))
                if at not in places:
                    raise IndexError(f"{variable.name}{at} is outside the instance")
                numbers[places[at]] = self._values.number(value)
                return tuple(numbers)
            case _:
                return tuple(self._values.number(function(*at)) for at in places)


@dataclass(slots=True)
class Exploration:
    """What a search saw.

    Attributes:
        states: distinct states, the initial one included.
        edges: pairs of a state and an action with arguments that may happen in it.
        depth: actions to the deepest state seen.
        happened: names of the actions that happened.
        reached: for each goal that was reached, the shortest trace to it.
        verdict: on the claims that were asked for.
    """

    states: int = 0
    edges: int = 0
    depth: int = 0
    happened: set[str] = field(default_factory=set)
    reached: dict[str, Trace] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=lambda: Unknown("nothing was explored"))


def explore(
    system: System,
    finite: Finite,
    claims: Iterable[Claim] | None = None,
    depth: int | None = None,
    most_states: int = 1_000_000,
) -> Exploration:
    """Search until a claim is violated, no state is new, or the bounds are reached.

    Args:
        system: what is explored.
        finite: its instance.
        claims: what is checked in every state; by default the theorems.
        depth: most actions from the start.
        most_states: where there are more, the verdict is unknown.
    """
    return _Search(system, finite, system.theorems if claims is None else tuple(claims)).run(depth, most_states)


class _Search:
    def __init__(self, system: System, finite: Finite, claims: Iterable[Claim]) -> None:
        self._system = system
        self._layout = Layout(system, finite)
        self._moves = [(action, list(finite.points(action.over))) for action in system.actions]
        self._claims = [(claim, list(finite.points(claim.over))) for claim in claims]
        self._goals = [(goal, list(finite.points(goal.over))) for goal in system.goals]
        self._from: dict[Tables, tuple[Tables, Happening] | None] = {}
        self._found = Exploration()

    def run(self, depth: int | None, most_states: int) -> Exploration:
        frontier = [self._layout.initial(self._system)]
        self._from[frontier[0]] = None
        violated = self._look(frontier[0])
        while frontier and violated is None and self._found.depth != depth:
            level: list[Tables] = []
            for tables, happening, after in self._edges(frontier):
                if after in self._from:
                    continue
                self._from[after] = (tables, happening)
                level.append(after)
                violated = self._look(after)
                if violated is not None or len(self._from) > most_states:
                    break
            frontier = level
            self._found.depth += bool(level)
            if len(self._from) > most_states:
                return self._finished(Unknown(f"more than {most_states} states"))
        return self._finished(violated or Holds(self._found.depth, complete=not frontier))

    def _finished(self, verdict: Verdict) -> Exploration:
        self._found.states = len(self._from)
        self._found.verdict = verdict
        return self._found

    def _edges(self, frontier: list[Tables]) -> Iterator[tuple[Tables, Happening, Tables]]:
        for tables in frontier:
            for happening, after in possible(self._layout, self._moves, tables):
                self._found.edges += 1
                self._found.happened.add(happening.action)
                yield tables, happening, after

    def _look(self, tables: Tables) -> Refuted | None:
        state = self._layout.state(tables)
        for goal, points in self._goals:
            if goal.name not in self._found.reached and any(goal.reached(state, *at) for at in points):
                self._found.reached[goal.name] = self._trace(tables)
        for claim, points in self._claims:
            if not all(claim.holds(state, *at) for at in points):
                return Refuted(claim.name, self._trace(tables))
        return None

    def _trace(self, tables: Tables) -> Trace:
        happenings: list[Happening] = []
        step = self._from[tables]
        while step is not None:
            happenings.append(step[1])
            step = self._from[step[0]]
        return tuple(reversed(happenings))


def possible(layout: Layout, moves: Moves, tables: Tables) -> Iterator[tuple[Happening, Tables]]:
    """What may happen in a state, each with the state after it."""
    state = layout.state(tables)
    for action, points in moves:
        for at in points:
            if _may(action, state, at):
                yield Happening(action.name, at), layout.after(action.effect(state, *at))


def _may(action: Action, state: State, at: Point) -> bool:
    return all(action.guard(state, *at))


def replayed(system: System, finite: Finite, trace: Trace) -> State:
    """The state after a trace, each action checked to be possible where it happens."""
    *_, last = walked(system, finite, trace)
    return last


def walked(system: System, finite: Finite, trace: Trace) -> Iterator[State]:
    """The states along a trace, the initial one first, each action checked to be possible where it happens."""
    layout = Layout(system, finite)
    state = layout.state(layout.initial(system))
    yield state
    for happening in trace:
        action = system.action(happening.action)
        if not _may(action, state, happening.at):
            raise ValueError(f"{happening} cannot happen here")
        state = layout.state(layout.after(action.effect(state, *happening.at)))
        yield state
