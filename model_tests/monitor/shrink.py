"""A failing run shrunk on its tape: choices are left out, made simplest, and lowered, while the same rule breaks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final, NamedTuple

SECONDS: Final = 20.0
"""How long a tape is shrunk."""


class Size(NamedTuple):
    """What is to become smaller: first the trace, then the tape, then the numbers on it."""

    steps: int
    choices: int
    total: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A tape whose run fails.

    Attributes:
        ends: how much of the tape was used when each step was made; the run fails at the last one.
    """

    choices: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, choices: Sequence[int], ends: Sequence[int]) -> "Failure":
        """The failure of a tape; past a tape's end every choice is 0, so that zeros at its end say nothing."""
        length = max((at for at, choice in enumerate(choices, start=1) if choice), default=0)
        return cls(tuple(choices[:length]), tuple(ends))

    @property
    def size(self) -> Size:
        """How large it is."""
        return Size(len(self.ends), len(self.choices), sum(self.choices))


Attempt = Callable[[Sequence[int]], Failure | None]
"""Plays a tape: how it fails, with the choices that it used; None where it does not, or by another rule."""


SHORT: Final = 12
"""From this length on down, pieces of every length are tried; an event takes about so many choices."""


class _OutOfTime(Exception):
    """There is no time for another attempt."""


def shrunk(failure: Failure, attempt: Attempt, seconds: float = SECONDS) -> Failure:
    """The smallest failure that is found in the time: no single choice can be left out or lowered, if it suffices."""
    search = _Shrinking(failure, attempt, monotonic() + seconds)
    try:
        while any([search.leaves_out_steps(), search.leaves_out(), search.simplifies(), search.lowers()]):
            pass
    except _OutOfTime:
        pass
    return search.best


class _Shrinking:
    def __init__(self, failure: Failure, attempt: Attempt, deadline: float) -> None:
        self.best = failure
        self._attempt = attempt
        self._deadline = deadline

    def leaves_out_steps(self) -> bool:
        """Without all that led to some steps in a row, from many to one."""
        improved = False
        for count in _lengths(len(self.best.ends)):
            at = 0
            while at < len(self.best.ends):
                ends = (0, *self.best.ends)
                start, stop = ends[at], ends[min(at + count, len(ends) - 1)]
                if self._tries(start, self.best.choices[start:stop], ()):
                    improved = True
                else:
                    at += count
        return improved

    def leaves_out(self) -> bool:
        """Without a piece of the tape, from large to small."""
        return self._pieces(lambda piece: ())

    def simplifies(self) -> bool:
        """With the simplest choice all through a piece."""
        return self._pieces(lambda piece: (0,) * len(piece))

    def lowers(self) -> bool:
        """With one choice halved, or lowered by one."""
        improved = False
        for at in range(len(self.best.choices)):
            while at < len(self.best.choices) and self._lowers_one(at):
                improved = True
        return improved

    def _lowers_one(self, at: int) -> bool:
        choice = self.best.choices[at]
        return any(self._tries(at, (choice,), (lower,)) for lower in sorted({choice // 2, choice - 1}) if lower >= 0)

    def _pieces(self, change: Callable[[Sequence[int]], Sequence[int]]) -> bool:
        improved = False
        for length in _lengths(len(self.best.choices)):
            at = 0
            while at < len(self.best.choices):
                piece = self.best.choices[at : at + length]
                if self._tries(at, piece, change(piece)):
                    improved = True
                else:
                    at += length
        return improved

    def _tries(self, at: int, piece: Sequence[int], instead: Sequence[int]) -> bool:
        """Play the tape with something else in the place of a piece; whether it is kept."""
        if tuple(piece) == tuple(instead):
            return False
        if monotonic() > self._deadline:
            raise _OutOfTime
        choices = self.best.choices
        found = self._attempt((*choices[:at], *instead, *choices[at + len(piece) :]))
        if found is None or found.size >= self.best.size:
            return False
        self.best = found
        return True


def _lengths(whole: int) -> Iterator[int]:
    """Lengths of pieces, from half of the whole to one."""
    length = whole // 2
    while length > SHORT:
        yield length
        length //= 2
    yield from range(min(length, SHORT), 0, -1)
