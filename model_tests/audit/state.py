"""Producer snapshots compared with the state that the log leads to: one finding for each that differs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto, unique
from pathlib import Path
from typing import Any, Final

import numpy as np

from model_tests.audit.findings import Finding
from model_tests.audit.partial_log import RereadRequest
from model_tests.audit.partition_context import PartitionContext
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_batches import Integers
from model_tests.logs.kafka_log_derived import DerivedFile
from spec import rules
from spec.protocol.append import append
from spec.protocol.records import AppendRequest, ProducerEntry, build, flatten
from spec.vocabulary import ABSENT, Origin

CLEANED: Final = "the log cleaner may have removed what would show it"
EXPIRED: Final = "the broker may have forgotten them, as its `producer.id.expiration.ms` allows"


@unique
class Lacking(Enum):
    """Where a producer is missing."""

    NOWHERE = auto()
    IN_LOG = auto()
    IN_SNAPSHOT = auto()


@dataclass(frozen=True, slots=True)
class SnapshotMismatch:
    """One producer that a snapshot and the log do not agree on.

    Attributes:
        offset: where its entry ends.
        values: of its entry, or what should be in it.
        follows: offsets of what it may come from: the producer's last batches before, its open transaction.
    """

    producer_id: int
    offset: int
    values: Mapping[str, int]
    what: str
    follows: tuple[int, ...] = ()
    lacking: Lacking = Lacking.NOWHERE


@dataclass(slots=True)
class StateJudgement:
    """What was found of the snapshots.

    Attributes:
        undecided: for each reason, what stays undecided, by offset.
        asked: what must be read of the log, so that the difference can be explained.
    """

    findings: list[Finding] = field(default_factory=list)
    judged: int = 0
    undecided: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    reread: RereadRequest = field(default_factory=RereadRequest)

    def doubt(self, why: str, offset: int, what: str) -> None:
        """Remember what cannot be decided, and why."""
        self.undecided.setdefault(why, []).append((offset, what))


@dataclass(frozen=True, slots=True)
class ProducerStates:
    """What a snapshot has, or what the log leads to, for some producers: one array a field."""

    producer_epoch: Integers
    last_sequence: Integers
    last_offset: Integers
    offset_delta: Integers
    timestamp: Integers
    coordinator_epoch: Integers
    txn_first_offset: Integers

    def at(self, row: int) -> dict[str, int]:
        """One producer's values."""
        return {name: int(getattr(self, name)[row]) for name in FIELDS}


FIELDS: Final = tuple(ProducerStates.__dataclass_fields__)


def judge_state(log: PartitionContext, snapshots: list[DerivedFile]) -> StateJudgement:
    """Hold every snapshot against the log up to its offset."""
    result = StateJudgement()
    places = _LastLinks(log)
    for snapshot in snapshots:
        if snapshot.number > log.end:
            what = f"{Path(snapshot.path).name} is of offset {snapshot.number}"
            result.doubt(f"the log ends at offset {log.end}, its tail was lost or cut off", snapshot.number, what)
        elif snapshot.number > log.begin:
            wrong = _judge_snapshot(log, places, snapshot, result)
            result.findings += [_reported(snapshot, wrong, snapshots)] if wrong else []
    return result


def undecided_state(result: StateJudgement) -> Iterator[Finding]:
    """One finding for everything that stays undecided for the same reason."""
    for why, facts in result.undecided.items():
        offset, first = min(facts)
        message = f"{len(facts)} facts of producer snapshots, the first: {first}; {why}"
        yield Finding(rules.SEQ_STATE_RECOVERABLE, Severity.UNDECIDED, offset, ABSENT, ABSENT, message)


class _LastLinks:
    """For a producer and an offset, the producer's last link before it."""

    def __init__(self, log: PartitionContext) -> None:
        self.links, self.size = log.links, len(log.batches) + 1
        starts = np.flatnonzero(log.links.first)
        self.producers = log.links.batches.producer_id[starts]
        self.first_row = log.links.row[starts]
        self.group = np.cumsum(log.links.first) - 1
        self.key = self.group * self.size + log.links.row

    def last_before(self, producers: Integers, row: int) -> Integers:
        """Number of the link; -1 where there is none."""
        if not len(self.producers):
            return np.full(len(producers), ABSENT, np.int64)
        group = np.minimum(np.searchsorted(self.producers, producers), len(self.producers) - 1)
        number = np.searchsorted(self.key, group * self.size + row) - 1
        found = (self.producers[group] == producers) & (number >= 0)
        found[found] = self.group[number[found]] == group[found]
        return np.where(found, number, ABSENT)

    def seen_before(self, row: int) -> Integers:
        """The producers that have written before a place in the log."""
        return self.producers[self.first_row < row]


