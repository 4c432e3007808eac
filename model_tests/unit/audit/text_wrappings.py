"""What people and tools put around a dump before they post it."""

import bz2
import csv
import gzip
import html
import io
import json
import lzma
import re
import tarfile
import textwrap
import uuid
import zipfile
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus


def lines(change: Callable[[int, str], str]) -> Callable[[str], bytes]:
    """Change each line, by its number and what is in it."""
    return lambda text: "".join(change(n, line) + "\n" for n, line in enumerate(text.splitlines(), 1)).encode()


def cut(width: int, before: str = "") -> Callable[[str], bytes]:
    """Cut lines after so many characters."""
    return lines(lambda _, line: "\n".join(before + line[at : at + width] for at in range(0, len(line), width)))


def folded(text: str) -> bytes:
    """Wrap lines between words."""
    filled = (textwrap.wrap(line, 100, break_on_hyphens=False, break_long_words=False) for line in text.splitlines())
    return "\n".join("\n".join(pieces) for pieces in filled).encode()


def folded_behind_spaces(text: str) -> bytes:
    """As `fold -s` does, which leaves the spaces and cuts long words."""

    def pieces(line: str) -> Iterator[str]:
        while len(line) > 100:
            end = line.rfind(" ", 0, 100) + 1 or 100
            yield line[:end]
            line = line[end:]
        yield line

    return "\n".join("\n".join(pieces(line)) for line in text.splitlines()).encode()


def zipped(text: str) -> bytes:
    """The text in an archive, in a folder."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("dumps/", "")
        archive.writestr("dumps/one.txt", text)
    return out.getvalue()


def tarred(text: str) -> bytes:
    """The text in a compressed archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("dumps/one.txt")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def on_a_page(text: str) -> bytes:
    """Between tags, in a page."""
    return f"<html><body><pre><code>{html.escape(text)}</code></pre></body></html>".encode()


def as_document(text: str) -> bytes:
    """A document of a word processor: markup without line ends, in an archive."""
    paragraphs = "".join(f"<w:p><w:t>{html.escape(line)}</w:t></w:p>" for line in text.splitlines())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("word/document.xml", f"<w:document>{paragraphs}</w:document>")
    return out.getvalue()


def as_table(text: str) -> bytes:
    """Lines as rows of a table whose cells are quoted."""
    out = io.StringIO()
    rows = csv.writer(out, quoting=csv.QUOTE_ALL)
    rows.writerows((f"2024-03-01T12:00:{n:02}Z", line) for n, line in enumerate(text.splitlines()))
    return out.getvalue().encode()


def as_message(text: str, indent: int | None = None) -> bytes:
    """A message of a chat, with others, as a tool exports them."""
    blocks = [{"type": "message", "text": words} for words in ("look:", f"```{html.escape(text, quote=False)}```", "?")]
    return json.dumps(blocks, indent=indent).encode()


def hung(width: int, indent: str, before: str = "") -> Callable[[str], bytes]:
    """Cut lines after so many characters, and indent what continues them."""

    def pieces(line: str) -> Iterator[str]:
        yield before + line[: width - len(before)]
        step = width - len(indent)
        yield from (indent + line[at : at + step] for at in range(width - len(before), len(line), step))

    return lines(lambda _, line: "\n".join(pieces(line)))


def split(width: int, written: Callable[[int, str, bool], str], between: str = "") -> Callable[[str], bytes]:
    """Rows of a container's log: a line that is longer than so many characters goes on in the next row."""

    def rows(line: str) -> str:
        pieces = [line[at : at + width] for at in range(0, len(line), width)] or [""]
        last = len(pieces) - 1
        return f"\n{between}".join(written(n, piece, n == last) for n, piece in enumerate(pieces))

    return lines(lambda _, line: rows(line))


