"""Two systems in the same instance: how many states each reaches, how many both, and a shortest run to each difference.

States are compared by the functions that both systems have.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from spec.engines.cells import Cells, StateLayout, narrowest
from spec.engines.explore import InstanceSteps
from spec.engines.finite import Finite
from spec.engines.verdict import Happening, Trace
from spec.systems.language import System

MOST_STATES: Final = 100_000  # states of both systems together, at most: beyond them the comparison ends and says so

Seen = tuple[Any, ...]
"""A state by its values: those of the functions that both systems have, at each point, in order."""


@dataclass(frozen=True, slots=True)
class ReachedStates:
    """The states that a system reaches in an instance, by the functions that are compared.

    Attributes:
        traces: a shortest run to each state, as its last step and the state before; none to the first state.
        whole: the search was not cut short.
    """

    runs: dict[Seen, tuple[Seen, Happening] | None]
    whole: bool

    def run_to(self, state: Seen) -> Trace:
        """What happens from the start to a state."""
        steps: list[Happening] = []
        step = self.runs[state]
        while step is not None:
            state, happening = step
            steps.append(happening)
            step = self.runs[state]
        return tuple(reversed(steps))


@dataclass(frozen=True, slots=True)
class StateDifference:
    """How the reachable states of two systems differ in one instance.

    Attributes:
        here: states of the first system.
        there: states of the second one.
        both: states that both reach.
        only_here: a shortest run of the first system to a state that the second does not reach; None if it reaches all.
        only_there: the same of the second system.
        whole: neither search was cut short; otherwise neither run is looked for.
    """

    here: int
    there: int
    both: int
    only_here: Trace | None
    only_there: Trace | None
    whole: bool

    @property
    def equal(self) -> bool:
        """Both reach the same states."""
        return self.whole and self.here == self.there == self.both


def compared(
    one: tuple[System, Finite], other: tuple[System, Finite], most_states: int = MOST_STATES
) -> StateDifference:
    """Search two systems as a whole, whatever they violate, and compare the states that they reach."""
    names = [variable.name for variable in one[0].variables]
    shared = [variable.name for variable in other[0].variables if variable.name in names]
    here, there = (_reached(*each, shared, most_states) for each in (one, other))
    both = sum(state in there.runs for state in here.runs)
    whole = here.whole and there.whole
    return StateDifference(
        len(here.runs),
        len(there.runs),
        both,
        _first_besides(here, there) if whole else None,
        _first_besides(there, here) if whole else None,
        whole,
    )


def _first_besides(one: ReachedStates, other: ReachedStates) -> Trace | None:
    """The run to the first state, breadth first, that another system does not reach."""
    return next((one.run_to(state) for state in one.runs if state not in other.runs), None)


def _reached(system: System, finite: Finite, shared: list[str], most_states: int) -> ReachedStates:
    return narrowest(lambda narrow: _Reaching(system, finite, shared, narrow=narrow).reached(most_states))


class _Reaching:
    def __init__(self, system: System, finite: Finite, shared: list[str], *, narrow: bool) -> None:
        self._system = system
        self._layout = StateLayout(system, finite, narrow=narrow)
        self._steps = InstanceSteps(system, finite, self._layout)
        self._shared = shared

    def reached(self, most_states: int) -> ReachedStates:
        first = self._layout.initial(self._system)
        known = {first}
        runs: dict[Seen, tuple[Seen, Happening] | None] = {self._seen(first): None}
        frontier = [first]
        while frontier and len(known) <= most_states:
            level: list[Cells] = []
            for before, happening, after in self._following(frontier):
                if after not in known:
                    known.add(after)
                    level.append(after)
                    runs.setdefault(self._seen(after), (self._seen(before), happening))
            frontier = level
        return ReachedStates(runs, whole=not frontier)

    def _following(self, frontier: list[Cells]) -> Iterator[tuple[Cells, Happening, Cells]]:
        for before in frontier:
            for happening, after in self._steps.possible(before):
                yield before, happening, after

    def _seen(self, cells: Cells) -> Seen:
        return self._layout.values(cells, self._shared)
