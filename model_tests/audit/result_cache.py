"""A cache of the results of each log, in a directory, so that an audit that was stopped can be resumed.

A file is named by everything that it depends on: the log's files with their sizes and times, the checkpoints beside it,
the options, what clients were answered, and the code. What has changed since has another name, and is read again.
"""

import os
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from model_tests.common.derived import digest_of
from model_tests.common.reports import writing
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.logs.locations import located, names_in, size_and_time

CODE: Final = (
    "model_tests.audit",
    "model_tests.common",
    "model_tests.histories",
    "model_tests.logs",
    "model_tests.traces",
    "reference",
    "spec",
)
"""The packages whose code a result depends on."""


class ResultCache:
    """A directory of what was found; without one, nothing is kept."""

    def __init__(self, directory: Path | None, options: str) -> None:
        """What is kept in a directory that exists under these options, or under a digest of them."""
        self._directory, self._options = directory, options

    def found(self, log: LogFolder, what: str, find: Callable[[], bytes]) -> bytes:
        """What is kept of a log under a name, or is found now, and is kept unless the log changes meanwhile."""
        if self._directory is None:
            return find()
        before = self._key(log, what)
        file = self._directory / before
        if file.exists():
            return file.read_bytes()
        content = find()
        if self._key(log, what) == before:
            unfinished = file.with_name(f"{before}.{os.getpid()}.part")
            unfinished.write_bytes(content)
            unfinished.replace(file)
        return content

    def _key(self, log: LogFolder, what: str) -> str:
        return sha256("\n".join((_code(), self._options, what, repr(log), *_files(log))).encode()).hexdigest()


def directory_for(given: Path) -> Path:
    """The directory, made if it is missing.

    Raises:
        BadInput: nothing can be written there.
    """
    with writing(given):
        given.mkdir(parents=True, exist_ok=True)
        probe = given / f".{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    return given.resolve()


def _files(log: LogFolder) -> list[str]:
    """Every file of the log's folder with size and time; what cannot be looked at by its name alone."""
    folder = located(log.path)
    lines = []
    for name in names_in(folder):
        try:
            lines.append(f"{name} {size_and_time(folder / name)}")
        except OSError:
            lines.append(name)
    return lines


@lru_cache(maxsize=1)
def _code() -> str:
    """A digest of the code that judges, also where it was shipped to."""
    return digest_of(*CODE)
