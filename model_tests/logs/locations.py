"""Where logs lie: on this machine, or in a store that `pyarrow.fs` opens by a URL (s3, gs, hdfs, ...).

A location of either kind has the part of `pathlib.Path` that reading logs needs, and its text leads to it again, in any
process that knows the settings of its store. The options of a store, as in `s3://bucket/kafka?endpoint_override=
host:9000&scheme=http`, are kept apart, so that locations below have plain names.
"""

import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable
from urllib.parse import unquote, urlsplit

_SCHEME_END: Final = "://"

if TYPE_CHECKING:
    _PathOfMachine = Path
else:
    _PathOfMachine = type(Path())


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


@runtime_checkable
class StoredLocation(Protocol):
    """What a location in a store does in its own way."""

    def names(self) -> list[str]:
        """The names in this folder."""

    def size_and_time(self) -> tuple[int, int]:
        """Bytes of a file, and when it was written in milliseconds."""

    def read_range(self, first: int, end: int) -> bytes:
        """The bytes from a position up to before another, -1 for the file's end."""


class LocalPath(_PathOfMachine):
    """A path on this machine. What is no file is refused: opening a pipe would wait for a writer."""

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """The file, open.

        Raises:
            OSError: it is not there, may not be read, or is a pipe, a socket or a device.
        """
        mode = self.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError("it is no file but a pipe, a socket or a device")
        return super().open(*args, **kwargs)


def located(given: str) -> Location:
    """The location that a path or URL names; the options of a URL's store are remembered.

    Raises:
        Unsupported: no store is opened by such a URL.
    """
    scheme, is_url, rest = given.partition(_SCHEME_END)
    if not is_url or not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return LocalPath(given)
    if scheme.lower() == "file":
        parts = urlsplit(given)
        if parts.netloc not in ("", "localhost"):
            raise UnsupportedUrl(f"file:// of another machine, {parts.netloc}")
        return LocalPath(unquote(parts.path))
    plain, _, settings = rest.partition("?")
    authority, _, inner = plain.partition("/")
    if "@" in authority and ":" in authority.partition("@")[0]:
        raise UnsupportedUrl("credentials do not belong in a URL: the store takes them from the environment")
    root = f"{scheme.lower()}{_SCHEME_END}{authority}"
    from model_tests.logs import stores  # with Arrow, which a path needs not

    if settings:
        stores.settings[root] = settings
    try:
        stores.store_of(root, stores.settings.get(root, ""))
    except stores.NOT_OPENED as error:
        raise UnsupportedUrl(f"{_first_line(error)}; a path, file:// or a store of pyarrow.fs is needed") from error
    return stores.Stored(root, inner.strip("/"))


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
    names = (
        folder.names() if isinstance(folder, StoredLocation) else [path.name for path in Path(str(folder)).iterdir()]
    )
    return sorted(names)


def size_and_time(location: Location) -> tuple[int, int]:
    """Bytes of a file, and when it was written in milliseconds.

    Raises:
        OSError: there is none.
    """
    if isinstance(location, StoredLocation):
        return location.size_and_time()
    status = Path(str(location)).stat()
    return status.st_size, status.st_mtime_ns // 1_000_000


def read_range(location: Location, first: int, end: int) -> bytes:
    """The bytes of a file from a position up to before another, -1 for its end; fewer where it is shorter.

    Raises:
        OSError: it cannot be read.
    """
    if isinstance(location, StoredLocation):
        return location.read_range(first, end)
    with LocalPath(str(location)).open("rb") as file:
        file.seek(first)
        return bytes(file.read(end - first if end >= 0 else -1))


def reason(error: Exception) -> str:
    """Why a file cannot be read, in one line."""
    return (isinstance(error, OSError) and error.strerror) or _first_line(error)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
