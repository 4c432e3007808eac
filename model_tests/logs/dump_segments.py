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
from typing import BinaryIO, Final

from model_tests.logs.console_text import OFFSETS_TOPIC, STATES_TOPIC, ConsumedRecords, partition_of
from model_tests.logs.dump_grammar import DumpEntry, DumpLine
from model_tests.logs.dump_text import Dumped, DumpedBatch, DumpedFile, DumpedRecord, read_dump
from model_tests.logs.dump_values import UNDECODED, Decoded, decoded, read_value
from model_tests.logs.other_texts import TABLE, rows_of
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
from reference.log.batch import CHECKED_FROM, HEADER_SIZE, PREFIX_SIZE, RecordBatch, decode_header
from reference.log.record import EndTransactionMarker, Record, encode_records, marker_record
from spec.vocabulary import (
    ABSENT,
    ControlType,
    CoordinatorEpoch,
    Epoch,
    LeaderEpoch,
    Offset,
    ProducerId,
    Sequence,
    Timestamp,
)

_FILE: Final = re.compile(
    r"(?:(?P<partition>[\w.-]+?-\d+)(?:\.[0-9a-f]+-\w+)?[/\\])?(?<!\d)(?P<base>\d{20})\.log(?![\w.])", re.ASCII
)
_NAMED: Final = re.compile(r"^(?P<partition>[\w.-]*[\w]-\d+)(?=[.]|$)", re.ASCII)
_LAST: Final = 2**63 - 1  # the largest offset
_CONTROLLERS_TOPIC: Final = "__cluster_metadata"

_DECODERS: Final = {STATES_TOPIC: UNDECODED_STATES, OFFSETS_TOPIC: UNDECODED_OFFSETS}
"""What is not known where nothing decoded a record: a batch's header is judged all the same."""


@dataclass(slots=True)
class SegmentOfText:
    """A segment that is made of a text.

    Attributes:
        path: where it is written.
        partition: topic and number.
        base: its base offset.
        line: the line from which on it was printed.
        certain: its partition is named with it, not by the text's name.
        holes: positions of bytes that stand for an unread part.
        unknown: the last offset that is not in the text; -1 where all are.
        forms: which of CRC and size were printed of its batches.
    """

    path: Path
    partition: str
    base: int
    line: int
    certain: bool
    holes: set[int] = field(default_factory=set)
    unknown: int = ABSENT
    forms: set[tuple[bool, bool]] = field(default_factory=set)

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


@dataclass(slots=True)
class Section:
    """What is known of the section of one file while it is read.

    Attributes:
        partition: the file's; empty where none of it is kept.
        waiting: batches and unread parts: a record of an internal topic is understood with those after it.
        bare: records were printed without their metadata.
    """

    partition: str = ""
    named: bool = False
    certain: bool = False
    base: int = ABSENT
    waiting: list[DumpedBatch | UnreadPart] = field(default_factory=list)
    bare: bool = False
    full: bool = False

    @property
    def topic(self) -> str:
        """The file's topic."""
        return self.partition.rpartition("-")[0]


