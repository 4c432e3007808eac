"""Reading `__cluster_metadata`: what each record of the controller's log changes."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from model_tests.traces.logs.controller_log_values import Change, read_change
from model_tests.traces.logs.coordinator_log import damage_at, raw_records
from model_tests.traces.logs.kafka_log_batches import Batches
from model_tests.traces.logs.kafka_log_fields import Malformed, Unknown
from model_tests.traces.logs.kafka_log_folders import LogFolder
from model_tests.traces.logs.kafka_log_read import Damage, Segment, read_checked
from model_tests.traces.logs.locations import Location, located, names_in

TOPIC: Final = "__cluster_metadata"

_CHECKPOINT: Final = re.compile(r"(\d{20})-\d{10}\.checkpoint")


@dataclass(frozen=True, slots=True)
class ControllerRecord:
    """One record that changes something; `row` is the place of its batch, which takes effect as a whole."""

    row: int
    offset: int
    timestamp: int
    change: Change


@dataclass(slots=True)
class ControllerLog:
    """What the controller's log says.

    Attributes:
        known: what a checkpoint says of everything before the log's first record.
        whole: nothing before the first record is missing.
        passed_over: records that have nothing to do with leaders, or are of no known version, by name.
    """

    records: list[ControllerRecord] = field(default_factory=list)
    known: list[ControllerRecord] = field(default_factory=list)
    whole: bool = False
    passed_over: Counter[str] = field(default_factory=Counter)
    damage: list[Damage] = field(default_factory=list)


def read_controller(log: LogFolder, batches: Batches) -> ControllerLog:
    """The records of the log, and those of the checkpoint that it goes on from."""
    found = ControllerLog()
    found.records = _changes(log, batches, found)
    first = log.segments[0].base
    checkpoint = _checkpoint_before(log, first) if first else None
    found.whole = not first or checkpoint is not None
    if checkpoint is not None:
        segment = Segment(str(checkpoint), 0)
        content, damage = read_checked(segment)
        found.damage += damage
        found.known = _changes(replace(log, segments=(segment,)), content, found)
    return found


def _changes(log: LogFolder, batches: Batches, found: ControllerLog) -> list[ControllerRecord]:
    skipped: list[tuple[int, str]] = []
    records: list[ControllerRecord] = []
    for raw in raw_records(log, batches, skipped, found.damage):
        try:
            kind, change = read_change(raw.value)
        except Unknown as why:
            found.passed_over[str(why)] += 1
        except Malformed as why:
            found.damage.append(damage_at(log, batches, raw.row, f"the record at offset {raw.offset}: {why}"))
        else:
            if change is None:
                found.passed_over[kind] += 1
            else:
                records.append(ControllerRecord(raw.row, raw.offset, raw.timestamp, change))
    found.passed_over.update(why for _, why in skipped)
    return records


def _checkpoint_before(log: LogFolder, first: int) -> Location | None:
    """The newest checkpoint that leaves no gap before the log's first offset."""
    folder = located(log.path)
    reaching = [name for name in names_in(folder) if _CHECKPOINT.fullmatch(name) and int(name[:20]) >= first]
    return folder / min(reaching) if reaching else None
