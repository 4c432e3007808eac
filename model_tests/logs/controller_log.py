"""Reading `__cluster_metadata`: what each record of the controller's log changes."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from model_tests.logs.controller_log_values import OF_BROKERS, Change, NotRead, read_change
from model_tests.logs.coordinator_log import damage_at, raw_records
from model_tests.logs.kafka_log_batches import Batches
from model_tests.logs.kafka_log_fields import MalformedBytes
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.logs.kafka_log_read import SegmentDamage, SegmentRange, read_checked
from model_tests.logs.locations import Location, located, names_in
from spec.vocabulary import ABSENT

TOPIC: Final = "__cluster_metadata"

DAMAGED: Final = "damaged record"
"""What is not read, where the bytes of a record do not have the form of one."""

_CHECKPOINT: Final = re.compile(r"(\d{20})-\d{10}\.checkpoint")


@dataclass(frozen=True, slots=True)
class ControllerRecord:
    """One record that changes something; `row` is the place of its batch, which takes effect as a whole."""

    row: int
    offset: int
    timestamp: int
    change: Change


@dataclass(frozen=True, slots=True)
class UnreadRecords:
    """Records of the controller's log that are not read, of one kind and version.

    Attributes:
        kind: the name of the kind, or its number; else what they are.
        version: of the kind; -1 where that is not why.
        newest: the newest version that is known of it; -1 where the kind is not.
        count: their number.
        first: the offset of the first of them; -1 in a checkpoint.
        last: the offset of the last of them.
    """

    kind: str
    version: int
    newest: int
    count: int
    first: int
    last: int

    @property
    def of_leaders(self) -> bool:
        """Who leads may depend on them; else who is alive does."""
        return self.kind not in OF_BROKERS

    def __str__(self) -> str:
        known = f", known up to {self.newest}" if self.newest != ABSENT else ""
        version = f" of version {self.version}{known}" if self.version != ABSENT else ""
        where = f"at offset {self.first}" if self.first == self.last else f"at offsets {self.first} to {self.last}"
        return f"{self.count} {self.kind}{version}, {where if self.first != ABSENT else 'in the checkpoint'}"


@dataclass(slots=True)
class ControllerLog:
    """The contents of the controller's log.

    Attributes:
        known: what a checkpoint has of everything before the log's first record.
        whole: nothing before the first record is missing.
        passed_over: records that have nothing to do with leaders, by name.
        unread: records that are not read, by kind and version, in the order of the first ones.
    """

    records: list[ControllerRecord] = field(default_factory=list)
    known: list[ControllerRecord] = field(default_factory=list)
    whole: bool = False
    passed_over: Counter[str] = field(default_factory=Counter)
    unread: list[UnreadRecords] = field(default_factory=list)
    damage: list[SegmentDamage] = field(default_factory=list)

    def add_unread(self, kind: str, version: int, newest: int, offset: int) -> None:
        """One more record that is not read.

        Args:
            kind: the name of its kind, or what it is.
            version: of the kind; -1 where that is not why.
            newest: the newest version that is known of it; -1 where the kind is not.
            offset: of the record.
        """
        for place, one in enumerate(self.unread):
            if (one.kind, one.version) == (kind, version):
                first, last = min(one.first, offset), max(one.last, offset)
                self.unread[place] = replace(one, count=one.count + 1, first=first, last=last)
                return
        self.unread.append(UnreadRecords(kind, version, newest, 1, offset, offset))


def read_controller(log: LogFolder, batches: Batches) -> ControllerLog:
    """The records of the log, and those of the checkpoint that it continues."""
    found = ControllerLog()
    found.records = _changes(log, batches, found)
    first = log.segments[0].base
    checkpoint = _checkpoint_before(log, first) if first else None
    found.whole = not first or checkpoint is not None
    if checkpoint is not None:
        segment = SegmentRange(str(checkpoint), 0)
        content, damage = read_checked(segment)
        before = ControllerLog(damage=damage)
        found.known = _changes(replace(log, segments=(segment,)), content, before)
        found.damage += before.damage
        found.passed_over += before.passed_over
        found.unread = [replace(one, first=ABSENT, last=ABSENT) for one in before.unread] + found.unread
    return found


def _changes(log: LogFolder, batches: Batches, found: ControllerLog) -> list[ControllerRecord]:
    skipped: list[tuple[int, str]] = []
    records: list[ControllerRecord] = []
    for raw in raw_records(log, batches, skipped, found.damage):
        try:
            kind, change = read_change(raw.value)
        except NotRead as why:
            found.add_unread(why.kind, why.version, why.newest, raw.offset)
        except MalformedBytes as why:
            found.add_unread(DAMAGED, ABSENT, ABSENT, raw.offset)
            found.damage.append(damage_at(log, batches, raw.row, f"the record at offset {raw.offset}: {why}"))
        else:
            if change is None:
                found.passed_over[kind] += 1
            else:
                records.append(ControllerRecord(raw.row, raw.offset, raw.timestamp, change))
    for offset, reason in skipped:
        found.add_unread(f"batch: {reason}", ABSENT, ABSENT, offset)
    return records


def _checkpoint_before(log: LogFolder, first: int) -> Location | None:
    """The newest checkpoint that leaves no gap before the log's first offset."""
    folder = located(log.path)
    reaching = [name for name in names_in(folder) if _CHECKPOINT.fullmatch(name) and int(name[:20]) >= first]
    return folder / min(reaching) if reaching else None
