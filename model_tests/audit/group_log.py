"""Reading `__consumer_offsets`: which offset each group committed, which is pending, and what became of the others.

What a marker does to the offsets of its producer is decided by the specification's `offsets.apply`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from model_tests.audit.findings import Finding
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import RawRecord, damage_at, raw_records
from model_tests.logs.group_log_values import GroupOffsetKey, read_offset, read_offset_key
from model_tests.logs.kafka_log_batches import Batches
from model_tests.logs.kafka_log_fields import MalformedBytes, UnknownSchema
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec import rules
from spec.evidence import Layer, evidences
from spec.judging.judge_groups import judge_marker
from spec.protocol.offsets import NO_OFFSET, OffsetEntry, apply, committed_after, pending_after, pending_after_tombstone
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT, Api, ControlType

TOPIC: Final = "__consumer_offsets"


@dataclass(frozen=True, slots=True)
class OffsetRecord:
    """A group's offset by one record; none where the record deletes it."""

    row: int
    recorded_at: int
    key: GroupOffsetKey
    offset: int | None


@dataclass(frozen=True, slots=True)
class Pending:
    """An offset of a transaction without a marker."""

    producer_id: int
    producer_epoch: int
    offset: int
    recorded_at: int


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """What became of the offsets of a group for one partition.

    Attributes:
        offset: the committed one; -1 where there is none.
        recorded_at: offset of its record; -1 likewise.
        recorded_ms: the time of that, in milliseconds since 1970; -1 where it is not known.
        pending: those of open transactions.
        committed: number of commits in transactions that took effect; `aborted`, of those that did not.
    """

    group: str
    topic: str
    partition: int
    offset: int = ABSENT
    recorded_at: int = ABSENT
    pending: tuple[Pending, ...] = ()
    committed: int = 0
    aborted: int = 0
    recorded_ms: int = ABSENT


@dataclass(frozen=True, slots=True)
class LostOffset:
    """An offset of a committed transaction that never became its group's, since it was no longer pending.

    Attributes:
        recorded_at: offset of its record.
        tombstone: offset of the tombstone that took it.
        marker: offset of the COMMIT that found nothing.
    """

    group: str
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    offset: int
    recorded_at: int
    tombstone: int
    marker: int


@dataclass(frozen=True, slots=True)
class PartitionGroupOffsets:
    """The contents of one partition of `__consumer_offsets`.

    Attributes:
        passed_over: records that are no offsets, by name.
        lost: offsets of committed transactions that are not their groups'.
    """

    partition: int
    offsets: tuple[GroupOffset, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)
    lost: tuple[LostOffset, ...] = ()


@dataclass(slots=True)
class GroupLog:
    """The offsets in the order of the log, and what could not be read."""

    records: list[OffsetRecord] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)
    unread: list[tuple[int, str]] = field(default_factory=list)
    damage: list[SegmentDamage] = field(default_factory=list)


def read_offsets(log: LogFolder, batches: Batches) -> GroupLog:
    """Every record of the log that has an offset, or deletes one."""
    found = GroupLog()
    for raw in raw_records(log, batches, found.unread, found.damage):
        try:
            key = read_offset_key(raw.key)
            if isinstance(key, GroupOffsetKey):
                found.records.append(_record(raw, key))
            else:
                found.passed_over[key] += 1
        except UnknownSchema as why:
            found.unread.append((raw.offset, str(why)))
        except MalformedBytes as why:
            found.damage.append(damage_at(log, batches, raw.row, f"the record at offset {raw.offset}: {why}"))
    return found


def _record(raw: RawRecord, key: GroupOffsetKey) -> OffsetRecord:
    return OffsetRecord(raw.row, raw.offset, key, read_offset(raw.value) if raw.value is not None else None)


