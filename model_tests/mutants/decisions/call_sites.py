"""Where decisions are taken: every distinct call of every decision, by the places whose judgement depends on it.

A place is whatever can be judged again: a recorded session, a step of a trace, a finite instance of a system. The
calls are watched once, with the protocol as it is. A mutant is then tried on the calls of its own decision, and only
those places are judged again in which it decides otherwise.
"""

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

from model_tests.mutants.decisions.functions import DecisionFunction, decisions
from model_tests.mutants.decisions.made import DecisionMutant, forget
from model_tests.mutants.decisions.users import above
from spec.protocol.guards import Guard
from spec.versions import Profile

Call: TypeAlias = tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]
"""Positional and named arguments."""

FEW: Final = 4
"""Places that are remembered of one call."""

UNLISTED: Final = 12
"""Places that are remembered of a decision for calls that cannot be looked up."""

TOGETHER: Final = 200
"""Calls on which a mutant is tried at once."""

VARIADIC: Final = 0x04
"""The flag of a function's code that takes any number of arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedCall:
    """Something that is judged by the decisions.

    Attributes:
        name: by which it is found again.
        violated: judges it, under the decisions as they are: ids of the rules that it names as violated.
    """

    name: str
    violated: Callable[[], tuple[str, ...]]


class IdentityKey:
    """An argument that is looked up often, or cannot be: it is the same as itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(slots=True)
class Occasions:
    """The calls of each decision, each with the first places in which it was made.

    Attributes:
        unlisted: where each decision was asked about what cannot be looked up, as arrays are; of such a call nobody
            knows how a mutant answers it before the place is judged again.
        seconds: that each place took to judge, watched.
    """

    calls: dict[DecisionFunction, dict[Call, list[JudgedCall]]] = field(default_factory=dict)
    unlisted: dict[DecisionFunction, list[JudgedCall]] = field(default_factory=dict)
    seconds: dict[JudgedCall, float] = field(default_factory=dict)
    _true: dict[DecisionFunction, list[object]] = field(default_factory=dict)

    def distinguishing(self, mutant: DecisionMutant) -> Iterator[JudgedCall]:
        """The places in which the mutant may decide otherwise, then those in which it does, each once."""
        seen: set[JudgedCall] = set()
        listed = (place for call, _ in self.otherwise(mutant) for place in self.calls[mutant.of][call])
        for place in chain(self.unlisted.get(mutant.of, ()), listed):
            if place not in seen:
                seen.add(place)
                yield place

    def distinguishing_in_order(self, mutant: DecisionMutant) -> Iterator[JudgedCall]:
        """The same places as their layer makes them: the same ones come first on every machine."""
        found = set(self.distinguishing(mutant))
        return (place for place in self.seconds if place in found)

    def reads(self, decision: DecisionFunction) -> bool:
        """Whether the decision was called."""
        return decision in self.calls or decision in self.unlisted

    def distinguishing_above(self, mutant: DecisionMutant) -> Iterator[JudgedCall]:
        """The places in which a decision that uses the mutant decides otherwise, the outermost decision first."""
        seen: set[JudgedCall] = set()
        for user in reversed(above(mutant.of)):
            for call, _ in self.otherwise(mutant, user):
                for place in self.calls[user][call]:
                    if place not in seen:
                        seen.add(place)
                        yield place

    def otherwise(
        self, mutant: DecisionMutant, requested: DecisionFunction | None = None
    ) -> Iterator[tuple[Call, object]]:
        """The calls that a decision answers otherwise under the mutant, and what it answers; some at a time.

        Args:
            mutant: is planted.
            requested: the decision whose calls these are; the mutant's own, if not said.
        """
        of = requested or mutant.of
        calls = list(self.calls.get(of, {}))
        for start in range(0, len(calls), TOGETHER):
            some = calls[start : start + TOGETHER]
            true = self._answers(of, calls, start)
            with mutant.planted():
                answers = [answer(of, call) for call in some]
            for call, expected, got in zip(some, true, answers, strict=True):
                if _differs(got, expected):
                    yield call, got

    def _answers(self, of: DecisionFunction, calls: Sequence[Call], start: int) -> list[object]:
        """What the true decision returns for some calls from one on, computed once."""
        known = self._true.setdefault(of, [])
        if len(known) <= start:
            known += [answer(of, call) for call in calls[start : start + TOGETHER]]
        return known[start : start + TOGETHER]


