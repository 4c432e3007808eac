"""States of a finite instance as numbers: a cell for each function at each of its points.

What is worked out of a state is remembered by the cells that it reads, in the order in which it reads them: the next
one follows from the values of those before, so that a state with the same values in these cells has the same answer.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, TypeAlias

from spec.engines.finite import Finite, derived
from spec.systems.language import Function, Rewritten, State, System, Updated, Variable

Point: TypeAlias = tuple[int, ...]
Cells: TypeAlias = tuple[int, ...] | bytes
"""A state: for each function at each point the number of its value; bytes, where no function has many."""

Written: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""Places of cells, and each with the number of what is written there."""

MOST_VALUES: Final = 256
"""So many values of one function a byte tells apart."""

UNKNOWN: Final = object()
"""Nothing is remembered yet."""


class TooManyValues(Exception):
    """A function has more values than a byte can number."""


class Values:
    """Every value of one function that occurred in some state, by number: states are small and quick to compare.

    Args:
        narrow: there are no more of them than a byte can number.
    """

    def __init__(self, *, narrow: bool) -> None:
        self._numbers: dict[Any, int] = {}
        self._values: list[Any] = []
        self._most = MOST_VALUES if narrow else None

    def number(self, value: Any) -> int:
        """The number of a value; `True` and 1 are two values.

        Raises:
            TooManyValues: the value is new, and every number is taken.
        """
        key = (type(value), value)
        if key not in self._numbers:
            if len(self._values) == self._most:
                raise TooManyValues
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

    Args:
        system: whose states.
        finite: the instance.
        narrow: states are bytes, which are quicker to look up; no function may have more than 256 values.

    Attributes:
        places: of each function, the place of its cell at each point.
        learned: rises whenever something turned out to read a cell that it was not known to read.
    """

    def __init__(self, system: System, finite: Finite, *, narrow: bool = False) -> None:
        self._variables = system.variables
        self.places: dict[str, dict[Point, int]] = {}
        size = 0
        for variable in system.variables:
            self.places[variable.name] = {at: size + k for k, at in enumerate(finite.points(variable.over))}
            size += len(self.places[variable.name])
        self._size = size
        self.learned = 0
        self._values = {variable.name: Values(narrow=narrow) for variable in system.variables}
        self._loose: Any = bytearray if narrow else list
        self._fast: Any = bytes if narrow else tuple
        self._derived = derived(system, finite)

    def initial(self, system: System) -> Cells:
        """The cells at the start."""
        return self.applied(self._fast((0,) * self._size), self.written(system.initially()))

    def state(self, cells: Cells, read: dict[int, int] | None = None) -> State:
        """The state that these cells are; what is read of them is written down in `read`."""
        reading = {} if read is None else read
        return State(
            {
                variable.name: Table(
                    self.places[variable.name], self._values[variable.name], variable.initial, cells, reading
                )
                for variable in self._variables
            },
            self._derived,
        )

    def written(self, state: State) -> Written:
        """What is in a state that follows from another one, where it may differ from that."""
        cells: dict[int, int] = {}
        functions = state.functions
        for variable in self._variables:
            function = functions[variable.name]
            if type(function) is not Table or function.places is not self.places[variable.name]:
                cells.update(self._of(variable, function))
        return tuple(cells), tuple(cells.items())

    def applied(self, cells: Cells, written: Written) -> Cells:
        """The cells after something is written."""
        after = self._loose(cells)
        for place, number in written[1]:
            after[place] = number
        return self._fast(after)  # type: ignore[no-any-return]

    def rearranged(self, source: Sequence[int]) -> Callable[[Cells], Cells]:
        """What makes of cells those that have at each place what they have at another one."""
        taken, fast = itemgetter(*source), self._fast
        return lambda cells: fast(taken(cells))

    def _of(self, variable: Variable, function: Function) -> dict[int, int]:
        places, values_of = self.places[variable.name], self._values[variable.name]
        match function:
            case Table() if function.places is places:
                return {}
            case Updated(before, at, value):
                if at not in places:
                    raise IndexError(f"{variable.name}{at} is outside the instance")
                return {**self._of(variable, before), places[at]: values_of.number(value)}
            case Rewritten(before, where, values):
                there = {place: values_of.number(values(*at)) for at, place in places.items() if where(*at)}
                return {**self._of(variable, before), **there}
            case _:
                return {place: values_of.number(function(*at)) for at, place in places.items()}


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
        self._firsts: list[Any] = []
        self._due: dict[tuple[int, ...], list[int]] = {}
        self._known = 0

    def all(self, cells: Cells) -> list[Any]:
        """Everything, of a state of which nothing is known; the initial one comes first."""
        answers = [thing(cells) for thing in self._things]
        self._firsts = [thing.first for thing in self._things]
        return answers

    def after(self, answers: Sequence[Any], places: tuple[int, ...], cells: Cells) -> list[Any]:
        """All of a state that differs from another one in these places alone."""
        found = list(answers)
        for number in self.due(places):
            node = self._firsts[number]
            try:  # as `Remembered` does it, without a call: nine tenths of a search are spent here
                while type(node) is list:
                    place, following = node
                    node = following[cells[place]]
            except KeyError:
                node = self._things[number].learned(cells)
            found[number] = node
        return found

    def first_false(self, due: Sequence[int], cells: Cells) -> int | None:
        """The first of some of them that is false in a state."""
        for number in due:
            node = self._firsts[number]
            try:
                while type(node) is list:
                    place, following = node
                    node = following[cells[place]]
            except KeyError:
                node = self._things[number].learned(cells)
            if node is False:
                return number
        return None

    def all_due(self) -> Sequence[int]:
        """The numbers of all."""
        return range(len(self._things))

    def due(self, places: tuple[int, ...]) -> Sequence[int]:
        """The numbers of those that read what is in these places."""
        if self._known != self._layout.learned:
            self._due.clear()
            self._known = self._layout.learned
        if places not in self._due:
            self._due[places] = [n for n, thing in enumerate(self._things) if not thing.reads.isdisjoint(places)]
        return self._due[places]
