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
from typing import Final, NamedTuple, TypeAlias

from model_tests.logs.dump_grammar import DumpEntry, DumpLine
from model_tests.logs.unread import ELIDED, ENDS, LEFT_OUT, UnreadPart, Why
from reference.log.batch import APPEND_TIME, CONTROL, DELETE_HORIZON, TRANSACTIONAL
from spec.vocabulary import ABSENT

_FIELD: Final = re.compile(r"\b(\w{1,30}):\s{1,99}([^\s<\"']+)")
_NUMBER: Final = re.compile(r"-?\d{1,20}", re.ASCII)
_FLAG: Final = re.compile(r"(?:true|false)\b")
_VALUES: Final = re.compile(r"\s(?:key|payload):\s")
_KEY: Final = re.compile(r"\skey:\s+(.*?)(?=\s{1,99}payload:\s|$)", re.DOTALL)
_PAYLOAD: Final = re.compile(r"\spayload:\s+(.*)$", re.DOTALL)
_HYPHEN: Final = re.compile(r"(?<=[a-zA-Z])-\s*(?=[a-z])")
"""Where a word was broken that is longer than the rest of a line; none of the tool's has a hyphen."""

_TIMES: Final = ("CreateTime", "LogAppendTime", "NoTimestampType")
_NO_HORIZON: Final = "OptionalLong.empty"

_WAITING: Final = 64
"""Lines that may wait: a value has seldom more lines like those of the tool."""

