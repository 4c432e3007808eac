"""What `kafka-dump-log` prints, in the words of its releases, read line by line.

Since 2.0 a batch has a line of its own (`baseOffset: ...`) and, with `--deep-iteration` or `--print-data-log`, its
records follow (`| offset: ...`). Releases before printed records alone (`offset: ... position: ...`); those of one
batch share its position. What a decoder of an internal topic printed is kept as text.

Source: kafka.tools.DumpLogSegments, kafka.coordinator.transaction.TransactionLog.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from spec.vocabulary import ABSENT

DUMPING: Final = "Dumping "
"""Begins the section of one file."""

BEGINNINGS: Final = (DUMPING, "Starting offset: ", "Log starting offset: ", "baseOffset: ", "offset: ")
"""How the first lines of a dump may begin."""

_FIELD: Final = re.compile(r"(\w+): (\S+)")
_NO_HORIZON: Final = "OptionalLong.empty"
_KEY: Final = re.compile(r" key: (.*?)(?= payload: |$)", re.DOTALL)
_PAYLOAD: Final = re.compile(r" payload: (.*)$", re.DOTALL)
_TIMES: Final = ("CreateTime", "LogAppendTime", "NoTimestampType", "createTime")


@dataclass(frozen=True, slots=True)
class DumpedRecord:
    """A record: its offset, and the key and value if a decoder printed them; empty where nothing was."""

    offset: int
    key: str = ""
    payload: str = ""


@dataclass(frozen=True, slots=True)
class DumpedBatch:
    """One batch as it was printed.

    Attributes:
        line: number of its line, from 1.
        count: its records; -1 where that was not printed.
        timestamp: its newest, in milliseconds.
        valid: whether its CRC was found right.
        marker: COMMIT or ABORT, empty where no record has it.
        records: those that were printed.
    """

    line: int
    base_offset: int
    last_offset: int
    count: int
    base_sequence: int
    producer_id: int
    producer_epoch: int
    leader_epoch: int
    transactional: bool
    control: bool
    cleaned: bool
    append_time: bool
    timestamp: int
    valid: bool
    position: int
    marker: str = ""
    coordinator_epoch: int = ABSENT
    records: tuple[DumpedRecord, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class DumpedFile:
    """The line with which the section of a file begins, and its name."""

    line: int
    name: str


@dataclass(frozen=True, slots=True)
class UnreadLine:
    """A line that is none of a dump's, and why."""

    line: int
    why: str


Dumped: TypeAlias = DumpedFile | DumpedBatch | UnreadLine


def read_dump(lines: Iterable[str]) -> Iterator[Dumped]:
    """The files, batches and unreadable lines of a dump, in order; a batch comes with its records."""
    reader = _DumpReader()
    for number, line in enumerate(lines, 1):
        reader.read(number, line.strip())
        yield from reader.taken()
    reader.end_batch()
    yield from reader.taken()