def _judge_snapshot(
    log: PartitionContext, places: _LastLinks, snapshot: DerivedFile, result: StateJudgement
) -> list[SnapshotMismatch]:
    row = int(np.searchsorted(log.batches.base_offset, snapshot.number))
    producers = snapshot.rows["producer_id"].astype(np.int64)
    says = ProducerStates(**{name: snapshot.rows[name].astype(np.int64) for name in FIELDS})
    link = places.last_before(producers, row)
    judging = _Snapshot(log, snapshot, row, result)
    result.judged += len(producers)
    seen = np.flatnonzero(link >= 0)
    logged = rebuilt(log, link[seen])
    wrong = np.zeros(len(seen), np.bool_)
    for name in FIELDS:
        wrong |= getattr(says, name)[seen] != getattr(logged, name)
    unsure = np.append(seen[wrong], np.flatnonzero(link < 0))
    forgotten = np.setdiff1d(places.seen_before(row), producers)
    result.reread.add(np.append(producers[unsure], forgotten), says.last_offset[unsure])
    for number in np.flatnonzero(wrong).tolist():
        entry = int(seen[number])
        judging.differs(int(producers[entry]), says.at(entry), logged.at(number), int(link[entry]))
    for entry in np.flatnonzero(link < 0).tolist():
        judging.unseen(int(producers[entry]), says.at(entry))
    judging.forgotten(forgotten, places, says)
    return judging.wrong


def rebuilt(log: PartitionContext, link: Integers) -> ProducerStates:
    """What a replica that has the log up to these links, each included, knows of their producers."""
    before = _taken(ProducerEntry, log.links.before, link)
    request = _taken(AppendRequest, log.links.request, link)
    copied = replace(request, origin=np.full(len(link), Origin.REPLICATION.value))
    entry = append(before, copied, log.profile).entry
    newest = entry.cached[0]
    return ProducerStates(
        entry.epoch,
        newest.last_sequence,
        newest.last_offset,
        np.where(newest.present, newest.offset_delta, 0),
        log.links.batches.max_timestamp[link],
        entry.coordinator_epoch,
        entry.txn_first_offset,
    )


def _taken(kind: type[Any], record: Any, rows: Integers) -> Any:
    columns = {name: column[rows] if isinstance(column, np.ndarray) else column for name, column in flatten(record)}
    return build(kind, columns.__getitem__)


