"""The contents of a sequence diagram: messages, notes, and the violation at the end."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, unique
from textwrap import wrap
from typing import TypeAlias


@unique
class Mark(StrEnum):
    """What is out of the ordinary about a message."""

    PLAIN = ""
    LATE = "late"  # sent long before, and not lost after all
    AGAIN = "again"  # a copy of one that has arrived
    LOST = "lost"  # it never arrives
    REFUSED = "refused"  # it arrives, and is answered with an error


@dataclass(frozen=True, slots=True)
class DrawnMessage:
    """One message, from participant to participant."""

    sender: str
    receiver: str
    text: str
    mark: Mark = Mark.PLAIN

    @property
    def label(self) -> str:
        """The text, and what is out of the ordinary about it."""
        return f"{self.text} ({self.mark})" if self.mark else self.text

    @property
    def concerned(self) -> tuple[str, ...]:
        """The participants that it concerns."""
        return self.sender, self.receiver


@dataclass(frozen=True, slots=True)
class Note:
    """What one participant does or knows by itself."""

    at: str
    text: str

    @property
    def concerned(self) -> tuple[str, ...]:
        """The participants that it concerns."""
        return (self.at,)


@dataclass(frozen=True, slots=True)
class Ending:
    """The last line: what is broken, or that nothing is.

    Attributes:
        rule: id of the rule; empty where nothing is broken.
    """

    rule: str
    text: str

    @property
    def label(self) -> str:
        """The line as it is drawn."""
        return f"{self.rule} is violated: {self.text}" if self.rule else self.text


Event: TypeAlias = DrawnMessage | Note


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence diagram.

    Attributes:
        participants: the columns, from left to right.
        steps: what happens, by step; the events of a step are drawn together under its number.
        first: number of the first step.
    """

    title: str
    participants: tuple[str, ...]
    steps: tuple[tuple[Event, ...], ...]
    ending: Ending
    first: int = 1

    def __post_init__(self) -> None:
        """Refuse an event of a participant without a column."""
        strangers = {who for step in self.steps for event in step for who in event.concerned} - set(self.participants)
        if strangers:
            raise ValueError(f"{sorted(strangers)[0]!r} is not among the participants {', '.join(self.participants)}")


def participants_of(steps: Iterable[Iterable[Event]], order: Iterable[str]) -> tuple[str, ...]:
    """Those of an order that take part in something."""
    seen = {who for step in steps for event in step for who in event.concerned}
    return tuple(who for who in order if who in seen)


def lines_of(text: str, letters: int) -> list[str]:
    """A text in lines of so many letters; a longer word has a line of its own, so that every name stays whole."""
    return wrap(text, letters, break_long_words=False, break_on_hyphens=False)
