"""A file that grows by a line of JSON at a time."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from model_tests.common.reports import writing


class LinesFile:
    """Writes lines; what was written is there for other readers after `flush`."""

    __slots__ = ("_default", "_file", "_path")

    def __init__(self, path: Path, file: TextIO, default: Callable[[Any], Any] | None = None) -> None:
        """A file that is open, and what makes JSON of values that are none."""
        self._path, self._file, self._default = path, file, default

    def write(self, values: dict[str, Any]) -> None:
        """One line.

        Raises:
            BadInput: there is no room for it.
        """
        line = json.dumps(values, default=self._default)
        with writing(self._path):
            self._file.write(line + "\n")

    def flush(self) -> None:
        """Hand what was written to the system.

        Raises:
            BadInput: there is no room for it.
        """
        with writing(self._path):
            self._file.flush()


@contextmanager
def lines_file(path: Path, default: Callable[[Any], Any] | None = None) -> Iterator[LinesFile]:
    """A new file.

    Raises:
        BadInput: it cannot be made.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8")
    try:
        yield LinesFile(path, file, default)
    finally:
        with writing(path):
            file.close()
