"""The results of every command that judges, and the error for input that cannot be judged."""

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

HOLDS: Final = 0
"""Exit code: everything that was judged holds; suspicious, known and undecided findings alone included."""

VIOLATED: Final = 1
"""Exit code: something is violated or damaged."""

NOTHING_JUDGED: Final = 2
"""Exit code: there was nothing that could be judged."""


WIDE: Final = 120
"""Columns of text that the widest table needs."""


def counted(number: int, name: str, plural: str = "s") -> str:
    """A number and what it counts, in the singular or the plural."""
    return f"{number:,} {name}{plural if number != 1 else ''}"


def listed(names: Iterable[str], most: int = 6) -> str:
    """The first names, each once, and how many more there are."""
    own = list(dict.fromkeys(names))
    return ", ".join(own[:most]) + (f" and {len(own) - most:,} more" if len(own) > most else "")


class Report(Protocol):
    """The outcome of one command, for people, for programs and for the shell."""

    @property
    def exit_code(self) -> int:
        """`HOLDS`, `VIOLATED` or `NOTHING_JUDGED`."""

    def to_json(self) -> object:
        """The whole report as plain JSON values: an object, or a list of them."""

    def print(self, console: Console) -> None:
        """Write the report for a person to read."""


class PlainConsole(Console):
    """A console that shows control characters, which names of files and ids may have, instead of obeying them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments, in which a control character has the picture that Unicode has for it."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else text.translate(_PICTURES), style, control)


_PICTURES: Final = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}


class BadInput(Exception):
    """Input that cannot be judged, in one line: what it is, what is wrong with it, what to do instead."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """While a file or directory is written: an error of the system is bad input.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error


_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
_OF_SPARK: Final = ("py4j.", "pyspark.")
_MISSING: Final = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")


def lacking_on_executors(error: Exception) -> BadInput | None:
    """What Spark's error says in pages where the Python of executors lacks a library; None for any other error."""
    missing = _MISSING.search(str(error))
    if missing is None or not type(error).__module__.startswith(_OF_SPARK):
        return None
    remedy = "install it there, or send it with --archives (docs/cluster.md)"
    return BadInput(f"the Python of Spark's executors has no {missing[1]}: {remedy}")


def full_disk(error: Exception) -> BadInput | None:
    """What an error says where there is no room left; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return None
    return BadInput(f"no room is left for {error.filename or 'what is written'}: make some, and run it again")


def wide(console: Console) -> Console:
    """The same console, wide enough for the tables when it is a file or a pipe."""
    if not console.is_terminal and console.width < WIDE:
        console.width = WIDE
    return console
