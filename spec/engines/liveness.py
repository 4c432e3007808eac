"""Liveness by explicit search: whenever something is the case, something follows, in every fair run.

A run may stop wherever nothing has to happen, and may go round a cycle for ever. It is fair if an actor that must
act does not stand by for ever while it can act: an action that is always possible from some state on happens
again and again. Faults happen finitely often in a run, however many they are; recovery is not limited.

The same graph gives, for each action, the shortest run in which the action happens after a cause.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeAlias

from spec.engines.cells import Cells, StateLayout, narrowest
from spec.engines.components import components
from spec.engines.explore import InstanceSteps
from spec.engines.finite import Finite
from spec.engines.verdict import Happening, Holds, Trace
from spec.systems.language import LivenessClaim, State, System


@dataclass(frozen=True, slots=True)
class Livelock:
    """A fair run in which what must follow never does.

    Attributes:
        claim: the progress that is not made.
        stem: from the start to the cycle.
        cycle: what then happens for ever; empty where nothing more has to happen.
    """

    claim: str
    stem: Trace
    cycle: Trace

    @property
    def depth(self) -> int:
        """Actions until the run makes no progress any more."""
        return len(self.stem)

    def __str__(self) -> str:
        then = (
            f"and then for ever {', '.join(map(str, self.cycle))}" if self.cycle else "and then nothing has to happen"
        )
        return f"{self.claim} fails after {', '.join(map(str, self.stem)) or 'nothing'}, {then}"


Progressed: TypeAlias = Holds | Livelock
"""The verdict on a progress; `Holds` is always about the whole instance."""


class StateGraphEdge(NamedTuple):
    """Something that may happen in a state, and the number of the state after it."""

    happening: Happening
    after: int


@dataclass(slots=True)
class Graph:
    """The reachable states of an instance by number, the initial one 0, and what may happen in each.

    Attributes:
        states: as cells.
        edges: by state.
        parents: the state and the happening that led to each state first, by number; none for the initial one.
    """

    layout: StateLayout
    states: list[Cells] = field(default_factory=list)
    edges: list[list[StateGraphEdge]] = field(default_factory=list)
    parents: dict[int, tuple[int, Happening]] = field(default_factory=dict)

    def state(self, number: int) -> State:
        """One state, as functions."""
        return self.layout.state(self.states[number])


def graph_of(system: System, finite: Finite, most_states: int = 200_000) -> Graph:
    """Every reachable state of an instance, breadth first.

    Raises:
        OverflowError: there are more states than that.
    """
    return narrowest(lambda narrow: _graph(system, finite, most_states, narrow=narrow))


def _graph(system: System, finite: Finite, most_states: int, *, narrow: bool) -> Graph:
    graph = Graph(StateLayout(system, finite, narrow=narrow))
    steps = InstanceSteps(system, finite, graph.layout)
    graph.states.append(graph.layout.initial(system))
    numbers = {graph.states[0]: 0}
    for number, cells in enumerate(graph.states):
        edges = []
        for happening, after in steps.possible(cells):
            if after not in numbers:
                if len(numbers) == most_states:
                    raise OverflowError(f"more than {most_states} states")
                numbers[after] = len(numbers)
                graph.states.append(after)
                graph.parents[numbers[after]] = (number, happening)
            edges.append(StateGraphEdge(happening, numbers[after]))
        graph.edges.append(edges)
    return graph


def progresses(graph: Graph, finite: Finite, claim: LivenessClaim) -> Progressed:
    """Whether a progress is made in every fair run of an instance, whatever its arguments."""
    for at in finite.points(claim.over):
        livelock = _Question(graph, claim, at).livelock()
        if livelock is not None:
            return livelock
    return Holds(_depth(graph), complete=True)


def never_due(graph: Graph, finite: Finite, claim: LivenessClaim) -> bool:
    """Whether the progress is not due in any state: then nothing is claimed."""
    states = [graph.state(number) for number, _ in enumerate(graph.states)]
    points = list(finite.points(claim.over))
    return not any(claim.since(state, *at) and not claim.until(state, *at) for state in states for at in points)


def _depth(graph: Graph) -> int:
    depths = [0]
    depths.extend(0 for _ in graph.states[1:])
    for number, (parent, _) in graph.parents.items():
        depths[number] = depths[parent] + 1
    return max(depths)


class _Question:
    """One progress with its arguments: the states in which it is due, and the runs that stay among them."""

    def __init__(self, graph: Graph, claim: LivenessClaim, at: tuple[int, ...]) -> None:
        self._graph = graph
        self._claim = claim
        states = [graph.state(number) for number, _ in enumerate(graph.states)]
        self._open = [not claim.until(state, *at) for state in states]
        since = [number for number, state in enumerate(states) if self._open[number] and claim.since(state, *at)]
        self._came = self._reached(since)

    def livelock(self) -> Livelock | None:
        """A fair run without progress, None if there is none."""
        due = self._came.keys()
        inside = {number: [edge for edge in self._lasting(number) if edge.after in due] for number in due}
        for component in components({number: [edge.after for edge in edges] for number, edges in inside.items()}):
            within = Within(component, inside, {number: self._must(number) for number in component})
            if within.is_fair():
                first = within.entered(lambda number: len(self._stem(number)))
                return Livelock(self._claim.name, self._stem(first), within.cycle(first))
        return None

    def _reached(self, since: Iterable[int]) -> dict[int, tuple[int, Happening] | None]:
        """The states in which the progress is due, each with how it came to be so."""
        came: dict[int, tuple[int, Happening] | None] = dict.fromkeys(since)
        frontier = list(came)
        for number in frontier:
            for happening, after in self._graph.edges[number]:
                if self._open[after] and after not in came:
                    came[after] = (number, happening)
                    frontier.append(after)
        return came

    def _lasting(self, number: int) -> Iterator[StateGraphEdge]:
        return (
            edge
            for edge in self._graph.edges[number]
            if not self._claim.is_fault(edge.happening.action, edge.happening.at)
        )

    def _must(self, number: int) -> set[Happening]:
        """What has to happen in a state, sooner or later, if it stays possible."""
        return {edge.happening for edge in self._lasting(number) if edge.happening.action in self._claim.fair}

    def _stem(self, number: int) -> Trace:
        """A run from the start to a state in which the progress is due, and due ever since it became so."""
        steps: list[Happening] = []
        step = self._came[number]
        while step is not None:
            number = step[0]
            steps.append(step[1])
            step = self._came[number]
        while number in self._graph.parents:
            number, happening = self._graph.parents[number]
            steps.append(happening)
        return tuple(reversed(steps))


class Within:
    """States from each of which a run may come to all others, and continue for ever.

    Args:
        component: the states by number; one alone need not lead to itself.
        edges: by state, what may happen in it.
        must: by state, what has to happen sooner or later if it stays possible.
    """

    def __init__(
        self, component: Iterable[int], edges: Mapping[int, list[StateGraphEdge]], must: Mapping[int, set[Happening]]
    ) -> None:
        self._must = must
        members = set(component)
        self._edges = {number: [edge for edge in edges[number] if edge.after in members] for number in members}

    def is_fair(self) -> bool:
        """Whether a run may stay among these states: nothing is always possible and never happens."""
        happens = {edge.happening for edges in self._edges.values() for edge in edges}
        return self._ignored(self._edges, happens) == set()

    def entered(self, cost: Callable[[int], int]) -> int:
        """The state to which it costs least to come; of those where a run may end, if there are such."""
        resting = [number for number in self._edges if not self._must[number]]
        return min(resting or self._edges, key=cost)

    def cycle(self, first: int) -> Trace:
        """A walk from a state back to it that is fair when it is repeated; empty where a run may end in the state."""
        walk: list[StateGraphEdge] = []
        while ignored := self._ignored({first, *(edge.after for edge in walk)}, {edge.happening for edge in walk}):
            there = self._walk(first, partial(self._satisfies, min(ignored, key=str)))
            last = there[-1].after
            back = self._walk(last, lambda edge: edge.after == first) if last != first else []
            walk = [*walk, *there, *back]
        return tuple(edge.happening for edge in walk)

    def _ignored(self, states: Iterable[int], happens: set[Happening]) -> set[Happening]:
        return set.intersection(*(self._must[number] for number in states)) - happens

    def _satisfies(self, due: Happening, edge: StateGraphEdge) -> bool:
        return edge.happening == due or due not in self._must[edge.after]

    def _walk(self, start: int, ends: Callable[[StateGraphEdge], bool]) -> list[StateGraphEdge]:
        """The shortest walk whose last edge is such a one; there is one."""
        walks: deque[list[StateGraphEdge]] = deque([[]])
        seen: set[int] = set()
        while True:
            walk = walks.popleft()
            for edge in self._edges[walk[-1].after if walk else start]:
                if ends(edge):
                    return [*walk, edge]
                if edge.after not in seen:
                    seen.add(edge.after)
                    walks.append([*walk, edge])


_Place = tuple[int, bool]
"""A state by its number, and whether the cause has happened before it."""


# --- what can still happen after a cause ------------------------------------------------------------------------------


def shortest_after(graph: Graph, is_cause: Callable[[Happening], bool]) -> Mapping[str, Trace]:
    """For each action that can happen after a cause, a shortest run from the start that ends with it.

    Args:
        graph: every reachable state of an instance.
        is_cause: whether a happening is the cause.
    """
    start: _Place = (0, False)
    came: dict[_Place, tuple[_Place, Happening] | None] = {start: None}
    places, found = [start], dict[str, Trace]()
    for place in places:
        state, caused = place
        for happening, after in graph.edges[state]:
            if caused and happening.action not in found:
                found[happening.action] = (*_run(came, place), happening)
            following = after, caused or is_cause(happening)
            if following not in came:
                came[following] = place, happening
                places.append(following)
    return found


def _run(came: Mapping[_Place, tuple[_Place, Happening] | None], place: _Place) -> Trace:
    steps: list[Happening] = []
    step = came[place]
    while step is not None:
        place, happening = step
        steps.append(happening)
        step = came[place]
    return tuple(reversed(steps))
