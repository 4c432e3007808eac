"""Where decisions are taken: every distinct call of every decision, by the places whose judgement depends on it.

A place is whatever can be judged again: a recorded session, a step of a trace, a finite instance of a system. The
calls are watched once, with the protocol as it is. A mutant is then tried on the calls of its own decision, and only
those places are judged again in which it decides otherwise.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias
from unittest.mock import patch

from model_tests.mutants.decisions.functions import DecisionFunction, decisions
from model_tests.mutants.decisions.made import DecisionMutant, forget
from model_tests.mutants.decisions.users import above
from spec.protocol.guards import Guard
from spec.versions import Profile

Call: TypeAlias = tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]
"""Positional and named arguments."""

NoteCall: TypeAlias = Callable[[Sequence[Any], Sequence[tuple[str, Any]]], None]
"""Called with the positional and the named arguments of a call."""

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
        # Where the mutant itself decides as the true decision, so does whatever uses it.
        users = reversed(above(mutant.of)) if any(self.distinguishing(mutant)) else ()
        for user in users:
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
        afresh: what another place has worked out is forgotten at each, so that each shows all that it asks: where
            places are few.

    Raises:
        ValueError: a place names a rule as violated although nothing is broken.
    """
    watch = _Watch(decisions() if about is None else about)
    forget()
    with watch.on():
        for place in places:
            if afresh:
                forget()
            started, watch.place = time.monotonic(), place
            violated, watch.place = place.violated(), None
            if violated:
                raise ValueError(f"{place.name} violates {', '.join(violated)} with nothing broken")
            watch.occasions.seconds[place] = time.monotonic() - started
    return watch.occasions


class _Watch:
    """Notes every call of some decisions while it is on, at the place that is judged."""

    def __init__(self, about: Iterable[DecisionFunction]) -> None:
        self.occasions = Occasions()
        self.place: JudgedCall | None = None
        self._about = tuple(about)
        self._profiles: dict[Profile, IdentityKey] = {}
        self._held: dict[int, tuple[Any, IdentityKey]] = {}
        self._keeps: dict[type, Callable[[Any], Any] | None] = {}

    @contextmanager
    def on(self) -> Iterator[None]:
        """Each decision notes its arguments before it decides, inside this context, by whatever name it is bound."""
        with ExitStack() as stack:
            for decision in self._about:
                stack.enter_context(_noting(decision, partial(self._note, decision)))
            yield

    def _note(self, decision: DecisionFunction, positional: Sequence[Any], named: Sequence[tuple[str, Any]]) -> None:
        if self.place is None:
            return
        kept = self._kept
        call = tuple(map(kept, positional)), tuple((name, kept(value)) for name, value in named)
        most = FEW
        try:
            known = self.occasions.calls.setdefault(decision, {}).setdefault(call, [])
        except TypeError:  # an argument that cannot be looked up
            known, most = self.occasions.unlisted.setdefault(decision, []), UNLISTED
        if len(known) < most and (not known or known[-1] is not self.place):
            known.append(self.place)

    def _kept(self, value: Any) -> Any:
        kind = type(value)
        if kind not in self._keeps:
            by_identity = issubclass(kind, Profile | Mapping)
            self._keeps[kind] = self._as_held if by_identity else tuple if issubclass(kind, list) else None
        keep = self._keeps[kind]
        return value if keep is None else keep(value)

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


@contextmanager
def _noting(decision: DecisionFunction, note: NoteCall) -> Iterator[None]:
    """The decision hands its arguments to `note` before it decides, inside this context."""
    function, true = decision.function, decision.function.__code__
    deciding = FunctionType(true, function.__globals__, function.__name__, function.__defaults__)
    deciding.__kwdefaults__ = function.__kwdefaults__
    name = decision.name.replace(".", "_")
    notes, decides = f"{name}__notes", f"{name}__decides"
    held = partial(patch.object, decision.module, create=True)
    with held(notes, note), held(decides, deciding):
        function.__code__ = _noting_code(true, notes, decides)
        try:
            yield
        finally:
            function.__code__ = true


def _noting_code(true: CodeType, notes: str, decides: str) -> CodeType:
    """The code of a function with the same parameters that calls two others, by these names of its module."""
    last = true.co_argcount + true.co_kwonlyargcount
    positional, named = true.co_varnames[: true.co_argcount], true.co_varnames[true.co_argcount : last]
    rest = (f"*{true.co_varnames[last]}",) if true.co_flags & VARIADIC else ()
    parameters = ", ".join((*positional, *(rest or (("*",) if named else ())), *named))
    noted = "".join(f"{each}, " for each in (*positional, *rest))
    pairs = "".join(f"({name!r}, {name}), " for name in named)
    passed = ", ".join((*positional, *rest, *(f"{name}={name}" for name in named)))
    source = f"def noting({parameters}):\n    {notes}(({noted}), ({pairs}))\n    return {decides}({passed})\n"
    (code,) = (each for each in compile(source, "<watched>", "exec").co_consts if isinstance(each, CodeType))
    return code
