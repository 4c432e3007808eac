"""States of a finite instance as tuples of numbers: a cell for each function at each of its points.

What is worked out of a state is remembered by the cells that it reads, in the order in which it reads them: the next
one follows from the values of those before, so that a state with the same values in these cells has the same answer.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from spec.engines.finite import Finite, derived
from spec.systems.language import Function, Rewritten, State, System, Updated, Variable

Point: TypeAlias = tuple[int, ...]
Cells: TypeAlias = tuple[int, ...]
"""A state: for each function at each point the number of its value."""

Written: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Places of cells, and the numbers of what is written there."""

UNKNOWN: Final = object()
"""Nothing is remembered yet."""


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
    """A function of a state, as some of its cells; outside the instance it has its initial value.

    Which cells are read is written down, with their numbers.
    """

    __slots__ = ("_cells", "_outside", "_read", "_values", "places")

    def __init__(
        self, places: dict[Point, int], values: Values, outside: Any, cells: Cells, read: dict[int, int]
    ) -> None:
        self.places = places
        self._values = values
        self._outside = outside
        self._cells = cells
        self._read = read

    def __call__(self, *at: int) -> Any:
        """The value at one point."""
        place = self.places.get(at)
        if place is None:
            return self._outside
        number = self._cells[place]
        self._read[place] = number
        return self._values[number]


class Layout:
    """How the states of one instance are laid out.

    Attributes:
        places: of each function, the place of its cell at each point.
        learned: rises whenever something turned out to read a cell that it was not known to read.
    """

    def __init__(self, system: System, finite: Finite) -> None:
        self._variables = system.variables
        self.places: dict[str, dict[Point, int]] = {}
        size = 0
        for variable in system.variables:
            self.places[variable.name] = {at: size + k for k, at in enumerate(finite.points(variable.over))}
            size += len(self.places[variable.name])
        self._size = size
        self.learned = 0
        self._values = Values()
        self._derived = derived(system, finite)

    def initial(self, system: System) -> Cells:
        """The cells at the start."""
        return self.applied((0,) * self._size, self.written(system.initially()))

    def state(self, cells: Cells, read: dict[int, int] | None = None) -> State:
        """The state that these cells are; what is read of them is written down in `read`."""
        reading = {} if read is None else read
        return State(
            {
                variable.name: Table(self.places[variable.name], self._values, variable.initial, cells, reading)
                for variable in self._variables
            },
            self._derived,
        )

    def written(self, state: State) -> Written:
        """What is in a state that follows from another one, where it may differ from that."""
        cells: dict[int, int] = {}
        for variable in self._variables:
            cells.update(self._of(variable, getattr(state, variable.name)))
        return tuple(cells), tuple(cells.values())

    def applied(self, cells: Cells, written: Written) -> Cells:
        """The cells after something is written."""
        after = list(cells)
        places, numbers = written
        for place, number in zip(places, numbers, strict=True):
            after[place] = number
        return tuple(after)

    def _of(self, variable: Variable, function: Function) -> dict[int, int]:
        places = self.places[variable.name]
        match function:
            case Table() if function.places is places:
                return {}
            case Updated(before, at, value):
                if at not in places:
                    raise IndexError(f"{variable.name}{at} is outside the instance")
                return {**self._of(variable, before), places[at]: self._values.number(value)}
            case Rewritten(before, where, values):
                there = {place: self._values.number(values(*at)) for at, place in places.items() if where(*at)}
                return {**self._of(variable, before), **there}
            case _:
                return {place: self._values.number(function(*at)) for at, place in places.items()}


class Remembered:
    """Something that is worked out of a state, once for all states that agree in the cells that it reads.

    Args:
        work: from a state to what is worked out of it, by what it says of its cells alone.
    """

    def __init__(self, layout: Layout, work: Callable[[State], Any]) -> None:
        self._layout = layout
        self._work = work
        self.first: Any = UNKNOWN
        self.reads: set[int] = set()

    def __call__(self, cells: Cells) -> Any:
        """What is worked out of the state that these cells are."""
        node = self.first
        try:
            while type(node) is list:
                place, following = node
                node = following[cells[place]]
        except KeyError:
            return self.learned(cells)
        return self.learned(cells) if node is UNKNOWN else node

    def learned(self, cells: Cells) -> Any:
        """The same of a state whose cells were not met yet."""
        read: dict[int, int] = {}
        answer = self._work(self._layout.state(cells, read))
        if not self.reads.issuperset(read):
            self.reads.update(read)
            self._layout.learned += 1
        path = list(read.items())
        if not path:
            self.first = answer
            return answer
        if self.first is UNKNOWN:
            self.first = [path[0][0], {}]
        node = self.first
        for (place, number), (following, _) in pairwise(path):
            self._demand(node, place)
            node = node[1].setdefault(number, [following, {}])
        self._demand(node, path[-1][0])
        node[1][path[-1][1]] = answer
        return answer

    def _demand(self, node: Any, place: int) -> None:
        if type(node) is not list or node[0] != place:
            raise AssertionError("what is worked out of a state depends on more than the state")


class Watch:
    """Several things that are worked out of each state: of the next one, only those that read what was written.

    The answers of a state are a list in the order of the things.
    """

    def __init__(self, layout: Layout, things: Sequence[Remembered]) -> None:
        self._layout = layout
        self._things = things
        self._due: dict[tuple[int, ...], list[int]] = {}
        self._known = 0

    def all(self, cells: Cells) -> list[Any]:
        """Everything, of a state of which nothing is known."""
        return [thing(cells) for thing in self._things]

    def after(self, answers: Sequence[Any], places: tuple[int, ...], cells: Cells) -> tuple[list[Any], list[int]]:
        """All of a state that differs from another one in these places alone, and what was worked out anew."""
        due = self._reading(places)
        found = list(answers)
        for number in due:
            node = self._things[number].first
            try:  # as `Remembered` does it, without a call: nine tenths of a search are spent here
                while type(node) is list:
                    place, following = node
                    node = following[cells[place]]
            except KeyError:
                node = self._things[number].learned(cells)
            found[number] = node
        return found, due

    def _reading(self, places: tuple[int, ...]) -> list[int]:
        if self._known != self._layout.learned:
            self._due.clear()
            self._known = self._layout.learned
        if places not in self._due:
            self._due[places] = [n for n, thing in enumerate(self._things) if not thing.reads.isdisjoint(places)]
        return self._due[places]
