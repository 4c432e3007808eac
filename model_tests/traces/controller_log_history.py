"""Who led each partition and who was in sync, as the controller's log tells it, and what of it breaks a rule."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final
from uuid import UUID

from model_tests.traces.audit_findings import Finding
from model_tests.traces.controller_log import ControllerLog, ControllerRecord
from model_tests.traces.controller_log_judge import Before, judge_change
from model_tests.traces.controller_log_values import (
    NO_LEADER_CHANGE,
    Bracket,
    BrokerChange,
    NewTopic,
    PartitionChange,
    RemovedTopic,
)
from spec.protocol.electing import leader_epoch_after
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

BEGINS: Final = "begin"
ABORTS: Final = "abort"


@dataclass(frozen=True, slots=True)
class Leadership:
    """A leader epoch.

    Attributes:
        leader: -1 where nobody leads.
        offset: of the record in the controller's log.
        timestamp: when it was decided, by the controller's clock.
        unclean: the leader was not in sync, and may lack what is committed.
    """

    epoch: int
    leader: int
    offset: int
    timestamp: int
    unclean: bool = False


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """The leader epochs of a partition, in order, and its in-sync set at the end.

    Attributes:
        shrinks: how often the in-sync set lost a member, `expansions`, how often it gained one.
    """

    topic: str
    partition: int
    leaderships: tuple[Leadership, ...]
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    shrinks: int = 0
    expansions: int = 0

    def led(self, epoch: int) -> bool | None:
        """Whether somebody led in this epoch; None where the log at hand does not reach so far."""
        if epoch < self.leaderships[0].epoch or epoch > self.leaderships[-1].epoch:
            return None
        return any(one.epoch == epoch and one.leader != ABSENT for one in self.leaderships)

    @property
    def leader(self) -> int:
        """Whoever led last."""
        return next((one.leader for one in reversed(self.leaderships) if one.leader != ABSENT), ABSENT)

    @property
    def elections(self) -> int:
        """Changes of the leader after the first one; that nobody leads any more is one too."""
        return len(self.leaderships) - 1

    @property
    def unclean(self) -> tuple[Leadership, ...]:
        """The elections that may have lost what was committed."""
        return tuple(one for one in self.leaderships if one.unclean)


@dataclass(frozen=True, slots=True)
class Changed:
    """One record of a partition: what it changed, and what holds after it."""

    offset: int
    topic: str
    partition: int
    kinds: tuple[str, ...]
    leader: int
    leader_epoch: int
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ControllerHistory:
    """What one copy of the controller's log tells.

    Attributes:
        end: the offset after its last record; `last_epoch`, of its last batch.
        last_ms: when the last record was appended.
        judged: records of partitions that were looked at.
        passed_over: records that were not looked at, by name.
        findings: what the rules of elections do not allow; offsets are those of the controller's log.
    """

    end: int
    last_epoch: int
    last_ms: int
    whole: bool
    partitions: tuple[PartitionHistory, ...] = ()
    judged: int = 0
    passed_over: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def reach(self) -> tuple[int, int]:
        """How far the copy goes, as replicas compare it."""
        return self.last_epoch, self.end


@dataclass(slots=True)
class _Partition:
    """A partition as the fold has it."""

    topic: str
    number: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader: int
    epoch: int
    eligible: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    recovering: bool = False
    leaderships: list[Leadership] = field(default_factory=list)
    shrinks: int = 0
    expansions: int = 0


@dataclass(slots=True)
class Fold:
    """The state of the cluster, record by record; a batch takes effect as a whole."""

    profile: Profile = NEWEST
    brokers: dict[int, tuple[bool, bool]] = field(default_factory=dict)
    topics: dict[UUID, str] = field(default_factory=dict)
    partitions: dict[tuple[UUID, int], _Partition] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    judged: int = 0

    def run(self, records: Iterable[ControllerRecord], *, judges: bool = True) -> None:
        """Take the records in."""
        for _, batch in groupby(effective(records), lambda one: one.row):
            self._batch(list(batch), judges=judges)

    def alive(self) -> frozenset[int]:
        """Brokers that are registered, neither fenced nor shutting down."""
        return frozenset(broker for broker, (fenced, leaving) in self.brokers.items() if not fenced and not leaving)

    def _batch(self, batch: Sequence[ControllerRecord], *, judges: bool) -> None:
        before = self.alive()
        for record in batch:
            if isinstance(record.change, BrokerChange):
                self._broker(record.change)
        after = self.alive()
        for record in batch:
            match record.change:
                case NewTopic(topic_id, name):
                    self.topics[topic_id] = name
                case RemovedTopic(topic_id):
                    self._forget(topic_id)
                case PartitionChange() as change:
                    self._partition(record, change, (before & after, before | after), judges=judges)

    def _broker(self, change: BrokerChange) -> None:
        if not change.registered:
            self.brokers.pop(change.broker, None)
            return
        fenced, leaving = self.brokers.get(change.broker, (True, False))
        self.brokers[change.broker] = (
            fenced if change.fenced is None else change.fenced,
            leaving if change.shutting_down is None else change.shutting_down,
        )

    def _forget(self, topic_id: UUID) -> None:
        self.topics.pop(topic_id, None)
        self.partitions = {key: one for key, one in self.partitions.items() if key[0] != topic_id}

    def _partition(
        self,
        record: ControllerRecord,
        change: PartitionChange,
        alive: tuple[frozenset[int], frozenset[int]],
        *,
        judges: bool,
    ) -> None:
        key = (change.topic_id, change.partition)
        held = self.partitions.get(key)
        if held is None:
            if change.creates:
                self.partitions[key] = self._created(record, change)
            return
        before = Before(
            f"{held.topic}-{held.number}",
            held.replicas if change.replicas is None else change.replicas,
            held.in_sync,
            held.leader,
            held.epoch,
            held.eligible,
            held.last_known,
        )
        if judges:
            self.judged += 1
            self.findings += judge_change(before, change, alive, record.offset, self.profile)
        self._apply(held, record, change)

    def _created(self, record: ControllerRecord, change: PartitionChange) -> _Partition:
        made = _Partition(
            self.topics.get(change.topic_id, str(change.topic_id)),
            change.partition,
            change.replicas or (),
            change.in_sync or (),
            change.leader,
            change.leader_epoch,
            change.eligible or (),
            change.last_known or (),
            bool(change.recovering),
        )
        made.leaderships.append(Leadership(made.epoch, made.leader, record.offset, record.timestamp))
        self._note(made, record, ("create",))
        return made

    def _apply(self, held: _Partition, record: ControllerRecord, change: PartitionChange) -> None:
        in_sync = held.in_sync if change.in_sync is None else change.in_sync
        names_leader = change.leader != NO_LEADER_CHANGE
        shrinks, expands = set(held.in_sync) - set(in_sync), set(in_sync) - set(held.in_sync)
        recovers = bool(change.recovering) and not held.recovering
        epoch = leader_epoch_after(held.epoch, elects=names_leader, shrinks=bool(shrinks), profile=self.profile)
        if change.creates:
            epoch = change.leader_epoch
        if epoch != held.epoch:
            leader = change.leader if names_leader else held.leader
            outside = leader not in held.in_sync and leader not in held.eligible
            unclean = leader != ABSENT and (recovers or outside)
            held.leaderships.append(Leadership(int(epoch), leader, record.offset, record.timestamp, unclean))
        held.leader = change.leader if names_leader else held.leader
        held.epoch, held.in_sync = int(epoch), in_sync
        held.replicas = held.replicas if change.replicas is None else change.replicas
        held.eligible = held.eligible if change.eligible is None else change.eligible
        held.last_known = held.last_known if change.last_known is None else change.last_known
        held.recovering = held.recovering if change.recovering is None else change.recovering
        held.shrinks += bool(shrinks)
        held.expansions += bool(expands)
        facts = {"leader": names_leader, "isr_shrink": shrinks, "isr_expand": expands, "unclean": recovers}
        self._note(held, record, tuple(name for name, fact in facts.items() if fact))

    def _note(self, held: _Partition, record: ControllerRecord, kinds: tuple[str, ...]) -> None:
        self.changed.append(
            Changed(record.offset, held.topic, held.number, kinds, held.leader, held.epoch, held.in_sync)
        )


def effective(records: Iterable[ControllerRecord]) -> Iterator[ControllerRecord]:
    """The records without those of a metadata transaction that was aborted, or is not ended."""
    waiting: list[ControllerRecord] | None = None
    for record in records:
        if not isinstance(record.change, Bracket):
            if waiting is None:
                yield record
            else:
                waiting.append(record)
        elif record.change.kind == BEGINS:
            waiting = []
        else:
            yield from () if record.change.kind == ABORTS else waiting or ()
            waiting = None


def controller_history(
    log: ControllerLog, end: int, last_epoch: int, last_ms: int, profile: Profile = NEWEST
) -> tuple[ControllerHistory, tuple[Changed, ...]]:
    """The history of every partition, and each change by itself."""
    fold = Fold(profile)
    fold.run(log.known, judges=False)
    fold.changed.clear()
    fold.run(log.records)
    partitions = tuple(_history(one) for one in fold.partitions.values())
    history = ControllerHistory(
        end,
        last_epoch,
        last_ms,
        log.whole,
        tuple(sorted(partitions, key=lambda one: (one.topic, one.partition))),
        fold.judged,
        dict(log.passed_over),
        tuple(fold.findings),
    )
    return history, tuple(fold.changed)


def _history(held: _Partition) -> PartitionHistory:
    return PartitionHistory(
        held.topic,
        held.number,
        tuple(held.leaderships),
        held.replicas,
        held.in_sync,
        held.shrinks,
        held.expansions,
    )
