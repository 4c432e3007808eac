"""Segments made again from what Kafka's tools printed of them, so that a text is audited like a log.

A dump has the header of each batch, and the outcome of each marker. Records are made again where a decoder printed
them (`__transaction_state`, `__consumer_offsets`); elsewhere a batch is written without any, which changes nothing that
an audit of headers reads. Where a part is not known, bytes are written that are no batch: the audit is then as cautious
as it is behind damage, and the report says in their place what the text lacks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from model_tests.logs.console_text import OFFSETS_TOPIC, STATES_TOPIC, ConsumedRecords, partition_of
from model_tests.logs.dump_grammar import DumpEntry, DumpLine
from model_tests.logs.dump_text import DumpedBatch, DumpedFile, DumpedRecord, read_dump, unknown_header
from model_tests.logs.dump_values import UNDECODED, Decoded, decoded, read_value
from model_tests.logs.other_texts import TABLE, rows_of
from model_tests.logs.unpacking import TextFile
from model_tests.logs.unread import (
    ENDS,
    INVALID,
    NO_BATCH,
    NO_METADATA,
    NO_OUTCOME,
    NOT_NAMED,
    UNDECODED_OFFSETS,
    UNDECODED_STATES,
    UnreadPart,
    formatted,
)
from reference.log.batch import CHECKED_FROM, HEADER_SIZE, PREFIX_SIZE, decode_header
from reference.log.record import EndTransactionMarker, Record, encode_records, marker_record
from spec.vocabulary import ABSENT, ControlType, CoordinatorEpoch, LeaderEpoch, Timestamp

_FILE: Final = re.compile(
    r"(?:(?P<partition>[\w.-]+?-\d+)(?:\.[0-9a-f]+-\w+)?[/\\])?(?<!\d)(?P<base>\d{20})\.log(?![\w.])", re.ASCII
)
_NAMED: Final = re.compile(r"[\w.-]*\w-\d+(?=\.|$)", re.ASCII)
_LAST: Final = 2**63 - 1  # the largest offset
_CONTROLLERS_TOPIC: Final = "__cluster_metadata"

_DECODERS: Final = {STATES_TOPIC: UNDECODED_STATES, OFFSETS_TOPIC: UNDECODED_OFFSETS}
"""What is not known where nothing decoded a record: a batch's header is judged all the same."""

_TOGETHER: Final = 1000
"""Batches that are written together; of internal topics all, since a record is understood with those after it."""


@dataclass(slots=True)
class SegmentOfText:
    """A segment that is made of a text: what is known of it while its lines are read, and then where it is.

    Attributes:
        text: how a report calls the text.
        partition: topic and number; empty where none of it is kept, None where that is not known yet.
        certain: its partition is named with it, not by the text's name.
        base: its base offset; -1 where it is that of its first batch.
        line: the line from which on it was printed; 0 where nothing is written.
        path: where it is written.
        waiting: batches and unread parts that are not written.
        metadata: of its records metadata were printed (True), or were not.
        holes: positions of bytes that stand for an unread part.
        unknown: the last offset that is not in the text; -1 where all are.
        forms: which of CRC and size were printed of its batches.
    """

    text: str
    partition: str | None = None
    certain: bool = False
    base: int = ABSENT
    line: int = 0
    path: Path = Path()
    waiting: list[DumpedBatch | UnreadPart] = field(default_factory=list)
    metadata: set[bool] = field(default_factory=set)
    holes: set[int] = field(default_factory=set)
    unknown: int = ABSENT
    forms: set[tuple[bool, bool]] = field(default_factory=set)

    @property
    def topic(self) -> str:
        """The segment's topic."""
        return (self.partition or "").rpartition("-")[0]

    @property
    def is_internal(self) -> bool:
        """Whether it is of a topic whose records are read."""
        return self.topic.startswith("__")

    def forget_printed(self) -> None:
        """Leave out what was printed of its batches' bytes: of another replica's the same is not known."""
        content, at = bytearray(self.path.read_bytes()), 0
        while at < len(content):
            batch, length, *_ = decode_header(bytes(content[at : at + HEADER_SIZE]), 0)
            end = at + PREFIX_SIZE + length
            if at not in self.holes and length == HEADER_SIZE - PREFIX_SIZE:
                content[at:end] = batch._replace(base_timestamp=Timestamp(0)).encode()
            at = end
        self.path.write_bytes(content)