_INTEGERS: Final = ("count", "baseSequence", "partitionLeaderEpoch", "coordinatorEpoch", "size")
_BITS: Final[Mapping[str, int]] = {**dict.fromkeys(_INTEGERS, 31), "producerEpoch": 15}
"""Of the largest number that a field can hold, where that has not 63."""

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
        count: its records; -1 where that was not printed.
        attributes: bits of its header.
        timestamp: its newest, in milliseconds.
        crc: as printed; empty where it was not.
        position: where it begins in its file; -1 where that is not printed.
        size: its bytes; -1 where they are not printed.
        valid: whether its CRC was found right.
        alone: its records have its fields.
        marker: COMMIT, ABORT or the name of another control record; empty where no record has it.
        records: those that were printed.
    """

    line: int
    base_offset: int
    last_offset: int
    count: int = 1
    base_sequence: int = ABSENT
    producer_id: int = ABSENT
    producer_epoch: int = ABSENT
    leader_epoch: int = 0
    attributes: int = 0
    timestamp: int = ABSENT
    crc: str = ""
    position: int = ABSENT
    size: int = ABSENT
    valid: bool = True
    alone: bool = False
    marker: str = ""
    coordinator_epoch: int = ABSENT
    records: list[DumpedRecord] = field(default_factory=list)

    @property
    def control(self) -> bool:
        """Whether it has a control record."""
        return bool(self.attributes & CONTROL)

    @property
    def next_position(self) -> int:
        """Where the batch after it begins; -1 where that is not known."""
        return self.position + self.size if self.position >= 0 and self.size >= 0 else ABSENT

    @property
    def complete(self) -> bool:
        """Whether all its records were printed, as far as their number is known."""
        return len(self.records) >= self.count

    def holds(self, offset: int) -> bool:
        """Whether its next record may have this offset."""
        last = self.records[-1].offset if self.records else ABSENT
        return not self.complete and self.base_offset <= offset <= self.last_offset and offset > last


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
    """The files, batches and unread parts of a dump, in order; a batch comes with its records."""
    reader = _Reader()
    for entry in lines:
        if entry.kind in _OF_LOGS:
            yield from reader.take(_DumpedLine(entry, _fields(entry.text)))
    yield from reader.end()


class _DumpedLine(NamedTuple):
    """A line, and its fields."""

    entry: DumpEntry
    fields: Mapping[str, str]


_BATCHES: Final = (DumpLine.BATCH, DumpLine.RECORD, DumpLine.ALONE)
_OF_LOGS: Final = (DumpLine.FILE, DumpLine.START, *_BATCHES, DumpLine.INVALID, DumpLine.FAILED)


class _Reader:
    """Reads one line after the other.

    Attributes:
        batch: the one whose records are being read.
        offset: the next one; -1 where nothing was read of this file.
        position: of the next batch in its file; -1 where that is not known.
        waiting: lines that may be part of a value.
    """

    def __init__(self) -> None:
        self.batch: DumpedBatch | None = None
        self.offset, self.position = ABSENT, 0
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
        yield from self._ended()

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
        open_batch, reported = self.batch, dumped.fields
        match dumped.entry.kind:
            case DumpLine.RECORD:
                at = _whole(reported, "offset")
                return open_batch is not None and (open_batch.holds(at) or (at < 0 and not open_batch.complete))
            case DumpLine.BATCH:
                begins = self.offset <= _whole(reported, "baseOffset")
                return begins and self.position in (_whole(reported, "position"), ABSENT)
            case DumpLine.ALONE:
                follows = open_batch is None or open_batch.alone
                return follows and self.offset <= _whole(reported, "offset")
        return self.offset == ABSENT and not self.waiting and open_batch is None

    def _read(self, dumped: _DumpedLine) -> Iterator[Dumped]:
        entry, reported = dumped
        match entry.kind:
            case DumpLine.START:
                self.offset = max(self.offset, _whole(reported, "offset"))
            case DumpLine.FILE:
                yield from self._begun(entry.line, _name(entry.text))
            case DumpLine.BATCH:
                yield from self._next(_batch(dumped))
            case DumpLine.ALONE:
                yield from self._alone(dumped)
            case DumpLine.RECORD:
                self._record(dumped)
            case DumpLine.INVALID:
                yield from self._stopped(entry, _INVALID, ABSENT)
            case DumpLine.FAILED:
                yield from self._stopped(entry, _FAILED, max(self.offset, 0))

    def _begun(self, line: int, name: str) -> Iterator[Dumped]:
        yield from self._ended()
        self.offset, self.position = ABSENT, 0
        yield DumpedFile(line, name)

    def _ended(self) -> Iterator[Dumped]:
        """The batch before has all its records."""
        if self.batch is not None:
            yield self.batch
        self.batch = None

    def _next(self, batch: DumpedBatch) -> Iterator[Dumped]:
        yield from self._ended()
        if self.offset > batch.base_offset:  # a file whose first line is missing
            yield from self._begun(batch.line, "")
        gap = batch.position - self.position if self.position >= 0 and batch.position >= 0 else 0
        if gap > 0 and batch.base_offset != self.offset:
            which = f"{gap} bytes before offset {batch.base_offset}"
            yield UnreadPart(batch.line, LEFT_OUT, which, self.offset, batch.base_offset - 1)
        self.batch, self.offset, self.position = batch, batch.last_offset + 1, batch.next_position

    def _alone(self, dumped: _DumpedLine) -> Iterator[Dumped]:
        own = _batch(dumped)
        if self.batch is not None and self.batch.alone and self.batch.position == own.position:
            self.batch.last_offset, self.batch.count = own.last_offset, self.batch.count + 1
        else:
            yield from self._next(own)
        self.offset = own.last_offset + 1
        self._record(dumped)

    def _record(self, dumped: _DumpedLine) -> None:
        """A record of the batch before it, in whatever spelling; without a batch it is of one that is missing."""
        if self.batch is None:
            return
        text, reported = dumped.entry.text, dumped.fields
        offset = _number(reported, "offset", ABSENT)
        before = self.batch.records[-1].offset if self.batch.records else self.batch.base_offset - 1
        if offset >= 0 and not before < offset <= self.batch.last_offset:
            return  # of another batch, or there twice
        self.batch.records.append(DumpedRecord(offset, _matched(_KEY, text), _matched(_PAYLOAD, text)))
        if marker := reported.get("endTxnMarker", ""):
            self.batch.attributes |= CONTROL
            self.batch.marker, self.batch.coordinator_epoch = marker, _number(reported, "coordinatorEpoch", ABSENT)

    def _stopped(self, entry: DumpEntry, why: Why, offset: int) -> Iterator[Dumped]:
        yield from self._ended()
        yield UnreadPart(entry.line, why, entry.text.partition("\n")[0][:200], offset)

    def _unread(self, dumped: _DumpedLine, bad: _Bad) -> UnreadPart:
        entry, reported = dumped
        alone = _whole(reported, "offset")
        first, last = _whole(reported, "baseOffset", alone), _whole(reported, "lastOffset", alone)
        size, position = _whole(reported, "size"), _whole(reported, "position")
        self.offset = max(self.offset, last + 1)
        self.position = position + size if min(size, position) >= 0 else ABSENT
        ends = entry.last and bad.why is ELIDED and not re.search(r"\.\.\.|…", entry.text)
        return UnreadPart(entry.line, ENDS if ends else bad.why, bad.which, first, last)


def _name(text: str) -> str:
    """The file that a line names."""
    return next(iter(text.split(None, 1)[1:]), "").partition("\n")[0].strip()


def _fields(text: str) -> dict[str, str]:
    """What a line says, without key and value, which may look like fields; what it says first counts."""
    head = _VALUES.split(text, 1)[0]
    if "`" in head or "*" in head:
        head = head.replace("`", "").replace("*", "")
    return dict(reversed(_FIELD.findall(_HYPHEN.sub("", head))))


def _whole(reported: Mapping[str, str], name: str, otherwise: int = ABSENT) -> int:
    """A number, or `otherwise` where it is missing or cannot be."""
    try:
        return _number(reported, name, otherwise)
    except _Bad:
        return otherwise


def _number(reported: Mapping[str, str], name: str, otherwise: int | None = None) -> int:
    """A number that its field can hold.

    Raises:
        _Bad: it is missing and has no default, or is none, or too large.
    """
    text = reported.get(name)
    if text is None and otherwise is not None:
        return otherwise
    if text is None:
        raise _Bad(ELIDED, f"{name} first")
    if not _NUMBER.fullmatch(text) or not -1 <= (number := int(text)) < 2 ** _BITS.get(name, 63):
        raise _Bad(_NO_NUMBER, f"{name}: {text[:60]}")
    return number


def _batch(dumped: _DumpedLine) -> DumpedBatch:
    """The batch of a line of its own, or of a record that has its batch's fields.

    Raises:
        _Bad: it is of another format, a field is missing, or a number cannot be.
    """
    entry, reported = dumped
    alone = entry.kind is DumpLine.ALONE
    if reported.get("magic", "2") in ("0", "1"):
        raise _Bad(_OLD)
    if alone:
        own = {"baseOffset": "offset", "lastOffset": "offset", "baseSequence": "sequence"}
        reported = {**reported, "count": "1", **{name: reported[as_] for name, as_ in own.items() if as_ in reported}}
    base, last = _number(reported, "baseOffset"), _number(reported, "lastOffset")
    sequence, producer_id = _number(reported, "baseSequence"), _number(reported, "producerId")
    count = ABSENT if reported.get("count") == "null" else _number(reported, "count", ABSENT)
    if not (0 < last - base + 1 <= 2**31 and count <= last - base + 1):
        raise _Bad(_NO_COUNT, f"{count} records in offsets {base} to {last}")
    control = _flag(reported, "isControl") if "isControl" in reported else not alone and sequence < 0 <= producer_id
    has = (
        (_flag(reported, "isTransactional"), TRANSACTIONAL),
        (control, CONTROL),
        (reported.get("deleteHorizonMs", _NO_HORIZON) != _NO_HORIZON, DELETE_HORIZON),
        ("LogAppendTime" in reported, APPEND_TIME),
    )
    return DumpedBatch(
        entry.line,
        base,
        last,
        count,
        sequence,
        producer_id,
        _number(reported, "producerEpoch"),
        _number(reported, "partitionLeaderEpoch", ABSENT),
        sum(bit for there, bit in has if there),
        max(_number(reported, name, ABSENT) for name in _TIMES),
        reported.get("crc", ""),
        _number(reported, "position"),
        _number(reported, "size", ABSENT),
        _flag(reported, "isvalid"),
        alone,
    )


def _flag(reported: Mapping[str, str], name: str) -> bool:
    found = _FLAG.match(reported.get(name, ""))
    if found is None:
        raise _Bad(ELIDED, f"{name} first")
    return found[0] == "true"


def _matched(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return "" if found is None else found[1]
