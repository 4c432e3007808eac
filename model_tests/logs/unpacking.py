"""What is in a file of text: archives, compressed files, mail and encoded text, one in the other, down to texts.

Nothing is believed about sizes: what unpacks to far more than it takes is not read further.
"""

import bz2
import gzip
import io
import lzma
import quopri
import re
import shutil
import tarfile
import zipfile
import zlib
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterable, Iterator
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
"""Files that lie in each other."""

_MOST: Final = 1000
"""Files of one archive, those in it included, that are read."""

_AT_ONCE: Final = 1 << 26
"""Bytes of a mail, or of a text in base64, which are read as a whole."""

_GROWS: Final = 250
"""Times that a file may grow where it is unpacked; listings of any length take a hundredth, seldom less."""

_SMALL: Final = 1 << 28
"""Bytes that any file may have unpacked."""

_MAIL: Final = re.compile(rb"From |[A-Z][\w-]{0,60}: ")
_ENCODINGS: Final = ("base64", "quoted-printable")
_BASE64: Final = re.compile(
    rb"(?:^[ \t>]*[A-Za-z0-9+/]{40,}={0,2}[ \t\r]*(?:\n|\Z))+(?:^[ \t>]*[\w+/]+={0,2}\s)?", re.M
)
_NOT_QUOTED: Final = re.compile(rb"=(?![0-9A-F]{2}|[ \t]*\r?(?:\n|\Z))|[^\n]{80}")
_QUOTED: Final = re.compile(rb"=3D|=(?:20)?\r?\n(?=[^\r\n])")

_HEX: Final = re.compile(rb"[0-9a-f]{7,8}:?[ \t]+((?:(?:[0-9a-f]{2}){1,2} {1,2}){1,16})(?: |\|)")
_CHUNKED: Final = re.compile(
    rb"HTTP/1\.1 \d+ [^\r\n]*\r?\n(?:[\w-]+: [^\r\n]*\r?\n)*Transfer-Encoding: chunked\r?\n", re.I
)
_CHUNK: Final = re.compile(rb"([0-9a-f]{1,6})[;\s]", re.I)


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

    def stream(self) -> io.BufferedReader:
        """Its bytes, which end with an error where they are too many for a file of its size."""
        most = max(_SMALL, _GROWS * self.path.stat().st_size)
        return io.BufferedReader(_Bounded(self.open(), most), 1 << 16)

    def content(self) -> bytes:
        """Its first bytes, as many as are read at once."""
        with self.stream() as source:
            return source.read(_AT_ONCE)

    def member(self, name: str, opens: Callable[[], IO[bytes]]) -> "TextFile":
        """A file in it."""
        return TextFile(self.path, f"{self.inside}/{name}" if self.inside else name, opens)

    def failing(self, error: BaseException) -> "TextFile":
        """The file, which says why it cannot be opened where it is read."""

        def fails() -> IO[bytes]:
            raise error

        return replace(self, open=fails)


class _Bounded(io.RawIOBase):
    """A readable file, as the layer below a buffer, which may not have more than so many bytes."""

    def __init__(self, file: Any, most: int) -> None:
        self._file, self._left = file, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._file.read1(len(buffer))  # of a damaged file what can be read
        self._left -= len(content)
        if self._left < 0:
            raise OSError(f"it unpacks to more than {_GROWS} times its size; unpack it, and give what is in it")
        buffer[: len(content)] = content
        return len(content)


def texts_at(path: Path) -> list[TextFile]:
    """The file as text; of an archive, those in it. What cannot be opened says so where it is read."""
    found = list(islice(_texts(TextFile(path, "", lambda: path.open("rb")), _DEEPEST), _MOST + 1))
    if len(found) > _MOST:
        found[-1] = found[-1].failing(OSError(f"only the first {_MOST:,} files of it are read"))
    return found


def in_base64(file: TextFile) -> list[TextFile]:
    """What is written in a text in base64."""
    found = enumerate(map(_decoded, _BASE64.findall(file.content())), 1)
    parts = (file.member(f"base64-{number}", partial(io.BytesIO, data)) for number, data in found if data)
    return [one for part in parts for one in _texts(part, _DEEPEST)]


def _decoded(text: bytes) -> bytes:
    try:
        return b64decode(text)  # whatever is between its letters
    except Error:
        return b""


def _texts(file: TextFile, deeper: int) -> Iterator[TextFile]:
    try:
        with file.stream() as source:
            head = source.peek(HEAD)[:HEAD]
        opened = next((opened for known, opened in _KINDS if known(head)), None)
        if opened is None:
            yield from [file] * bool(head)
        elif not deeper:
            yield file.failing(OSError(f"more than {_DEEPEST} archives lie in each other"))
        else:
            for one in opened(file):
                yield from _texts(one, deeper - 1)
    except UNREADABLE as error:
        yield file.failing(error)


def _members_of_zip(file: TextFile) -> Iterator[TextFile]:
    archive = zipfile.ZipFile(_seekable(file))
    yield from (
        file.member(each.filename, partial(archive.open, each)) for each in archive.infolist() if not each.is_dir()
    )