def in_cri(number: int, piece: str, ends: bool) -> str:
    """A row of Kubernetes."""
    return f"2024-03-01T12:00:00.{number * 7919 + 1}Z stdout {'F' if ends else 'P'} {piece}"


def of_docker(_: int, piece: str, ends: bool) -> str:
    """A row of Docker's files."""
    return json.dumps({"log": piece + "\n" * ends, "stream": "stdout", "time": "2024-03-01T12:00:00Z"})


def of_collector(_: int, piece: str, ends: bool) -> str:
    """A row of Kubernetes that a collector wrote again."""
    return json.dumps({"time": "2024", "stream": "stdout", "logtag": "F" if ends else "P", "log": piece})


def of_fluentd(number: int, piece: str, ends: bool) -> str:
    """A row that Docker hands on to a collector."""
    parts = {"partial_message": "true", "partial_id": "5f", "partial_last": "true" if ends else "false"}
    return json.dumps({"container_id": "ab", **(parts if number or not ends else {}), "log": piece})


def of_journald(_: int, piece: str, ends: bool) -> str:
    """A row that Docker writes to the journal of the system."""
    return json.dumps({"MESSAGE": piece, "_PID": "7", **({} if ends else {"CONTAINER_PARTIAL_MESSAGE": "true"})})


def listed(text: str, width: int = 69) -> bytes:
    """As `sed -n l` lists lines: cut by backslashes, ended by `$`, other bytes in octal digits."""
    rows = []
    for line in text.splitlines():
        escaped = re.findall(rb"\\[0-7]{3}|\\?.", _octal(line))
        row = b""
        for each in escaped:
            if len(row) + len(each) > width:
                rows.append(row + b"\\")
                row = b""
            row += each
        rows.append(row + b"$")
    return b"\n".join(rows) + b"\n"


def _octal(line: str) -> bytes:
    plain = line.replace("\\", "\\\\").replace("\t", "\\t").encode()
    return b"".join(bytes([each]) if each < 128 else b"\\%03o" % each for each in plain)


def in_groups(text: str, between: str) -> bytes:
    """As a table of a spreadsheet shows numbers: digits in groups of three."""
    number = re.compile(r"(?<=: )\d{4,}(?=\s)")
    return number.sub(lambda found: f"{int(found[0]):,}".replace(",", between), text).encode()


def hexadecimal(content: bytes) -> bytes:
    """As `hexdump -C` prints bytes."""
    rows = ((at, content[at : at + 16]) for at in range(0, len(content), 16))
    printed = (f"{at:08x}  {row[:8].hex(' ')}  {row[8:].hex(' '):23}  |{row.decode('latin-1')!r}|" for at, row in rows)
    return "\n".join([*printed, f"{len(content):08x}"]).encode()


def dumped_by_xxd(text: str) -> bytes:
    """As `xxd` prints bytes."""
    content = text.encode()
    rows = ((at, content[at : at + 16]) for at in range(0, len(content), 16))
    return "".join(f"{at:08x}: {row.hex(' ', -2):39}  {row.decode('latin-1')!r}\n" for at, row in rows).encode()


def in_chunks(text: str, size: int = 512) -> bytes:
    """An answer of HTTP as it is sent."""
    content = text.encode()
    chunks = (content[at : at + size] for at in range(0, len(content), size))
    head = b"HTTP/1.1 200 OK\r\nServer: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