class TextReader:
    """Makes the segments of one text.

    Attributes:
        segments: those that are written.
        unread: parts that are not known.
        empty: segments of which no batch was printed.
        passed_over: what was printed of other files, and tables.
        kinds: of its lines.
    """

    def __init__(self, name: str, into: Path) -> None:
        """Make nothing yet.

        Args:
            name: how the file is called: a dump without the line that names its file may be named like its partition.
            into: where the folders of partitions are made.
        """
        self._named, self._into = _NAMED.match(name), into
        self.segments: list[SegmentOfText] = []
        self.unread: list[UnreadPart] = []
        self.empty: list[UnreadPart] = []
        self.passed_over: list[str] = []
        self.kinds: set[DumpLine] = set()
        self._section = Section()
        self._out: BinaryIO | None = None

    def read(self, lines: Iterable[DumpEntry]) -> None:
        """Everything in a text; where it breaks off, what was read until then."""
        consumed = ConsumedRecords()
        try:
            for dumped in read_dump(self._of_logs(lines, consumed)):
                self._take(dumped)
        finally:
            self._close()
            for partition, batches in consumed.batches.items():
                why = formatted(partition, states=partition.startswith(STATES_TOPIC))
                begins = UnreadPart(batches[0].line, why, first=0, last=max(batches[0].base_offset - 1, 0))
                self._section = Section(partition, named=True, base=0, waiting=[begins, *batches])
                self._close()

    def _of_logs(self, lines: Iterable[DumpEntry], consumed: ConsumedRecords) -> Iterator[DumpEntry]:
        """The lines of dumps; what others say is noted."""
        for entry in lines:
            self.kinds.add(entry.kind)
            if entry.kind is DumpLine.TABLE:
                self.passed_over.append(f"{TABLE}{rows_of(entry.text)}")
            if not consumed.take(entry):
                yield entry

    def _take(self, dumped: Dumped) -> None:
        if isinstance(dumped, DumpedFile):
            self._close()
            self._begin(dumped)
        elif self._section.named or self._named_by(dumped):
            self._keep(dumped)

    def _begin(self, file: DumpedFile) -> None:
        found = _FILE.search(file.name)
        last, self._section = self._section, Section(named=True)
        if not file.name:
            self._section = Section(last.partition, named=last.named and bool(last.partition))
        elif found is None or (found["partition"] or "").startswith(_CONTROLLERS_TOPIC):
            self.passed_over.append(f"{file.name}, printed from line {file.line} on")
        elif found["partition"] is None:
            self._section = Section(base=int(found["base"]))
        else:
            self._section = Section(found["partition"], named=True, certain=True, base=int(found["base"]))
            self.empty.append(UnreadPart(file.line, NO_BATCH, f"of {found['partition']}"))

    def _named_by(self, dumped: DumpedBatch | UnreadPart) -> bool:
        """Name a section whose file is not named, or not with its folder; whether that is possible."""
        section = self._section
        if self._named is not None:
            section.partition = self._named["partition"]
        elif isinstance(dumped, DumpedBatch) and dumped.records:
            section.partition = partition_of(read_value(dumped.records[0]))
        elif isinstance(dumped, UnreadPart) and not dumped.why.damage:
            section.waiting.append(dumped)  # the batch after it may show
            return False
        section.named = True
        if not section.partition:
            self.unread.append(UnreadPart(dumped.line, NOT_NAMED))
        return bool(section.partition)

    def _keep(self, dumped: DumpedBatch | UnreadPart) -> None:
        section = self._section
        if section.partition:
            if isinstance(dumped, DumpedBatch) and dumped.records:
                section.full |= dumped.records[0].offset >= 0
                section.bare |= dumped.records[0].offset < 0
            section.waiting.append(dumped)
            if not section.topic.startswith("__") and len(section.waiting) >= 1000:
                self._write()

    def _close(self) -> None:
        """The section is complete."""
        self._write(last=True)
        if self._out is not None:
            self._out.close()
        self._out = None
        self._section.waiting.clear()

    def _write(self, *, last: bool = False) -> None:
        section = self._section
        if not section.partition or not section.waiting:
            return
        if self._out is None:
            self._open()
        values = decoded(record for batch in section.waiting for record in _placed(batch))
        for number, part in enumerate(section.waiting, 1):
            unread = self._unread(part, ends=last and number == len(section.waiting))
            if unread is not None:
                self.unread.append(unread)
            if isinstance(part, UnreadPart) or (unread is not None and unread.why not in _DECODERS.values()):
                self._write_hole(part, unread)
            else:
                self._append(part, _batch(part, self._body(part, values)))
        section.waiting.clear()

    def _unread(self, part: DumpedBatch | UnreadPart, *, ends: bool) -> UnreadPart | None:
        """What of a part is not known."""
        if isinstance(part, UnreadPart):
            return part
        first, last = part.base_offset, part.last_offset
        if not part.valid:
            which = f"at offset {first}, position {part.position}, CRC {part.crc}"
            return UnreadPart(part.line, INVALID, which, first, last)
        if part.control and part.count != 0 and part.marker not in ControlType.__members__:
            bare = self._section.bare and not self._section.full
            why = ENDS if ends and not bare and self._section.full else NO_METADATA if bare else NO_OUTCOME
            return UnreadPart(part.line, why, f"at offset {first}", first, last)
        undecoded = None if part.control else _DECODERS.get(self._section.topic)
        if undecoded and any(read_value(each) is None for each in _placed(part) or [DumpedRecord(first)]):
            return UnreadPart(part.line, undecoded, f"from offset {first}", first, last)
        return None

    def _open(self) -> None:
        section = self._section
        first = section.waiting[0]
        base = section.base
        if base < 0:
            begins = first.base_offset if isinstance(first, DumpedBatch) else _begin_of(first)
            base = max(begins, 0)
        folder = self._into / section.partition
        folder.mkdir(exist_ok=True, parents=True)
        path = folder / f"{base:020d}.{len(self.segments)}"
        self.segments.append(SegmentOfText(path, section.partition, base, first.line, section.certain))
        self._out = path.open("wb")

    def _write_hole(self, part: DumpedBatch | UnreadPart, unread: UnreadPart | None) -> None:
        if self._out is None or unread is None or max(unread.first, unread.last) < 0:
            return
        first, made = _begin_of(unread), self.segments[-1]
        made.holes.add(self._out.tell())
        made.unknown = max(made.unknown, first, unread.last) if not unread.why.damage else made.unknown
        hole = DumpedBatch(
            part.line, first, first + min(max(unread.last - first, 0), 2**31 - 1), 0, leader_epoch=ABSENT, timestamp=0
        )
        encoded, at = _batch(hole, []).encode(), CHECKED_FROM - 1
        self._out.write(encoded[:at] + bytes([encoded[at] ^ 1]) + encoded[CHECKED_FROM:])

    def _append(self, dumped: DumpedBatch, batch: RecordBatch) -> None:
        if self._out is not None:
            self._out.write(batch.encode())
            self.segments[-1].forms.add((bool(dumped.crc), dumped.size >= 0))

    def _body(self, dumped: DumpedBatch, values: Mapping[int, Decoded]) -> list[Record] | None:
        """The records of a batch; none where an audit does not read them."""
        if dumped.control and not dumped.count:
            return []
        if dumped.control:
            marker = EndTransactionMarker(ControlType[dumped.marker], CoordinatorEpoch(dumped.coordinator_epoch))
            return [marker_record(marker)]
        if not self._section.topic.startswith("__"):
            return None
        records = []
        for each in _placed(dumped):
            delta, value = each.offset - dumped.base_offset, values.get(each.offset)
            records.append(Record(delta, 0, UNDECODED, None) if value is None else value.encoded(delta))
        lacks = len(records) < (1 if dumped.count == ABSENT else dumped.count)
        return [*records, Record(dumped.last_offset - dumped.base_offset, 0, UNDECODED, None)] if lacks else records