@dataclass(slots=True)
class _Fold:
    """The coordinator's view, record by record."""

    profile: Profile
    committed: dict[GroupOffsetKey, OffsetEntry] = field(default_factory=dict)
    pending: dict[int, dict[GroupOffsetKey, OffsetEntry]] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    became_true: Counter[GroupOffsetKey] = field(default_factory=Counter)
    forgotten: Counter[GroupOffsetKey] = field(default_factory=Counter)
    seen: dict[GroupOffsetKey, None] = field(default_factory=dict)
    uncommitted: dict[int, dict[GroupOffsetKey, OffsetEntry]] = field(default_factory=dict)
    tombstones: dict[GroupOffsetKey, int] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)
    lost: list[LostOffset] = field(default_factory=list)

    def record(self, one: OffsetRecord, producer_id: int, epoch: int, at_ms: int, *, transactional: bool) -> None:
        """An offset, or its end."""
        self.seen[one.key] = None
        if one.offset is None:
            self._deleted(one.key)
            self.tombstones[one.key] = one.recorded_at
            return
        self.times[one.recorded_at] = at_ms
        entry = OffsetEntry(one.offset, one.recorded_at)
        if not transactional:
            self.committed[one.key] = committed_after(self.committed.get(one.key, NO_OFFSET), entry)
            return
        own = self.pending.setdefault(producer_id, {})
        own[one.key] = pending_after(own.get(one.key, NO_OFFSET), entry, self.profile, appended=True)
        self.epochs[producer_id] = epoch
        self.uncommitted.setdefault(producer_id, {})[one.key] = entry

    def marker(self, producer_id: int, at: int, *, commits: bool) -> None:
        """The end of a transaction: what its producer has pending becomes true, or is forgotten."""
        for key, entry in self.uncommitted.pop(producer_id, {}).items():
            check = judge_marker(entry, self.pending.get(producer_id, {}).get(key, NO_OFFSET), commits)
            if check.at_stake and not check.holds:
                whose = producer_id, self.epochs[producer_id], int(entry.offset), int(entry.recorded_at)
                tombstone = self.tombstones.get(key, ABSENT)
                self.lost.append(LostOffset(key.group, key.topic, key.partition, *whose, tombstone, at))
        for key, pending in self.pending.pop(producer_id, {}).items():
            if pending.present:
                self.committed[key] = apply(self.committed.get(key, NO_OFFSET), pending, commits=commits).committed
                (self.became_true if commits else self.forgotten)[key] += 1

    def _deleted(self, key: GroupOffsetKey) -> None:
        self.committed.pop(key, None)
        for own in self.pending.values():
            if key in own:
                own[key] = pending_after_tombstone(own[key], self.profile, deleted=False)

    def reported(self) -> Iterator[GroupOffset]:
        """What holds at the end of the log."""
        for key in self.seen:
            entry = self.committed.get(key, NO_OFFSET)
            waiting = [
                Pending(producer_id, self.epochs[producer_id], int(own[key].offset), int(own[key].recorded_at))
                for producer_id, own in self.pending.items()
                if key in own and own[key].present
            ]
            yield GroupOffset(
                key.group,
                key.topic,
                key.partition,
                int(entry.offset),
                int(entry.recorded_at),
                tuple(waiting),
                self.became_true[key],
                self.forgotten[key],
                self.times.get(int(entry.recorded_at), ABSENT),
            )


def group_offsets(partition: int, log: GroupLog, batches: Batches, profile: Profile = NEWEST) -> PartitionGroupOffsets:
    """The offsets of all groups at the end of the log."""
    fold = _Fold(profile)
    by_row: dict[int, list[OffsetRecord]] = {}
    for one in log.records:
        by_row.setdefault(one.row, []).append(one)
    markers = np.flatnonzero(_ends(batches)).tolist()
    for row in sorted({*by_row, *markers}):
        producer_id, epoch = int(batches.producer_id[row]), int(batches.producer_epoch[row])
        if row not in by_row:
            commits = int(batches.control_type[row]) == ControlType.COMMIT.value
            fold.marker(producer_id, int(batches.base_offset[row]), commits=commits)
        for one in by_row.get(row, ()):
            at_ms = int(batches.max_timestamp[row])
            fold.record(one, producer_id, epoch, at_ms, transactional=bool(batches.transactional[row]))
    return PartitionGroupOffsets(partition, tuple(fold.reported()), dict(log.passed_over), tuple(fold.lost))


def _ends(batches: Batches) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    kinds = (ControlType.ABORT.value, ControlType.COMMIT.value)
    return batches.control & np.isin(batches.control_type, kinds)


@evidences(rules.OFFSETS_ATOMIC, Layer.AUDIT)
def judge_offsets(log: GroupLog, batches: Batches) -> list[Finding]:
    """Offsets of a producer that are in no transaction are visible at once, whatever becomes of its outputs."""
    findings = []
    for row in dict.fromkeys(one.row for one in log.records):
        if batches.producer_id[row] < 0 or batches.transactional[row]:
            continue
        message = (
            "offsets of a producer outside its transaction: they are visible at once, whatever its outcome is; "
            f"{worded([one for one in log.records if one.row == row])}"
        )
        identity = int(batches.producer_id[row]), int(batches.producer_epoch[row])
        findings.append(_finding(Severity.VIOLATION, int(batches.base_offset[row]), *identity, message))
    for why, offsets in _by_reason(log.unread).items():
        count = f"records that are skipped: {len(offsets)}, this the first"
        message = f"{count} ({why}): which offsets they commit is not known"
        findings.append(_finding(Severity.UNDECIDED, offsets[0], ABSENT, ABSENT, message))
    return findings


def worded(records: Sequence[OffsetRecord]) -> str:
    """The offsets of some records, by group."""
    groups: dict[str, list[str]] = {}
    for one in records:
        value = "deleted" if one.offset is None else str(one.offset)
        groups.setdefault(one.key.group, []).append(f"{one.key.name} = {value}")
    return "; ".join(f"group {group}: {', '.join(offsets)}" for group, offsets in groups.items())


def _by_reason(unread: Sequence[tuple[int, str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for offset, why in unread:
        found.setdefault(why, []).append(offset)
    return found


def _finding(severity: Severity, offset: int, producer_id: int, epoch: int, message: str) -> Finding:
    return Finding(rules.OFFSETS_ATOMIC, severity, offset, producer_id, epoch, message, step=Api.TXN_OFFSET_COMMIT)