def an_id(number: int) -> str:
    """Another id for each number."""
    return str(uuid.UUID(int=(number * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128))


AROUND: Final[dict[str, Callable[[str], bytes]]] = {
    "journald": lines(lambda n, line: f"Mar 01 12:00:{n:02} host-1 kafka-dump-log[{1000 + n}]: {line}"),
    "journald as JSON": lines(lambda n, line: json.dumps({"__REALTIME_TIMESTAMP": str(n), "MESSAGE": line, "_PID": 1})),
    "syslog": lines(lambda n, line: f"<134>1 2024-03-01T12:00:{n:02}Z host app {n} ID47 - {line}"),
    "kubectl with times": lines(lambda n, line: f"[pod/kafka-0/kafka] 2024-03-01T12:00:{n:02}.{n * 7919:09}Z {line}"),
    "docker compose in colours": lines(lambda _, line: f"\x1b[36mkafka-1  |\x1b[0m {line}"),
    "a field of JSON behind others": lines(lambda _, line: json.dumps({"pod": "kafka-0", "message": line})),
    "a field of JSON before others": lines(lambda n, line: json.dumps({"message": line, "stream": "stdout", "n": n})),
    "a chat": as_message,
    "a chat, indented": lambda text: as_message(text, 1),
    "an issue": lambda text: json.dumps({"body": f"I saw\r\n```\r\n{text}```", "user": {"login": "a"}}).encode(),
    "JSON in JSON": lambda text: json.dumps({"log": json.dumps({"message": text})}).encode(),
    "a table of CSV": as_table,
    "a table of Markdown": lines(lambda n, line: f"| {n} | {line} |"),
    "Jira": lambda text: f"h2. Dump\n{{noformat:title=x}}\n{text}{{noformat}}\nwhy?\n".encode(),
    "a page with its tags": on_a_page,
    "a page of one line": lambda text: f"<p>{'<br/>'.join(map(html.escape, text.splitlines()))}</p>".encode(),
    "numbered on a page": lines(lambda n, line: f'<td id="L{n}">{n}</td><td>{html.escape(line)}</td></tr>'),
    "a document": as_document,
    "cat -A": lines(lambda _, line: f"{line}$"),
    "cat -A of Windows": lines(lambda _, line: f"{line}^M$"),
    "a list of Python": lambda text: repr(text.splitlines()).encode(),
    "a string of Python": lambda text: repr(text).encode(),
    "a list of YAML": lines(lambda _, line: f"  - {json.dumps(line)}"),
    "Ansible": lambda text: (
        'ok: [kafka-1] => {\n  "out": [\n' + ",\n".join(map(json.dumps, text.splitlines())) + "\n]\n}"
    ).encode(),
    "joined by spaces": lambda text: text.replace("\n", " ").encode(),
    "line ends in letters": lambda text: text.replace("\n", "\\n").encode(),
    "a comment of Java": lambda text: ("/*\n" + "".join(f" * {line}\n" for line in text.splitlines()) + " */").encode(),
    "a prompt": lambda text: f"[kafka@host ~]$ {text}".encode(),
    "script": lambda text: (
        "Script started\r\n\x1b[?2004h$ x\r\n" + text.replace("\n", "\r\n") + "$ exit\r\n"
    ).encode(),
    "head of a file": lambda text: f"==> broker-1/dump.txt <==\n{text}\n".encode(),
    "a patch with context": lines(lambda n, line: (" " if n % 2 else "+") + line),
    "soft hyphens": lambda text: text.replace("Offset", "Off\u00adset").encode(),
    "minus signs": lambda text: text.replace("-1", "\u22121").encode(),
    "dashes": lambda text: text.replace("-1", "\u20131").encode(),
    "cut at 80 with a prefix": lambda text: cut(80)("".join(f"kafka-0 | {line}\n" for line in text.splitlines())),
    "cut at 120 with numbers": lambda text: cut(120)(
        "".join(f"{n:5}  {line}\n" for n, line in enumerate(text.splitlines()))
    ),
    "cut and indented": cut(80, "    "),
    "cut in a frame": lines(lambda _, line: "\n".join(f"| {line[at : at + 76]} |" for at in range(0, len(line), 76))),
    "cut with backslashes": lines(lambda _, line: "\\\n".join(line[at : at + 79] for at in range(0, len(line), 79))),
    "continued with arrows": hung(80, "\u21aa "),
    "continued with an indent": hung(100, " " * 8),
    "continued below numbers": hung(100, " " * 7, "  12   "),
    "continued below a prefix": hung(120, " " * 8 + "| ", "kafka-0 | "),
    "split by Kubernetes": split(100, in_cri),
    "split by Kubernetes where a line is long": split(340, in_cri),
    "split by Kubernetes, another stream between": split(
        150, in_cri, "2024-03-01T12:00:00.5Z stderr P WARN x \n2024-03-01T12:00:00.5Z stderr F (y)\n"
    ),
    "split by Kubernetes, quoted": lambda text: lines(lambda _, line: f"> {line}")(split(120, in_cri)(text).decode()),
    "split by Docker": split(100, of_docker),
    "split by Docker where a line is long": split(340, of_docker),
    "split by Docker, another stream between": split(
        150, of_docker, json.dumps({"log": "baseOffset: x\n", "stream": "stderr", "time": "2024"}) + "\n"
    ),
    "an array of Docker's rows": lambda text: json.dumps([{"log": f"{line}\n"} for line in text.splitlines()]).encode(),
    "split by Docker for a collector": split(100, of_fluentd),
    "split by Docker for a collector where a line is long": split(340, of_fluentd),
    "split by Kubernetes for a collector": split(100, of_collector),
    "split by Kubernetes for a collector where a line is long": split(340, of_collector),
    "line ends of rsyslog": lambda text: ("Mar  1 12:00:00 host kafka: " + "#012".join(text.splitlines())).encode(),
    "each line twice": lines(lambda _, line: f"{line}\n{line}"),
    "split by Docker for journald": split(100, of_journald),
    "sed -n l": listed,
    "sed -n l, other letters": lambda text: listed(f"Größe\t\\\n{text}"),
    "an address": lambda text: b"text=" + quote_plus(text).encode(),
    "an address without plus signs": lambda text: quote(text).encode(),
    "marks of direction": lambda text: text.replace(": ", ":\u200e ").encode(),
    "struck over": lambda text: text.replace("count", "coo\bunt").encode(),
    "emphasis": lambda text: re.sub(r"^(Dumping|baseOffset)\b", r"**\1**", text, flags=re.MULTILINE).encode(),
    "ids of requests": lines(lambda n, line: f"{an_id(n)} {line}"),
    "numbers in groups": lambda text: in_groups(text, ","),
    "numbers in groups between dots": lambda text: in_groups(text, "."),
    "colons of Chinese": lambda text: text.replace(": ", "\uff1a ").encode(),
    "hexdump -C": lambda text: hexadecimal(text.encode()),
    "xxd": dumped_by_xxd,
    "chunks of HTTP": in_chunks,
    "a string of JSON with an indent": lambda text: json.dumps({"dump": textwrap.indent(text, "    ")}).encode(),
    "zeros behind it": lambda text: text.encode() + bytes(9_000),
    "a file of bytes behind it": lambda text: text.encode() + b"\0\1\2\xff\n",
    "prose with words of the tool": lambda text: (
        f"Dumping the segment gave this (see baseOffset: 4, and Dumping more would help):\n\n{text}"
    ).encode(),
    "a count behind it": lambda text: f"{text.rstrip()}\n  14  140 2000 dump.txt\n".encode(),
    "fmt": lambda text: textwrap.fill(
        " ".join(text.split()), 75, break_long_words=False, break_on_hyphens=False
    ).encode(),
    "fmt -w 200": lambda text: textwrap.fill(
        " ".join(text.split()), 200, break_long_words=False, break_on_hyphens=False
    ).encode(),
    "wrapped at 60 between words": lambda text: "\n".join(
        textwrap.fill(line, 60, break_long_words=False, break_on_hyphens=False) for line in text.splitlines()
    ).encode(),
}
"""What stands around lines, and how they are put together or apart."""

WRAPPINGS: Final[dict[str, Callable[[str], bytes]]] = {
    **AROUND,
    "utf-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "utf-16": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "utf-16 without a mark": lambda text: text.encode("utf-16-le"),
    "utf-16 the other way": lambda text: text.encode("utf-16-be"),
    "utf-32": lambda text: text.encode("utf-32"),
    "latin-1 before it": lambda text: "Größe\n".encode("latin-1") + text.encode(),
    "lines of Windows": lambda text: text.replace("\n", "\r\n").encode(),
    "lines of old Macs": lambda text: text.replace("\n", "\r").encode(),
    "without its last line end": lambda text: text.strip().encode(),
    ".gz": lambda text: gzip.compress(text.encode()),
    ".xz": lambda text: lzma.compress(text.encode()),
    ".bz2": lambda text: bz2.compress(text.encode()),
    ".zip": zipped,
    ".tar.gz": tarred,
    "quoted": lines(lambda _, line: f"> {line}"),
    "quoted twice": lines(lambda _, line: f">> {line}"),
    "quoted without space": lines(lambda _, line: f">{line}"),
    "quoted as markup": lines(lambda _, line: f"&gt; {line}"),
    "partly quoted": lambda text: ("> " + text.replace("\n", "\n> ", 8)).encode(),
    "indented": lines(lambda _, line: f"    {line}"),
    "numbered": lines(lambda n, line: f"{n:4} {line}"),
    "numbered with colons": lines(lambda n, line: f"{n}: {line}"),
    "cat -n": lines(lambda n, line: f"{n:6}\t{line}"),
    "grep -n": lines(lambda n, line: f"out/payments.txt:{n}:{line}"),
    "grep -C": lines(lambda n, line: "out.txt{0}{1}{0}{2}".format(":" if "base" in line else "-", n, line)),
    "docker compose": lines(lambda _, line: f"kafka-1  | {line}"),
    "kubectl": lines(lambda _, line: f"[pod/kafka-0/kafka] {line}"),
    "timestamps": lines(lambda n, line: f"2024-03-01T12:00:{n:02}.{n * 7919}Z {line}"),
    "log4j": lines(lambda n, line: f"[2024-03-01 12:00:{n:02},123] INFO {line} (kafka)"),
    "docker's files": lines(lambda n, line: json.dumps({"log": f"{line}\n", "time": f"2024-03-01T12:00:{n:02}Z"})),
    "an array of JSON": lines(lambda _, line: f"  {json.dumps(line)},"),
    "one string of JSON": lambda text: json.dumps({"dump": text}).encode(),
    "quotation marks": lines(lambda _, line: f"'{line}'"),
    "a patch": lines(lambda _, line: f"+{line}"),
    "a page": lines(lambda _, line: f'<div class="line">{line}</div>'),
    "coloured": lines(lambda _, line: f"\x1b[32m{line}\x1b[0m"),
    "grep --color": lambda text: text.replace("isControl: true", "\x1b[01;31m\x1b[KisControl: true\x1b[m").encode(),
    "backticks": lambda text: text.replace("isControl: true", "`isControl: true`").encode(),
    "fenced": lambda text: f"# what I saw\n```log\n{text}```\nwhy?\n".encode(),
    "a shell": lambda text: f"$ kafka-dump-log --files x\n{text}$ \n".encode(),
    "space at the end": lines(lambda _, line: f"{line}   "),
    "blank lines": lines(lambda _, line: f"{line}\n"),
    "hard spaces": lambda text: text.replace(" ", "\xa0").encode(),
    "tabs": lambda text: text.replace(" ", "\t").encode(),
    **{f"cut at {width}": cut(width) for width in (40, 60, 72, 80, 100, 132, 200)},
    "cut and quoted": cut(76, "> "),
    "wrapped between words": folded,
    "fold -s": folded_behind_spaces,
    "pasted twice": lambda text: (text + text).encode(),
    "pasted with an overlap": lambda text: (text[: text.rfind("baseOffset")] + text.partition("\n")[2]).encode(),
}
