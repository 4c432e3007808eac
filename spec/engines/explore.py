"""Explicit search: every reachable state of a finite instance, breadth first, counted exactly.

The functions of a state are cells with the numbers of values. The first violation found is at the end of a shortest
trace. With symmetry one state stands for all that differ in the names of interchangeable things alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from spec.engines.cells import Cells, Layout, Point, Remembered, TooManyValues, Watch, Written
from spec.engines.finite import Finite
from spec.engines.symmetry import Symmetry
from spec.engines.verdict import Happening, Holds, Refuted, Trace, Unknown, Verdict
from spec.systems.language import Action, Claim, Goal, State, System


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
    asked = system.theorems if claims is None else tuple(claims)
    try:
        return _Search(system, finite, asked, symmetry, narrow=True).run(depth, most_states)
    except TooManyValues:
        return _Search(system, finite, asked, symmetry, narrow=False).run(depth, most_states)


@dataclass(slots=True)
class _Seen:
    """A state that is still to be explored, and what may happen in it; every claim holds in those before it."""

    cells: Cells
    moves: list[Any]


class Steps:
    """What may happen in the states of an instance: every action with every tuple of arguments, in order."""

    def __init__(self, system: System, finite: Finite, layout: Layout) -> None:
        self._layout = layout
        moves = [(action, at) for action in system.actions for at in finite.points(action.over)]
        self.happenings = [Happening(action.name, at) for action, at in moves]
        self.remembered = [Remembered(layout, partial(self._step, action, at)) for action, at in moves]

    def possible(self, cells: Cells) -> Iterator[tuple[Happening, Cells]]:
        """What may happen in a state, each with the state after it."""
        for happening, step in zip(self.happenings, self.remembered, strict=True):
            written = step(cells)
            if written is not None:
                yield happening, self._layout.applied(cells, written)

    def _step(self, action: Action, at: Point, state: State) -> Written | None:
        return self._layout.written(action.effect(state, *at)) if _may(action, state, at) else None


class _Search:
    def __init__(
        self, system: System, finite: Finite, claims: Iterable[Claim], symmetry: bool, *, narrow: bool
    ) -> None:
        self._system = system
        self._layout = Layout(system, finite, narrow=narrow)
        self._steps = Steps(system, finite, self._layout)
        self._asleep = list(enumerate(happening.action for happening in self._steps.happenings))
        self._moves = Watch(self._layout, self._steps.remembered)
        alike = Symmetry(system, finite, self._layout) if symmetry else ()
        self._symmetry = alike if isinstance(alike, Symmetry) and len(alike) > 1 else None
        self._asked = [(claim, at) for claim in claims for at in finite.points(claim.over)]
        self._claims = Watch(self._layout, [self._remembered(claim.holds, at) for claim, at in self._asked])
        self._goals = {goal.name: self._reaching(goal, finite) for goal in system.goals}
        self._from: dict[Cells, tuple[Cells, Happening, int] | None] = {}
        self._found = Exploration()

    def _remembered(self, holds: Any, at: Point) -> Remembered:
        return Remembered(self._layout, lambda state: bool(holds(state, *at)))

    def _reaching(self, goal: Goal, finite: Finite) -> list[Remembered]:
        return [self._remembered(goal.reached, at) for at in finite.points(goal.over)]

    def run(self, depth: int | None, most_states: int) -> Exploration:
        first = self._layout.initial(self._system)
        self._from[first] = None
        frontier = [_Seen(first, self._moves.all(first))]
        self._claims.all(first)
        violated = self._look(first, self._claims.all_due())
        while frontier and violated is None and self._found.depth != depth:
            level: list[_Seen] = []
            for seen, due in self._new(frontier):
                level.append(seen)
                violated = self._look(seen.cells, due)
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
        """The states after those of the frontier that were not seen before, and which claims are to be looked at."""
        applied, symmetry, known = self._layout.applied, self._symmetry, self._from
        for before in frontier:
            self._found.edges += len(before.moves) - before.moves.count(None)
            for happening, written in zip(self._steps.happenings, before.moves):  # noqa: B905  # as many, and quicker
                if written is None:
                    continue
                after, renaming = applied(before.cells, written), 0
                if symmetry is not None:
                    after, renaming = symmetry.representative(after)
                if after in known:
                    continue
                known[after] = before.cells, happening, renaming
                if renaming:
                    yield _Seen(after, self._moves.all(after)), self._claims.all_due()
                else:
                    moves = self._moves.after(before.moves, written[0], after)
                    yield _Seen(after, moves), self._claims.due(written[0])
            if self._asleep:
                self._awake(before.moves)

    def _awake(self, moves: Sequence[Any]) -> None:
        """What happens in a state has happened, whichever its arguments are."""
        happened = {action for number, action in self._asleep if moves[number] is not None}
        if happened:
            self._found.happened |= happened
            self._asleep = [(number, action) for number, action in self._asleep if action not in happened]

    def _look(self, cells: Cells, due: Sequence[int]) -> Refuted | None:
        for goal in [name for name, reaching in self._goals.items() if any(here(cells) for here in reaching)]:
            self._found.reached[goal] = self._trace(cells)
            del self._goals[goal]
        broken = self._claims.first_false(due, cells)
        return None if broken is None else Refuted(self._asked[broken][0].name, self._trace(cells))

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
        return self._symmetry.told(steps)


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
    layout = Layout(system, finite)
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