def _placed(batch: DumpedBatch | UnreadPart) -> list[DumpedRecord]:
    """The records of a batch, with the offsets that follow where none is printed."""
    if isinstance(batch, UnreadPart) or not batch.valid:
        return []
    return [
        replace(each, offset=min(batch.base_offset + n, batch.last_offset)) if each.offset < 0 else each
        for n, each in enumerate(batch.records)
    ]


def _begin_of(unread: UnreadPart) -> int:
    return min(max(unread.first if unread.first >= 0 else unread.last, 0), _LAST)


def _printed(dumped: DumpedBatch) -> Timestamp:
    """CRC and size of a batch as one number: by what was printed of their bytes replicas are compared."""
    checksum = int(dumped.crc) if dumped.crc.isdecimal() else 0
    return Timestamp((max(dumped.size, 0) << 32) + (checksum & 0xFFFFFFFF))


def _batch(dumped: DumpedBatch, records: list[Record] | None) -> RecordBatch:
    """The batch; one without its records has what was printed of them in the place of its base timestamp."""
    delta = dumped.last_offset - dumped.base_offset
    count = delta + 1 if dumped.count == ABSENT else dumped.count
    return RecordBatch(
        Offset(dumped.base_offset),
        LeaderEpoch(dumped.leader_epoch),
        dumped.attributes,
        delta,
        _printed(dumped) if records is None else Timestamp(dumped.timestamp),
        Timestamp(dumped.timestamp),
        ProducerId(dumped.producer_id),
        Epoch(dumped.producer_epoch),
        Sequence(dumped.base_sequence),
        count if records is None else len(records),
        encode_records(records or ()),
    )
