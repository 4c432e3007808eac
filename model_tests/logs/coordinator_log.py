"""Reading `__transaction_state`: which state each transactional id was given, record by record."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from model_tests.logs.coordinator_log_values import StateValue, read_key, read_value
from model_tests.logs.kafka_log_batches import COMPRESSION, HEADER_SIZE, Batches
from model_tests.logs.kafka_log_control import Unreadable, varint
from model_tests.logs.kafka_log_fields import MalformedBytes, UnknownSchema
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.logs.locations import located, reason

TOPIC: Final = "__transaction_state"

MALFORMED: Final = "damaged value"
"""How the reason begins, where the value of a record does not have the form of one."""

_TIMESTAMP_AT: Final = 27  # where a batch has its base timestamp, in bytes from its beginning


@dataclass(frozen=True, slots=True)
class StateRecord:
    """One record of the coordinator's log.

    Attributes:
        row: place of its batch among the log's batches.
        timestamp: when it was appended, by the clock of the coordinator.
        coordinator_epoch: of the coordinator that appended it: the leader epoch of the batch, or a lower one behind it.
        value: the new state; none for a tombstone.
        unread: why a value is not known; empty where it is, and for a tombstone.
    """

    row: int
    offset: int
    timestamp: int
    coordinator_epoch: int
    transactional_id: str
    value: StateValue | None
    unread: str = ""


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One record of any batch: where it is, and its bytes."""

    row: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def read_states(
    log: LogFolder, batches: Batches
) -> tuple[list[StateRecord], list[tuple[int, str]], list[SegmentDamage]]:
    """The states in the order of the log; offsets of records that nothing is known of, each with the reason; damage."""
    states: list[StateRecord] = []
    skipped: list[tuple[int, str]] = []
    damage: list[SegmentDamage] = []
    epochs = np.minimum.accumulate(batches.leader_epoch[::-1])[::-1]
    for raw in raw_records(log, batches, skipped, damage):
        try:
            states.append(_state(raw, int(epochs[raw.row])))
        except UnknownSchema as why:
            skipped.append((raw.offset, str(why)))
        except MalformedBytes as why:
            damage.append(damage_at(log, batches, raw.row, f"the record at offset {raw.offset}: {why}"))
    malformed = [one for one in states if one.unread.startswith(MALFORMED)]
    damage += [
        damage_at(log, batches, one.row, f"the record at offset {one.offset}: {one.unread}") for one in malformed
    ]
    return states, skipped, damage


def raw_records(
    log: LogFolder, batches: Batches, skipped: list[tuple[int, str]], damage: list[SegmentDamage]
) -> Iterator[RawRecord]:
    """The records of every batch of data; those that cannot be read are added to `skipped` or `damage`.

    Args:
        log: of one partition on one broker.
        batches: of the log, as columns.
        skipped: records of unknown versions; more may be added.
        damage: what could not be read; more may be added.
    """
    for segment in log.segments:
        rows = np.flatnonzero((batches.segment == segment.base) & ~batches.control)
        if not len(rows):
            continue
        try:
            content = located(segment.path).read_bytes()
        except OSError as error:  # it was there when its headers were read
            damage.append(damage_at(log, batches, int(rows[0]), f"cannot be read any more: {reason(error)}"))
            skipped.append((int(batches.base_offset[rows[0]]), "a segment that cannot be read any more"))
            continue
        for row in rows.tolist():
            start = int(batches.position[row])
            batch = content[start : start + int(batches.size[row])]
            if batches.attributes[row] & COMPRESSION:
                skipped.append(
                    (int(batches.base_offset[row]), "the batch is compressed, which a coordinator never does")
                )
                continue
            try:
                yield from list(_records(batch, row, batches))
            except (Unreadable, IndexError):
                what = f"the records of the batch at offset {batches.base_offset[row]} cannot be read"
                damage.append(damage_at(log, batches, row, what))


def _records(batch: bytes, row: int, batches: Batches) -> Iterator[RawRecord]:
    base = int.from_bytes(batch[_TIMESTAMP_AT : _TIMESTAMP_AT + 8], "big", signed=True)
    position = HEADER_SIZE
    for _ in range(int(batches.record_count[row])):
        length, position = varint(batch, position)
        after = position + length
        later, inside = varint(batch, position + 1)  # after the record's attributes
        delta, inside = varint(batch, inside)
        key, inside = _nullable(batch, inside)
        value, _ = _nullable(batch, inside)
        if length < 0 or after > len(batch):
            raise Unreadable
        yield RawRecord(row, int(batches.base_offset[row]) + delta, base + later, key, value)
        position = after


def _nullable(batch: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = varint(batch, position)
    if length < 0:
        return None, position
    if position + length > len(batch):
        raise Unreadable
    return batch[position : position + length], position + length


def _state(raw: RawRecord, coordinator_epoch: int) -> StateRecord:
    transactional_id = read_key(raw.key)
    value, unread = None, ""
    if raw.value is not None:
        try:
            value = read_value(raw.value)
        except UnknownSchema as why:
            unread = str(why)
        except MalformedBytes as why:
            unread = f"{MALFORMED}: {why}"
    return StateRecord(raw.row, raw.offset, raw.timestamp, coordinator_epoch, transactional_id, value, unread)


def damage_at(log: LogFolder, batches: Batches, row: int, message: str) -> SegmentDamage:
    """Damage of the batch in this place.

    Args:
        log: of one partition on one broker.
        batches: of the log, as columns.
        row: of the batch among them.
        message: what is wrong.
    """
    base = int(batches.segment[row])
    path = next(segment.path for segment in log.segments if segment.base == base)
    return SegmentDamage(path, int(batches.position[row]), message)
