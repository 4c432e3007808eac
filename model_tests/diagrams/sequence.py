"""A sequence diagram as text: participants as columns, messages as arrows, notes beside the lines of life."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from model_tests.diagrams.events import DrawnMessage, Event, Mark, Note, Sequence, lines_of

NARROWEST: Final = 16
"""Columns of text from one line of life to the next, at least."""

WRAPPED: Final = 30
"""Columns of text after which the label of a message to a neighbour continues in the next line."""

MARGIN: Final = 5
"""Columns of text for the numbers of the steps."""

_LINES: Final = {Mark.LATE: "╌", Mark.AGAIN: "╌", Mark.LOST: "╌"}
"""How the line of an arrow is drawn, if not solid."""


def text_of(sequence: Sequence) -> str:
    """The diagram, line by line, without colours."""
    return "\n".join(line.rstrip() for line in _TextDrawing(sequence).lines()) + "\n"


class _TextDrawing:
    """One diagram while it is drawn: where each line of life is, in columns of text."""

    def __init__(self, sequence: Sequence) -> None:
        self._sequence = sequence
        self._places = self._placed()

    def lines(self) -> Iterator[str]:
        """Title, participants, steps, ending."""
        yield self._sequence.title
        yield ""
        yield from self._heads()
        for number, step in enumerate(self._sequence.steps, start=self._sequence.first):
            yield self._lives()
            lines = [line for event in step for line in self._event(event)]
            yield from _numbered(number, lines)
        yield self._lives()
        yield self._written(dict.fromkeys(self._places.values(), "┴"))
        yield ""
        yield from lines_of(self._sequence.ending.label, max(60, self._width()))

    def _placed(self) -> dict[str, int]:
        """The lines of life as close together as their messages allow."""
        names = self._sequence.participants
        gaps = [max(NARROWEST, (len(left) + len(right)) // 2 + 6) for left, right in pairwise(names)]
        messages = [event for step in self._sequence.steps for event in step if isinstance(event, DrawnMessage)]
        for message in sorted(messages, key=lambda m: abs(names.index(m.sender) - names.index(m.receiver))):
            low, high = sorted((names.index(message.sender), names.index(message.receiver)))
            if low < high:
                wanted = max(map(len, _labelled(message))) + 5
                gaps[high - 1] += max(0, wanted - sum(gaps[low:high]))
        first = MARGIN + len(names[0]) // 2 + 2 if names else MARGIN
        return {name: first + sum(gaps[:at]) for at, name in enumerate(names)}

    def _width(self) -> int:
        return max(self._places.values(), default=0) + NARROWEST

    def _heads(self) -> Iterator[str]:
        boxes = {name: place - (len(name) + 4) // 2 for name, place in self._places.items()}
        yield self._written({start: f"┌{'─' * (len(name) + 2)}┐" for name, start in boxes.items()})
        yield self._written({start: f"│ {name} │" for name, start in boxes.items()})
        feet = {start: f"└{'─' * (len(name) + 2)}┘" for name, start in boxes.items()}
        yield self._written(feet | dict.fromkeys(self._places.values(), "┬"))

    def _lives(self) -> str:
        return self._written(dict.fromkeys(self._places.values(), "│"))

    def _event(self, event: Event) -> Iterator[str]:
        match event:
            case DrawnMessage():
                yield from self._message(event)
            case Note():
                yield from self._note(event)

    def _message(self, message: DrawnMessage) -> Iterator[str]:
        start, end = self._places[message.sender], self._places[message.receiver]
        low, high = min(start, end), max(start, end)
        for line in lines_of(message.label, max(WRAPPED, high - low - 6)):
            yield self._over(self._lives(), low + 3, line)
        yield self._over(self._lives(), low + 1, _arrow(message.mark, high - low - 1, to_right=start < end))

    def _note(self, note: Note) -> Iterator[str]:
        place = self._places[note.at]
        for at, line in enumerate(lines_of(note.text, max(WRAPPED, self._width() - place))):
            yield self._over(self._lives(), place, f"{'│' if at else '■'} {line} ")

    def _written(self, parts: dict[int, str]) -> str:
        line = ""
        for place, part in sorted(parts.items()):
            line = self._over(line, place, part)
        return line

    @staticmethod
    def _over(line: str, place: int, part: str) -> str:
        return f"{line[:place].ljust(place)}{part}{line[place + len(part) :]}"


def _labelled(message: DrawnMessage) -> list[str]:
    return lines_of(message.label, WRAPPED)


def _arrow(mark: Mark, length: int, *, to_right: bool) -> str:
    line = _LINES.get(mark, "─") * (length - 1)
    if mark is Mark.LOST:
        line = f"{line[: length // 2]}✗{' ' * (length - 1 - length // 2)}" if to_right else line
        return f"{line} " if to_right else f" {' ' * (length // 2)}✗{line[length // 2 + 1 :]}"
    return f"{line}▶" if to_right else f"◀{line}"


def _numbered(number: int, lines: list[str]) -> Iterator[str]:
    for at, line in enumerate(lines):
        yield f"{number:>3} {line[4:]}" if at == 0 else line