class _Snapshot:
    """One snapshot, and what to say of the producers that it and the log do not agree on."""

    def __init__(self, log: PartitionContext, snapshot: DerivedFile, row: int, result: StateJudgement) -> None:
        self.log, self.snapshot, self.row, self.result = log, snapshot, row, result
        self.name = Path(snapshot.path).name
        self.wrong: list[SnapshotMismatch] = []

    def differs(self, producer: int, says: dict[str, int], logged: dict[str, int], link: int) -> None:
        """An entry of a producer that the log has."""
        wrong = [name for name in FIELDS if says[name] != logged[name]]
        excuses = {self._excuse(name, says, logged, producer, link) for name in wrong}
        if None not in excuses:
            for why in sorted(str(excuse) for excuse in excuses if excuse):
                self.result.doubt(why, self._offset(says), f"{self.name}, producer {producer}")
            return
        values = "; ".join(f"{_WORDS[name]} {says[name]}, the log {logged[name]}" for name in wrong)
        newest = (one["last_offset"] - one["offset_delta"] for one in (says, logged))
        follows = *self._last(link), *newest, logged["txn_first_offset"]
        self._violation(producer, says, f"says {values}", follows=follows)

    def _last(self, link: int) -> tuple[int, ...]:
        """Offsets of a batch, and of the producer's last marker before it."""
        own = self.log.links
        start = link - int(np.argmax(own.first[link::-1]))
        markers = np.flatnonzero(own.batches.control[start : link + 1])
        return tuple(own.batches.base_offset[[link, *(start + markers[-1:])]].tolist())

    def _excuse(self, name: str, says: dict[str, int], logged: dict[str, int], producer: int, link: int) -> str | None:
        """Why the log may say otherwise: "" where that is plain, None where it may not."""
        missing, links = self.log.missing, self.log.links
        start = link - int(np.argmax(links.first[link::-1]))
        own = links.batches
        last_row = int(links.row[link])
        if self._between(missing.unreadable, ABSENT):
            return ""
        if self._not_in_log(name, says, start, link):
            return ""
        idle = np.diff(own.max_timestamp[start : link + 1])
        if name in _FORGOTTEN_WITH_PRODUCER and (idle >= self.log.around.producer_expiry_ms).any():
            return EXPIRED
        if name == "timestamp" and own.cleaned[link]:
            return CLEANED
        later = says["last_offset"] > logged["last_offset"] and not self._has(says["last_offset"])
        later |= says["last_offset"] == ABSENT and says["producer_epoch"] > logged["producer_epoch"]  # by a marker
        since = ABSENT if name in ("coordinator_epoch", "txn_first_offset") else last_row
        data = np.flatnonzero(~own.control[start : link + 1])
        if name in _OF_NEWEST_BATCH:
            if not later:
                return None
            since = int(links.row[start + int(data[-1])]) if data.size else ABSENT
        falls = name in _EPOCHS and says[name] < logged[name]
        return CLEANED if self._between(missing.cleaned, since) and not falls else None

    def _not_in_log(self, name: str, says: dict[str, int], start: int, link: int) -> bool:
        """Whether the value is from before the log's begin."""
        if self.log.begin == 0:
            return False
        own = self.log.links.batches
        control = own.control[start : link + 1]
        if name == "coordinator_epoch":
            return not control.any()
        if name == "txn_first_offset":
            return not control.any() and 0 <= says[name] < self.log.begin
        same_epoch = bool((own.producer_epoch[start : link + 1] == own.producer_epoch[start]).all())
        return name in _OF_NEWEST_BATCH and bool(control.all()) and same_epoch and says["last_offset"] < self.log.begin

    def _between(self, counts: Integers, since: int) -> bool:
        """Whether there is such a hole after a place in the log and before the snapshot's offset."""
        last = len(counts) - 1
        if self.row > last and (last < 0 or self.snapshot.number > int(self.log.batches.last_offset[last]) + 1):
            return True
        return bool(counts[min(self.row, last)] > (counts[since] if since >= 0 else 0))

    def _has(self, offset: int) -> bool:
        """Whether the log has a batch with this offset."""
        batches = self.log.batches
        place = int(np.searchsorted(batches.last_offset, offset))
        return place < len(batches) and int(batches.base_offset[place]) <= offset

    def unseen(self, producer: int, says: dict[str, int]) -> None:
        """An entry of a producer of which the log has nothing."""
        log = self.log
        if self._between(log.missing.unreadable, ABSENT):
            return
        if max(says["last_offset"], says["txn_first_offset"]) < log.begin and log.begin > 0:
            return
        what = f"{self.name} knows producer {producer} up to offset {says['last_offset']}"
        if self._between(log.missing.cleaned, ABSENT) and not self._has(says["last_offset"]):
            self.result.doubt(CLEANED, self._offset(says), what)
        else:
            what = f"knows the producer up to offset {says['last_offset']}, the log has none"
            self._violation(producer, says, what, lacking=Lacking.IN_LOG)

    def forgotten(self, producers: Integers, places: "_LastLinks", says: ProducerStates) -> None:
        """Producers of the log that the snapshot does not know: a broker forgets those that were idle for long."""
        link = places.last_before(producers, self.row)
        logged = rebuilt(self.log, link)
        for number, producer in enumerate(producers.tolist()):
            has = logged.at(number)
            what = f"{self.name} does not know producer {producer}"
            if self._may_be_forgotten(has, says, int(self.log.links.batches.last_offset[link[number]])):
                self.result.doubt(EXPIRED, self._offset(has), what)
            else:
                what = f"does not know the producer, whose last batch before is at offset {has['last_offset']}"
                follows = self._last(int(link[number]))
                self._violation(producer, has, what, follows=follows, lacking=Lacking.IN_SNAPSHOT)

    def _may_be_forgotten(self, has: dict[str, int], says: ProducerStates, last: int) -> bool:
        """Whether the producer was idle for long enough when the snapshot was written, as far as that is known."""
        if has["txn_first_offset"] != ABSENT:
            return False
        idle = self.snapshot.written_ms - has["timestamp"]
        if self.snapshot.written_ms != ABSENT and idle < self.log.around.producer_expiry_ms:
            return last < self.log.around.log_start
        idler = (says.txn_first_offset == ABSENT) & (says.timestamp <= has["timestamp"]) & (says.last_offset < last)
        return not idler.any()

    def _violation(
        self,
        producer: int,
        values: dict[str, int],
        what: str,
        *,
        follows: tuple[int, ...] = (),
        lacking: Lacking = Lacking.NOWHERE,
    ) -> None:
        self.wrong.append(SnapshotMismatch(producer, self._offset(values), values, what, follows, lacking))

    def _offset(self, values: dict[str, int]) -> int:
        """Where the producer's entry ends; the snapshot's own offset where it has no data."""
        return values["last_offset"] if values["last_offset"] >= 0 else self.snapshot.number


