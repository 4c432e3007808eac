"""What is in a file of text: archives, compressed files and mail are opened, one in the other, down to texts.

Nothing is believed about sizes: what unpacks to far more than it takes is not read further.
"""

import bz2
import gzip
import io
import lzma
import re
import shutil
import tarfile
import zipfile
import zlib
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from email import message_from_bytes, policy
from email.message import Message
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

HEAD: Final = 1 << 13
"""Bytes of a file by which its encoding and its kind are recognized."""

UNREADABLE: Final = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, RuntimeError)
"""What a damaged, cut or encrypted archive raises."""

_DEEPEST: Final = 4
"""Archives that lie in each other."""

_MOST: Final = 1000
"""Files of one archive, those in it included, that are read."""

_AT_ONCE: Final = 1 << 26
"""Bytes of a mail, or of a text in base64, which are read as a whole."""

_GROWS: Final = 250
"""Times that a file may grow where it is unpacked; listings of any length take a hundredth, seldom less."""

_SMALL: Final = 1 << 28
"""Bytes that any file may have unpacked."""

_COMPRESSED: Final = ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ\0", lzma.open), (b"BZh", bz2.open))
_ZIPPED: Final = (b"PK\3\4", b"PK\5\6")
_TAR: Final = slice(257, 262)
_MAIL: Final = re.compile(rb"From |[A-Z][\w-]{0,60}: ")
_ENCODINGS: Final = ("base64", "quoted-printable")
_BASE64: Final = re.compile(
    rb"(?:^[ \t>]*[A-Za-z0-9+/]{40,}={0,2}[ \t\r]*(?:\n|\Z))+(?:^[ \t>]*[\w+/]+={0,2}\s)?", re.M
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of text, or one in an archive.

    Attributes:
        path: the file that was given.
        inside: its name in the archive, behind that of the archive where this is in another; empty where it is in none.
        open: its bytes; raises one of `UNREADABLE`.
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

    @property
    def packed(self) -> bool:
        """Whether it is called like what has texts in it, or is from such."""
        return bool(self.inside) or self.path.suffix in (".gz", ".xz", ".bz2", ".zip", ".tar", ".tgz")

    def stream(self) -> "Bounded":
        """Its bytes, which end with an error where they are too many for a file of its size."""
        return Bounded(self.open(), max(_SMALL, _GROWS * self.path.stat().st_size))


class Bounded(io.RawIOBase):
    """A readable file of any kind, as the layer below a buffer, which may not have more than so many bytes."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._left = file, most

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer what fits in it.

        Raises:
            OSError: there is more than it may have.
        """
        content = self._file.read(len(buffer))
        self._left -= len(content)
        if self._left < 0:
            raise OSError(f"it unpacks to more than {_GROWS} times its size; unpack it, and give what is in it")
        buffer[: len(content)] = content
        return len(content)


def texts_at(path: Path) -> list[TextFile]:
    """The file as text; of an archive, those in it. What cannot be opened says so where it is read."""
    file = TextFile(path, "", lambda: path.open("rb"))
    found = list(islice(_texts(file, _DEEPEST), _MOST + 1))
    if len(found) > _MOST:
        found[-1] = replace(file, open=partial(_fails, OSError(f"only the first {_MOST:,} files of it are read")))
    return found


def in_base64(file: TextFile) -> list[TextFile]:
    """What is written in a text in base64."""
    with file.stream() as raw:
        content = io.BufferedReader(raw).read(_AT_ONCE)
    found = enumerate(_BASE64.finditer(content), 1)
    decoded = ((f"base64-{number}", _decoded(each[0])) for number, each in found)
    return [one for name, data in decoded if data for one in _texts(_inner(file, name, data), _DEEPEST)]


def _decoded(text: bytes) -> bytes:
    try:
        return b64decode(re.sub(rb"[\s>]", b"", text))
    except Error:
        return b""


def _texts(file: TextFile, deeper: int) -> Iterator[TextFile]:
    try:
        for one in _opened(file):
            if one is file:
                yield file
            elif deeper:
                yield from _texts(one, deeper - 1)
            else:
                yield replace(file, open=partial(_fails, OSError(f"more than {_DEEPEST} archives lie in each other")))
    except UNREADABLE as error:
        yield replace(file, open=partial(_fails, error))


def _fails(error: BaseException) -> IO[bytes]:
    raise error


def _opened(file: TextFile) -> Iterator[TextFile]:
    """What is in a file; the file itself where it is none that has others in it."""
    with file.open() as raw:
        head = raw.read(HEAD)
    if not head:
        return
    way = next((way for magic, way in _COMPRESSED if head.startswith(magic)), None)
    if way is not None:
        yield replace(file, open=partial(_through, way, file.open))
    elif head.startswith(_ZIPPED):
        archive = zipfile.ZipFile(_seekable(file))
        named = ((each.filename, partial(archive.open, each)) for each in archive.infolist() if not each.is_dir())
        yield from (_of(file, name, opens) for name, opens in named)
    elif head[_TAR] == b"ustar":
        packed = tarfile.open(fileobj=_seekable(file))  # noqa: SIM115  # as long as what is in it may be read
        yield from (_of(file, each.name, partial(_in_tar, packed, each)) for each in packed if each.isfile())
    elif _is_mail(head):
        with file.stream() as raw:
            content = io.BufferedReader(raw).read(_AT_ONCE)
        for number, part in enumerate(_parts(content), 1):
            yield _inner(file, part.get_filename() or f"part-{number}", _content(part))
    else:
        yield file


def _of(file: TextFile, name: str, opens: Callable[[], IO[bytes]]) -> TextFile:
    return TextFile(file.path, f"{file.inside}/{name}" if file.inside else name, opens)


def _inner(file: TextFile, name: str, content: bytes) -> TextFile:
    return _of(file, name, partial(io.BytesIO, content))


def _through(way: Callable[..., Any], opens: Callable[[], IO[bytes]]) -> IO[bytes]:
    unpacked: IO[bytes] = way(opens(), "rb")
    return unpacked


def _seekable(file: TextFile) -> IO[bytes]:
    """Its bytes where it costs little to go back in them."""
    raw = file.open()
    if isinstance(raw, (io.BufferedReader, io.BytesIO)):
        return raw
    copy = TemporaryFile()  # noqa: SIM115  # as long as what is in it may be read
    with file.stream() as unpacked:
        shutil.copyfileobj(io.BufferedReader(unpacked), copy)
    copy.seek(0)
    return copy


def _in_tar(packed: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = packed.extractfile(member)
    if content is None:
        raise tarfile.TarError(f"{member.name} is no file")
    return content


def _is_mail(head: bytes) -> bool:
    """Whether it is a mail of which more than its lines is known, or a box of mails."""
    if not _MAIL.match(head):
        return False
    mail = message_from_bytes(head, policy=policy.compat32)
    encoded = str(mail["content-transfer-encoding"]).strip().lower() in _ENCODINGS
    return encoded or mail.is_multipart() or _flows(mail) or (head.startswith(b"From ") and len(mail) > 0)


def _flows(part: Message) -> bool:
    return str(part.get_param("format")).lower() == "flowed"


def _parts(content: bytes) -> Iterator[Message]:
    """The parts of each mail: a box of them has one after the other."""
    mails = re.split(rb"^From .*\n", content, flags=re.MULTILINE) if content.startswith(b"From ") else [content]
    for mail in mails:
        yield from (part for part in message_from_bytes(mail, policy=policy.compat32).walk() if not part.is_multipart())


def _content(part: Message) -> bytes:
    """A part without its transfer encoding; flowing text has its lines whole again (RFC 3676)."""
    content = bytes(part.get_payload(decode=True) or b"")
    if _flows(part):
        kept = rb"" if str(part.get_param("delsp")).lower() == "yes" else rb" "
        content = re.sub(rb"(?<!^--) \r?\n(?:[ >]*(?<=>) ?)?", kept, content)
    return content
