"""The lines that Kafka's tools print about logs, in the words of all releases since 0.11: one grammar.

A line of a tool begins with its *head*. Whoever posts a listing puts something before it (a quotation mark, a line
number, `kafka-1 |`, a file's name) or behind it, wraps it, or makes one line of it, as a string of JSON or a page does;
the first heads show what. Lines without a head continue the one before: a value may have several lines.

Source: kafka.tools.DumpLogSegments (0.11.0 to 4.2), org.apache.kafka.tools.DumpLogSegments (since 4.3),
kafka.coordinator.transaction.TransactionLog, kafka.coordinator.group.GroupMetadataManager,
org.apache.kafka.tools.TransactionsCommand, org.apache.kafka.tools.consumer; of `kcl`, commands/consume and
commands/admin/txn.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum, unique
from itertools import islice, pairwise
from os.path import commonprefix
from typing import Final, NamedTuple


@unique
class DumpLine(StrEnum):
    """A kind of line, by what it begins with."""

    FILE = r"Dumping(?: \S*[./\\]|\s*$)"
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
    OFFSET = r"\[[^\[\]]*,[^\[\],]*,\d+\]::(?:OffsetAndMetadata\(|\[OffsetMetadata\[|NULL\s*$)"
    STATE = r"[^\s|>\"]+::(?:TransactionMetadata\(|NULL\s*$)"
    JSON = r'(?:\{\s?"key":\s?(?:\{\s?"(?:type|version)":|null)|"key":\s?\{\s*$)'
    KCL = r"__(?:transaction_state|consumer_offsets) partition \d+ offset \d+ at \["
    CONSUMED = r"(?:\w+:\d+\W|NO_TIMESTAMP\W)?\s*Partition:\d+\W+Offset:\d"
    HISTORY = (
        r"(?:(?:\d+|:[\w-]+)\t:(?:invoke|ok|info|fail)\t|(?:#[\w.]+)?\{:(?:type|index|process|f|time|value) "
        r'|\{"ev":|\{"timestamp":\s?\d+,\s?"name":)'
    )
    TABLE = (
        r"(?:TransactionalId Coordinator ProducerId|CoordinatorId TransactionalId|ProducerId ProducerEpoch"
        r"|Topic Partition ProducerId|TOPIC PARTITION ERROR ID|BROKER TRANSACTIONAL-ID"
        r"|TRANSACTIONAL-ID STATE PRODUCER-ID)\b"
    )


_OF_LINES: Final = (DumpLine.TABLE, DumpLine.KCL)
"""What has several lines by itself, whose lengths may be the same."""

_ENDING: Final = (DumpLine.BATCH, DumpLine.STATE, DumpLine.OFFSET)
"""Lines that end in a word or a bracket: what is behind that is none of theirs."""

_ANYBODY: Final = frozenset((DumpLine.RECORD, DumpLine.FAILED, DumpLine.REMARK))
"""Lines that others print, too: by these no text is recognised."""

_WITHIN: Final = {
    DumpLine.FILE: r"Dumping \S+?\.(?:log|index|timeindex|txnindex|snapshot|checkpoint)(?![a-z.])",
    **{kind: kind.value for kind in (DumpLine.RECORD, DumpLine.START, DumpLine.BATCH, DumpLine.OFFSET)},
    DumpLine.STATE: r"(?<![^\s|>\"(),=\\])[^\s|>\"(),=\\]+::TransactionMetadata\(",
}
"""Heads within a line, of a listing whose line breaks are lost."""

_LEARNT: Final = 200
"""Heads that show how a text is laid out."""

_FARTHEST: Final = 512
"""Characters of a line in which its head is."""

_LONGEST: Final = 1 << 16
"""Characters of a line in a paragraph that are kept."""

_WIDEST: Final = 1024
"""Characters of a heading within a line: of the words that it consists of, only names are long."""

_MOST_LINES: Final = 10_000
"""Lines of one value that are kept; of what is longer, nothing but the beginning is ever read."""


def _one_of(kinds: Mapping[DumpLine, str]) -> re.Pattern[str]:
    """One pattern: between words may be the ends of cells, too, and between digits the marks of groups."""
    words = "|".join(f"(?P<{kind.name}>{words})" for kind, words in kinds.items())
    return re.compile(words.replace(" ", r"[\s|,;]+").replace(r"\d+", r"\d[\d.,]*"))


_HEAD: Final = _one_of({kind: kind.value for kind in DumpLine})
_IN_HEAD: Final = (
    *("ffset:", "Dumping", "::", "key:", "payload:", "producerId:", "KRaft", "sanity", "empty", "Exception", "Found"),
    *("Mismatches", "consecutive", "indexed", "Index", "followed", '"key"', '"name":', '{"ev":', "{:", "\t:"),
    *("__transaction_state", "__consumer_offsets", "TransactionalId", "CoordinatorId", "ProducerId", "TOPIC"),
    "TRANSACTIONAL-ID",
)
"""One of these is in each head: to look for them takes a fiftieth of the time."""

_INNER: Final = _one_of(_WITHIN)
_IN_INNER: Final = ("ffset:", "Dumping", "::")
"""One of these is in each of them: to look for it takes a hundredth of the time."""

_SEPARATOR: Final = re.compile(r"(?:\s+|(?:\\+[nrt]|#01[0-5]|%0[ADad]|<[^<>]{0,200}>)\W*)$")
"""What separated lines of which one was made."""

_ESCAPED: Final = re.compile(r'\\+(["/])')
_SUFFIX: Final = re.compile(r"(?:<[^<>]{0,99}>|\^M|[^\w<>:,.()\[\]-])*$")
"""What may stand behind a line: no word, and nothing that a line may end with where it was cut."""

_ENDED: Final = re.compile(r"isvalid:\s+(?:true|false)\b")
"""With what the line of a batch ends in all releases."""

_WHOLE: Final = re.compile(r"(?:isvalid:\s+(?:true|false)|txnTimeoutMs=\d+|[)}])$")
"""With what lines end: one that ends so was not cut."""

_INSIDE: Final = re.compile(r"\b(?:isvalid:|headerKeys:|payload:|coordinatorEpoch:|txnLastUpdateTimestamp=)")
"""Fields at the end of lines, which are before a head only where lines are joined."""

_INDENT: Final = re.compile(r"\s{2,}(?:[|>] )?|\s*[^\w\s!-~]\s*")
"""What an editor puts before a line that continues another: more than the space at which it was cut."""

_ORDER: Final = re.compile(
    r"(?P<offset>\bbaseOffset:\s{1,9}(\d{1,19})|Dumping\s)|(?P<time>LastUpdateTimestamp(?:Ms)?\W{1,3}(\d{1,19}))"
)
"""What rises from line to line of a file."""

_TURNED: Final = 1_000_000
"""Lines that are put in the opposite order at most."""

_HELD: Final = 64
"""Rows of another stream that may come within a line, and lines behind a head that show how it continues."""

_TOKENS: Final = (r"std(?:out|err) [PF]\b", r"[0-9a-f]{8}[0-9a-f-]{4,}", r"\d+", r"\s+", r"[:-]")
"""What differs from row to row in what stands before lines: whether a row ends its line, ids, numbers, space."""

_TOKEN: Final = re.compile("|".join((*map("({})".format, _TOKENS), ".")), re.DOTALL)
_KEY: Final = re.compile(r'"[\w@.-]+"(\s*:\s*)"$')
"""The name of the field in which a line is."""

_STREAM: Final = re.compile(r"\bstd(?:out|err)\b")
_PARTIAL: Final = re.compile(
    r'std(?:out|err) P\b|"(?:logtag|_p)":\s?"P"|"CONTAINER_PARTIAL_MESSAGE"\s?:\s?"true"'
    r'|"partial_message":\s?"true"(?!.*"partial_last":\s?"true")'
)
"""How containers' logs say that a line continues in the next row of its stream."""


