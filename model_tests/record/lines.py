"""A file that grows by a line of JSON at a time."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from model_tests.common.reports import BadInput


class LinesFile:
    """Writes lines; what was written is there for other readers after `flush`."""

    __slots__ = ("_default", "_file", "_path")

    def __init__(self, path: Path, file: TextIO, default: Callable[[Any], Any] | None = None) -> None:
        """A file that is open, and what makes JSON of values that are none."""
        self._path, self._file, self._default = path, file, default

    def write(self, said: dict[str, Any]) -> None:
        """One line.

        Raises:
            BadInput: there is no room for it.
        """
        line = json.dumps(said, default=self._default)
        with said_in_one_line(self._path):
            self._file.write(line + "\n")

    def flush(self) -> None:
        """Hand what was written to the system.

        Raises:
            BadInput: there is no room for it.
        """
        with said_in_one_line(self._path):
            self._file.flush()


@contextmanager
def said_in_one_line(path: Path) -> Iterator[None]:
    """What the system says of a file is bad input.

    Raises:
        BadInput: the file cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def lines_file(path: Path, default: Callable[[Any], Any] | None = None) -> Iterator[LinesFile]:
    """A new file.

    Raises:
        BadInput: it cannot be made.
    """
    with said_in_one_line(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8")
    try:
        yield LinesFile(path, file, default)
    finally:
        with said_in_one_line(path):
            file.close()
