"""Compares the logs of several brokers with each other, and with the controller's log where one of them has it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from model_tests.audit.clusters import node_of
from model_tests.audit.controller_log_history import LeaderEpochEntry, PartitionLeaders
from model_tests.audit.controller_view import Controlled, Name
from model_tests.audit.findings import Finding
from model_tests.audit.losses import Led, Loss
from model_tests.audit.replicas import ComparedReplicas, Copy, compare, merged
from model_tests.common.reports import counted
from model_tests.histories.severity import Severity
from model_tests.logs.controller_log import TOPIC, UnreadRecords
from model_tests.logs.kafka_log_derived import EPOCHS
from model_tests.logs.kafka_log_segment import SegmentDamage
from model_tests.logs.locations import Location, located
from spec import rules
from spec.vocabulary import ABSENT

if TYPE_CHECKING:
    from model_tests.audit.partition_verdict import AuditedTransactionLog


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """What replicas and the controller's log show.

    Attributes:
        replicated: partitions of which more than one replica was given.
        compared: batches that were compared with another replica.
        elections: changes of leaders in the controller's log, with those that leave a partition without one.
        shrinks: how often an in-sync set lost a member; `expansions`, how often one gained a member.
        unclean: elections of replicas that may lack what another one had.
        again: elections of the last leader, where no replica in sync was left.
        partitions: who led each, by the controller's log.
        passed_over: records of the controller's log without leaders, by name.
        unread: records of the controller's log that are not read, each with the log's path.
        counted: for each rule's id, how much it was checked on.
    """

    replicated: int = 0
    compared: int = 0
    elections: int = 0
    shrinks: int = 0
    expansions: int = 0
    unclean: int = 0
    again: int = 0
    partitions: tuple[PartitionLeaders, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[tuple[str, UnreadRecords], ...] = ()
    counted: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.replicated or self.elections or self.passed_over or self.unread)

    def to_json(self) -> dict[str, object]:
        """The same as plain values.

        Fields:
            replicated: partitions of which more than one replica was given
            compared: batches that were compared with another replica
            elections: changes of leaders by the controller's log, also to no leader
            shrinks: how often an in-sync set lost a member
            expansions: how often one gained a member
            unclean: elections of a leader that was not in sync
            again: elections of the last known leader while no replica was in sync; nothing is lost by one
            not_read[].path: the controller's log
            not_read[].kind: kind of record, by its name or number
            not_read[].version: its version, which is not known
            not_read[].newest: the newest version of it that is known; -1 where the kind is not
            not_read[].count: how many there are
            not_read[].first: offset of the first
            not_read[].last: offset of the last
            partitions[].topic: topic
            partitions[].partition: number of the partition
            partitions[].replicas[]: a broker that has it
            partitions[].in_sync[]: a broker in its in-sync set, at the end of the controller's log
            partitions[].leaders[].leader_epoch: a leader epoch
            partitions[].leaders[].leader: broker that led in it; -1 for none
            partitions[].leaders[].in_sync[]: a broker in the in-sync set when it began
            partitions[].leaders[].unclean: the leader was not in sync before
            partitions[].leaders[].again: no replica was in sync, and the last known leader leads again
            partitions[].leaders[].offset: of its record in the controller's log
            partitions[].leaders[].time: when it was decided, in milliseconds
            passed_over.*: records of the controller's log that were not looked at, by name
        """
        names = ("replicated", "compared", "elections", "shrinks", "expansions", "unclean", "again")
        return {
            **{name: getattr(self, name) for name in names},
            "partitions": [_plain(one) for one in self.partitions],
            "passed_over": dict(self.passed_over),
            "not_read": [{**asdict(one), "path": path} for path, one in self.unread],
        }

    def in_one_line(self) -> str:
        """For people."""
        replicas = (
            f"Replicas of {counted(self.replicated, 'partition')}: {counted(self.compared, 'batch', 'es')} compared"
        )
        if not self.passed_over and not self.elections and not self.unread:
            return f"{replicas}; no controller's log."
        again = f", {self.again} of the last leader" if self.again else ""
        return (
            f"{replicas}; by the controller's log {self.elections} changes of leader ({self.unclean} unclean{again}), "
            f"in-sync sets {self.shrinks} times smaller and {self.expansions} times larger."
        )


def _plain(history: PartitionLeaders) -> dict[str, object]:
    return {
        "topic": history.topic,
        "partition": history.partition,
        "replicas": list(history.replicas),
        "in_sync": list(history.in_sync),
        "leaders": [
            {
                "leader_epoch": one.epoch,
                "leader": one.leader,
                "in_sync": list(one.in_sync),
                "unclean": one.unclean,
                "again": one.again,
                "offset": one.offset,
                "time": one.timestamp,
            }
            for one in history.leaderships
        ],
    }


def audit_cluster(
    logs: Sequence["AuditedTransactionLog"], findings: Sequence[tuple[Finding, ...]], known: Mapping[str, Controlled]
) -> tuple[ClusterReport, list[tuple[Finding, ...]]]:
    """Replicas and leader epochs; with all findings of each log, in the order of the logs."""
    found: dict[int, list[Finding]] = {number: [] for number in range(len(logs))}
    compared: list[ComparedReplicas] = []
    for (cluster, name), copies in sorted(_copies(logs, known).items()):
        controller = known.get(cluster)
        shown = compare(copies, controller.partitions.get(name) if controller is not None else None)
        compared += [shown] if len(copies) > 1 else []
        for number, finding in shown.found:
            found[number].append(finding)
    for controller in known.values():
        found[controller.log] += _elections(controller, logs)
    return _report(compared, known, logs), [tuple(merged(own, found[number])) for number, own in enumerate(findings)]


def _elections(controller: Controlled, logs: Sequence["AuditedTransactionLog"]) -> Iterator[Finding]:
    """What the controller's log alone shows, with what its elections took from the logs that are here.

    The last leader that is elected again is no finding, unless it is shown to lack what it had.
    """
    losses: dict[int, tuple[str, Loss]] = {}
    for number, led in controller.led.items():
        for one, loss in _at_records(led):
            if one.offset not in losses or loss.until > losses[one.offset][1].until:
                losses[one.offset] = (f"{logs[number].topic}-{logs[number].partition}", loss)
    for finding in controller.history.findings:
        name, own = losses.get(finding.offset, ("", None))
        if own is not None and finding.severity is Severity.KNOWN:
            where = f"; in {name} it continues at offset {own.offset}"
            lost = (
                f": records are lost {own.reported()}" if own.is_shown else ", nothing here shows that more was there"
            )
            finding = replace(finding, message=f"{finding.message}{where}{lost}")
        yield finding
    for offset, (name, loss) in sorted(losses.items()):
        if loss.again and loss.is_shown:
            message = f"{loss.election}: its broker lost records of {name} {loss.reported()}"
            yield Finding(
                rules.REPL_COMMITTED_SURVIVES, Severity.KNOWN, offset, ABSENT, ABSENT, message, "", "", "election"
            )


def _at_records(led: Led) -> Iterator[tuple[LeaderEpochEntry, Loss]]:
    """Each loss with the election that it comes from."""
    by_epoch = {loss.epoch: loss for loss in led.losses}
    return ((one, by_epoch[one.epoch]) for one in led.leaderships if one.epoch in by_epoch)


def unexplained(
    damage: Iterable[SegmentDamage], logs: Sequence["AuditedTransactionLog"], findings: Sequence[tuple[Finding, ...]]
) -> list[SegmentDamage]:
    """The damage without the leader-epoch checkpoints of partitions whose batches are found to be another history."""
    wrong = {
        (log.cluster, log.topic, log.partition)
        for log, own in zip(logs, findings, strict=True)
        if any(one.rule is rules.REPL_PREFIX_AGREEMENT and one.severity is Severity.VIOLATION for one in own)
    }
    places = {str(located(log.path) / EPOCHS): (log.cluster, log.topic, log.partition) for log in logs}
    return [bad for bad in damage if places.get(bad.path) not in wrong]


def reported_once(logs: Sequence["AuditedTransactionLog"]) -> list["AuditedTransactionLog"]:
    """The logs; what several replicas of a partition show alike is a finding of the one that is furthest."""
    held = list(logs)
    replicas: dict[tuple[str, str, int], list[int]] = {}
    for number, log in enumerate(logs):
        replicas.setdefault((log.cluster, log.topic, log.partition), []).append(number)
    for numbers in replicas.values():
        seen: set[Finding] = set()
        for number in sorted(numbers, key=lambda one: _reach(logs[one]), reverse=True):
            own = logs[number].verdict.findings
            left = tuple(one for one in own if one not in seen)
            held[number] = replace(logs[number], verdict=replace(logs[number].verdict, findings=left))
            seen.update(own)
    return held


def _reach(log: "AuditedTransactionLog") -> tuple[int, int]:
    here = log.verdict.reported.here if log.verdict.reported is not None else None
    return (here.last_leader_epoch, here.end) if here is not None else (ABSENT, ABSENT)


def _copies(
    logs: Sequence["AuditedTransactionLog"], known: Mapping[str, Controlled]
) -> dict[tuple[str, Name], list[Copy]]:
    """The replicas of each partition, by cluster."""
    found: dict[tuple[str, Name], list[Copy]] = {}
    informed = {_directory(log) for log in logs if log.topic == TOPIC}
    for number, log in enumerate(logs):
        replica = log.verdict.cluster.replica if log.verdict.cluster is not None else None
        if replica is None or log.partition == ABSENT:
            continue
        cluster = log.cluster
        led = known[cluster].led.get(number) if cluster in known else None
        copy = Copy(
            number,
            log.path,
            node_of(log.path),
            log.verdict.batches,
            replica,
            led.losses if led is not None else (),
            of_quorum=log.topic == TOPIC,
            informed=_directory(log) in informed,
        )
        found.setdefault((cluster, (log.topic, log.partition)), []).append(copy)
    return found


def _directory(log: "AuditedTransactionLog") -> Location:
    return located(log.path).resolve().parent


def _report(
    compared: Sequence[ComparedReplicas], known: Mapping[str, Controlled], logs: Sequence["AuditedTransactionLog"]
) -> ClusterReport:
    partitions = [one for controller in known.values() for one in controller.history.partitions]
    passed: Counter[str] = Counter()
    for controller in known.values():
        passed.update(controller.history.passed_over)
    batches = sum(one.batches for one in compared)
    return ClusterReport(
        replicated=len(compared),
        compared=batches,
        elections=sum(one.elections for one in partitions),
        shrinks=sum(one.shrinks for one in partitions),
        expansions=sum(one.expansions for one in partitions),
        unclean=sum(len(one.unclean) for one in partitions),
        again=sum(len(one.again) for one in partitions),
        partitions=tuple(partitions),
        passed_over=passed,
        unread=tuple((logs[one.log].path, each) for one in known.values() for each in one.history.unread),
        counted={
            rules.REPL_PREFIX_AGREEMENT.id: batches,
            rules.REPL_COMMITTED_SURVIVES.id: sum(one.history.judged for one in known.values()),
        },
    )
