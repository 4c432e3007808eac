"""Derived functions of the states of an instance, remembered from one state to the next by the cells that they read.

The next cell that is read follows from the values of those before. So what is known of one point is a tree: a place,
and for each number that was found there what comes next, or the value. Whoever asks has read these cells, too.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from spec.algebra import Term
from spec.engines.finite import Finite, derived, derived_values
from spec.systems.language import Function, State, System

UNKNOWN: Final = object()
"""Nothing is remembered yet."""


class StateReading:
    """The numbers of one state, and what was read of them; reused for the next state, where the first is not kept.

    Attributes:
        numbers: by place.
        read: places, in the order in which they were read first, with their numbers.
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
        """How each is made of a state."""
        return {name: partial(self._made, name) for name in self._values}

    def _made(self, name: str, state: State) -> Function:
        """The function; of a state that an action has changed, which has cells that are nowhere, without memory."""
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
    """Put a path beside those that are known, from where it leaves them."""
    while key in trees:
        known = trees[key]
        if type(known) is not list or known[0] != grown[0]:
            raise AssertionError("what is derived of a state depends on more than the state")
        (key, grown), trees = next(iter(grown[1].items())), known[1]
    trees[key] = grown