_WORDS: Final = {
    "producer_epoch": "epoch",
    "last_sequence": "last sequence",
    "last_offset": "last offset",
    "offset_delta": "offset delta",
    "timestamp": "timestamp",
    "coordinator_epoch": "coordinator epoch",
    "txn_first_offset": "open transaction from",
}

_EPOCHS: Final = frozenset({"producer_epoch", "coordinator_epoch"})
_OF_NEWEST_BATCH: Final = frozenset({"last_sequence", "last_offset", "offset_delta"})
_FORGOTTEN_WITH_PRODUCER: Final = frozenset({"coordinator_epoch", *_OF_NEWEST_BATCH})


# --- one file, one cause, one finding ---


def _reported(snapshot: DerivedFile, wrong: Sequence[SnapshotMismatch], snapshots: Iterable[DerivedFile]) -> Finding:
    """What is wrong with a snapshot, of one producer or more; `snapshots` are all of the log."""
    name, first = Path(snapshot.path).name, min(wrong, key=lambda one: one.offset)
    if len(wrong) == 1:
        return _finding(first, f"{name}: {first.what}")
    renamed = _other_id(wrong)
    if renamed is not None:
        unknown, lacked = renamed
        found = _finding(lacked, f"{name}: says producer {unknown.producer_id}, the log {lacked.producer_id}")
        return replace(found, others=(unknown.producer_id,))
    message = f"{name}: {len(wrong)} producers are not as in the log, the first, {first.producer_id}: {first.what}"
    twin = next((other for other in snapshots if _is_copy(other, snapshot)), None)
    if twin is not None:
        message += f"; all is as in {Path(twin.path).name}: the one of them was copied to the other's name"
    fields = (first.offset, ABSENT, ABSENT, message)
    others = tuple(sorted({one.producer_id for one in wrong}))
    follows = tuple(at for one in wrong for at in one.follows) if twin is None else ()
    return Finding(rules.SEQ_STATE_RECOVERABLE, Severity.VIOLATION, *fields, others=others, follows=follows)


def _other_id(wrong: Sequence[SnapshotMismatch]) -> tuple[SnapshotMismatch, SnapshotMismatch] | None:
    """The one that the log lacks and the one that the snapshot lacks, if they are alike but for the producer id."""
    unknown = [one for one in wrong if one.lacking is Lacking.IN_LOG]
    lacked = [one for one in wrong if one.lacking is Lacking.IN_SNAPSHOT]
    if len(wrong) != 2 or len(unknown) != 1 or len(lacked) != 1 or unknown[0].values != lacked[0].values:
        return None
    return unknown[0], lacked[0]


def _is_copy(other: DerivedFile, snapshot: DerivedFile) -> bool:
    return other.number != snapshot.number and np.array_equal(other.rows, snapshot.rows)


def _finding(one: SnapshotMismatch, message: str) -> Finding:
    epoch = one.values["producer_epoch"]
    fields = (one.offset, one.producer_id, epoch, message)
    return Finding(rules.SEQ_STATE_RECOVERABLE, Severity.VIOLATION, *fields, follows=one.follows)
