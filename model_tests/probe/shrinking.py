"""A script that shows a disagreement, made shorter on the live broker while it shows the same one."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from model_tests.conform.report import SessionDisagreement
from model_tests.probe.played import HASTY, PATIENT, Patience, PlayedSession
from model_tests.probe.reducing import closed, reduced
from model_tests.probe.requests import EXPLICIT
from model_tests.probe.script import Script, ScriptAction

PLACES: Final = re.compile(r"t-\d+")
SYMBOLS: Final = re.compile(r"pid\d+")
OLD: Final = 0.5
"""The share of a request's versions below which a client knows no transactions of version 2."""

RUNS: Final = 3
NEEDED: Final = 2
"""A shorter script is kept if it shows the same in so many of so many runs."""

LONGEST_S: Final = 60.0
"""After which shrinking stops with what it has."""


class Signature(NamedTuple):
    """What a disagreement is: the same wherever offsets, partitions and ids are others.

    Attributes:
        api: of the step.
        field: the first field that differs.
        given: the broker's value; for a number only that it is one.
        allowed: the specification's value.
    """

    api: str
    field: str
    given: str
    allowed: str

    def __str__(self) -> str:
        """In one line."""
        if self.given == self.allowed:
            return f"{self.api}: {self.field} is {self.given}, but not the allowed one"
        return f"{self.api}: {self.field} is {self.given}, allowed is {self.allowed}"


Play = Callable[[Script, Patience], PlayedSession]
"""Plays a script on fresh names."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The shortest script that was found.

    Attributes:
        played: it, as it was last played.
        runs: how many sessions that took.
        seconds: how long.
    """

    played: PlayedSession
    runs: int
    seconds: float


def signature_of(played: PlayedSession) -> Signature | None:
    """The signature of the disagreement that a session ends with; None where it ends with none."""
    comparison = played.disagreed
    if comparison is None:
        return None
    found: SessionDisagreement = comparison.disagreed[0]
    where = differing(found)
    return Signature(
        found.api, PLACES.sub("t", SYMBOLS.sub("pid", where)), _shape(found.expected[where]), _shape(found.got[where])
    )


def differing(found: SessionDisagreement) -> str:
    """The first field of a step that differs; an error code only where nothing else does."""
    return next((each for each in found.expected if not each.endswith("error_code")), next(iter(found.expected)))


def _shape(value: object) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return PLACES.sub("t", SYMBOLS.sub("pid", repr(value)))
    return "-1" if value == -1 else "a number" if isinstance(value, int) else type(value).__name__


class Shrinker:
    """Shortens one script."""

    def __init__(self, play: Play, found: PlayedSession, now: Callable[[], float] = time.monotonic) -> None:
        """A script that shows something.

        Args:
            play: plays a script on fresh names.
            found: the session that showed it.
            now: seconds.
        """
        self._play = play
        self._signature = signature_of(found)
        self._found = found
        self._best = found
        self._runs = 0
        self._now = now
        self._began = now()

    def shrink(self) -> Shrunk:
        """Take away steps, and what is special about them, while the same is shown.

        Raises:
            BrokerFailure: the broker does not answer any more.
        """
        used = set(self._best.keys)
        first = closed([action for action in self._best.script.actions if action.key in used])
        self._keep(first)
        if self._best.script.legacy:
            self._keep_script(of_new_client(self._best.script))
        reduced(self._best.script.actions, self._keep, self._has_time)
        return Shrunk(self._confirmed(), self._runs, self._now() - self._began)

    def _confirmed(self) -> PlayedSession:
        """The shortest script as a patient session shows it; the first one if that does not show the same."""
        if self._best is self._found:
            return self._found
        played = self._play(self._best.script, PATIENT)
        self._runs += 1
        return played if signature_of(played) == self._signature else self._found

    def _keep(self, actions: Sequence[ScriptAction]) -> bool:
        """Keep these if they show the same in most runs; whether they do."""
        return self._keep_script(self._best.script.keeping(actions))

    def _keep_script(self, script: Script) -> bool:
        shown = 0
        last: PlayedSession | None = None
        for run in range(RUNS):
            played = self._play(script, HASTY)
            self._runs += 1
            if signature_of(played) == self._signature:
                shown, last = shown + 1, played
            if shown >= NEEDED or run + 1 - shown > RUNS - NEEDED:
                break
        if shown < NEEDED or last is None:
            return False
        self._best = last
        return True

    def _has_time(self) -> bool:
        return self._now() - self._began < LONGEST_S


def of_new_client(script: Script) -> Script:
    """The same requests in old versions, of a client that knows newer ones, which may need fewer steps."""
    actions = [
        replace(each, version=min(each.version, OLD)) if each.api in EXPLICIT else each for each in script.actions
    ]
    return replace(script.keeping(actions), legacy=False)


def described(played: PlayedSession) -> Iterator[str]:
    """The steps of a played session in words, numbered as in its record."""
    actions = {action.key: action for action in played.script.actions}
    for number, (key, step) in enumerate(zip(played.keys, played.session["steps"], strict=False)):
        called = str(actions[key]) if key in actions else step["api"]
        yield f"{number}: {called} [v{step['version']}] -> {step['response']['error']}"
