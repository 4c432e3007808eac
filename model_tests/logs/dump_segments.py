"""Segments made again from what `kafka-dump-log` printed of them, so that a dump is audited like a log.

A dump has the header of each batch, and the outcome of each marker. Records are made again where a decoder
printed them (`__transaction_state`); elsewhere a batch is written without any, which changes nothing that an audit of
headers reads. A CRC that the dump calls wrong is wrong again.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from model_tests.logs.dump_states import UNDECODED, State, encoded, states_of
from model_tests.logs.dump_text import BEGINNINGS, Dumped, DumpedBatch, DumpedFile, UnreadLine, read_dump
from model_tests.logs.kafka_log_segment import SegmentDamage
from reference.log.batch import APPEND_TIME, CHECKED_FROM, CONTROL, DELETE_HORIZON, TRANSACTIONAL, RecordBatch
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

_FILE: Final = re.compile(r"(?P<partition>[\w.-]+-\d+)[/\\](?P<base>\d{20})\.log$", re.ASCII)
_NAMED: Final = re.compile(r"^(?P<partition>[\w.-]*[\w]-\d+)(?=[.]|$)", re.ASCII)
_SNIFFED: Final = 4096
STATES_TOPIC: Final = "__transaction_state"
DUMPED: Final = (
    "Of dumped logs a batch's CRC is right where kafka-dump-log says so; records of internal topics are known as far "
    "as --transaction-log-decoder printed them."
)


@dataclass(frozen=True, slots=True)
class Restored:
    """Where segments made from dumps are.

    Attributes:
        paths: what to audit: the given paths, and in place of each dump the folder made of it.
        dumps: the dump of each segment that was made.
        damage: lines of dumps that could not be read.
    """

    paths: tuple[str, ...]
    dumps: Mapping[str, str] = field(default_factory=dict)
    damage: tuple[SegmentDamage, ...] = ()

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is taken for granted where dumps stand for logs."""
        return (DUMPED,) if self.dumps else ()

    def reported(self, path: str) -> str:
        """A path as the user knows it: of a segment that was made, or of its folder, the dump's."""
        inside = (dump for made, dump in self.dumps.items() if made == path or made.startswith(path + os.sep))
        return next(inside, path)


def is_dump(path: Path) -> bool:
    """Whether a file begins as `kafka-dump-log` begins."""
    if path.suffix == ".log" and re.fullmatch(r"\d{20}", path.stem):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_SNIFFED).decode(errors="replace")
    except OSError:
        return False
    return any(line.strip().startswith(BEGINNINGS) for line in head.splitlines())


@contextmanager
def restored(paths: Iterable[str]) -> Iterator[Restored]:
    """The paths, with every dump among them made into segments, which are gone afterwards.

    Dumps that lie in one directory are of one broker. A directory that holds dumps and no folder stands for them.
    """
    shown: list[str] = []
    groups: dict[Path, list[Path]] = {}
    for given in paths:
        dumps = _dumps_at(Path(given))
        shown += [] if dumps else [given]
        for dump in dumps:
            groups.setdefault(dump.parent, []).append(dump)
    with ExitStack() as stack:
        made: dict[str, str] = {}
        damage: list[SegmentDamage] = []
        for together in groups.values():
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="eos-dump-")))
            for dump in dict.fromkeys(together):
                made |= {str(path): str(dump) for path in restore(dump, folder, damage)}
            if any(folder.iterdir()):
                shown.append(str(folder))
        yield Restored(tuple(shown), made, tuple(damage))


def _dumps_at(path: Path) -> tuple[Path, ...]:
    """The dumps that a path stands for."""
    try:
        if path.is_file():
            return (path,) if is_dump(path) else ()
        inside = sorted(path.iterdir()) if path.is_dir() else []
        folders = any(each.is_dir() for each in inside)
    except OSError:
        return ()  # who lists its logs names it
    return () if folders else tuple(each for each in inside if is_dump(each))


def restore(dump: Path, into: Path, damage: list[SegmentDamage]) -> list[Path]:
    """Write the segments of a dump, and add what of it cannot be read to the damage; the segments."""
    with dump.open(encoding="utf-8", errors="replace") as lines:
        writer = _SegmentWriter(dump, into, damage)
        try:
            for dumped in read_dump(lines):
                writer.take(dumped)
        finally:
            writer.close()
    return writer.segments