class _DumpReader:
    """Reads one line after the other.

    Attributes:
        batch: the one whose records are being read.
        done: what is complete.
    """

    def __init__(self) -> None:
        self.batch: DumpedBatch | None = None
        self.done: list[Dumped] = []

    def taken(self) -> list[Dumped]:
        """What has become complete since this was last asked."""
        done, self.done = self.done, []
        return done

    def end_batch(self) -> None:
        """The batch before has all its records."""
        if self.batch is not None:
            self.done.append(self.batch)
        self.batch = None

    def read(self, number: int, text: str) -> None:
        """The next line."""
        if text.startswith("baseOffset: "):
            self.end_batch()
            self.batch = _batch(number, _fields(text))
            if self.batch is None:
                self.done.append(UnreadLine(number, "a batch of which not every number can be read"))
        elif text.startswith("| "):
            self._record(number, text)
        elif text.startswith("offset: "):
            self._record_alone(number, text)
        elif text.startswith(DUMPING):
            self.end_batch()
            self.done.append(DumpedFile(number, text.removeprefix(DUMPING)))
        elif text.startswith("Found ") and "invalid bytes" in text:
            self.end_batch()
            self.done.append(UnreadLine(number, text))
        elif self.batch is None and text and not text.startswith(BEGINNINGS):
            self.done.append(UnreadLine(number, f"not a line of a dump: {text[:60]!r}"))

    def _record(self, number: int, text: str) -> None:
        """A record of the batch before it, in whatever spelling."""
        reported = _fields(_head(text))
        try:
            record = _dumped(text, reported)
        except (KeyError, ValueError):
            self.done.append(UnreadLine(number, "a record without an offset"))
            return
        if self.batch is not None:
            self.batch = _with_record(self.batch, record, reported)

    def _record_alone(self, number: int, text: str) -> None:
        """A record that has its batch's fields itself: of the batch before it, if that lies in the same place."""
        reported = _fields(_head(text))
        own = _batch_of_record(number, reported)
        if own is None:
            self.end_batch()
            why = "a message before record batches (magic 2), or one of which not every number can be read"
            self.done.append(UnreadLine(number, why))
            return
        if self.batch is not None and self.batch.position == own.position:
            own = replace(self.batch, last_offset=own.last_offset, count=self.batch.count + 1)
        else:
            self.end_batch()
        self.batch = _with_record(own, _dumped(text, reported), reported)


def _dumped(text: str, reported: Mapping[str, str]) -> DumpedRecord:
    return DumpedRecord(int(reported["offset"]), _matched(_KEY, text), _matched(_PAYLOAD, text))


def _head(text: str) -> str:
    """The line without key and value, which may look like fields."""
    return text.partition(" payload: ")[0].partition(" key: ")[0]


def _with_record(batch: DumpedBatch, record: DumpedRecord, reported: Mapping[str, str]) -> DumpedBatch:
    batch = replace(batch, records=(*batch.records, record))
    if "endTxnMarker" not in reported:
        return batch
    epoch = int(reported.get("coordinatorEpoch", ABSENT))
    return replace(batch, control=True, marker=reported["endTxnMarker"], coordinator_epoch=epoch)


def _fields(text: str) -> dict[str, str]:
    return dict(_FIELD.findall(text))


def _matched(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return "" if found is None else found[1]


def _batch(number: int, reported: Mapping[str, str]) -> DumpedBatch | None:
    """The batch of a line of its own."""
    try:
        count = reported.get("count", str(ABSENT))
        return replace(
            _shared(number, reported, int(reported["baseOffset"]), int(reported["baseSequence"])),
            last_offset=int(reported["lastOffset"]),
            count=ABSENT if count == "null" else int(count),
            leader_epoch=int(reported.get("partitionLeaderEpoch", ABSENT)),
            control=reported.get("isControl", "false") == "true",
            cleaned=reported.get("deleteHorizonMs", _NO_HORIZON) != _NO_HORIZON,
        )
    except (KeyError, ValueError):
        return None


def _batch_of_record(number: int, reported: Mapping[str, str]) -> DumpedBatch | None:
    """The batch of a record that has its batch's fields itself."""
    try:
        return _shared(number, reported, int(reported["offset"]), int(reported["sequence"]))
    except (KeyError, ValueError):
        return None


def _shared(number: int, reported: Mapping[str, str], base_offset: int, base_sequence: int) -> DumpedBatch:
    """What both spellings have, as a batch of one record."""
    if reported.get("magic", "2") != "2":
        raise ValueError(f"magic {reported['magic']}")
    return DumpedBatch(
        line=number,
        base_offset=base_offset,
        last_offset=base_offset,
        count=1,
        base_sequence=base_sequence,
        producer_id=int(reported["producerId"]),
        producer_epoch=int(reported["producerEpoch"]),
        leader_epoch=ABSENT,
        transactional=reported["isTransactional"] == "true",
        control=False,
        cleaned=False,
        append_time="LogAppendTime" in reported,
        timestamp=next((int(reported[name]) for name in _TIMES if name in reported), ABSENT),
        valid=reported.get("isvalid", "true") == "true",
        position=int(reported.get("position", ABSENT)),
    )
