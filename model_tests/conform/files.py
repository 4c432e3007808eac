"""Session files: found, opened and read line by line; an unreadable line is listed, and the rest is read.

The bundled sessions are read as a whole, or as a sample in which every family of every file has its part.
"""

import gzip
import json
import lzma
import os
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import IO, Final, TypeAlias, TypeVar

from model_tests.conform.fields import MalformedSession
from model_tests.conform.sessions import FAMILIES, Session, session_of

SUFFIXES: Final = (".ndjson", ".ndjson.gz", ".ndjson.xz")
GZIP_MAGIC: Final = b"\x1f\x8b"
XZ_MAGIC: Final = b"\xfd7zXZ\x00"

Item = TypeVar("Item")
"""What is made of a line with a session."""


@dataclass(frozen=True, slots=True)
class UnreadableSession:
    """Something that could not be read.

    Attributes:
        line: number of the line in the file, from 1; 0 for the file as a whole.
        foreign: a file beside session files that does not claim to be one; harmless.
    """

    path: str
    line: int
    what: str
    foreign: bool = False

    def __str__(self) -> str:
        """Where and what, in one line."""
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.what}"


@dataclass(frozen=True, slots=True)
class LocatedSession:
    """A session, and where it is."""

    path: str
    line: int
    session: Session


