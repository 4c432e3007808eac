"""Texts as people keep them: in any encoding, with any line ends, colours, tags and escapes.

One line at a time is in memory, and no line longer than `LONGEST`: longer lines come in pieces.
"""

import io
import re
from collections.abc import Iterator
from html import unescape
from typing import Final
from urllib.parse import unquote_plus

from model_tests.logs.unpacking import HEAD, TextFile

LONGEST: Final = 1 << 20
"""Characters of a line that are read together."""

_BOMS: Final = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
"""Marks with which a text begins, and the encoding of each; the longer ones first."""

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])|[^\b]\x08"
    r"|[\0\x0c\xad\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u2069]"
)
"""What steers a terminal, letters that were struck over, and characters without width: marks of direction, too."""

_TYPESET: Final = str.maketrans(
    dict.fromkeys("\xa0\u2009\u202f", " ")
    | dict.fromkeys("\u2010\u2011\u2212", "-")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
    | dict.fromkeys("\u2018\u2019", "'")
    | {"\uff1a": ":"}
)
"""What word processors put in the place of a space, a minus sign, a quotation mark or a colon."""

_DASH: Final = re.compile(r"\u2013(?=\d)")
_TAGS: Final = re.compile(r"</?(?:span|font|code|mark|strong|em|a|b|i)(?:\s[^<>]*)?>", re.IGNORECASE)
"""What colours words on a page."""

_EMPHASIS: Final = re.compile(r"([*`]{1,2})((?:baseOffset|offset|Dumping)\b:?)\1")
_MARKUP: Final = re.compile(r"\\(?=[|*{}]|-\d)")
_UNDERSCORES: Final = re.compile(r"\\(?=_)")
"""What Markdown puts around words with which lines begin, and escapes: of wikis and of rich text, too."""

_BARE: Final = re.compile(r"(?<!\\)_")
_OF_URL: Final = re.compile(r"ffset%3[Aa](?:\+|%20)")
"""Words of the tool as an address has them."""

_BREAKS: Final = ("baseOffset: ", "| offset: ", "baseOffset%3A")
"""Where a line that is longer than `LONGEST` is cut."""


def lines_of(file: TextFile) -> Iterator[str]:
    """The lines of a text without their ends, colours, and marks of an encoding; none if it is not text.

    Raises:
        OSError: as each of `UNREADABLE`, it cannot be read, or not to its end.
    """
    with file.stream() as source:
        encoding = _encoding(source.peek(HEAD)[:HEAD])
        if encoding:
            yield from map(_plain, _pieces(io.TextIOWrapper(source, encoding, errors="replace", newline=None)))


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
    line = unquote_plus(line) if "%" in line and "ffset: " not in line and _OF_URL.search(line) else line
    if not (line.isascii() and line.isprintable()):
        line = _DASH.sub("-", _ESCAPES.sub("", line).translate(_TYPESET))
    line = _TAGS.sub("", line) if "</" in line else line
    line = _EMPHASIS.sub(r"\2", line) if "*" in line or "`" in line else line
    if "\\" in line:
        line = _MARKUP.sub("", line)
        line = line if _BARE.search(line) else _UNDERSCORES.sub("", line)
    return line


def _encoding(head: bytes) -> str:
    """How a file is encoded, by its first bytes; empty where these are no text."""
    if marked := next((name for mark, name in _BOMS.items() if head.startswith(mark)), ""):
        return marked
    head = head.rstrip(b"\0")  # of a file whose end was never written
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) * 4 > len(head):
        return "utf-16-be" if even > odd else "utf-16-le"
    return "" if 100 * head.count(0) > len(head) else "utf-8"