class TextReader:
    """Makes the segments of one text.

    Attributes:
        segments: those that are written.
        unread: parts that are not known.
        empty: segments of which no batch was printed.
        passed_over: what was printed of other files, and tables.
        kinds: of its lines.
    """

    def __init__(self, text: TextFile, into: Path) -> None:
        """Make nothing yet.

        Args:
            text: a dump without the line that names its file may be named like its partition.
            into: where the folders of partitions are made.
        """
        named = _NAMED.match(text.name)
        self._text, self._named, self._into = text.label, named[0] if named else "", into
        self.segments: list[SegmentOfText] = []
        self.unread: list[UnreadPart] = []
        self.empty: list[UnreadPart] = []
        self.passed_over: list[str] = []
        self.kinds: set[DumpLine] = set()
        self._segment = SegmentOfText(self._text)

    def read(self, lines: Iterable[DumpEntry]) -> None:
        """Everything in a text; where it breaks off, what was read until then."""
        consumed = ConsumedRecords()
        try:
            for dumped in read_dump(self._of_logs(lines, consumed)):
                self._begin(dumped) if isinstance(dumped, DumpedFile) else self._keep(dumped)
        finally:
            self._write(last=True)
            for partition, batches in consumed.batches.items():
                why = formatted(partition, states=partition.startswith(STATES_TOPIC))
                before = max(batches[0].header.base_offset - 1, 0)
                begins = UnreadPart(batches[0].line, why, first=0, last=before)
                self._segment = SegmentOfText(self._text, partition, base=0, waiting=[begins, *batches])
                self._write(last=True)

    def _of_logs(self, lines: Iterable[DumpEntry], consumed: ConsumedRecords) -> Iterator[DumpEntry]:
        """The lines of dumps; what others say is noted."""
        for entry in lines:
            self.kinds.add(entry.kind)
            if entry.kind is DumpLine.TABLE:
                self.passed_over.append(f"{TABLE}{rows_of(entry.text)}")
            if not consumed.take(entry):
                yield entry

    def _begin(self, file: DumpedFile) -> None:
        self._write(last=True)
        found = _FILE.search(file.name)
        if not file.name:
            self._segment = SegmentOfText(self._text, self._segment.partition or None)
        elif found is None or (found["partition"] or "").startswith(_CONTROLLERS_TOPIC):
            self._segment = SegmentOfText(self._text, "")
            self.passed_over.append(f"{file.name}, printed from line {file.line} on")
        else:
            partition = found["partition"]
            self._segment = SegmentOfText(self._text, partition, partition is not None, int(found["base"]))
            self.empty += [UnreadPart(file.line, NO_BATCH, f"of {partition}")] if partition else []

    def _keep(self, dumped: DumpedBatch | UnreadPart) -> None:
        segment, records = self._segment, dumped.records if isinstance(dumped, DumpedBatch) else []
        if segment.partition is None:
            if isinstance(dumped, UnreadPart) and not dumped.why.damage:
                segment.waiting.append(dumped)  # the batch after it may show
                return
            own = partition_of(read_value(records[0])) if records else ""
            segment.partition = self._named if self._named.startswith("__") else own or self._named
            if not segment.partition:
                self.unread.append(UnreadPart(dumped.line, NOT_NAMED))
        if segment.partition:
            segment.metadata.update(each.offset >= 0 for each in records[:1])
            segment.waiting.append(dumped)
            if not segment.is_internal and len(segment.waiting) >= _TOGETHER:
                self._write()

    def _write(self, *, last: bool = False) -> None:
        """Write what waits; the last of its segment may be cut off."""
        segment = self._segment
        if segment.partition is None and last:
            segment.partition = self._named
        if not segment.partition or not segment.waiting:
            return
        if not segment.line:
            self._open(segment, segment.waiting[0])
        records = (record for batch in segment.waiting for record in _placed(batch) if segment.is_internal)
        values = decoded(records)
        with segment.path.open("ab") as out:
            for number, part in enumerate(segment.waiting, 1):
                unread = _unread(segment, part, ends=last and number == len(segment.waiting))
                self.unread += [unread] if unread else []
                if isinstance(part, DumpedBatch) and (unread is None or unread.why in _DECODERS.values()):
                    out.write(_encoded(part, _body(segment, part, values)))
                    segment.forms.add((part.crc >= 0, part.size >= 0))
                elif unread is not None and max(unread.first, unread.last) >= 0:
                    segment.holes.add(out.tell())
                    if not unread.why.damage:
                        segment.unknown = max(segment.unknown, _begin_of(unread), unread.last)
                    out.write(_hole(unread))
        segment.waiting.clear()

    def _open(self, segment: SegmentOfText, first: DumpedBatch | UnreadPart) -> None:
        if segment.base < 0:
            segment.base = max(first.header.base_offset if isinstance(first, DumpedBatch) else _base_of(first), 0)
        folder = self._into / str(segment.partition)
        folder.mkdir(exist_ok=True, parents=True)
        segment.line, segment.path = first.line, folder / f"{segment.base:020d}.{len(self.segments)}"
        self.segments.append(segment)


