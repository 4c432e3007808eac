"""Files and folders in a store that `pyarrow.fs` opens; loaded when the first URL is given, as Arrow takes long."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

RANGE: Final = 16 << 20
"""Bytes that are asked of a store at once."""

NOT_OPENED: Final = (ValueError, NotImplementedError, OSError, pa.ArrowException)
"""What is raised where no store is opened by a URL."""

settings: Final[dict[str, str]] = {}
"""By scheme and authority, the options of the store."""


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
            return b"".join(file.read_at(min(RANGE, size - start), start) for start in range(0, size, RANGE))

    def read_range(self, first: int, end: int) -> bytes:
        """The bytes from a position up to before another, -1 for the file's end."""
        store, path = self._opened()
        with store.open_input_file(path) as file:
            return bytes(file.read_at((file.size() if end < 0 else end) - first, first))

    def read_text(self) -> str:
        """The same as text."""
        return self.read_bytes().decode()

    def size_and_time(self) -> tuple[int, int]:
        """Bytes of a file, and when it was written in milliseconds.

        Raises:
            OSError: there is none.
        """
        info = self.info()
        if info.type is not FileType.File:
            raise FileNotFoundError(2, "No such file", str(self))
        return int(info.size), int(info.mtime_ns or 0) // 1_000_000

    def _opened(self) -> tuple[FileSystem, str]:
        store, top = store_of(self._root, settings.get(self._root, ""))
        return store, f"{top}/{self._inner}".strip("/") if top.strip("/") else f"{top}{self._inner}"


@lru_cache(maxsize=64)
def store_of(root: str, options: str) -> tuple[FileSystem, str]:
    """The store of a scheme and authority, opened with these options, and the path of its top."""
    store, top = FileSystem.from_uri(f"{root}/?{options}" if options else f"{root}/")
    return store, top
