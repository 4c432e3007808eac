"""Sessions that distinguish two releases: searched for in the specification, and shortened there."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.conform.on_specification import OnSpecification
from model_tests.conform.sessions import Session, SessionStep
from model_tests.conform.side_by_side import SPECIFICATION, SessionSides
from model_tests.probe.directed import directed
from model_tests.probe.families import drawn
from model_tests.probe.imagined import IMAGINED, ImaginedBroker
from model_tests.probe.reducing import closed, reduced
from model_tests.probe.requests import Announced
from model_tests.probe.script import EXHAUST, Script, ScriptAction
from spec.versions import Profile

SEARCHED: Final = ("A", "B", "C", "D", "X")
"""Families that are drawn from; in a race the order is unknown."""

FEW_EPOCHS: Final = 5
"""The last epoch while sessions are searched for in which epochs run out: what happens there is the same."""


@dataclass(frozen=True, slots=True)
class ImaginedSession:
    """A script with what a release answers.

    Attributes:
        keys: of the actions that could be done.
    """

    script: Script
    partitions: tuple[str, ...]
    keys: tuple[int, ...]
    steps: tuple[SessionStep, ...]


def imagined(profile: Profile, script: Script, announced: Announced | None = None) -> ImaginedSession:
    """The session that a release gives; by default with the newest versions of requests that it takes."""
    broker = ImaginedBroker(with_few_epochs(profile, script), script, announced=announced)
    played = tuple(broker.steps())
    return ImaginedSession(
        script, broker.partitions, tuple(key for key, _ in played), tuple(step for _, step in played)
    )


def differs(session: ImaginedSession, profile: Profile) -> int | None:
    """The first step that another release answers otherwise; None if it answers all alike."""
    other = with_few_epochs(profile, session.script)
    empty = Session(IMAGINED, session.script.family, other, session.partitions, ())
    judge = SessionSides(empty, {SPECIFICATION: OnSpecification})
    return next((place for place, step in enumerate(session.steps) if judge.play(step).disagreed), None)


def distinguishes(script: Script, one: Profile, other: Profile, announced: Announced | None = None) -> bool:
    """Whether two releases answer a script differently.

    A release with one behaviour changed takes what that release takes.

    Args:
        script: the session, as actions.
        one: the release that answers.
        other: the release whose answers may differ.
        announced: the versions of requests that are used; by default the newest that the first release takes.
    """
    return differs(imagined(one, script, announced), other) is not None


def shortened(script: Script, one: Profile, other: Profile, announced: Announced | None = None) -> Script:
    """A script that distinguishes two releases, from which no step can be left out.

    Args:
        script: the session, as actions.
        one: the release that answers.
        other: the release whose answers may differ.
        announced: the versions of requests that are used; by default the newest that the first release takes.
    """
    session = imagined(one, script, announced)
    place = differs(session, other)
    if place is None:
        return script
    used = set(session.keys[: place + 1])

    def shows(actions: Sequence[ScriptAction]) -> bool:
        return distinguishes(script.keeping(actions), one, other, announced)

    first = closed([action for action in script.actions if action.key in used])
    return script.keeping(tuple(reduced(first, shows)))


class Candidates:
    """Sessions of each family as a release gives them, each made when it is first needed."""

    def __init__(self, profile: Profile, seeds: int, announced: Announced | None = None) -> None:
        """None is made yet."""
        self._made: list[ImaginedSession] = []
        self._others = (imagined(profile, script, announced) for script in scripts(profile, seeds))

    def __iter__(self) -> Iterator[ImaginedSession]:
        """All of them, those that are there first."""
        yield from self._made
        for session in self._others:
            self._made.append(session)
            yield session


def scripts(profile: Profile, seeds: int) -> Iterator[Script]:
    """The directed scripts, and those that are drawn of each family."""
    yield from directed()
    for family in SEARCHED:
        yield from (drawn(family, seed, implicit=profile.transaction_version == 2) for seed in range(seeds))


def shortest(
    sessions: Iterable[ImaginedSession],
    one: Profile,
    other: Profile,
    announced: Announced | None = None,
    tries: int = 2,
) -> Script | None:
    """The shortest of some scripts that distinguish two releases; None if no session does.

    Args:
        sessions: as the first release gives them.
        one: the first release.
        other: the second one.
        announced: the versions that are sent; None for all that the first one takes.
        tries: how many of those that distinguish are shortened.
    """
    found: list[Script] = []
    for session in sessions:
        if differs(session, other) is not None:
            found.append(shortened(session.script, one, other, announced))
            if len(found) == tries:
                break
    return min(found, key=effort, default=None)


def effort(script: Script) -> tuple[bool, int]:
    """By what the shorter of two scripts is taken: first the one in which no epochs run out."""
    return runs_out(script), len(script.actions)


def runs_out(script: Script) -> bool:
    """Whether epochs run out in a script, which takes long on a broker."""
    return any(action.api == EXHAUST for action in script.actions)


def with_few_epochs(profile: Profile, script: Script) -> Profile:
    """The release as it is for a script in the specification: with few epochs where they run out."""
    return replace(profile, max_epoch=FEW_EPOCHS) if runs_out(script) else profile
