"""The controller's log, record by record: what each changes, what of it breaks a rule, and the history at the end."""

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final
from uuid import UUID

from model_tests.audit.controller_log_history import (
    Changed,
    ControllerHistory,
    LeaderEpochEntry,
    PartitionLeaders,
)
from model_tests.audit.controller_log_judge import PartitionBefore, judge_change
from model_tests.audit.findings import Finding
from model_tests.histories.severity import Severity
from model_tests.logs.controller_log import ControllerLog, ControllerRecord, UnreadRecords
from model_tests.logs.controller_log_values import (
    NO_LEADER_CHANGE,
    Bracket,
    BrokerChange,
    ClearedEligible,
    NewTopic,
    PartitionChange,
    RemovedTopic,
)
from spec import rules
from spec.protocol.electing import leader_epoch_after
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

BEGINS: Final = "begin"
ABORTS: Final = "abort"


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
    leaderships: list[LeaderEpochEntry] = field(default_factory=list)
    shrinks: int = 0
    expansions: int = 0


@dataclass(slots=True)
class ClusterFold:
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
                case ClearedEligible(topic):
                    self._clear(topic)
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

    def _clear(self, topic: str) -> None:
        """Forget the eligible leader replicas, and the last leaders, of a topic or of all."""
        for one in self.partitions.values():
            if topic in ("", one.topic):
                one.eligible = one.last_known = ()

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
        before = PartitionBefore(
            f"{held.topic}-{held.number}",
            held.replicas if change.replicas is None else change.replicas,
            held.in_sync,
            held.leader,
            held.epoch,
            held.eligible,
            held.last_known,
            held.recovering,
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
        made.leaderships.append(
            LeaderEpochEntry(made.epoch, made.leader, record.offset, record.timestamp, made.in_sync)
        )
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
            again = unclean and leader == _led_last(held)
            held.leaderships.append(
                LeaderEpochEntry(
                    int(epoch), leader, record.offset, record.timestamp, in_sync, unclean and not again, again
                )
            )
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


def _led_last(held: _Partition) -> int:
    """The last leader."""
    return next((one.leader for one in reversed(held.leaderships) if one.leader != ABSENT), ABSENT)


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
    """The history of every partition, and each change by itself.

    Args:
        log: of one partition on one broker.
        end: of the controller's log.
        last_epoch: of the controller, at the end of its log.
        last_ms: time of its last record.
        profile: the release whose rules are checked.
    """
    fold = ClusterFold(profile)
    fold.run(log.known, judges=False)
    fold.changed.clear()
    fold.run(log.records)
    partitions = tuple(_history(topic_id, one) for (topic_id, _), one in fold.partitions.items())
    history = ControllerHistory(
        end,
        last_epoch,
        last_ms,
        log.whole,
        tuple(sorted(partitions, key=lambda one: (one.topic, one.partition))),
        fold.judged,
        dict(log.passed_over),
        tuple(log.unread),
        (*map(_not_read, log.unread), *(_unless_unread(one, log.unread) for one in fold.findings)),
    )
    return history, tuple(fold.changed)


def _not_read(unread: UnreadRecords) -> Finding:
    """The records that are not read, reported at the first of them."""
    message = f"not read: {unread}: what they change is not known, and what depends on it is undecided"
    offset = max(unread.first, 0)
    return Finding(rules.REPL_COMMITTED_SURVIVES, Severity.UNDECIDED, offset, ABSENT, ABSENT, message)


def _unless_unread(finding: Finding, unread: Iterable[UnreadRecords]) -> Finding:
    """A finding; after records that are not read it is a doubt."""
    before = [str(one) for one in unread if one.first < finding.offset]
    if not before:
        return finding
    message = f"{finding.message}; unless records that are not read say otherwise ({'; '.join(before)})"
    return replace(finding, severity=Severity.UNDECIDED, message=message)


def _history(topic_id: UUID, held: _Partition) -> PartitionLeaders:
    return PartitionLeaders(
        held.topic,
        held.number,
        tuple(held.leaderships),
        held.replicas,
        held.in_sync,
        urlsafe_b64encode(topic_id.bytes).decode().rstrip("="),
        held.shrinks,
        held.expansions,
    )
