"""The notes that a stage takes while a scenario runs on it: messages and notes, step by step."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from model_tests.diagrams.events import DrawnMessage, Event, Mark, Note


class Storyboard:
    """The steps of a diagram so far; what is played offstage is not drawn."""

    __slots__ = ("_offstage", "_open", "_steps")

    def __init__(self) -> None:
        """Nothing has happened."""
        self._steps: list[list[Event]] = []
        self._open: Hashable = None
        self._offstage = False

    @property
    def steps(self) -> tuple[tuple[Event, ...], ...]:
        """What is to be drawn."""
        return tuple(map(tuple, self._steps))

    @contextmanager
    def offstage(self) -> Iterator[None]:
        """What happens inside is not drawn: it was the same in every other run."""
        before, self._offstage = self._offstage, True
        try:
            yield
        finally:
            self._offstage = before

    def report(self, sender: str, receiver: str, text: str, mark: Mark = Mark.PLAIN, part_of: Hashable = None) -> None:
        """A message; the answer to the last message is drawn in the same step.

        Args:
            sender: who sends it.
            receiver: who gets it, or would have.
            text: what it says.
            mark: what is out of the ordinary about it.
            part_of: the exchange that it belongs to, if anything.
        """
        self._draw(DrawnMessage(sender, receiver, text, mark), part_of)

    def note(self, at: str, text: str) -> None:
        """A participant's own act or state, drawn with the exchange before it, if there was one."""
        if self._offstage:
            return
        if self._open is not None:
            self._steps[-1].append(Note(at, text))
        else:
            self._steps.append([Note(at, text)])

    def remark(self, at: str, text: str) -> None:
        """A note that begins a step of its own."""
        self._open = None
        self.note(at, text)
        self._open = ("remark", text)

    def _draw(self, event: Event, part_of: Hashable) -> None:
        if self._offstage:
            return
        if part_of is not None and part_of == self._open:
            self._steps[-1].append(event)
        else:
            self._steps.append([event])
        self._open = part_of