def _unread(segment: SegmentOfText, part: DumpedBatch | UnreadPart, *, ends: bool) -> UnreadPart | None:
    """What of a part is not known."""
    if isinstance(part, UnreadPart):
        return part
    header, metadata = part.header, segment.metadata
    why, which = None, f"at offset {header.base_offset}"
    undecoded = None if header.is_control else _DECODERS.get(segment.topic)
    if not part.valid:
        why, which = INVALID, f"{which}, position {part.position}, CRC {part.crc}"
    elif header.is_control and header.record_count and part.marker not in ControlType.__members__:
        why = NO_METADATA if metadata == {False} else ENDS if ends and True in metadata else NO_OUTCOME
    elif undecoded and any(read_value(each) is None for each in _placed(part) or [DumpedRecord(ABSENT)]):
        why, which = undecoded, f"from offset {header.base_offset}"
    return why and UnreadPart(part.line, why, which, header.base_offset, header.last_offset)


def _body(segment: SegmentOfText, dumped: DumpedBatch, values: Mapping[int, Decoded]) -> list[Record] | None:
    """The records of a batch; None where an audit does not read them."""
    header = dumped.header
    if header.is_control and not header.record_count:
        return []
    if header.is_control:
        marker = EndTransactionMarker(ControlType[dumped.marker], CoordinatorEpoch(dumped.coordinator_epoch))
        return [marker_record(marker)]
    if not segment.is_internal:
        return None
    placed = [each.offset for each in _placed(dumped)]
    lacks = len(placed) < (1 if header.record_count == ABSENT else header.record_count)
    return [
        values[offset].encoded(delta) if offset in values else Record(delta, 0, UNDECODED, None)
        for offset in [*placed, *[header.last_offset] * lacks]
        for delta in [offset - header.base_offset]
    ]


def _placed(batch: DumpedBatch | UnreadPart) -> list[DumpedRecord]:
    """The records of a batch, with the offsets that follow where none is printed."""
    if isinstance(batch, UnreadPart) or not batch.valid:
        return []
    return [
        replace(each, offset=min(batch.header.base_offset + n, batch.header.last_offset)) if each.offset < 0 else each
        for n, each in enumerate(batch.records)
    ]


def _encoded(dumped: DumpedBatch, records: list[Record] | None) -> bytes:
    """A batch with its records, or without any, as if it had them."""
    header = dumped.header
    if records is None:
        count = header.last_offset_delta + 1 if header.record_count == ABSENT else header.record_count
        return header._replace(record_count=count).encode()
    body, begins = encode_records(records), header.max_timestamp
    return header._replace(base_timestamp=begins, record_count=len(records), body=body).encode()


def _base_of(unread: UnreadPart) -> int:
    """The base offset of what begins with an unread part; of one that only ends, that of what follows."""
    return unread.first if unread.first >= 0 else unread.last + 1


def _begin_of(unread: UnreadPart) -> int:
    return min(max(unread.first if unread.first >= 0 else unread.last, 0), _LAST)


def _hole(unread: UnreadPart) -> bytes:
    """Bytes that are no batch: their checksum is wrong."""
    first, at = _begin_of(unread), CHECKED_FROM - 1
    header = unknown_header(first, first + min(max(unread.last - first, 0), 2**31 - 1), 0, 0)
    encoded = header._replace(leader_epoch=LeaderEpoch(ABSENT)).encode()
    return encoded[:at] + bytes([encoded[at] ^ 1]) + encoded[CHECKED_FROM:]