def _members_of_tar(file: TextFile) -> Iterator[TextFile]:
    archive: Any = tarfile.open(fileobj=_seekable(file))  # noqa: SIM115  # as long as what is in it may be read
    yield from (file.member(each.name, partial(archive.extractfile, each)) for each in archive if each.isfile())


def _seekable(file: TextFile) -> IO[bytes]:
    """Its bytes where it costs little to go back in them."""
    raw = file.open()
    return raw if isinstance(raw, (io.BufferedReader, io.BytesIO)) else _rewritten(file, shutil.copyfileobj)


def _rewritten(file: TextFile, rewrite: Callable[[IO[bytes], IO[bytes]], object]) -> IO[bytes]:
    """Its bytes, written in another way."""
    out = TemporaryFile()  # noqa: SIM115  # as long as what is in it may be read
    with file.stream() as source:
        rewrite(source, out)
    out.seek(0)
    return out


def _is_mail(head: bytes) -> bool:
    """Whether it is a mail of which more than its lines is known, or a box of mails."""
    if not _MAIL.match(head):
        return False
    mail = message_from_bytes(head, policy=policy.compat32)
    encoded = str(mail["content-transfer-encoding"]).strip().lower() in _ENCODINGS
    return encoded or mail.is_multipart() or _flows(mail) or (head.startswith(b"From ") and len(mail) > 0)


def _flows(part: Message) -> bool:
    return str(part.get_param("format")).lower() == "flowed"


def _parts_of_mails(file: TextFile) -> Iterator[TextFile]:
    """The parts of each mail: a box of them has one after the other."""
    content = file.content()
    mails = re.split(rb"^From .*\n", content, flags=re.MULTILINE) if content.startswith(b"From ") else [content]
    walked = (part for mail in mails for part in message_from_bytes(mail, policy=policy.compat32).walk())
    for number, part in enumerate((each for each in walked if not each.is_multipart()), 1):
        yield file.member(part.get_filename() or f"part-{number}", partial(io.BytesIO, _content(part)))


def _content(part: Message) -> bytes:
    """A part without its transfer encoding; flowing text has its lines whole again (RFC 3676)."""
    content = bytes(part.get_payload(decode=True) or b"")
    if _flows(part):
        kept = rb"" if str(part.get_param("delsp")).lower() == "yes" else rb" "
        content = re.sub(rb"(?<!^--) \r?\n(?:[ >]*(?<=>) ?)?", kept, content)
    return content


def _is_quoted(head: bytes) -> bool:
    return _QUOTED.search(head) is not None and not _NOT_QUOTED.search(head[: head.rfind(b"\n") + 1 or len(head)])


def _is_listed(head: bytes) -> bool:
    """Whether lines end in `$` and are cut by backslashes, but for the command and what is behind."""
    ends = [line[-1:] for line in head.split(b"\n")[:-1]]
    cut, ended = ends.count(b"\\"), ends.count(b"$")
    return min(cut, ended) > 0 and cut + ended >= len(ends) - 2


def _unlist(source: IO[bytes], out: IO[bytes]) -> None:
    for line in source:
        plain = line[:-2] + b"\n" if line.endswith(b"$\n") else line
        out.write(plain.decode("unicode_escape", "replace").encode("latin-1", "replace"))


def _unhex(source: IO[bytes], out: IO[bytes]) -> None:
    for line in source:
        found = _HEX.match(line)
        out.write(bytes.fromhex(found[1].decode()) if found else b"")


def _unchunk(source: IO[bytes], out: IO[bytes]) -> None:
    while source.readline().strip():
        pass
    while (found := _CHUNK.match(source.readline())) and (size := int(found[1], 16)):
        out.write(source.read(size))
        source.readline()


def _in_another_way(opens: Callable[[TextFile], Any]) -> Callable[[TextFile], Iterable[TextFile]]:
    return lambda file: [replace(file, open=partial(opens, file))]


def _compressed(opens: Callable[..., Any]) -> Callable[[TextFile], Iterable[TextFile]]:
    return _in_another_way(lambda file: opens(file.open()))


_KINDS: Final[tuple[tuple[Callable[[bytes], object], Callable[[TextFile], Iterable[TextFile]]], ...]] = (
    (re.compile(b"\x1f\x8b").match, _compressed(gzip.open)),
    (re.compile(b"\xfd7zXZ\0").match, _compressed(lzma.open)),
    (re.compile(b"BZh").match, _compressed(bz2.open)),
    (re.compile(b"PK\3\4").match, _members_of_zip),
    (re.compile(b"(?s).{257}ustar").match, _members_of_tar),
    (_is_mail, _parts_of_mails),
    (_is_quoted, _in_another_way(partial(_rewritten, rewrite=quopri.decode))),
    (_HEX.match, _in_another_way(partial(_rewritten, rewrite=_unhex))),
    (_CHUNKED.match, _in_another_way(partial(_rewritten, rewrite=_unchunk))),
    (_is_listed, _in_another_way(partial(_rewritten, rewrite=_unlist))),
)
"""What has other files in it, or is a text in another way, by how a file begins; and what is in it.

Texts are written in other ways in quoted-printable, in hexadecimal digits, in the chunks of an answer of HTTP, and in
what `sed -n l` lists.
"""