Read: TypeAlias = LocatedSession | UnreadableSession


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A line as it is in its file, or the damage in its place if it cannot be read.

    Attributes:
        file: which of the files it is in, counted from 1.
        number: of the line, from 1.
    """

    file: int
    path: str
    number: int
    content: bytes | UnreadableSession


def read(paths: Iterable[Path | str], families: Collection[str] = tuple(FAMILIES)) -> Iterator[Read]:
    """Every session of some families, in order, each file once; what is damaged stands in its place."""
    return settled((line.file, parsed(line, families)) for line in lines(paths))


def lines(paths: Iterable[Path | str]) -> Iterator[SessionLine]:
    """Every line of files and directories that is not empty, in order, each file once."""
    met: set[Path] = set()
    files = (file for given in paths for file in _files(str(given)))
    for number, file in enumerate(files, start=1):
        if isinstance(file, UnreadableSession):
            yield SessionLine(number, file.path, 0, file)
        elif file.resolve() not in met:
            met.add(file.resolve())
            yield from _lines(number, file)


def parsed(line: SessionLine, families: Collection[str] = tuple(FAMILIES)) -> Read | None:
    """The session in a line, None if it is of another family."""
    if isinstance(line.content, UnreadableSession):
        return line.content
    return _session(line.path, line.number, line.content, families)


def settled(items: Iterable[tuple[int, Item | UnreadableSession | None]]) -> Iterator[Item | UnreadableSession]:
    """What was made of lines, each with the number of its file; one damage for a file without any session."""
    for _, of_file in groupby(items, key=itemgetter(0)):
        yield from _or_foreign(item for _, item in of_file)


def sessions(*paths: Path | str) -> Iterator[Session]:
    """The readable sessions of files and directories."""
    return (item.session for item in read(paths) if isinstance(item, LocatedSession))


def _files(given: str) -> Iterator[Path | UnreadableSession]:
    path = Path(given)
    if "://" in given:
        yield UnreadableSession(given, 0, "sessions are read from local files only")
    elif path.is_dir():
        yield from _session_files(path)
    elif path.exists() and not path.is_file():
        yield UnreadableSession(given, 0, "neither a file nor a directory")
    else:
        yield path


def _session_files(folder: Path) -> Iterator[Path | UnreadableSession]:
    unreadable: list[UnreadableSession] = []
    files: list[Path] = []
    for where, _, names in os.walk(folder, onerror=lambda error: unreadable.append(_unreadable(folder, error))):
        files.extend(Path(where, name) for name in names)
    yield from unreadable
    named = {file for file in files if file.name.endswith(SUFFIXES)}
    for file in sorted(files):
        yield (
            file
            if file in named
            else UnreadableSession(str(file), 0, "no session file by its name, passed over", foreign=True)
        )
    if not named and not unreadable:
        yield UnreadableSession(str(folder), 0, f"no session file in it ({', '.join(SUFFIXES)})")


def _unreadable(path: Path, error: OSError) -> UnreadableSession:
    return UnreadableSession(str(error.filename or path), 0, (error.strerror or str(error)).lower())


def _or_foreign(items: Iterable[Item | UnreadableSession | None]) -> Iterator[Item | UnreadableSession]:
    """The content of a file; a single line of damage if there is no session in it."""
    damaged: list[UnreadableSession] = []
    any_session = False
    for item in items:
        if not isinstance(item, UnreadableSession):
            any_session = True
            yield from damaged
            damaged = []
            if item is not None:
                yield item
        elif any_session:
            yield item
        else:
            damaged.append(item)
    if len(damaged) > 1:
        first = damaged[0]
        yield UnreadableSession(
            first.path, first.line, f"{first.what}; {len(damaged)} lines, and no session in any of them"
        )
    else:
        yield from damaged


def _lines(file_number: int, file: Path) -> Iterator[SessionLine]:
    number, empty, path = 0, True, str(file)
    try:
        with _opened(file) as content:
            for number, line in enumerate(content, start=1):
                if line.strip():
                    empty = False
                    yield SessionLine(file_number, path, number, line)
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        damage = UnreadableSession(path, number + 1, f"compressed data is damaged: {error}")
        yield SessionLine(file_number, path, damage.line, damage)
    except OSError as error:
        yield SessionLine(file_number, path, 0, _unreadable(file, error))
    else:
        if empty:
            yield SessionLine(file_number, path, 0, UnreadableSession(path, 0, "empty"))


def _opened(file: Path) -> IO[bytes]:
    with file.open("rb") as raw:
        magic = raw.read(len(XZ_MAGIC))
    if magic.startswith(GZIP_MAGIC):
        return gzip.open(file, "rb")  # type: ignore[return-value]  # a binary stream by another name
    if magic == XZ_MAGIC:
        return lzma.open(file, "rb")
    return file.open("rb")


def _session(path: str, number: int, line: bytes, families: Collection[str]) -> Read | None:
    """The session in a line, None if it is of another family."""
    try:
        value = json.loads(line)
        if _is_of_others(value, families):
            return None
        return LocatedSession(path, number, session_of(value))
    except MalformedSession as error:
        return UnreadableSession(path, number, str(error))
    except RecursionError:
        return UnreadableSession(path, number, "not a session: nested too deeply")
    except ValueError as error:
        return UnreadableSession(path, number, f"not JSON: {error}")


def _is_of_others(value: object, families: Collection[str]) -> bool:
    family = value.get("family") if isinstance(value, dict) else None
    return isinstance(family, str) and family in FAMILIES and family not in families


RECORDINGS: Final = Path(__file__).parent / "recordings"


# --- the bundled sessions ---------------------------------------------------------------------------------------------


SEED: Final = 20261121
"""Of the sample that is taken."""

LEAST: Final = 3
"""Sessions of every family of every file that any sample has, where there are so many."""

_FAMILY: Final = re.compile(rb'\{"id":"[^"\\]*","family":"(\w+)"')


@dataclass(frozen=True, slots=True)
class SessionSample:
    """Lines of sessions, and how many sessions they were chosen from."""

    lines: tuple[SessionLine, ...]
    of: int


def bundled(families: Collection[str] = tuple(FAMILIES)) -> Iterator[SessionLine]:
    """The lines of the bundled sessions of some families, in order; and whatever cannot be read."""
    return (line for line in lines([RECORDINGS]) if _family(line) in (*families, ""))


def sample(one_in: int, families: Collection[str] = tuple(FAMILIES)) -> SessionSample:
    """One of so many bundled sessions, always the same ones, in order; and whatever cannot be read."""
    chosen: list[SessionLine] = []
    of = 0
    for _, of_file in groupby(bundled(families), key=attrgetter("file")):
        there = list(of_file)
        chosen += _sample(there, one_in)
        of += sum(1 for line in there if _family(line))
    return SessionSample(tuple(chosen), of)


def sessions_in(lines: Iterable[SessionLine]) -> Iterator[Session]:
    """The sessions in lines, one after another as they are asked for."""
    return (found.session for found in map(parsed, lines) if isinstance(found, LocatedSession))


def _sample(of_file: Sequence[SessionLine], one_in: int) -> Iterator[SessionLine]:
    by_family: defaultdict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(of_file):
        by_family[_family(line)].append(index)
    chance = random.Random(f"{SEED} {Path(of_file[0].path).name}")
    chosen = by_family.pop("", [])
    for indices in by_family.values():
        chosen += chance.sample(indices, max(len(indices) // one_in, min(LEAST, len(indices))))
    return (of_file[index] for index in sorted(chosen))


def _family(line: SessionLine) -> str:
    """The family of the session in a line, as every bundled line begins with it; empty where it does not."""
    begins = None if isinstance(line.content, UnreadableSession) else _FAMILY.match(line.content)
    return begins[1].decode() if begins else ""
