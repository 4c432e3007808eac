"""What `kafka-dump-log` printed: the batches of each file, and what of them is missing or cannot be read.

Since 2.3 a batch has a line of its own and, with `--deep-iteration` or `--print-data-log`, its records follow. Releases
before print one or the other: batches (`baseOffset: ...`), or records alone, which have their batch's fields
(`offset: ... position: ...`); those of one batch share its position.

A value may contain lines like those of the tool. So a line is believed at once only where it continues the listing: a
record the batch before it, a batch the bytes before it. Others wait for what follows; where a later line continues the
listing, they were part of a value, or pasted twice. Where none does, they are read, and what lies between is missing.

Source: kafka.tools.DumpLogSegments, org.apache.kafka.tools.DumpLogSegments.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from model_tests.logs.dump_grammar import DumpEntry, DumpLine
from model_tests.logs.unpacking import UNREADABLE
from model_tests.logs.unread import ELIDED, ENDS, LEFT_OUT, UnreadPart, Why
from reference.log.batch import APPEND_TIME, CONTROL, DELETE_HORIZON, TRANSACTIONAL, RecordBatch
from spec.vocabulary import ABSENT, Epoch, LeaderEpoch, Offset, ProducerId, Sequence, Timestamp

_FIELD: Final = re.compile(r"\b(\w{1,30}):\s{1,99}((?:true|false)\b|[^\s<\"',;|]+)")
_NUMBER: Final = re.compile(r"-?\d{1,20}", re.ASCII)
_VALUES: Final = re.compile(r"\s(key|payload):\s")
"""Behind the fields of a line; what comes then may look like fields."""

_TYPESET: Final = re.compile(r"[-`*.,](?:(?<=[a-zA-Z]-)\s*(?=[a-z])|(?<=[`*])|(?<=\d[.,])(?=\d{3}(?!\d)))")
"""Where a word is broken that is longer than the rest of a line, marks of Markdown, and what is between digits in
groups; the tool has none of these."""


class _Column(NamedTuple):
    """A number: bits of the largest one, of a flag 1; and what it is where it is not printed, if that may be."""

    bits: int
    otherwise: int | None = None


_TIMES: Final = ("CreateTime", "LogAppendTime", "NoTimestampType")
_COLUMNS: Final[Mapping[str, _Column]] = {
    "baseOffset": _Column(63),
    "lastOffset": _Column(63),
    "baseSequence": _Column(31),
    "producerId": _Column(63),
    "count": _Column(31, ABSENT),
    "isControl": _Column(1, ABSENT),
    "isTransactional": _Column(1),
    "producerEpoch": _Column(15),
    "partitionLeaderEpoch": _Column(31),
    **dict.fromkeys(_TIMES, _Column(63, ABSENT)),
    "position": _Column(63),
    "size": _Column(31, ABSENT),
    "isvalid": _Column(1),
    "offset": _Column(63, ABSENT),
    "coordinatorEpoch": _Column(31, ABSENT),
    "crc": _Column(63, ABSENT),
}
"""What lines say of a batch, and of a record; what is missing or wrong is named by the first of these."""

_ALONE: Final = {"baseOffset": "offset", "lastOffset": "offset", "baseSequence": "sequence"}
"""Fields of a batch, and what of a record that is printed alone is the same."""

_ELISIONS: Final = ("...", "\u2026")
_FLAGS: Final = {"false": 0, "true": 1}
_NO_HORIZON: Final = "OptionalLong.empty"

_WAITING: Final = 64
"""Lines that may wait: a value has seldom more lines like those of the tool."""

_FAILED: Final = Why("kafka-dump-log stopped here", damage=True)
_INVALID: Final = Why("bytes at its end are no batches", damage=True)
_NO_NUMBER: Final = Why("a number that cannot be", damage=True)
_NO_COUNT: Final = Why("a count that cannot be", damage=True)
_OLD: Final = Why("messages before record batches (magic 2) are not judged")


@dataclass(frozen=True, slots=True)
class DumpedRecord:
    """A record: its offset, -1 where it is not printed, and key and value if a decoder printed them; else empty."""

    offset: int
    key: str = ""
    payload: str = ""


@dataclass(slots=True)
class DumpedBatch:
    """One batch as it was printed.

    Attributes:
        line: number of its line, from 1.
        header: its header; -1 records where their number was not printed. As its base timestamp, which no release
            prints, it has what was printed of its bytes: size and CRC.
        crc: -1 where it is not printed.
        position: where it begins in its file; -1 where that is not printed.
        size: its bytes; -1 where they are not printed.
        valid: whether its CRC was found right.
        alone: its records have its fields.
        marker: COMMIT, ABORT or the name of another control record; empty where no record has it.
        records: those that were printed.
    """

    line: int
    header: RecordBatch
    crc: int = ABSENT
    position: int = ABSENT
    size: int = ABSENT
    valid: bool = True
    alone: bool = False
    marker: str = ""
    coordinator_epoch: int = ABSENT
    records: list[DumpedRecord] = field(default_factory=list)

    @property
    def next_position(self) -> int:
        """Where the batch after it begins; -1 where that is not known."""
        return self.position + self.size if self.position >= 0 and self.size >= 0 else ABSENT

    def holds(self, offset: int) -> bool:
        """Whether its next record may have this offset, or one that is not printed (-1)."""
        last = self.records[-1].offset if self.records else ABSENT
        inside = self.header.base_offset <= offset <= self.header.last_offset and offset > last
        return len(self.records) < self.header.record_count and (inside or offset < 0)


def unknown_header(first: int, last: int, records: int, time: int) -> RecordBatch:
    """The header of a batch of which no more than this is known.

    Args:
        first: its base offset.
        last: its last offset.
        records: how many it has.
        time: its newest timestamp, in milliseconds.
    """
    none, zero = (ProducerId(ABSENT), Epoch(ABSENT), Sequence(ABSENT)), Timestamp(0)
    return RecordBatch(Offset(first), LeaderEpoch(0), 0, last - first, zero, Timestamp(time), *none, records, b"")


@dataclass(frozen=True, slots=True)
class DumpedFile:
    """The line with which the section of a file begins, and its name; empty where that line is missing."""

    line: int
    name: str


Dumped: TypeAlias = DumpedFile | DumpedBatch | UnreadPart


class _Bad(Exception):
    """A line that cannot be read: how."""

    def __init__(self, why: Why, which: str = "") -> None:
        super().__init__(why)
        self.why, self.which = why, which


def read_dump(lines: Iterable[DumpEntry]) -> Iterator[Dumped]:
    """The files, batches and unread parts of a dump, in order; a batch comes with its records.

    Raises:
        OSError: as each of `UNREADABLE`, the text breaks off; what was read until then came before.
    """
    reader, line = _Reader(), 1
    try:
        for entry in lines:
            line = entry.line
            if entry.kind in _OF_LOGS:
                yield from reader.take(_DumpedLine(entry, _fields(entry)))
    except UNREADABLE:
        yield from reader.end()
        yield UnreadPart(line, ENDS, first=max(reader.offset, 0))
        raise
    yield from reader.end()


class _DumpedLine(NamedTuple):
    """A line, and its fields."""

    entry: DumpEntry
    fields: Mapping[str, str]

    def number(self, name: str) -> int:
        """What it says of a field.

        Raises:
            _Bad: it lacks the field, or this is no number, or one that it cannot hold.
        """
        bits, otherwise = _COLUMNS[name]
        text = self.fields.get(name)
        if text is None and otherwise is not None:
            return otherwise
        if text is None or text.endswith(_ELISIONS) or (bits == 1 and text not in _FLAGS):
            raise _Bad(ELIDED, f"{name} first")
        if bits == 1:
            return _FLAGS[text]
        if not _NUMBER.fullmatch(text) or not -1 <= (number := int(text)) < 2**bits:
            raise _Bad(_NO_NUMBER, f"{name}: {text[:60]}")
        return number

    def known(self, name: str) -> int:
        """The number of a field, -1 where it is missing or cannot be."""
        try:
            return self.number(name)
        except _Bad:
            return ABSENT


_BATCHES: Final = (DumpLine.BATCH, DumpLine.RECORD, DumpLine.ALONE)
_OF_LOGS: Final = (DumpLine.FILE, DumpLine.START, *_BATCHES, DumpLine.INVALID, DumpLine.FAILED)


class _Reader:
    """Reads one line after the other.

    Attributes:
        batch: the one whose records are being read.
        offset: the next one; -1 where nothing was read of this file.
        position: of the next batch in its file; -1 where that is not known.
        beyond: the line and the offset of the last record whose batch is missing.
        waiting: lines that may be part of a value.
    """

    def __init__(self) -> None:
        self.batch: DumpedBatch | None = None
        self.offset, self.position, self.beyond = ABSENT, 0, (0, ABSENT)
        self.waiting: list[_DumpedLine] = []

    def take(self, dumped: _DumpedLine) -> Iterator[Dumped]:
        """The next line, at once or when it is known what it is."""
        if self._continues(dumped):
            self.waiting = [dumped]
            yield from self._believed()
            return
        self.waiting.append(dumped)
        begins = [each.entry.kind for each in self.waiting[-2:]] == [DumpLine.FILE, DumpLine.START]
        if begins or len(self.waiting) >= _WAITING:
            yield from self._believed()

    def end(self) -> Iterator[Dumped]:
        """The text ends."""
        yield from self._believed()
        yield from self._closed()

    def _believed(self) -> Iterator[Dumped]:
        waiting, self.waiting = self.waiting, []
        for dumped in waiting:
            try:
                yield from self._read(dumped)
            except _Bad as bad:
                yield from self._ended()
                yield self._unread(dumped, bad)

    def _continues(self, dumped: _DumpedLine) -> bool:
        """Whether the line is what follows the last one that was read."""
        match dumped.entry.kind:
            case DumpLine.RECORD:
                return self.batch is not None and self.batch.holds(dumped.known("offset"))
            case DumpLine.BATCH:
                begins = self.offset <= dumped.known("baseOffset")
                return begins and self.position in (dumped.known("position"), ABSENT)
            case DumpLine.ALONE:
                return (self.batch is None or self.batch.alone) and self.offset <= dumped.known("baseOffset")
        return self.offset == ABSENT and not self.waiting and self.batch is None

    def _read(self, dumped: _DumpedLine) -> Iterator[Dumped]:
        entry = dumped.entry
        match entry.kind:
            case DumpLine.START:
                self.offset = max(self.offset, dumped.known("offset"))
            case DumpLine.FILE:
                yield from self._begun(
                    entry.line, entry.text.removeprefix("Dumping").strip().partition("\n")[0].strip()
                )
            case DumpLine.BATCH:
                yield from self._next(_batch(dumped))
            case DumpLine.ALONE:
                yield from self._alone(dumped)
            case DumpLine.RECORD:
                self._record(dumped)
            case DumpLine.INVALID | DumpLine.FAILED:
                failed = entry.kind is DumpLine.FAILED
                yield from self._ended()
                words = entry.text.partition("\n")[0][:200]
                yield UnreadPart(entry.line, *((_FAILED, words, max(self.offset, 0)) if failed else (_INVALID, words)))

    def _begun(self, line: int, name: str) -> Iterator[Dumped]:
        yield from self._closed()
        self.offset, self.position, self.beyond = ABSENT, 0, (0, ABSENT)
        yield DumpedFile(line, name)

    def _closed(self) -> Iterator[Dumped]:
        """Everything of a file was read, but for batches whose records alone are there."""
        yield from self._ended()
        line, last = self.beyond
        if last >= max(self.offset, 0):
            yield UnreadPart(line, LEFT_OUT, f"up to offset {last}", self.offset, last)

    def _ended(self) -> Iterator[Dumped]:
        """The batch before has all its records."""
        if self.batch is not None:
            yield self.batch
        self.batch = None

    def _next(self, batch: DumpedBatch) -> Iterator[Dumped]:
        base = batch.header.base_offset
        yield from self._ended()
        if self.offset > base:  # a file whose first line is missing
            yield from self._begun(batch.line, "")
        gap = batch.position - self.position if self.position >= 0 and batch.position >= 0 else 0
        if gap > 0 and base != self.offset:
            yield UnreadPart(batch.line, LEFT_OUT, f"{gap} bytes before offset {base}", self.offset, base - 1)
        self.batch, self.offset, self.position = batch, batch.header.last_offset + 1, batch.next_position

    def _alone(self, dumped: _DumpedLine) -> Iterator[Dumped]:
        own, last = _batch(dumped), self.batch
        if last is not None and last.alone and last.position == own.position:
            delta = own.header.base_offset - last.header.base_offset
            last.header = last.header._replace(last_offset_delta=delta, record_count=last.header.record_count + 1)
            self.offset = own.header.last_offset + 1
        else:
            yield from self._next(own)
        self._record(dumped)

    def _record(self, dumped: _DumpedLine) -> None:
        """A record of the batch before it, in whatever spelling; without a batch it is of one that is missing."""
        offset = dumped.number("offset")
        if self.batch is None or offset > self.batch.header.last_offset:
            self.beyond = max(self.beyond, (dumped.entry.line, offset))
            return
        reported, header = dumped.fields, self.batch.header
        before = self.batch.records[-1].offset if self.batch.records else header.base_offset - 1
        if offset >= 0 and offset <= before:
            return  # there twice
        self.batch.records.append(DumpedRecord(offset, reported.get("key", ""), reported.get("payload", "")))
        if "coordinatorEpoch" in reported and (marker := reported.get("endTxnMarker", "")):
            self.batch.header = header._replace(attributes=header.attributes | CONTROL)
            self.batch.marker, self.batch.coordinator_epoch = marker, dumped.number("coordinatorEpoch")

    def _unread(self, dumped: _DumpedLine, bad: _Bad) -> UnreadPart:
        first, last, size, position = map(dumped.known, ("baseOffset", "lastOffset", "size", "position"))
        self.offset = max(self.offset, last + 1)
        self.position = position + size if min(size, position) >= 0 else ABSENT
        ends = dumped.entry.last and bad.why is ELIDED and not any(each in dumped.entry.text for each in _ELISIONS)
        return UnreadPart(dumped.entry.line, ENDS if ends else bad.why, bad.which, first, last)


def _fields(entry: DumpEntry) -> dict[str, str]:
    """What a line says, with key and value; what it says first counts."""
    head, *values = _VALUES.split(entry.text, 2)
    reported = dict(reversed(_FIELD.findall(_TYPESET.sub("", head))))
    if entry.kind is DumpLine.ALONE:
        reported |= {name: reported[same] for name, same in _ALONE.items() if same in reported}
        reported |= {"count": "1", "partitionLeaderEpoch": "-1"}
    if reported.get("count") == "null":
        del reported["count"]
    return reported | dict(zip(values[::2], map(str.strip, values[1::2]), strict=True))


def _batch(dumped: _DumpedLine) -> DumpedBatch:
    """The batch of a line of its own, or of a record that has its batch's fields.

    Raises:
        _Bad: it is of another format, a field is missing, or a number cannot be.
    """
    reported, alone = dumped.fields, dumped.entry.kind is DumpLine.ALONE
    if reported.get("magic", "2") in ("0", "1"):
        raise _Bad(_OLD)
    of: dict[str, Any] = {name: dumped.number(name) for name in _COLUMNS if name != "crc"}
    crc = dumped.known("crc")  # what is known without it is judged
    base, last, count = of["baseOffset"], of["lastOffset"], of["count"]
    if not (0 < last - base + 1 <= 2**31 and count <= last - base + 1):
        raise _Bad(_NO_COUNT, f"{count} records in offsets {base} to {last}")
    of_control = not alone and of["baseSequence"] < 0 <= of["producerId"]  # what releases say that do not print it
    has = {
        TRANSACTIONAL: of["isTransactional"],
        CONTROL: of_control if of["isControl"] < 0 else of["isControl"],
        DELETE_HORIZON: reported.get("deleteHorizonMs", _NO_HORIZON) != _NO_HORIZON,
        APPEND_TIME: "LogAppendTime" in reported,
    }
    header = RecordBatch(
        base,
        of["partitionLeaderEpoch"],
        sum(bit for bit, there in has.items() if there),
        last - base,
        Timestamp((max(of["size"], 0) << 32) + (max(crc, 0) & 0xFFFFFFFF)),
        max(of[name] for name in _TIMES),
        of["producerId"],
        of["producerEpoch"],
        of["baseSequence"],
        count,
        b"",
    )
    return DumpedBatch(dumped.entry.line, header, crc, of["position"], of["size"], bool(of["isvalid"]), alone)
