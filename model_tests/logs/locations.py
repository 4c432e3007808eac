"""Where logs lie: on this machine, or in a store that `pyarrow.fs` opens by a URL (s3, gs, hdfs, ...).

A location of either kind has the part of `pathlib.Path` that reading logs needs, and its text leads to it again, in any
process that knows the settings of its store. The options of a store, as in `s3://bucket/kafka?endpoint_override=
host:9000&scheme=http`, are kept apart, so that locations below have plain names.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

_SCHEME_END: Final = "://"
_RANGE: Final = 16 << 20
"""Bytes that are asked of a store at once."""

_settings: Final[dict[str, str]] = {}
"""By scheme and authority, the options of the store."""


class UnsupportedUrl(Exception):
    """A URL that leads nowhere: what is wrong with it."""


class Location(Protocol):
    """A file or folder."""

    @property
    def name(self) -> str:
        """The last part of its text."""

    @property
    def stem(self) -> str:
        """The same without its extension."""

    @property
    def parent(self) -> "Location":
        """The folder that it is in."""

    def __truediv__(self, name: str) -> "Location":
        """What is in this folder under a name."""

    def resolve(self) -> "Location":
        """The same without symbolic links."""

    def exists(self) -> bool:
        """Whether anything is there."""

    def is_dir(self) -> bool:
        """Whether it is a folder."""

    def is_file(self) -> bool:
        """Whether it is a file."""

    def is_symlink(self) -> bool:
        """Whether it is a symbolic link."""

    def read_bytes(self) -> bytes:
        """All that is in a file."""

    def read_text(self) -> str:
        """The same as text."""


class Stored:
    """A file or folder in a store; `info` is what a listing of its folder said of it."""

    __slots__ = ("_children", "_info", "_inner", "_root")

    def __init__(self, root: str, inner: str, info: FileInfo | None = None) -> None:
        """What is at `inner` (without a slash at either end) below scheme and authority."""
        self._root, self._inner, self._info = root, inner, info
        self._children: Mapping[str, FileInfo] = {}

    def __str__(self) -> str:
        return f"{self._root}/{self._inner}".rstrip("/")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stored) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def name(self) -> str:
        """The last part of its text."""
        return self._inner.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The same without its extension."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> "Stored":
        """The folder that it is in."""
        return Stored(self._root, self._inner.rpartition("/")[0])

    def __truediv__(self, name: str) -> "Stored":
        """What is in this folder under a name."""
        return Stored(self._root, f"{self._inner}/{name}".strip("/"), self._children.get(name))

    def resolve(self) -> "Stored":
        """The same: a store has no links."""
        return self

    def exists(self) -> bool:
        """Whether anything is there."""
        return self.info().type is not FileType.NotFound

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self.info().type is FileType.Directory

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self.info().type is FileType.File

    def is_symlink(self) -> bool:
        """Never."""
        return False

    def info(self) -> FileInfo:
        """The store's information about it."""
        if self._info is None:
            store, path = self._opened()
            self._info = store.get_file_info(path)
        return self._info

    def names(self) -> list[str]:
        """The names in this folder."""
        store, path = self._opened()
        found = store.get_file_info(FileSelector(path))
        self._children = {info.base_name: info for info in found}
        return list(self._children)

    def read_bytes(self) -> bytes:
        """All that is in a file, one range after the other."""
        store, path = self._opened()
        with store.open_input_file(path) as file:
            size = file.size()
            return b"".join(file.read_at(min(_RANGE, size - start), start) for start in range(0, size, _RANGE))

    def read_range(self, first: int, end: int) -> bytes:
        """The bytes from a position up to before another, -1 for the file's end."""
        store, path = self._opened()
        with store.open_input_file(path) as file:
            return bytes(file.read_at((file.size() if end < 0 else end) - first, first))

    def read_text(self) -> str:
        """The same as text."""
        return self.read_bytes().decode()

    def _opened(self) -> tuple[FileSystem, str]:
        store, top = _store(self._root, _settings.get(self._root, ""))
        return store, f"{top}/{self._inner}".strip("/") if top.strip("/") else f"{top}{self._inner}"


@lru_cache(maxsize=64)
def _store(root: str, settings: str) -> tuple[FileSystem, str]:
    store, top = FileSystem.from_uri(f"{root}/?{settings}" if settings else f"{root}/")
    return store, top


def located(given: str) -> Location:
    """The location that a path or URL names; the options of a URL's store are remembered.

    Raises:
        Unsupported: no store is opened by such a URL.
    """
    scheme, is_url, rest = given.partition(_SCHEME_END)
    if not is_url or not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return Path(given)
    if scheme.lower() == "file":
        parts = urlsplit(given)
        if parts.netloc not in ("", "localhost"):
            raise UnsupportedUrl(f"file:// of another machine, {parts.netloc}")
        return Path(unquote(parts.path))
    plain, _, settings = rest.partition("?")
    authority, _, inner = plain.partition("/")
    if "@" in authority and ":" in authority.partition("@")[0]:
        raise UnsupportedUrl("credentials do not belong in a URL: the store takes them from the environment")
    root = f"{scheme.lower()}{_SCHEME_END}{authority}"
    if settings:
        _settings[root] = settings
    try:
        _store(root, _settings.get(root, ""))
    except (ValueError, NotImplementedError, OSError, pa.ArrowException) as error:
        raise UnsupportedUrl(f"{_first_line(error)}; a path, file:// or a store of pyarrow.fs is needed") from error
    return Stored(root, inner.strip("/"))


def remember(paths: Iterable[str]) -> None:
    """Keep what URLs say of their stores: in a process that is given locations below them."""
    for path in paths:
        with suppress(UnsupportedUrl):  # the listing has said so
            located(path)


def names_in(folder: Location) -> list[str]:
    """The names in a folder, in order.

    Raises:
        OSError: it cannot be listed.
    """
    names = folder.names() if isinstance(folder, Stored) else [path.name for path in Path(str(folder)).iterdir()]
    return sorted(names)


def size_and_time(location: Location) -> tuple[int, int]:
    """Bytes of a file, and when it was written in milliseconds.

    Raises:
        OSError: there is none.
    """
    if isinstance(location, Stored):
        info = location.info()
        if info.type is not FileType.File:
            raise FileNotFoundError(2, "No such file", str(location))
        return int(info.size), int(info.mtime_ns or 0) // 1_000_000
    status = Path(str(location)).stat()
    return status.st_size, status.st_mtime_ns // 1_000_000


def read_range(location: Location, first: int, end: int) -> bytes:
    """The bytes of a file from a position up to before another, -1 for its end; fewer where it is shorter.

    Raises:
        OSError: it cannot be read.
    """
    if isinstance(location, Stored):
        return location.read_range(first, end)
    with Path(str(location)).open("rb") as file:
        file.seek(first)
        return file.read(end - first if end >= 0 else -1)


def reason(error: Exception) -> str:
    """Why a file cannot be read, in one line."""
    return (isinstance(error, OSError) and error.strerror) or _first_line(error)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
