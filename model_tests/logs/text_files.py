"""Files of text as people keep them: compressed, in an archive, in any encoding, with any line ends and colours.

Nothing is held but one line, and no line longer than `LONGEST`: longer ones come in pieces.
"""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import unescape
from pathlib import Path
from typing import IO, Any, Final

LONGEST: Final = 1 << 20
"""Characters of a line that are read together."""

UNREADABLE: Final = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, RuntimeError)
"""What a damaged, cut or encrypted archive raises."""

_HEAD: Final = 4096
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"))
_WIDE_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_COMPRESSED: Final = ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ\0", lzma.open), (b"BZh", bz2.open))
_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])|[\0\xad\ufeff\u200b-\u200d\u2060]"
)
_TYPESET: Final = str.maketrans(
    {"\xa0": " ", "\u2009": " ", "\u202f": " ", "\u2010": "-", "\u2011": "-", "\u2212": "-"}
)
"""What word processors put in the place of a space or a minus sign."""

_DASH: Final = re.compile(r"\u2013(?=\d)")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of text, or one in an archive.

    Attributes:
        path: the file that was given.
        inside: its name in the archive; empty where the file is none.
    """

    path: Path
    inside: str
    open: Callable[[], IO[bytes]]

    @property
    def label(self) -> str:
        """How a report calls it."""
        return f"{self.path}:{self.inside}" if self.inside else str(self.path)

    @property
    def name(self) -> str:
        """Its own name."""
        return Path(self.inside).name if self.inside else self.path.name

    @property
    def folder(self) -> Path:
        """Where it lies: what lies together is of one broker."""
        return (self.path.parent / self.inside).parent if self.inside else self.path.parent

    def lines(self) -> Iterator[str]:
        """Its lines without their ends, colours, and marks of an encoding; none if it is not text.

        Raises:
            OSError: as each of `UNREADABLE`, it cannot be read, or not to its end.
        """
        with self.open() as raw:
            source = io.BufferedReader(_Raw(raw), _HEAD)
            encoding = _encoding(source.peek(_HEAD)[:_HEAD])
            if encoding:
                text = io.TextIOWrapper(source, encoding, errors="replace", newline=None)
                for line in iter(lambda: text.readline(LONGEST), ""):
                    line = line.rstrip("\n")
                    line = unescape(line) if "&" in line else line
                    plain = line.isascii() and "\x1b" not in line and "\0" not in line
                    yield line if plain else _DASH.sub("-", _ESCAPES.sub("", line).translate(_TYPESET))


class _Raw(io.RawIOBase):
    """A readable file of any kind, as the layer below a buffer."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


def texts_at(path: Path) -> list[TextFile]:
    """The file as text; of an archive, those in it.

    Raises:
        OSError: as each of `UNREADABLE`, the archive cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = [each.filename for each in archive.infolist() if not each.is_dir()]
        return [TextFile(path, name, partial(_in_zip, path, name)) for name in names]
    opens = next((partial(way, path) for magic, way in _COMPRESSED if head.startswith(magic)), partial(path.open, "rb"))
    if ".tar" in path.suffixes or path.suffix == ".tgz":
        with tarfile.open(path) as packed:
            names = [each.name for each in packed if each.isfile()]
        return [TextFile(path, name, partial(_in_tar, path, name)) for name in names]
    return [TextFile(path, "", opens)]  # type: ignore[arg-type]  # all of them open for bytes


def _in_zip(path: Path, name: str) -> IO[bytes]:
    return zipfile.ZipFile(path).open(name)


def _in_tar(path: Path, name: str) -> IO[bytes]:
    content = tarfile.open(path).extractfile(name)  # noqa: SIM115  # closed with what is in it
    if content is None:
        raise tarfile.TarError(f"{name} is no file")
    return content


def _encoding(head: bytes) -> str:
    """How a file is encoded, by its first bytes; empty where these are no text."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    if head.startswith(_WIDE_BOMS):
        return "utf-16"
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) * 4 > len(head):
        return "utf-16-be" if even > odd else "utf-16-le"
    return "" if b"\0" in head else "utf-8"
