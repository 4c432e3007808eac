"""A wire log shrunk: lines are left out, many at a time and then one by one, while the same rule breaks."""

from base64 import b64decode
from collections.abc import Callable, Hashable, Sequence
from time import monotonic
from typing import Final

from model_tests.serve.wire_log import Line
from reference.wire.codec import decode_header

Fails = Callable[[Sequence[Line]], int | None]
"""Plays lines: how many of them it takes until the rule breaks, None if it does not."""

SECONDS: Final = 20.0
"""How long a log is shrunk."""


def fewest(lines: Sequence[Line], fails: Fails, seconds: float = SECONDS) -> tuple[Line, ...]:
    """The fewest lines that are found in the time and still fail.

    Args:
        lines: that fail.
        fails: says whether lines do.
        seconds: how long to look.
    """
    search = _LineSearch(tuple(lines), fails, monotonic() + seconds)
    search.leaves_out_kinds()
    while search.leaves_out_pieces():
        pass
    return search.best


class _LineSearch:
    """The fewest lines so far."""

    def __init__(self, lines: tuple[Line, ...], fails: Fails, deadline: float) -> None:
        self.best = lines
        self._fails = fails
        self._deadline = deadline
        self._tries(lines)

    def leaves_out_kinds(self) -> None:
        """Without all lines of a kind, and without all of a connection, the most frequent first."""
        for group in (kind_of, _connection_of):
            groups = [group(line) for line in self.best]
            for each in sorted(set(groups), key=lambda key: (-groups.count(key), str(key))):
                self._tries(tuple(line for line in self.best if group(line) != each))

    def leaves_out_pieces(self) -> bool:
        """Without pieces, from half of the lines to single ones; whether any could be left out."""
        before, length = len(self.best), max(len(self.best) // 2, 1)
        while length:
            at = 0
            while at < len(self.best):
                if not self._tries(self.best[:at] + self.best[at + length :]):
                    at += length
            length //= 2
        return len(self.best) < before

    def _tries(self, lines: tuple[Line, ...]) -> bool:
        """Play lines; whether they fail, and so are the best from now on, up to where they fail."""
        if not lines or monotonic() > self._deadline:
            return False
        used = self._fails(lines)
        if used is None:
            return False
        self.best = lines[:used]
        return True


def kind_of(line: Line) -> str:
    """The api of a frame, the kind of a fault, or what else a line is."""
    if "bytes" in line:
        return decode_header(b64decode(line["bytes"]))[0].api
    if "fault" in line:
        return str(line["fault"]["kind"])
    return "wire" if "wire" in line else "time"


def _connection_of(line: Line) -> Hashable:
    return line.get("connection")
