"""One session, step by step, on the specification and on the reference, each from a fresh broker on."""

import copy
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from model_tests.conform.answers import Answer, ObservableState, RecordedJoin, Side
from model_tests.conform.compare import FieldDifference, Symbols, differences, undecided
from model_tests.conform.decision_log import Decision, explained, rules_blamed
from model_tests.conform.on_reference import OnReference
from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.recorded_answers import ids_in
from model_tests.conform.recorded_requests import resolved
from model_tests.conform.report import SessionDisagreement
from model_tests.conform.requests import Restart
from model_tests.conform.sessions import Session, SessionStep
from spec.versions import Profile

ATOMS: Final = (type(None), bool, int, float, str, bytes, Enum, type, types.FunctionType, types.BuiltinFunctionType)
"""What is its own state."""

CONTAINERS: Final = (tuple, list, set, frozenset)
PROTOCOL: Final = 4
"""Of `__reduce_ex__`: the first in which every class says what it is made of without code of its own."""


def state_of(thing: object) -> Hashable:
    """The state of an object and of everything that it refers to.

    An object that is met again is the number of its first meeting, so that sharing and cycles are part of the state.

    Raises:
        TypeError: something has a state that cannot be read.
    """
    return _state(thing, {}, [])


def _state(thing: Any, met: dict[int, int], alive: list[object]) -> Hashable:
    if isinstance(thing, ATOMS):
        return type(thing), thing
    if id(thing) in met:
        return met[id(thing)]
    met[id(thing)] = len(met)
    alive.append(thing)  # so that no other object gets its id
    if isinstance(thing, types.MethodType):
        return thing.__name__, _state(thing.__self__, met, alive)
    parts = tuple(_state(one, met, alive) for one in _parts(thing))
    return type(thing), frozenset(parts) if isinstance(thing, (set, frozenset)) else parts


def _parts(thing: Any) -> Iterable[Any]:
    """What an object consists of: elements, keys and values, or what it says of itself to be made again."""
    if type(thing) in CONTAINERS:
        return tuple(thing)
    if type(thing) is dict:
        return chain.from_iterable(thing.items())
    _, made_of, state, items, pairs = (*thing.__reduce_ex__(PROTOCOL), None, None, None)[:5]
    return (made_of, state, tuple(items or ()), tuple(pairs or ()))


MakeSide: TypeAlias = Callable[[Profile, Sequence[str], int], Side]
"""A fresh broker of a profile with fresh partitions, whose segments have so many bytes."""

SPECIFICATION: Final = "specification"
REFERENCE: Final = "reference"
SIDES: Final[Mapping[str, MakeSide]] = MappingProxyType({SPECIFICATION: OnSpecification, REFERENCE: OnReference})


@dataclass(frozen=True, slots=True)
class StepComparison:
    """What one step of a session showed.

    Attributes:
        decided: the specification's decisions in the step, empty if it did not take part.
        disagreed: each side that differs, where nothing in the recording excuses it.
        undecided: the recording's own excuse, if a side differs with one.
    """

    index: int
    step: SessionStep
    decided: tuple[Decision, ...]
    disagreed: tuple[SessionDisagreement, ...]
    undecided: str