@dataclass(frozen=True, slots=True)
class DumpEntry:
    """A line of a tool, with the lines that continue it.

    Attributes:
        line: its number in the text, from 1.
        last: whether the text ends with it.
    """

    line: int
    kind: DumpLine
    text: str
    last: bool = False


class Row(NamedTuple):
    """A line of a tool, or a piece of one.

    Attributes:
        line: number of the line of the text that it is in, from 1.
        kind: what it begins with; None where it continues the one before.
        goes_on: the text says that the next row continues it.
        cut: it is as long as lines are that were cut.
    """

    line: int
    text: str
    kind: DumpLine | None
    goes_on: bool = False
    cut: bool = False


class Layout:
    """How a text is laid out, as its first heads show; no line after them is read."""

    def __init__(self, lines: Iterable[str]) -> None:
        sample = list(_sample(lines))
        headed = [each for each in sample if each.before is not None]
        befores = [each.before or "" for each in headed]
        shapes = Counter(map(_shape, befores))
        often = [shape for shape, count in shapes.most_common(5) if 10 * count >= len(headed)]
        patterns = sorted(set(often) - {r"\s*"}, key=len, reverse=True)
        width, continuing = _cut_at(sample)

        self.known = not _ANYBODY.issuperset(each for one in sample for each in one.kinds)
        """It has lines of tools at all."""
        self.joined = 2 * sum(each.inner > 1 for each in sample) > len(headed)
        """Lines of the tool stand together in one of the text."""
        self.filled = 3 * sum(_INSIDE.search(each) is not None for each in befores) > len(headed) > 1
        """They are joined, and broken between words again."""
        self.falling = _falls(sample)
        """The newest line comes first."""
        self.prefix = re.compile("|".join([*patterns, r"\s*"]))
        """What stands before each line."""
        self.width = width
        """Characters after which lines were cut; 0 where they were not."""
        self.suffix = _suffix([each for each in headed if each.kinds[0] in _ENDING], continuing, width)
        """What stands behind each line."""
        self.continued = re.compile(_continued(patterns, continuing))
        """What stands before a line that continues another: no more space than was put there."""
        self.quoted = bool(often) and all(shape.endswith(re.escape('"')) for shape in often)
        """Each line is a string of JSON."""
        self.ended = 10 * sum('\\n"' in each.line for each in sample) >= len(sample)
        """Such a string ends with a line end, unless the next one continues it."""

    def rows(self, lines: Iterable[str]) -> Iterator[Row]:
        """The lines of the tool in those of a text; a row of another stream than one that goes on comes behind it."""
        if self.filled:
            yield from _unfilled(lines)
            return
        held: list[tuple[int, str]] = []
        opened: str | None = None
        for each in enumerate(lines, 1):
            held.append(each)
            while (ready := _next(held, opened)) is not None:
                held.remove(ready)
                rows = self._rows(*ready, inside=opened is not None)
                yield from rows
                opened = _stream(ready[1]) if rows and rows[-1].goes_on else None
        yield from (row for each in held for row in self._rows(*each, inside=False))

    def _rows(self, number: int, line: str, *, inside: bool) -> list[Row]:
        """The lines of the tool in one of the text, which goes on with the one before where it is inside of that."""
        if self.joined and _has_inner(line):
            return [_row(number, each) for each in _parted(line)]
        cut = len(line) == self.width > 0
        at = _behind(self.prefix, line)
        goes_on = _PARTIAL.search(line, 0, at) is not None
        if self.quoted and line.endswith('"', 0, at):
            with suppress(ValueError):
                text, end = _string(line, at)
                goes_on |= _PARTIAL.search(line, end) is not None or (self.ended and not text.endswith("\n"))
                first, *others = text.splitlines() or [""]
                rows = [_row(number, first, inside=inside), *(_row(number, each) for each in others)]
                return [*rows[:-1], rows[-1]._replace(goes_on=goes_on)]
        if self.suffix:
            line = line.rstrip().removesuffix(self.suffix)
        head = None if inside else _HEAD.match(line, at, _FARTHEST) or _file(line, at)
        if head is not None:
            return [Row(number, line[head.start() :], _kind(head), goes_on, cut)]
        return [Row(number, line[_behind(self.continued, line) :], None, goes_on, cut)]


