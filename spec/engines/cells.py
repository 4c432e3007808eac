"""States of a finite instance as numbers: a cell for each function at each of its points.

A state is encoded as a string of bytes, in which it is looked up, or as one whole number, the first cell in its lowest
bits: many cells are then chosen by one conjunction of bits, and written by another one and a disjunction.

The values of derived functions are cached from state to state, by the cells that they read. The values of the cells
read so far determine the next cell. So what is known of a function at one point is a tree: a node is a place, with a
branch for each number that was found there, and a leaf is the value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from struct import Struct
from typing import Any, Final, TypeAlias, TypeVar

from spec.algebra import Term
from spec.engines.finite import Finite, derived, derived_values
from spec.systems.language import Function, Rewritten, State, System, Updated, Variable

# --- derived functions, cached by the cells that they read ------------------------------------------------------------


UNKNOWN: Final = object()
"""Nothing is cached yet."""


class StateReading:
    """The numbers of one state, and those that were read; reused for the next state, unless the first is kept.

    Attributes:
        numbers: by place.
        read: the places that were read, in the order of their first reading, with their numbers.
    """

    __slots__ = ("numbers", "read")

    def __init__(self) -> None:
        self.numbers: Any = ()
        self.read: dict[int, int] = {}


class DerivedCells:
    """The derived functions of a system, in the states that are read one after the other.

    Args:
        system: whose states.
        finite: the instance.
        tables: the functions of the state that is read, by name; always the same ones.
        reading: the state that is read.
    """

    def __init__(self, system: System, finite: Finite, tables: Mapping[str, Function], reading: StateReading) -> None:
        self._tables = tables
        self._reading = reading
        self._values = derived_values(system, finite)
        self._after = derived(system, finite)
        self._trees: dict[str, dict[tuple[int, ...], Any]] = {name: {} for name in self._values}

    def functions(self) -> Mapping[str, Callable[[State], Function]]:
        """How each derived function is made from a state."""
        return {name: partial(self._made, name) for name in self._values}

    def _made(self, name: str, state: State) -> Function:
        """The function of a state; without a cache if an action has changed the state: its cells are not stored."""
        now = state.functions
        if any(now[table] is not self._tables[table] for table in self._tables):
            return self._after[name](state)
        return partial(self._known, self._trees[name], partial(self._values[name], state))

    def _known(self, trees: dict[tuple[int, ...], Any], work: Callable[..., Term], *at: int) -> Term:
        reading = self._reading
        node, numbers, read = trees.get(at, UNKNOWN), reading.numbers, reading.read
        while type(node) is list:
            place = node[0]
            read[place] = number = numbers[place]
            node = node[1].get(number, UNKNOWN)
        return self._worked_out(trees, work, at) if node is UNKNOWN else node

    def _worked_out(self, trees: dict[tuple[int, ...], Any], work: Callable[..., Term], at: tuple[int, ...]) -> Term:
        reading = self._reading
        around, reading.read = reading.read, {}
        value = work(*at)
        path, reading.read = reading.read, around
        around |= path
        grown: Any = value
        for place, number in reversed(path.items()):
            grown = [place, {number: grown}]
        _graft(trees, at, grown)
        return value


def _graft(trees: dict[Any, Any], key: Any, grown: Any) -> None:
    """Add a path to the tree, at the point where it leaves the known paths."""
    while key in trees:
        known = trees[key]
        if type(known) is not list or known[0] != grown[0]:
            raise AssertionError("what is derived of a state depends on more than the state")
        (key, grown), trees = next(iter(grown[1].items())), known[1]
    trees[key] = grown


# --- the layout of states ---------------------------------------------------------------------------------------------


Point: TypeAlias = tuple[int, ...]
Cells: TypeAlias = bytes
"""A state: for each function at each point the number of its value."""

Bits: TypeAlias = int
"""The same as a whole number."""

Written: TypeAlias = tuple[tuple[int, ...], Bits, Bits]
"""Places of cells that are written; the bits of all others; what is written."""

MOST_VALUES: Final = 256
"""The number of values of one function that a byte can distinguish."""

NARROW, WIDE = 1, 4
"""Bytes of a cell."""

Result = TypeVar("Result")

NOTHING_READ: Final[Mapping[int, int]] = {}


class TooManyValues(Exception):
    """A function has more values than a byte can number."""


class Values:
    """Every value of one function that occurred in some state, by number: states are small and quick to compare.

    Args:
        narrow: a byte can number all of them.

    Attributes:
        by_number: each value, the first one first.
    """

    def __init__(self, *, narrow: bool) -> None:
        self._numbers: dict[Any, int] = {}
        self.by_number: list[Any] = []
        self._most = MOST_VALUES if narrow else None

    def number(self, value: Any) -> int:
        """The number of a value; `True` and 1 are two values.

        Raises:
            TooManyValues: the value is new, and every number is taken.
        """
        key = (type(value), value)
        if key not in self._numbers:
            if len(self.by_number) == self._most:
                raise TooManyValues
            self._numbers[key] = len(self.by_number)
            self.by_number.append(value)
        return self._numbers[key]


class CellTable:
    """A function of a state, as some of its cells; outside the instance it has its initial value."""

    __slots__ = ("_outside", "_reading", "_values", "places")

    def __init__(self, places: dict[Point, int], values: Values, outside: Any, reading: StateReading) -> None:
        self.places = places
        self._values = values.by_number
        self._outside = outside
        self._reading = reading

    def __call__(self, *at: int) -> Any:
        """The value at one point."""
        place = self.places.get(at)
        if place is None:
            return self._outside
        reading = self._reading
        number = reading.read[place] = reading.numbers[place]
        return self._values[number]


class StateLayout:
    """How the states of one instance are laid out.

    Args:
        system: whose states.
        finite: the instance.
        narrow: a cell is a byte; no function may have more than 256 values.

    Attributes:
        places: of each function, the place of its cell at each point.
        length: of a state, in bytes.
        learned: rises whenever something turned out to read a cell that it was not known to read.
    """

    def __init__(self, system: System, finite: Finite, *, narrow: bool = False) -> None:
        self._variables = system.variables
        self.places: dict[str, dict[Point, int]] = {}
        size = 0
        for variable in system.variables:
            self.places[variable.name] = {at: size + k for k, at in enumerate(finite.points(variable.over))}
            size += len(self.places[variable.name])
        self._width = NARROW if narrow else WIDE
        self._bits = 8 * self._width
        self._cells = [(1 << self._bits) - 1 << self._bits * place for place in range(size)]
        self._all = sum(self._cells)
        self.length = size * self._width
        self.learned = 0
        self._values = {variable.name: Values(narrow=narrow) for variable in system.variables}
        self._unpack = Struct(f"<{size}I").unpack
        self._derived = derived(system, finite)
        self._reading = StateReading()
        self._tables = self._made(self._reading)
        self._remembered = DerivedCells(system, finite, self._tables, self._reading).functions()

    def initial(self, system: System) -> Cells:
        """The cells at the start."""
        return self.applied(bytes(self.length), self.written(system.initially()))

    def bits(self, cells: Cells) -> Bits:
        """Cells as a whole number."""
        return int.from_bytes(cells, "little")

    def chosen(self, places: Iterable[int]) -> Bits:
        """The bits of the cells in these places, all of them set."""
        return sum(map(self._cells.__getitem__, places))

    def state(self, cells: Cells) -> State:
        """The state that these cells are."""
        reading = StateReading()
        reading.numbers = self._numbers(cells)
        return State(self._made(reading), self._derived)

    def read(self, bits: Bits) -> tuple[State, StateReading]:
        """A state, valid until the next one is read, and the record of what is read of it."""
        self._reading.numbers = self.numbers(bits)
        self._reading.read = {}
        return State(self._tables, self._remembered), self._reading

    def numbers(self, bits: Bits) -> Sequence[int]:
        """The number in each place."""
        return self._numbers(bits.to_bytes(self.length, "little"))

    def values(self, cells: Cells, names: Iterable[str]) -> tuple[Any, ...]:
        """The values of these functions at each of their points, in order."""
        numbers = self._numbers(cells)
        return tuple(
            self._values[name].by_number[numbers[place]] for name in names for place in self.places[name].values()
        )

    def written(self, state: State, read: Mapping[int, int] = NOTHING_READ) -> Written:
        """The cells in which a state may differ from the state before it.

        Args:
            state: the one that follows.
            read: places of the one before, with the numbers that are known to be in them.
        """
        cells: dict[int, int] = {}
        functions = state.functions
        for variable in self._variables:
            function = functions[variable.name]
            if type(function) is not CellTable or function.places is not self.places[variable.name]:
                self._note(variable, function, cells)
        return self.writing({place: number for place, number in cells.items() if read.get(place) != number})

    def writing(self, numbers: Mapping[int, int]) -> Written:
        """The write that puts these numbers in these places."""
        put = sum([number << self._bits * place for place, number in numbers.items()])
        return tuple(numbers), self._all - self.chosen(numbers), put

    def applied(self, cells: Cells, written: Written) -> Cells:
        """The cells after this is written."""
        return self.cells(self.bits(cells), written)

    def cells(self, bits: Bits, written: Written) -> Cells:
        """The same of cells as a whole number."""
        _, others, put = written
        return (bits & others | put).to_bytes(self.length, "little")

    def rearranged(self, source: Sequence[int]) -> Callable[[Cells], Cells]:
        """A function that rearranges cells: each place gets the number of its source."""
        taken = itemgetter(*(place * self._width + k for place in source for k in range(self._width)))
        return lambda cells: bytes(taken(cells))

    def _numbers(self, cells: Cells) -> Sequence[int]:
        return cells if self._width == NARROW else self._unpack(cells)

    def _made(self, reading: StateReading) -> dict[str, Function]:
        return {
            variable.name: CellTable(self.places[variable.name], self._values[variable.name], variable.initial, reading)
            for variable in self._variables
        }

    def _note(self, variable: Variable, function: Function, cells: dict[int, int]) -> None:
        """Note the number of each value of a function that may have changed."""
        places, number = self.places[variable.name], self._values[variable.name].number
        match function:
            case CellTable() if function.places is places:
                return
            case Updated(before, at, value):
                if at not in places:
                    raise IndexError(f"{variable.name}{at} is outside the instance")
                self._note(variable, before, cells)
                cells[places[at]] = number(value)
            case Rewritten(before, where, values):
                self._note(variable, before, cells)
                cells.update({place: number(values(*at)) for at, place in places.items() if where(*at)})
            case _:
                cells.update({place: number(function(*at)) for at, place in places.items()})


def narrowest(work: Callable[[bool], Result]) -> Result:
    """The result of the work with narrow cells; with wide ones if a function has too many values."""
    try:
        return work(True)
    except TooManyValues:
        return work(False)
