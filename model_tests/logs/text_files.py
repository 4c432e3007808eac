"""Texts as people keep them: in any encoding, with any line ends, colours, tags and escapes.

One line at a time is in memory, and no line longer than `LONGEST`: longer lines come in pieces.
"""

import io
import quopri
import re
from collections.abc import Iterator
from contextlib import ExitStack
from html import unescape
from tempfile import TemporaryFile
from typing import IO, Any, Final
from urllib.parse import unquote_to_bytes

from model_tests.logs.unpacking import HEAD, TextFile

LONGEST: Final = 1 << 20
"""Characters of a line that are read together."""

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"))
_WIDE_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])|[\0\x0c\xad\ufeff\u200b-\u200d\u2060]"
)
_TYPESET: Final = str.maketrans(
    dict.fromkeys("\xa0\u2009\u202f", " ")
    | dict.fromkeys("\u2010\u2011\u2212", "-")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
    | dict.fromkeys("\u2018\u2019", "'")
)
"""What word processors put in the place of a space, a minus sign or a quotation mark."""

_DASH: Final = re.compile(r"\u2013(?=\d)")
_TAGS: Final = re.compile(r"</?(?:span|font|code|mark|strong|em|a|b|i)(?:\s[^<>]*)?>", re.IGNORECASE)
"""What colours words on a page."""

_MARKUP: Final = re.compile(r"\\(?=[|*{}]|-\d)")
_UNDERSCORES: Final = re.compile(r"\\(?=_)")
"""Escapes of Markdown, of wikis and of rich text."""

_BARE: Final = re.compile(r"(?<!\\)_")
_BREAKS: Final = ("baseOffset: ", "| offset: ")
"""Where a line that is longer than `LONGEST` is cut."""

_NOT_QUOTED: Final = re.compile(rb"=(?![0-9A-F]{2}|[ \t]*\r?(?:\n|\Z))|[^\n]{80}")
_QUOTED: Final = re.compile(rb"=3D|=(?:20)?\r?\n")
_OF_URL: Final = re.compile(rb"ffset%3[Aa](?:\+|%20)")


def _is_quoted(head: bytes) -> bool:
    return _QUOTED.search(head) is not None and not _NOT_QUOTED.search(head[: head.rfind(b"\n") + 1 or len(head)])


def _is_listed(head: bytes) -> bool:
    """Whether lines end in `$` and are cut by backslashes, but for the command and what is behind."""
    ends = [line[-1:] for line in head.split(b"\n")[:-1]]
    cut, ended = ends.count(b"\\"), ends.count(b"$")
    return min(cut, ended) > 0 and cut + ended >= len(ends) - 2


def _unlisted(source: IO[bytes], out: IO[bytes]) -> None:
    for line in source:
        plain = line[:-2] + b"\n" if line.endswith(b"$\n") else line
        out.write(plain.decode("unicode_escape", "replace").encode("latin-1", "replace"))


def _is_of_url(head: bytes) -> bool:
    return _OF_URL.search(head) is not None and b"ffset: " not in head


def _from_url(source: IO[bytes], out: IO[bytes]) -> None:
    rest = b""
    while piece := source.read(LONGEST):
        *whole, last = re.split(rb"(?=%.?\Z)", rest + piece)
        rest = last if whole else b""
        out.write(unquote_to_bytes((b"".join(whole) or last).replace(b"+", b" ")))
    out.write(rest)


_WRITTEN: Final = ((_is_quoted, quopri.decode), (_is_listed, _unlisted), (_is_of_url, _from_url))
"""Ways to write a text in fewer characters: quoted-printable, what `sed -n l` lists, the words of an address."""


def lines_of(file: TextFile) -> Iterator[str]:
    """The lines of a text without their ends, colours, and marks of an encoding; none if it is not text.

    Raises:
        OSError: as each of `UNREADABLE`, it cannot be read, or not to its end.
    """
    with ExitStack() as opened:
        source = opened.enter_context(io.BufferedReader(file.stream(), 1 << 16))
        head = source.peek(HEAD)
        content: Any = source
        if (decode := next((way for known, way in _WRITTEN if known(head)), None)) is not None:
            content = opened.enter_context(TemporaryFile())
            decode(source, content)
            content.seek(0)
        encoding = _encoding(head[:HEAD])
        if encoding:
            yield from map(_plain, _pieces(io.TextIOWrapper(content, encoding, errors="replace", newline=None)))


def _pieces(text: io.TextIOWrapper) -> Iterator[str]:
    """Lines, or pieces of one, which end where the tool ends a line."""
    rest = ""
    for piece in iter(lambda: text.readline(LONGEST), ""):
        line, rest = rest + piece, ""
        if not line.endswith("\n") and len(piece) == LONGEST:
            at = max(line.rfind(words) for words in _BREAKS)
            line, rest = (line[:at], line[at:]) if at > 0 else (line, "")
        yield line.rstrip("\n")
    if rest:
        yield rest


def _plain(line: str) -> str:
    line = unescape(line) if "&" in line else line
    if not line.isascii() or "\x1b" in line or "\0" in line or "\x0c" in line:
        line = _DASH.sub("-", _ESCAPES.sub("", line).translate(_TYPESET))
    line = _TAGS.sub("", line) if "</" in line else line
    if "\\" in line:
        line = _MARKUP.sub("", line)
        line = line if _BARE.search(line) else _UNDERSCORES.sub("", line)
    return line


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