def answer(of: DecisionFunction, call: Call) -> object:
    """What a decision says, as far as anything depends on it; how it broke, where it broke."""
    positional, named = call
    try:
        return observed(of.function(*map(_plain, positional), **{name: _plain(value) for name, value in named}))
    except Exception as error:  # noqa: BLE001  # a mutant may break in any way, and then has answered otherwise
        return f"{type(error).__name__}: {error}"


def _differs(got: object, expected: object) -> bool:
    try:
        return bool(got != expected)
    except Exception:  # noqa: BLE001  # terms of the solver, which cannot say by themselves whether they are the same
        return True


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, IdentityKey) else value


def observed(answer: object) -> object:
    """Of guards only what the first that applies answers, and by which rule; all of it where terms say what applies."""
    if not (isinstance(answer, tuple) and answer and isinstance(answer[0], Guard)):
        return answer
    if all(isinstance(guard.applies, bool) for guard in answer):
        return next(((guard.error, guard.rule.id) for guard in answer if guard.applies), None)
    return tuple((guard.applies, guard.error, guard.rule.id) for guard in answer)


def watched(
    places: Iterable[JudgedCall], about: Collection[DecisionFunction] | None = None, *, afresh: bool = False
) -> Occasions:
    """Judge every place by the true protocol, and keep the calls.

    Args:
        places: what is judged.
        about: the decisions whose calls are kept; of all, if not said.
        afresh: what was worked out before is forgotten at each place, so that it shows all that it asks: where places
            are few.

    Raises:
        ValueError: a place names a rule as violated although nothing is broken.
    """
    watch = _Watch(decisions() if about is None else about)
    for place in places:
        watch.place = place
        if afresh:
            forget()
        started = time.monotonic()
        with watch.on():
            violated = place.violated()
        if violated:
            raise ValueError(f"{place.name} violates {', '.join(violated)} with nothing broken")
        watch.occasions.seconds[place] = time.monotonic() - started
    return watch.occasions


class _Watch:
    """Notes every call of a decision while it is on."""

    def __init__(self, about: Iterable[DecisionFunction]) -> None:
        self.occasions = Occasions()
        self.place: JudgedCall | None = None
        self._codes = {decision.function.__code__: decision for decision in about}
        self._profiles: dict[Profile, IdentityKey] = {}
        self._held: dict[int, tuple[Any, IdentityKey]] = {}

    @contextmanager
    def on(self) -> Iterator[None]:
        """Calls are noted inside this context."""
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        decision = self._codes.get(frame.f_code)
        if decision is None or self.place is None:
            return
        call = self._call(frame.f_code, frame.f_locals)
        most = FEW
        try:
            known = self.occasions.calls.setdefault(decision, {}).setdefault(call, [])
        except TypeError:  # an argument that cannot be looked up
            known, most = self.occasions.unlisted.setdefault(decision, []), UNLISTED
        if len(known) < most and (not known or known[-1] is not self.place):
            known.append(self.place)

    def _call(self, code: CodeType, values: dict[str, Any]) -> Call:
        names = code.co_varnames
        positional = [self._kept(values[name]) for name in names[: code.co_argcount]]
        last = code.co_argcount + code.co_kwonlyargcount
        if code.co_flags & VARIADIC:
            positional += values[names[last]]
        return tuple(positional), tuple((name, self._kept(values[name])) for name in names[code.co_argcount : last])

    def _kept(self, value: Any) -> Any:
        if isinstance(value, Profile | Mapping):
            return self._as_held(value)
        return tuple(value) if isinstance(value, list) else value

    def _as_held(self, value: Any) -> IdentityKey:
        """By identity, which is quick; what is held stays, so that nothing else gets its identity."""
        known = self._held.get(id(value))
        if known is None:
            held = (
                self._profiles.setdefault(value, IdentityKey(value))
                if isinstance(value, Profile)
                else IdentityKey(value)
            )
            known = self._held[id(value)] = value, held
        return known[1]