def _next(held: Sequence[tuple[int, str]], opened: str | None) -> tuple[int, str] | None:
    """The first line that may come now: of the stream with a line that goes on, where there is one."""
    if opened is None or len(held) > _HELD:
        return held[0] if held else None
    return next((each for each in held if _stream(each[1]) == opened), None)


def _unfilled(lines: Iterable[str]) -> Iterator[Row]:
    """The lines of the tool in a paragraph, each with the number of the one in which it ends."""
    text, number = "", 0
    for number, line in enumerate(lines, 1):
        searched = max(2, len(text) - _WIDEST)  # a heading that ends before was found with an earlier line
        text = f"{text} {line.strip(' >')}"
        begins = [found.start() for found in _INNER.finditer(text, searched)] if _has_inner(text) else []
        for start, end in pairwise([0, *begins]):
            yield _row(number, text[start:end].strip())
        text = text[begins[-1] :] if begins else text[:_LONGEST]
    yield _row(number, text.strip())


def _kind(head: re.Match[str]) -> DumpLine:
    return DumpLine[str(head.lastgroup)]


def _row(number: int, text: str, *, inside: bool = False) -> Row:
    head = None if inside else _HEAD.match(text, 0, _FARTHEST)
    return Row(number, text, _kind(head) if head else None)