class _SegmentWriter:
    """Writes one segment after the other, each into the folder of its partition.

    Attributes:
        segments: those that are written.
    """

    def __init__(self, dump: Path, into: Path, damage: list[SegmentDamage]) -> None:
        self._dump, self._into, self._damage = dump, into, damage
        self._states: dict[int, State] = {}
        self._waiting: list[DumpedBatch] = []  # of a coordinator's log: a record is understood with those after it
        self.segments: list[Path] = []
        self._partition = ""
        self._path: Path | None = None
        self._out: BinaryIO | None = None

    def take(self, dumped: Dumped) -> None:
        """Begin a segment, or write a batch to the one that is open."""
        if isinstance(dumped, UnreadLine):
            self._bad(dumped.line, dumped.why)
        elif isinstance(dumped, DumpedFile):
            self._begin(dumped)
        elif self._out is not None or self._begin_unnamed(dumped):
            self._write(dumped)

    def close(self) -> None:
        """The open segment is done."""
        waiting, self._waiting = self._waiting, []
        self._states = states_of(record for batch in waiting for record in batch.records)
        for batch in waiting:
            self._append(batch)
        if self._out is not None:
            self._out.close()
        self._out = None

    @property
    def _topic(self) -> str:
        return self._partition.rpartition("-")[0]

    def _bad(self, line: int, why: str) -> None:
        self._damage.append(SegmentDamage(str(self._dump), line, f"line {line}: {why}"))

    def _begin(self, file: DumpedFile) -> None:
        self.close()
        found = _FILE.search(file.name)
        if found is not None:
            self._open(found["partition"], int(found["base"]), file.line)
        elif file.name.endswith(".log"):
            self._bad(file.line, f"{file.name} is no segment of a partition: neither its folder nor its name is one's")

    def _begin_unnamed(self, first: DumpedBatch) -> bool:
        """A dump without the line that names its file may be named like its partition; whether it is."""
        found = _NAMED.match(self._dump.name)
        if found is None and self._path is None and not self._damage:
            self._bad(first.line, "no line names the dumped file: name it like its partition (orders-3.dump)")
        if found is not None and self._path is None:
            self._open(found["partition"], first.base_offset, first.line)
        return self._out is not None

    def _open(self, partition: str, base: int, line: int) -> None:
        folder = self._into / partition
        folder.mkdir(exist_ok=True)
        self._partition = partition
        self._path = folder / f"{base:020d}.log"
        if self._path.exists():
            self._bad(line, f"{partition} from offset {base} was dumped before: it is judged as it was then")
            return
        self.segments.append(self._path)
        self._out = self._path.open("wb")

    def _write(self, dumped: DumpedBatch) -> None:
        if dumped.control and dumped.count != 0 and dumped.marker not in ControlType.__members__:
            self._give_up(dumped.line)
        elif self._topic == STATES_TOPIC:
            self._waiting.append(dumped)
        else:
            self._append(dumped)

    def _append(self, dumped: DumpedBatch) -> None:
        if self._out is not None:
            batch = self._batch(dumped).encode()
            self._out.write(batch if dumped.valid else _unsound(batch))

    def _give_up(self, line: int) -> None:
        """A marker's outcome is not printed, so that nothing can be said of the whole segment's transactions."""
        self.close()
        if self._path is not None:
            self.segments.remove(self._path)
            self._path.unlink()
            if not any(self._path.parent.iterdir()):
                self._path.parent.rmdir()
        self._bad(line, "a control batch without its marker: dump with --deep-iteration or --print-data-log")

    def _batch(self, dumped: DumpedBatch) -> RecordBatch:
        delta = dumped.last_offset - dumped.base_offset
        count = delta + 1 if dumped.count == ABSENT else dumped.count
        return RecordBatch(
            Offset(dumped.base_offset),
            LeaderEpoch(dumped.leader_epoch),
            _attributes(dumped),
            delta,
            Timestamp(dumped.timestamp),
            Timestamp(dumped.timestamp),
            ProducerId(dumped.producer_id),
            Epoch(dumped.producer_epoch),
            Sequence(dumped.base_sequence),
            count,
            self._body(dumped, count),
        )

    def _body(self, dumped: DumpedBatch, count: int) -> bytes:
        if not count:
            return b""
        if dumped.control:
            marker = EndTransactionMarker(ControlType[dumped.marker], CoordinatorEpoch(dumped.coordinator_epoch))
            return encode_records([marker_record(marker)])
        if self._topic == STATES_TOPIC and len(dumped.records) == count:
            reported = ((self._states.get(each.offset), each.offset - dumped.base_offset) for each in dumped.records)
            return encode_records(encoded(state, delta) for state, delta in reported)
        if self._topic.startswith("__"):
            return encode_records(Record(delta, 0, UNDECODED, None) for delta in range(count))
        return b""


def _attributes(dumped: DumpedBatch) -> int:
    has = (
        (dumped.transactional, TRANSACTIONAL),
        (dumped.control, CONTROL),
        (dumped.cleaned, DELETE_HORIZON),
        (dumped.append_time, APPEND_TIME),
    )
    return sum(bit for there, bit in has if there)


def _unsound(encoded: bytes) -> bytes:
    """The batch with another CRC than its bytes have."""
    at = CHECKED_FROM - 1
    return encoded[:at] + bytes([encoded[at] ^ 1]) + encoded[CHECKED_FROM:]
