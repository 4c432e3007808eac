"""How people hand on what a tool printed: mails, exports of collectors, consoles, pages and editors, as functions."""

import base64
import csv
import gzip
import html
import io
import json
import quopri
import re
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from typing import Final

Pasted = Callable[[str], bytes]


def each(change: Callable[[int, str], str]) -> Pasted:
    """Change each line, by its number and what is in it."""
    return lambda text: "".join(change(n, line) + "\n" for n, line in enumerate(text.splitlines(), 1)).encode()


def cut(width: int, before: str = "", behind: str = "", first: str | None = None) -> Pasted:
    """Rows of a screen: filled up where something is behind them; `first` is before the first row of a line."""

    def rows(n: int, line: str) -> Iterator[str]:
        at = 0
        while at < len(line):
            start = before if at or first is None else first.format(n)
            row = line[at : at + width - len(start)]
            yield start + (row.ljust(width - len(start)) + behind if behind else row)
            at += width - len(start)

    return each(lambda n, line: "\n".join(rows(n, line)))


def mail(encoding: str) -> Pasted:
    """In a mail between words."""

    def written(text: str) -> bytes:
        message = _begun()
        message.set_content(f"Hello,\nlook: a=b\n\n{text}\nregards\n", cte=encoding)
        return message.as_bytes()

    return written


def _begun() -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"] = "ann@example.org", "[users] hangs"
    return message


def page_of_mail(text: str) -> bytes:
    """In the page beside the text of a mail."""
    message = _begun()
    message.set_content("see below\n")
    message.add_alternative(f"<body><pre>{html.escape(text)}</pre></body>", subtype="html", cte="quoted-printable")
    return message.as_bytes()


def attached(name: str, packed: Callable[[bytes], bytes] = bytes) -> Pasted:
    """In a file that a mail brings."""

    def written(text: str) -> bytes:
        message = _begun()
        message.set_content("see the attachment")
        content = packed(text.encode())
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
        return message.as_bytes()

    return written


def flowing(text: str, stays: bool, quoted: str = "") -> bytes:
    """A mail whose lines flow: the space at which one was broken stays at its end, or was put there (RFC 3676)."""
    kept = "" if stays else "; delsp=yes"
    head = f"From: ann@example.org\r\nContent-Type: text/plain;\r\n format=flowed{kept}\r\n\r\n"
    lines = (_broken(line) if stays else _cut(line) for line in text.splitlines())
    return (head + "\r\n".join(quoted + f" \r\n{quoted}".join(line) for line in lines) + "\r\n").encode()


def _broken(line: str) -> list[str]:
    return textwrap.wrap(line, 72, break_long_words=False, break_on_hyphens=False)


def _cut(line: str) -> list[str]:
    return [line[at : at + 70] for at in range(0, len(line), 70)]