def _behind(pattern: re.Pattern[str], line: str) -> int:
    """Where a line goes on behind what stands before it."""
    found = pattern.match(line, 0, _FARTHEST)
    return found.end() if found else 0


def _stream(line: str) -> str:
    found = _STREAM.search(line)
    return found[0] if found else ""


def _file(line: str, at: int) -> re.Match[str] | None:
    """The name of a dumped file behind something that stands before it alone."""
    found = _INNER.search(line, at, _FARTHEST) if "Dumping" in line else None
    return found if found is not None and found.lastgroup == DumpLine.FILE.name else None


def may_have_head(line: str) -> bool:
    """Whether a line has any of the words that heads have."""
    return any(words in line for words in _IN_HEAD)


def _has_inner(line: str) -> bool:
    return any(words in line for words in _IN_INNER)


def _parted(line: str) -> Iterator[str]:
    """The lines of the tool that stand together in one of a text: in strings of JSON, or one after the other."""
    at = 0
    while (found := _INNER.search(line, at)) is not None:
        start = found.start()
        is_open = (line.count('"', at, start) - line.count('\\"', at, start)) % 2
        with suppress(ValueError):
            text, end = _string(line, start) if is_open else ("", start)
            parts = text.splitlines()
            begins = line.endswith('"', 0, start)
            if len(parts) > (not begins) and len(parts) >= sum(1 for _ in _INNER.finditer(line, start, end)):
                yield from map(str.strip, parts)
                at = end
                continue
        after = _INNER.search(line, found.end())
        at = len(line) if after is None else after.start()
        yield _SEPARATOR.sub("", _ESCAPED.sub(r"\1", line[start:at]))


def _string(line: str, at: int) -> tuple[str, int]:
    """The rest of a string of JSON from a position on, and where it ends.

    Raises:
        ValueError: it has no end, or is none, or names a field.
    """
    text, end = json.decoder.scanstring(line, at, False)  # type: ignore[attr-defined]
    if line.startswith(('"', ":"), end):
        raise ValueError("a quotation mark is doubled, or this is the name of a field")
    return str(text), int(end)


class _Sampled(NamedTuple):
    """A line of a sample.

    Attributes:
        last: the one before it.
        before: what stands before its head; None where it has none.
        kinds: its head, and those within it.
        inner: how many within it these are.
    """

    line: str
    last: str
    before: str | None
    kinds: tuple[DumpLine, ...]
    inner: int

    @property
    def continues(self) -> bool:
        """Whether it continues the one before, which was not cut behind a space, nor is whole."""
        return not self.kinds and not self.last.endswith(" ") and not _WHOLE.search(self.last)


def _sample(lines: Iterable[str]) -> Iterator[_Sampled]:
    """The first lines that have heads, and some behind each, until enough is known."""
    learnt: set[DumpLine] = set()
    last, heads, behind = "", 0, _HELD
    for line in lines:
        possible = may_have_head(line)
        head = _HEAD.search(line, 0, _FARTHEST) if possible else None
        inner = list(islice(_INNER.finditer(line), _LEARNT)) if possible and _has_inner(line) else []
        kinds = tuple(_kind(each) for each in (head, *inner) if each)
        behind, heads = 0 if kinds else behind + 1, heads + (head is not None)
        if behind < _HELD:
            yield _Sampled(line, last, line[: head.start()] if head else None, kinds, len(inner))
        learnt.update(kinds)
        if heads >= _LEARNT and learnt - _ANYBODY:
            return
        last = line


