"""A sequence diagram as one SVG file: its title and description are read aloud, and it is legible on light and dark."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from model_tests.common.reports import writing
from model_tests.diagrams.events import DrawnMessage, Ending, Event, Mark, Note, Sequence, lines_of

LETTER: Final = 7.3
"""Width of a letter in pixels; every letter of the typeface has the same."""

LINE: Final = 17
"""Height of a line of text in pixels."""

NARROWEST: Final = 130
WRAPPED: Final = 34
EDGE: Final = 24
HEAD: Final = 84
"""Pixels from the top to the first step, below a title of one line."""

SHORTEST_TITLE: Final = 60
"""Letters of a line of the title, at least; it is as wide as what is drawn below it."""

TITLE_LETTER: Final = 1.2 * LETTER  # letters of the title are a fifth larger

STYLE: Final = """
svg { --ground: #ffffff; --ink: #1b1f24; --faint: #59636e; --line: #8c959f; --box: #eef1f4; --odd: #9a3412; \
--bad: #b3202c; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { svg { --ground: #14181d; --ink: #e9edf1; --faint: #a8b3bf; --line: #6e7a87; \
--box: #232a32; --odd: #f5a66b; --bad: #ff8f94; } }
.ground { fill: var(--ground); }
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--ink); }
.title { font-size: 14px; font-weight: bold; }
.number, .note { fill: var(--faint); }
.life { stroke: var(--line); stroke-dasharray: 2 4; }
.head { fill: var(--box); stroke: var(--line); }
.arrow { stroke: var(--ink); stroke-width: 1.4; fill: none; }
.point { fill: var(--ink); }
.odd.arrow { stroke: var(--odd); stroke-dasharray: 6 4; }
.odd.point, text.odd { fill: var(--odd); }
.dot { fill: var(--faint); }
.veil { fill: var(--ground); }
.ending { fill: var(--bad); font-weight: bold; }
""".strip()


def svg_of(sequence: Sequence) -> str:
    """The diagram as the text of an SVG file without anything from outside."""
    return "\n".join(_SvgDrawing(sequence).lines()) + "\n"


class _SvgDrawing:
    """One diagram while it is drawn: where each line of life is, in pixels."""

    def __init__(self, sequence: Sequence) -> None:
        self._sequence = sequence
        self._places = self._placed()
        self._body: list[str] = []
        self._title = self._title_lines()
        self._lowered = (len(self._title) - 1) * (LINE + 2)
        self._height = float(HEAD + self._lowered)

    def lines(self) -> Iterator[str]:
        """The elements of the file."""
        for number, step in enumerate(self._sequence.steps, start=self._sequence.first):
            self._step(number, step)
        lives_end = self._height
        ending = list(self._ending(self._sequence.ending))
        width, height = self._width(), self._height + EDGE
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img" aria-labelledby="title description">'
        )
        yield f'<title id="title">{escape(self._sequence.title)}</title>'
        yield f'<desc id="description">{escape(description_of(self._sequence))}</desc>'
        yield f"<style>{STYLE}</style>"
        yield '<rect class="ground" width="100%" height="100%"/>'
        for number, line in enumerate(self._title):
            yield _text(EDGE, EDGE + 6 + number * (LINE + 2), line, "title")
        yield from self._heads(lives_end)
        yield from self._body
        yield from ending
        yield "</svg>"

    def _placed(self) -> dict[str, float]:
        names = self._sequence.participants
        gaps = [max(NARROWEST, (len(left) + len(right)) / 2 * LETTER + 40) for left, right in pairwise(names)]
        messages = [event for step in self._sequence.steps for event in step if isinstance(event, DrawnMessage)]
        for message in sorted(messages, key=lambda m: abs(names.index(m.sender) - names.index(m.receiver))):
            low, high = sorted((names.index(message.sender), names.index(message.receiver)))
            if low < high:
                wanted = max(map(len, lines_of(message.label, WRAPPED))) * LETTER + 28
                gaps[high - 1] += max(0, wanted - sum(gaps[low:high]))
        first = EDGE + 24 + (len(names[0]) / 2 * LETTER + 10 if names else 0)
        return {name: first + sum(gaps[:at]) for at, name in enumerate(names)}

    def _body_width(self) -> float:
        longest = max((len(line) for line in self._ending_lines()), default=0)
        margin = max(self._places.values(), default=0) + WRAPPED * LETTER
        return max(margin + EDGE, self._notes_end() + EDGE, longest * LETTER + 2 * EDGE)

    def _notes_end(self) -> float:
        notes = (event for step in self._sequence.steps for event in step if isinstance(event, Note))
        ends = (self._places[n.at] + 10 + len(line) * LETTER for n in notes for line in lines_of(n.text, WRAPPED))
        return max(ends, default=0)

    def _title_lines(self) -> list[str]:
        letters = int((self._body_width() - 2 * EDGE) / TITLE_LETTER)
        return lines_of(self._sequence.title, max(SHORTEST_TITLE, letters)) or [""]

    def _width(self) -> float:
        return max(self._body_width(), max(map(len, self._title)) * TITLE_LETTER + 2 * EDGE)

    def _heads(self, end: float) -> Iterator[str]:
        top = HEAD + self._lowered
        for name, x in self._places.items():
            half = len(name) / 2 * LETTER + 10
            yield f'<line class="life" x1="{x:.1f}" y1="{top - 14}" x2="{x:.1f}" y2="{end:.1f}"/>'
            yield f'<rect class="head" x="{x - half:.1f}" y="{top - 40}" width="{2 * half:.1f}" height="26" rx="4"/>'
            yield _text(x, top - 23, name, "", anchor="middle")

    def _step(self, number: int, step: tuple[Event, ...]) -> None:
        self._height += 8
        self._body.append(_text(EDGE - 12, self._height + LINE - 4, str(number), "number"))
        for event in step:
            match event:
                case DrawnMessage():
                    self._message(event)
                case Note():
                    self._note(event)

    def _message(self, message: DrawnMessage) -> None:
        start, end = self._places[message.sender], self._places[message.receiver]
        odd = "odd" if message.mark else ""
        for line in lines_of(message.label, max(WRAPPED, int((abs(start - end) - 20) / LETTER))):
            self._height += LINE
            self._body.append(_veiled(min(start, end) + 10, self._height - 4, line, odd))
        self._height += 8
        end = (start + end) / 2 if message.mark is Mark.LOST else end
        self._body.append(_arrow(start, end, self._height, odd, lost=message.mark is Mark.LOST))
        self._height += 4

    def _note(self, note: Note) -> None:
        x = self._places[note.at]
        self._body.append(f'<rect class="dot" x="{x - 3:.1f}" y="{self._height + 6:.1f}" width="6" height="6"/>')
        for line in lines_of(note.text, WRAPPED):
            self._height += LINE
            self._body.append(_veiled(x + 10, self._height - 4, line, "note"))

    def _ending_lines(self) -> list[str]:
        return lines_of(self._sequence.ending.label, 90)

    def _ending(self, ending: Ending) -> Iterator[str]:
        self._height += 10
        for line in self._ending_lines():
            self._height += LINE + 2
            yield _text(EDGE, self._height, line, "ending" if ending.rule else "")


def description_of(sequence: Sequence) -> str:
    """The diagram in sentences, for those who do not see it."""
    reported = [
        f"{number}. {'; '.join(_reported(event) for event in step)}."
        for number, step in enumerate(sequence.steps, start=sequence.first)
        if step
    ]
    return " ".join([*reported, f"In the end: {sequence.ending.label}."])


def _reported(event: Event) -> str:
    match event:
        case DrawnMessage():
            return f"{event.sender} to {event.receiver}: {event.label}"
        case Note():
            return f"{event.at}: {event.text}"


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _veiled(x: float, y: float, text: str, kind: str) -> str:
    """Text on a patch of ground, so that no line of life runs through it."""
    width = len(text) * LETTER + 4
    patch = f'<rect class="veil" x="{x - 2:.1f}" y="{y - 12:.1f}" width="{width:.1f}" height="{LINE}"/>'
    return patch + _text(x, y, text, kind)


def _arrow(start: float, end: float, y: float, kind: str, *, lost: bool) -> str:
    line = f'<line class="arrow {kind}" x1="{start:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{y:.1f}"/>'
    if lost:
        cross = f"M{end - 4:.1f} {y - 4:.1f} l8 8 m0 -8 l-8 8"
        return f'{line}<path class="arrow {kind}" d="{cross}" style="stroke-dasharray: none"/>'
    back = -8 if end > start else 8
    return f'{line}<path class="point {kind}" d="M{end:.1f} {y:.1f} l{back} -4 v8 z"/>'


def draw(sequence: Sequence, svg: Path) -> None:
    """Write a diagram as SVG.

    Raises:
        BadInput: the file cannot be written.
    """
    with writing(svg):
        svg.write_text(svg_of(sequence))