def archive(text: str) -> bytes:
    """An archive in an archive, compressed."""
    content = text.encode()
    for name in ("dump/one.txt", "dumps.zip"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as packed:
            packed.writestr(name, content)
        content = out.getvalue()
    return gzip.compress(content)


def table(heading: list[str], delimiter: str = ",", *behind: str) -> Pasted:
    """A table of CSV with a number, the line, and further cells."""

    def written(text: str) -> bytes:
        out = io.StringIO()
        rows = csv.writer(out, delimiter=delimiter)
        rows.writerow(heading)
        rows.writerows((n, line, *behind) for n, line in enumerate(text.splitlines()))
        return f"\ufeff{out.getvalue()}".encode()

    return written


def loki(text: str) -> bytes:
    """What Loki answers: one object, the newest line first."""
    values = [[str(1709290000000000000 + n), line] for n, line in enumerate(text.splitlines())]
    found = {"resultType": "streams", "result": [{"stream": {"app": "kafka"}, "values": values[::-1]}]}
    return json.dumps({"status": "success", "data": found}).encode()


def newest_first(text: str) -> bytes:
    """An object for each line, the newest first."""
    found = [json.dumps({"line": line, "timestamp": str(n)}) for n, line in enumerate(text.splitlines())]
    return "\n".join(reversed(found)).encode()


def events(indent: int | None) -> Pasted:
    """What CloudWatch exports."""

    def written(text: str) -> bytes:
        found = [{"timestamp": 17092 + n, "message": line, "ingestionTime": 1} for n, line in enumerate(_lines(text))]
        return json.dumps({"events": found, "nextForwardToken": "f/1"}, indent=indent).encode()

    return written


def hits(text: str) -> bytes:
    """What Elasticsearch finds."""
    found = [{"_index": "logs", "_source": {"@timestamp": "2024", "message": line}} for line in _lines(text)]
    return json.dumps({"hits": {"hits": found}}, indent=2).encode()


def _lines(text: str) -> list[str]:
    return text.splitlines()


def words_in_colours(text: str) -> bytes:
    """A page on which each word has its own tag."""
    words = (
        " ".join(f'<span class="n">{html.escape(word)}</span>' for word in line.split(" ")) for line in _lines(text)
    )
    return ("<pre><span></span>" + "\n".join(words) + "</pre>").encode()


def pages(text: str) -> bytes:
    """Sheets of paper with their headings."""
    lines = _lines(text)
    sheets = ("\n".join(lines[at : at + 8]) for at in range(0, len(lines), 8))
    return "\n\f".join(f"Incident 4711      Page {n}\n\n{sheet}" for n, sheet in enumerate(sheets, 1)).encode()


def rich_text(text: str) -> bytes:
    """As a word processor writes it."""
    escaped = re.sub(r"([\\{}])", r"\\\1", text).replace("\n", "\\\n")
    return f"{{\\rtf1\\ansi\n{{\\fonttbl\\f0 Menlo;}}\n\\f0\\fs22 {escaped}}}".encode()


def syllables(text: str) -> bytes:
    """Typeset: a word of the tool that does not fit is broken by a hyphen."""
    broken = re.sub(r"^(base.{30,90}?[a-z]{3})([a-z]{2,}.*)", r"\1-\n\2", text, flags=re.MULTILINE)
    return broken.encode()


def recorded(text: str) -> bytes:
    """What a terminal showed, as a player of such recordings keeps it: a head, then times with what was written."""
    rows = (json.dumps([number / 10, "o", f"{line}\r\n"]) for number, line in enumerate(_lines(text)))
    return "\n".join([json.dumps({"version": 2, "width": 80}), *rows]).encode()


def filled_and_quoted(text: str) -> bytes:
    """A mail's answer whose editor fills paragraphs."""
    rows = textwrap.wrap(" ".join(text.split()), 72, break_long_words=False, break_on_hyphens=False)
    return "".join(f"> {row}\n" for row in rows).encode()


PASTED: Final[dict[str, Pasted]] = {
    "a mail": mail("8bit"),
    "a mail in quoted-printable": mail("quoted-printable"),
    "a mail in base64": mail("base64"),
    "a page in a mail": page_of_mail,
    "a file of a mail": attached("dump.txt"),
    "a compressed file of a mail": attached("dump.txt.gz", gzip.compress),
    "a box of mails": lambda text: (
        b"From ann Fri\n" + mail("8bit")("hello")[:-1] + b"\nFrom bob Fri\n" + mail("base64")(text)
    ),
    "a flowing mail": lambda text: flowing(text, stays=True),
    "a flowing mail, quoted": lambda text: flowing(text, stays=True, quoted="> "),
    "a flowing mail of long words": lambda text: flowing(text, stays=False),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()),
    "base64": lambda text: base64.encodebytes(text.encode()),
    "base64 of a compressed text": lambda text: base64.encodebytes(gzip.compress(text.encode())),
    "base64 on one line": lambda text: base64.b64encode(gzip.compress(text.encode())),
    "base64 between words": lambda text: b"The dump:\n\n" + base64.encodebytes(text.encode()) + b"\nthanks\n",
    "a mail's answer, wrapped": each(lambda _, line: "> " + "\n".join(_broken(line))),
    "an archive in an archive": archive,
    "syllables": syllables,
    "without line ends": lambda text: text.replace("\n", "").encode(),
    "line ends as escapes": lambda text: text.replace("\n", " \\r\\n ").encode(),
    "bytes of Python": lambda text: repr(text.encode()).encode(),
    "CloudWatch": events(4),
    "CloudWatch on one line": events(None),
    "Loki": loki,
    "Grafana": newest_first,
    "Grafana's table": table(["tsNs", "Line", "labels"], ",", '{"app":"kafka"}'),
    "Elasticsearch": hits,
    "Excel": table(["Nr", "Zeile"], ";"),
    "cells between tabs": each(lambda n, line: f"{n}\t{line}\t2024-03-01\r"),
    "a container's log": each(lambda n, line: f"2024-03-01T12:00:{n:02}.000000001Z stdout F {line}"),
    "journald, every field": each(lambda n, line: f"Fri 12:00:{n:02} [s=ab;i={n}]\n    PRIORITY=6\n    MESSAGE={line}"),
    "journald, exported": each(lambda n, line: f"__CURSOR=i={n}\nMESSAGE={line}\n_PID=12\n"),
    "a run of GitHub": each(lambda n, line: f"2024-03-01T12:00:{n:02}.12Z \x1b[36;1m{line}\x1b[0m"),
    "a Windows console": cut(80, behind="\r"),
    "paths of Windows": lambda text: re.sub(r"g \S+/(\S+-\d+)/(\S+)", r"g C:\\logs\\\1\\\2", text).encode(),
    "less with numbers": lambda text: cut(101, first="{:7} ")(text) + b"~\n~\n(END)\n",
    "vim with numbers": cut(95, before="     ", first="{:4} "),
    "a pane of tmux": cut(102, before="\u2502", behind="\u2502"),
    "a pane of tmux on the left": cut(100, behind="\u2502"),
    "colours of 256": each(
        lambda _, line: f"\x1b[38;5;214m{line.replace('set', chr(27) + '[1mset' + chr(27) + '[22m')}\x1b[K\r"
    ),
    "a page of entities": lambda text: (
        f"<pre>{html.escape(text).replace(' ', '&nbsp;').replace('|', '&#124;')}</pre>".encode()
    ),
    "a page of coloured words": words_in_colours,
    "a table of Markdown with escapes": each(lambda n, line: f"| {n} | {line.replace('|', chr(92) + '|')} |"),
    "Markdown with escapes": lambda text: text.replace("_", "\\_").replace("|", "\\|").encode(),
    "a wiki with escapes": lambda text: text.replace("|", "\\|").replace("-1", "\\-1").encode(),
    "quoted twice, with an answer": lambda text: each(lambda _, line: f"> > {line}")(text) + b"> yes\n",
    "typographic quotation marks": lambda text: text.replace('"', "\u201d").encode(),
    "sheets": pages,
    "rich text": rich_text,
    "items": each(lambda _, line: f"\u2022 {line}"),
    "a recorded terminal": recorded,
    "a filled answer": filled_and_quoted,
    "line ends of a workflow's command": lambda text: text.replace("\n", "%0A").encode(),
    "a notebook": lambda text: json.dumps(
        {"cells": [{"outputs": [{"text": text.splitlines(True)}]}]}, indent=1
    ).encode(),
    "filled at 200": lambda text: textwrap.fill(
        " ".join(text.split()), 200, break_long_words=False, break_on_hyphens=False
    ).encode(),
    "pasted twice": lambda text: (text + text).encode(),
    "beside itself": each(lambda _, line: f"{line:400}| {line}"),
    "a statement of SQL": each(lambda n, line: f"INSERT INTO logs VALUES ({n}, '{line}');"),
    "a chat": lambda text: f"Ann  4:05 PM\nlook\n{text}4:06\n\nBob  4:10 PM\n:eyes: 1\n".encode(),
}
"""What is around lines, and how they are put together or apart; it changes nothing of what they say."""