def _cut_at(sample: Sequence[_Sampled]) -> tuple[int, list[str]]:
    """The length after which lines were cut, 0 where they were not; and the lines that continue those."""
    continuing = [each for each in sample if each.continues]
    width = max((len(each.last) for each in sample), default=0)
    behind = [each.line for each in continuing if len(each.last) == width]
    return (width, behind) if 2 * len(behind) > len(continuing) else (0, [])


def _suffix(ending: Sequence[_Sampled], continuing: Sequence[str], width: int) -> str:
    """What is behind lines of which it is known how they end, and behind those that were cut."""
    rests = [each.line[len(each.before or "") :] for each in ending]
    found = Counter(_suffix_of(line) for line in (*rests, *(each for each in continuing if len(each) == width)))
    suffix = min((each for each, count in found.items() if 10 * count >= found.total()), key=len, default="")
    behind = sum(count for each, count in found.items() if each.endswith(suffix))
    return suffix if 10 * behind >= 9 * found.total() else ""


def _suffix_of(line: str) -> str:
    """What is behind a line: behind its last word, where it has that."""
    found = _ENDED.search(line)
    behind = _SUFFIX.search(line.rstrip())
    return line[found.end() :].rstrip() if found else behind[0] if behind else ""


def _continued(patterns: Sequence[str], lines: Sequence[str]) -> str:
    """What stands before lines that continue others: what stands before heads, or what those that were cut have."""
    exact = "|".join(re.sub(r"(\\s)[*+]$", r"\1", each) for each in patterns)
    if not lines or (exact and 10 * sum(re.match(exact, each) is not None for each in lines) >= 9 * len(lines)):
        return exact
    common = commonprefix(lines)  # noqa: RUF071  # of texts
    return re.escape(common[: _behind(_INDENT, common)])


def _falls(sample: Iterable[_Sampled]) -> bool:
    """Whether offsets and times of files are lower than those before them, seldom higher."""
    moved: Counter[bool] = Counter()
    newest: dict[str, int] = {}
    for found in (found for each in sample if each.kinds for found in islice(_ORDER.finditer(each.line), _LEARNT)):
        what, now = str(found.lastgroup), int(found[2] or found[4] or -1)
        before = newest.get(what, now)
        moved[now > before] += min(now, before) >= 0 and now != before
        newest[what] = now
    return moved[False] > max(1, 4 * moved[True])


def _shape(prefix: str) -> str:
    """A pattern for prefixes like this one: other numbers, more or less space, other fields."""
    named = _KEY.search(prefix)
    if named is not None:
        return f".*?{re.escape(named[0])}"
    parts = (_TOKENS[each.lastindex - 1] if each.lastindex else re.escape(each[0]) for each in _TOKEN.finditer(prefix))
    pattern = "".join(parts)
    return r"\s*" + pattern.removeprefix(r"\s+") if not pattern or pattern.startswith((r"\s+", r"\d+")) else pattern


def entries(lines: Iterable[str], layout: Layout) -> Iterator[DumpEntry]:
    """The lines of tools in a text, in their order; what is none, and continues none, is passed over.

    Raises:
        OSError: the text has them in the opposite order, and too many to turn.
    """
    begun, parts, continues = Row(0, "", None), [""], False
    for row in _in_order(layout.rows(lines), falling=layout.falling):
        if row.kind is not None:
            if begun.kind is not None:
                yield DumpEntry(begun.line, begun.kind, "".join(parts))
            begun, parts = row, [row.text]
        elif len(parts) < _MOST_LINES:
            parts += [row.text] if continues else ["\n", row.text]
        continues = row.goes_on or (row.cut and begun.kind not in _OF_LINES)
    if begun.kind is not None:
        yield DumpEntry(begun.line, begun.kind, "".join(parts), last=True)


def _in_order(rows: Iterator[Row], *, falling: bool) -> Iterator[Row]:
    """The oldest first."""
    if not falling:
        yield from rows
        return
    turned = list(islice(rows, _TURNED + 1))
    if len(turned) > _TURNED:
        raise OSError(f"its newest lines come first; of more than {_TURNED:,} lines, give it turned round (tac)")
    yield from reversed(turned)
