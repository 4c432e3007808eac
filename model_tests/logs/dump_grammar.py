"""The lines that Kafka's tools print about logs, in the words of all releases since 0.11: one grammar.

A line of a tool begins with its *head*. Whoever posts a listing puts something before it (a quotation mark, a line
number, `kafka-1 |`, a file's name), wraps it, or encloses it in quotes; the first heads show what. Lines without a head
continue the one before: a value may have several lines.

Source: kafka.tools.DumpLogSegments (0.11.0 to 4.2), org.apache.kafka.tools.DumpLogSegments (since 4.3),
kafka.coordinator.transaction.TransactionLog, kafka.coordinator.group.GroupMetadataManager,
org.apache.kafka.tools.TransactionsCommand, org.apache.kafka.tools.consumer; of `kcl`, commands/consume and
commands/admin/txn.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final


@unique
class Line(StrEnum):
    """A kind of line, by what it begins with."""

    FILE = r"Dumping \S"
    START = r"(?:Log s|S)tarting offset: \d"
    BATCH = r"baseOffset: -?\d+ lastOffset: "
    RECORD = r"\| (?:offset: -?\d|key: |payload: )"
    ALONE = r"offset: \d+ (?:position: \d+ \w+: |\.\.\.|…)"
    INDEX = (
        r"(?:offset: \d+ position: \d+\s*$|timestamp: -?\d+ offset: \d+\s*$|version: \d+ producerId: \d"
        r"|producerId: \d+ producerEpoch: -?\d+ (?:coordinatorEpoch|lastSequence): |Snapshot end offset: "
        r"|KRaft bootstrap |\S+(?:index|snapshot|checkpoint) (?:is empty|passed sanity check)\.)"
    )
    INVALID = r"Found \d+ invalid bytes at the end of "
    FAILED = r'Exception in thread "[^"]*" '
    REMARK = (
        r"(?:Mismatches in :|Non-consecutive offsets in |Found timestamp mismatch in |Found out of order timestamp in "
        r"|The following indexed offsets are not found|\s*Index(?:ed)? (?:offset|timestamp): \d"
        r"|\s+\d+ is followed by \d)"
    )
    STATE = r"[^\s|>\"]+::(?:TransactionMetadata\(|NULL\s*$)"
    OFFSET = r"\[[^\[\]]*,[^\[\],]*,\d+\]::(?:OffsetAndMetadata\(|\[OffsetMetadata\[|NULL\s*$)"
    JSON = r'\{"key":(?:\{"(?:type|version)":|null)'
    KCL = r"__(?:transaction_state|consumer_offsets) partition \d+ offset \d+ at \["
    CONSUMED = r"(?:\w+:\d+\s|NO_TIMESTAMP\s)?\s*Partition:\d+\s+Offset:\d"
    HISTORY = (
        r"(?:(?:\d+|:[\w-]+)\t:(?:invoke|ok|info|fail)\t|(?:#[\w.]+)?\{:(?:type|index|process|f|time|value) "
        r'|\{"ev":|\{"timestamp":\s?\d+,\s?"name":)'
    )
    TABLE = (
        r"(?:TransactionalId\s+Coordinator\s+ProducerId\s|CoordinatorId\s+TransactionalId\s|ProducerId\s+ProducerEpoch\s"
        r"|Topic\s+Partition\s+ProducerId\s|TOPIC\s+PARTITION\s+ERROR\s+ID\s|BROKER\s+TRANSACTIONAL-ID\s"
        r"|TRANSACTIONAL-ID\s+STATE\s+PRODUCER-ID\s)"
    )


_OF_LINES: Final = (Line.TABLE, Line.KCL)
"""What has several lines by itself, whose lengths may be the same."""

_ANYBODY: Final = frozenset((Line.RECORD.name, Line.FAILED.name, Line.REMARK.name))
"""Lines that others print, too: by these no text is recognised."""

_LEARNT: Final = 200
"""Heads that show how a text is laid out."""

_FARTHEST: Final = 512
"""Characters of a line in which its head is."""

_MOST_LINES: Final = 10_000
"""Lines of one value that are kept; of what is longer, nothing but the beginning is ever read."""

_HEAD: Final = re.compile("|".join(f"(?P<{kind.name}>{kind.value.replace(' ', chr(92) + 's+')})" for kind in Line))
_TOKEN: Final = re.compile(r"(\d+)|([0-9a-f]{12,})|(\s+)|([:-])|(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a tool, with the lines that continue it.

    Attributes:
        line: its number in the text, from 1.
        last: whether the text ends with it.
    """

    line: int
    kind: Line
    text: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text is laid out.

    Attributes:
        prefix: what stands before each line.
        continued: what stands before a line that continues another: no more space than was put there.
        width: characters after which lines were cut; 0 where they were not.
        quoted: each line is a string of JSON.
        known: it has lines of tools at all.
    """

    prefix: re.Pattern[str]
    continued: re.Pattern[str]
    width: int
    quoted: bool
    known: bool

    def lines(self, line: str) -> Iterator[tuple[str, re.Match[str] | None]]:
        """The lines of the tool in a line of the text, each with its head."""
        found = self.prefix.match(line, 0, _FARTHEST)
        rest = line[found.end() :] if found else line
        if self.quoted:
            with suppress(ValueError):
                text, _ = json.decoder.scanstring(rest, 0, False)  # type: ignore[attr-defined]
                yield from ((each, _HEAD.match(each, 0, _FARTHEST)) for each in text.splitlines() or [""])
                return
        head = _HEAD.match(rest, 0, _FARTHEST)
        found = self.continued.match(line, 0, _FARTHEST) if head is None else None
        yield line[found.end() :] if found else rest, head


def layout_of(lines: Iterable[str]) -> Layout:
    """The layout that the first heads show; no line after them is read."""
    shapes: Counter[str] = Counter()
    kinds: set[str] = set()
    widths: Counter[int] = Counter()  # of lines that go on in the next one, but for those cut behind a space
    before = ""
    for line in _until_learnt(lines, shapes, kinds):
        widths[len(before)] += not before.endswith(" ") and bool(line.strip()) and _searched(line) is None
        before = line
    width = max(widths, default=0)
    often = [shape for shape, count in shapes.most_common(5) if 10 * count >= shapes.total()]
    patterns = sorted(often, key=len, reverse=True)
    quoted = bool(patterns) and all(shape.endswith(re.escape('"')) for shape in patterns)
    exact = (re.sub(r"(\\s)[*+]$", r"\1", each) for each in patterns if each != r"\s*")
    return Layout(
        re.compile("|".join([*patterns, r"\s*"])),
        re.compile("|".join(exact)),
        width if 2 * widths[width] > widths.total() else 0,
        quoted,
        bool(kinds - _ANYBODY),
    )


def _until_learnt(lines: Iterable[str], shapes: Counter[str], kinds: set[str]) -> Iterator[str]:
    for line in lines:
        found = _searched(line)
        if found is not None:
            shapes[_shape(line[: found.start()])] += 1
            kinds.add(str(found.lastgroup))
        yield line
        if shapes.total() >= _LEARNT and kinds - _ANYBODY:
            return


def _searched(line: str) -> re.Match[str] | None:
    return _HEAD.match(line, 0, _FARTHEST) or _HEAD.search(line, 0, _FARTHEST)


def _shape(prefix: str) -> str:
    """A pattern for prefixes like this one: other numbers, other digits of an id, more or less space."""
    kinds = (r"\d+", r"[0-9a-f]+", r"\s+", "[:-]")
    parts = (
        next((kinds[n] for n in range(4) if found[n + 1]), re.escape(found[0])) for found in _TOKEN.finditer(prefix)
    )
    pattern = "".join(parts)
    return r"\s*" + pattern.removeprefix(r"\s+") if not pattern or pattern.startswith((r"\s+", r"\d+")) else pattern


def entries(lines: Iterable[str], layout: Layout) -> Iterator[Entry]:
    """The lines of tools in a text, in order; what is none, and continues none, is passed over."""
    number, kind, parts = 0, None, []
    cut = False
    for at, raw in enumerate(lines, 1):
        for text, found in layout.lines(raw):
            if found is not None:
                if kind is not None:
                    yield Entry(number, kind, "".join(parts))
                number, kind, parts = at, Line[str(found.lastgroup)], [text]
            elif len(parts) < _MOST_LINES:
                parts += [text] if cut else ["\n", text]
        cut = bool(layout.width) and len(raw) == layout.width and kind not in _OF_LINES
    if kind is not None:
        yield Entry(number, kind, "".join(parts), last=True)
