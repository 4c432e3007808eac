"""Explicit search: every reachable state of a finite instance, breadth first, counted exactly.

The functions of a state are cells with the numbers of values. The first violation found is at the end of a shortest
trace. With symmetry one state stands for all that differ in the names of interchangeable things alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations, product
from typing import Any, TypeAlias

from spec.engines.cells import Bits, Cells, Point, StateLayout, StateReading, Written, narrowest
from spec.engines.finite import Finite
from spec.engines.memoization import Alarms, MemoizedValue, MemoizedValues, Work
from spec.engines.verdict import Happening, Holds, Refuted, Trace, Unknown, Verdict
from spec.systems.language import Action, Claim, Goal, Sort, State, System

Renaming: TypeAlias = dict[str, tuple[int, ...]]
"""For each opaque sort, the new name of each of its things."""


class Symmetry:
    """The renamings of an instance: every permutation of each opaque sort, the first one of which changes nothing."""

    def __init__(self, system: System, finite: Finite, layout: StateLayout) -> None:
        sorts = {sort for variable in system.variables for sort in variable.over if sort.opaque}
        sizes = {sort.name: len(finite.of(sort)) for sort in sorted(sorts, key=str)}
        self._over = {action.name: action.over for action in system.actions}
        chosen = product(*(permutations(range(size)) for size in sizes.values()))
        self._renamings: list[Renaming] = [dict(zip(sizes, each, strict=True)) for each in chosen]
        self._renamed = [_rearranging(system, layout, renaming) for renaming in self._renamings[1:]]

    def __len__(self) -> int:
        return len(self._renamings)

    def representative(self, cells: Cells) -> tuple[Cells, int]:
        """The state that stands for this one, and the number of the renaming that leads to it."""
        best, number = cells, 0
        for other, rearranged in enumerate(self._renamed, start=1):
            renamed = rearranged(cells)
            if renamed < best:
                best, number = renamed, other
        return best, number

    def reported(self, steps: Iterable[tuple[Happening, int]]) -> Trace:
        """A trace of representatives in the names of one run.

        Args:
            steps: what happens in each representative, and the renaming that led from there to the next one.
        """
        back = {name: tuple(range(len(names))) for name, names in self._renamings[0].items()}
        trace = []
        for happening, renaming in steps:
            trace.append(Happening(happening.action, _at(self._over[happening.action], happening.at, back)))
            back = {name: _undone(names, self._renamings[renaming][name]) for name, names in back.items()}
        return tuple(trace)


def _undone(names: tuple[int, ...], renaming: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(names[renaming.index(thing)] for thing in range(len(names)))


def _rearranging(system: System, layout: StateLayout, renaming: Renaming) -> Any:
    """What makes the cells of a state those of the same state under other names."""
    source: dict[int, int] = {}
    for variable in system.variables:
        places = layout.places[variable.name]
        source |= {places[_at(variable.over, at, renaming)]: place for at, place in places.items()}
    return layout.rearranged([source[place] for place in range(len(source))])


def _at(over: tuple[Sort, ...], at: Point, renaming: Renaming) -> Point:
    pairs = zip(over, at, strict=True)
    return tuple(renaming[sort.name][thing] if sort.name in renaming else thing for sort, thing in pairs)


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
    symmetry: bool = False,
) -> Exploration:
    """Search until a claim is violated, no state is new, or the bounds are reached.

    Args:
        system: what is explored.
        finite: its instance.
        claims: what is checked in every state; by default the theorems.
        depth: most actions from the start.
        most_states: where there are more, the verdict is unknown.
        symmetry: count only one of the states that differ in the names of opaque things alone.
    """
    wanted = system.theorems if claims is None else tuple(claims)
    return narrowest(lambda narrow: _Search(system, finite, wanted, symmetry, narrow=narrow).run(depth, most_states))


@dataclass(slots=True)
class _Seen:
    """A state that is still to be explored, and what may happen in it; every claim holds in those before it."""

    cells: Cells
    bits: Bits
    moves: list[Any]


class InstanceSteps:
    """What may happen in the states of an instance: every action with every tuple of arguments, in order."""

    def __init__(self, system: System, finite: Finite, layout: StateLayout) -> None:
        self._layout = layout
        moves = [(action, at) for action in system.actions for at in finite.points(action.over)]
        self.happenings = [Happening(action.name, at) for action, at in moves]
        self.remembered = [MemoizedValue(layout, partial(self._step, action, at)) for action, at in moves]

    def possible(self, cells: Cells) -> Iterator[tuple[Happening, Cells]]:
        """What may happen in a state, each with the state after it."""
        bits = self._layout.bits(cells)
        for happening, step in zip(self.happenings, self.remembered, strict=True):
            written = step(bits)
            if written is not None:
                yield happening, self._layout.cells(bits, written)

    def _step(self, action: Action, at: Point, state: State, reading: StateReading) -> Written | None:
        if not _may(action, state, at):
            return None
        return self._layout.written(action.effect(state, *at), reading.read)


class _Search:
    def __init__(
        self, system: System, finite: Finite, claims: Iterable[Claim], symmetry: bool, *, narrow: bool
    ) -> None:
        self._system = system
        self._layout = StateLayout(system, finite, narrow=narrow)
        self._steps = InstanceSteps(system, finite, self._layout)
        self._asleep = list(enumerate(happening.action for happening in self._steps.happenings))
        self._moves = MemoizedValues(self._layout, self._steps.remembered)
        alike = Symmetry(system, finite, self._layout) if symmetry else ()
        self._symmetry = alike if isinstance(alike, Symmetry) and len(alike) > 1 else None
        wanted: list[Claim | Goal] = [*system.goals, *claims]
        self._points = [(each, at) for each in wanted for at in finite.points(each.over)]
        self._alarms = Alarms(self._layout, [MemoizedValue(self._layout, _expected(*each)) for each in self._points])
        self._from: dict[Cells, tuple[Cells, Happening, int] | None] = {}
        self._found = Exploration()

    def run(self, depth: int | None, most_states: int) -> Exploration:
        first = self._layout.initial(self._system)
        bits = self._layout.bits(first)
        self._from[first] = None
        frontier = [_Seen(first, bits, self._moves.all(bits))]
        violated = self._look(first, self._alarms.all(bits))
        while frontier and violated is None and self._found.depth != depth:
            level: list[_Seen] = []
            for seen, unexpected in self._new(frontier):
                level.append(seen)
                violated = self._look(seen.cells, unexpected) if unexpected else None
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

    def _new(self, frontier: list[_Seen]) -> Iterator[tuple[_Seen, Sequence[int]]]:
        """The states after those of the frontier that were not seen before, and what is not as expected in them."""
        length, symmetry, known = self._layout.length, self._symmetry, self._from
        happenings, moves_after, alarms_after = self._steps.happenings, self._moves.after, self._alarms.after
        for before in frontier:
            self._found.edges += len(before.moves) - before.moves.count(None)
            for happening, written in zip(happenings, before.moves):  # noqa: B905  # as many, and quicker
                if written is None:
                    continue
                places, others, put = written
                bits, renaming = before.bits & others | put, 0
                after = bits.to_bytes(length, "little")  # as `StateLayout.applied` does it, without a call
                if symmetry is not None:
                    after, renaming = symmetry.representative(after)
                if after in known:
                    continue
                known[after] = before.cells, happening, renaming
                if renaming:
                    bits = self._layout.bits(after)
                    yield _Seen(after, bits, self._moves.all(bits)), self._alarms.all(bits)
                else:
                    yield _Seen(after, bits, moves_after(before.moves, places, bits)), alarms_after(places, bits)
            if self._asleep:
                self._awake(before.moves)

    def _awake(self, moves: Sequence[Any]) -> None:
        """What happens in a state has happened, whichever its arguments are."""
        happened = {action for number, action in self._asleep if moves[number] is not None}
        if happened:
            self._found.happened |= happened
            self._asleep = [(number, action) for number, action in self._asleep if action not in happened]

    def _look(self, cells: Cells, unexpected: Sequence[int]) -> Refuted | None:
        """The outcome of reached goals and violated claims in a state."""
        broken = None
        for found in [self._points[number][0] for number in unexpected]:
            if isinstance(found, Claim):
                broken = broken or Refuted(found.name, self._trace(cells))
            elif found.name not in self._found.reached:
                self._found.reached[found.name] = self._trace(cells)
                self._alarms.silence(number for number, (other, _) in enumerate(self._points) if other is found)
        return broken

    def _trace(self, cells: Cells) -> Trace:
        steps: list[tuple[Happening, int]] = []
        step = self._from[cells]
        while step is not None:
            before, happening, renaming = step
            steps.append((happening, renaming))
            step = self._from[before]
        steps.reverse()
        if self._symmetry is None:
            return tuple(happening for happening, _ in steps)
        return self._symmetry.reported(steps)


def _expected(wanted: Claim | Goal, at: Point) -> Work:
    """That a claim holds, and a goal is not reached."""
    if isinstance(wanted, Claim):
        return lambda state, _: bool(wanted.holds(state, *at))
    return lambda state, _: not wanted.reached(state, *at)


def _may(action: Action, state: State, at: Point) -> bool:
    return all(action.guard(state, *at))


def replayed(system: System, finite: Finite, trace: Trace) -> State:
    """The state after a trace, each action checked to be possible where it happens."""
    *_, last = walked(system, finite, trace)
    return last


def walked(system: System, finite: Finite, trace: Trace) -> Iterator[State]:
    """The states along a trace, the initial one first, each action checked to be possible where it happens.

    Raises:
        ValueError: an action of the trace is not possible in the state where it happens.
    """
    layout = StateLayout(system, finite)
    cells = layout.initial(system)
    state = layout.state(cells)
    yield state
    for happening in trace:
        action = system.action(happening.action)
        if not _may(action, state, happening.at):
            raise ValueError(f"{happening} cannot happen here")
        cells = layout.applied(cells, layout.written(action.effect(state, *happening.at)))
        state = layout.state(cells)
        yield state