@dataclass(slots=True)
class _World:
    """One course that a session can have taken on a side."""

    side: Side
    symbols: Symbols

    def play(self, step: SessionStep) -> "_Outcome":
        """The world after the step; the markers it sets under way are owed while the recording did not wait."""
        try:
            answer_of = self.side.answer_at_once if step.marks.racy else self.side.answer
            answer = answer_of(resolved(step.request, self.symbols.number, self.symbols.member))
            seen = ObservableState() if step.after is None else self.side.seen()
        except Exception as error:  # noqa: BLE001  # a side that breaks down has answered wrongly, whatever broke
            return _Outcome(self, f"{type(error).__name__}: {error}", ObservableState())
        for number in ids_in(answer, seen):
            self.symbols.meet(number)
        if isinstance(answer, RecordedJoin):
            self.symbols.meet_member(answer.member)
        self.side.overtaking = 0
        return _Outcome(self, answer, seen)

    def before(self, step: SessionStep) -> Iterator["_World"]:
        """Itself with what was owed done; where the recording did not wait, each way of how far that had come.

        Where the recording shows a group that lags behind a marker, it lags here, until the next step.
        """
        self.side.lagging = step.marks.lagging
        if not step.marks.racy:
            yield from self._settled(step)
            return
        owed = self.side.owed()
        *others, last = ((w, o) for w in range(owed + 1) for o in range(owed - w + 1))
        for written, overtaking in others:
            yield self._copied()._written(written, overtaking)
        yield self._written(*last)

    def _copied(self) -> "_World":
        return copy.deepcopy(self)

    def _written(self, written: int, overtaking: int) -> "_World":
        """Itself once so many markers are written, and with so many that overtake the next Produce."""
        self.side.settle(written)
        self.side.overtaking = overtaking
        return self

    def _settled(self, step: SessionStep) -> Iterator["_World"]:
        """Itself with nothing owed; where a partition is late with its idle producers, with and without these.

        Where the recording marks a restart as one that shows a defect, also one after which no leader is known.
        """
        self.side.settle()
        if step.marks.bug and isinstance(step.request, Restart):
            world = self._copied()
            world.side.leaderless = True
            yield world
        if self.side.is_late():
            world = self._copied()
            world.side.catch_up()
            yield world
        yield self


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A world after a step, with its answer, or what broke down in it."""

    world: _World
    answer: Answer | str
    seen: ObservableState

    def differences(self, step: SessionStep) -> tuple[FieldDifference, ...]:
        """What differs from a recorded step."""
        if isinstance(self.answer, str):
            return (FieldDifference("response", step.response, self.answer),)
        return differences(step, self.answer, self.seen, self.world.symbols)


@dataclass(slots=True)
class _Player:
    """One side as it goes through a session, in every course that the recording leaves open."""

    name: str
    worlds: tuple[_World, ...]
    outcomes: tuple[_Outcome, ...] = ()

    @property
    def side(self) -> Side:
        """The side in the first of these courses."""
        return self.worlds[0].side

    def play(self, step: SessionStep) -> tuple[tuple[FieldDifference, ...], str]:
        """What differs after the step in every course, and what in the recording excuses it."""
        self.outcomes = tuple(world.play(step) for each in self.worlds for world in each.before(step))
        return self.compare(step)

    def compare(self, step: SessionStep) -> tuple[tuple[FieldDifference, ...], str]:
        """The same once more of the step that was played last, whose state after it was looked at again."""
        played = [(outcome.world, outcome.differences(step)) for outcome in self.outcomes]
        agreeing = tuple(world for world, found in played if not found)
        if agreeing:
            self.worlds = _distinct(agreeing)
            return (), ""
        self.worlds, found = (played[0][0],), played[0][1]
        return found, undecided(found, step.marks)


def _distinct(worlds: tuple[_World, ...]) -> tuple[_World, ...]:
    """The worlds without those that are in every respect as another one: courses that have met again."""
    return worlds if len(worlds) == 1 else tuple({state_of(world): world for world in worlds}.values())


class SessionSides:
    """The sides as they go through one session; a side keeps its own state throughout."""

    def __init__(self, session: Session, sides: Mapping[str, MakeSide] = SIDES) -> None:
        """Fresh brokers under the profile of a session, whose steps come one by one."""
        broker = (session.profile, session.partitions, session.segment_bytes)
        self._session = session
        self._steps = 0
        self._players = [_Player(name, (_World(make(*broker), Symbols()),)) for name, make in sides.items()]

    def play(self, step: SessionStep) -> StepComparison:
        """The next step on each side."""
        self._steps += 1
        return self._compared(step, [(player, *player.play(step)) for player in self._players])

    def look_again(self, step: SessionStep) -> StepComparison:
        """The step that was played last, with another state after it: the request is not done again."""
        return self._compared(step, [(player, *player.compare(step)) for player in self._players])

    def copied(self) -> "SessionSides":
        """The same once more: the steps of one are not those of the other."""
        for player in self._players:
            player.outcomes = ()
        return copy.deepcopy(self)

    def _compared(
        self, step: SessionStep, played: Sequence[tuple[_Player, tuple[FieldDifference, ...], str]]
    ) -> StepComparison:
        decided = next((p.side.decided for p in self._players if isinstance(p.side, OnSpecification)), ())
        disagreed = tuple(
            _disagreement(self._session, self._steps - 1, step, player.name, found, decided)
            for player, found, excuse in played
            if found and not excuse
        )
        excused = next((excuse for _, found, excuse in played if found and excuse), "")
        return StepComparison(self._steps - 1, step, decided, disagreed, "" if disagreed else excused)


def outcomes(session: Session, sides: Mapping[str, MakeSide] = SIDES) -> Iterator[StepComparison]:
    """Every step of a session on each side, each from a fresh broker on."""
    played = SessionSides(session, sides)
    return (played.play(step) for step in session.steps)


def disagreements(sessions: Iterable[Session], sides: Mapping[str, MakeSide] = SIDES) -> Iterator[SessionDisagreement]:
    """Every disagreement in sessions, as they are found; nothing is remembered between two calls."""
    for session in sessions:
        if not session.unsupported:
            for outcome in outcomes(session, sides):
                yield from outcome.disagreed


def _disagreement(
    session: Session,
    index: int,
    step: SessionStep,
    by: str,
    found: tuple[FieldDifference, ...],
    decided: tuple[Decision, ...],
) -> SessionDisagreement:
    return SessionDisagreement(
        session=session.id,
        step=index,
        by=by,
        expected={difference.where: difference.expected for difference in found},
        got={difference.where: difference.got for difference in found},
        api=step.api,
        request=step.recorded,
        guard=explained(decided, session.profile),
        rules=rules_blamed(step, decided, session.profile),
    )
