"""What is worked out of the states of an instance is remembered.

It is kept by the cells that it reads, in the order in which it reads them: the next one follows from the values of
those before, so that a state with the same values in these cells has the same answer. Before that it is looked up by
all cells that it ever read, at once.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from spec.engines.cells import Bits, StateLayout, StateReading
from spec.systems.language import State

Work: TypeAlias = Callable[[State, StateReading], Any]
"""From a state to what is worked out of it, by what it says of its cells alone."""

UNKNOWN: Final = object()
"""Nothing is remembered yet."""


class MemoizedValue:
    """Something that is worked out of a state, once for all states that agree in the cells that it reads.

    Attributes:
        reads: the places of all cells that it is known to read.
        mask: their bits.
        answers: by what is in all of them.
    """

    def __init__(self, layout: StateLayout, work: Work) -> None:
        self._layout = layout
        self._work = work
        self._first: Any = UNKNOWN
        self.reads: set[int] = set()
        self.mask: Bits = 0
        self.answers: dict[Bits, Any] = {}

    def __call__(self, bits: Bits) -> Any:
        """What is worked out of the state that these bits are."""
        try:
            return self.answers[bits & self.mask]
        except KeyError:
            return self.learned(bits)

    def learned(self, bits: Bits) -> Any:
        """The same, where it was not asked of cells like these."""
        numbers = self._layout.numbers(bits)
        node = self._first
        try:
            while type(node) is list:
                place, following = node
                node = following[numbers[place]]
        except KeyError:
            node = UNKNOWN
        answer = self._worked_out(bits) if node is UNKNOWN else node
        self.answers[bits & self.mask] = answer
        return answer

    def _worked_out(self, bits: Bits) -> Any:
        state, reading = self._layout.read(bits)
        answer = self._work(state, reading)
        path = list(reading.read.items())
        if not self.reads.issuperset(reading.read):
            self.reads.update(reading.read)
            self.mask = self._layout.chosen(self.reads)
            self.answers = {}
            self._layout.learned += 1
        if not path:
            self._first = answer
            return answer
        if self._first is UNKNOWN:
            self._first = [path[0][0], {}]
        node = self._first
        for (place, number), (following, _) in pairwise(path):
            self._demand(node, place)
            node = node[1].setdefault(number, [following, {}])
        self._demand(node, path[-1][0])
        node[1][path[-1][1]] = answer
        return answer

    def _demand(self, node: Any, place: int) -> None:
        if type(node) is not list or node[0] != place:
            raise AssertionError("what is worked out of a state depends on more than the state")


class MemoizedValues:
    """Several things that are worked out of each state: of the next one, only those that read what was written.

    The answers of a state are a list in the order of the things.
    """

    def __init__(self, layout: StateLayout, things: Sequence[MemoizedValue]) -> None:
        self._layout = layout
        self._things = things
        self._due: dict[tuple[int, ...], list[tuple[int, Bits, dict[Bits, Any]]]] = {}
        self._known = 0

    def all(self, bits: Bits) -> list[Any]:
        """Everything, of a state of which nothing is known."""
        return [thing(bits) for thing in self._things]

    def after(self, answers: Sequence[Any], places: tuple[int, ...], bits: Bits) -> list[Any]:
        """All of a state that differs from another one in these places alone."""
        if self._known != self._layout.learned:
            self._due.clear()
            self._known = self._layout.learned
        due = self._due.get(places)
        if due is None:
            due = self._due[places] = [
                (number, thing.mask, thing.answers)
                for number, thing in enumerate(self._things)
                if not thing.reads.isdisjoint(places)
            ]
        found = list(answers)
        for number, mask, known in due:
            try:  # as `MemoizedValue` does it, without a call
                found[number] = known[bits & mask]
            except KeyError:
                found[number] = self._things[number].learned(bits)
        return found


class Alarms:
    """Several things that are true of nearly every state: which of them are false, looked up all at once.

    What was true of the state before is asked again only if it reads what was written.
    """

    def __init__(self, layout: StateLayout, things: Sequence[MemoizedValue]) -> None:
        self._layout = layout
        self._things = dict(enumerate(things))
        self._due: dict[tuple[int, ...], tuple[Bits, set[Bits], list[int]]] = {}
        self._known = 0

    def all(self, bits: Bits) -> list[int]:
        """The numbers of those that are false in a state."""
        return [number for number, thing in self._things.items() if not thing(bits)]

    def after(self, places: tuple[int, ...], bits: Bits) -> list[int]:
        """The same of a state that differs in these places from one in which all were true."""
        if self._known != self._layout.learned:
            self._due.clear()
            self._known = self._layout.learned
        if places not in self._due:
            self._due[places] = self._made(places)
        mask, quiet, due = self._due[places]
        if bits & mask in quiet:
            return []
        false = [number for number in due if not self._things[number](bits)]
        if not false:
            quiet.add(bits & mask)
        return false

    def silence(self, numbers: Iterator[int]) -> None:
        """Ask these no more."""
        for number in numbers:
            del self._things[number]
        self._due.clear()

    def _made(self, places: tuple[int, ...]) -> tuple[Bits, set[Bits], list[int]]:
        due = [number for number, thing in self._things.items() if not thing.reads.isdisjoint(places)]
        mask = self._layout.chosen(set().union(*(self._things[number].reads for number in due)))
        return mask, set(), due
