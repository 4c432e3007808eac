"""The controller's view of the logs of a cluster: who led, which of them are behind, what is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from model_tests.audit.clusters import node_of
from model_tests.audit.controller_log_history import ControllerHistory, PartitionLeaders
from model_tests.audit.losses import Led, losses_of, shown_by_clients
from model_tests.audit.replica import ReplicaSummary
from model_tests.histories.as_journal import ClientJournal
from spec.vocabulary import ABSENT

if TYPE_CHECKING:
    from model_tests.audit.partition_verdict import AuditedTransactionLog

Name = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Controlled:
    """The controller's view of the partitions of one cluster.

    Attributes:
        log: number of the log that is furthest of its copies.
        partitions: who led each; none where records that are not read may have changed that.
        led: by the number of a log who led its partition, and what elections may have taken from it, where all its
            leaders are known.
        behind: numbers of logs that need not have what their partition's newest leaders appended.
    """

    log: int
    history: ControllerHistory
    partitions: Mapping[Name, PartitionLeaders]
    led: Mapping[int, Led]
    behind: frozenset[int]

    def coordinator_epochs(self, topic: str) -> Mapping[int, PartitionLeaders]:
        """The partitions of an internal topic, whose leader epochs are the epochs of its coordinators."""
        return {number: one for (name, number), one in self.partitions.items() if name == topic}


def controlled(logs: Sequence["AuditedTransactionLog"]) -> dict[str, Controlled]:
    """By cluster the view of its controller's log; of several copies the furthest is read."""
    best: dict[str, tuple[int, ControllerHistory]] = {}
    for number, log in enumerate(logs):
        history = log.verdict.cluster.controller if log.verdict.cluster is not None else None
        if history is not None:
            cluster = log.cluster
            if cluster not in best or history.reach > best[cluster][1].reach:
                best[cluster] = (number, history)
    found = {}
    for cluster, (number, history) in best.items():
        reported = history.partitions if history.knows_leaders else ()
        partitions = {(one.topic, one.partition): one for one in reported}
        own = {other: (log, _own(partitions, log)) for other, log in enumerate(logs) if log.cluster == cluster}
        behind = frozenset(other for other, (log, partition) in own.items() if _is_behind(log, partition))
        led = {other: _led(other, own, behind=other in behind) for other, one in own.items() if _is_covered(*one)}
        found[cluster] = Controlled(number, history, partitions, led, behind)
    return found


def with_clients(
    known: Mapping[str, Controlled], logs: Sequence["AuditedTransactionLog"], journal: ClientJournal | None
) -> dict[str, Controlled]:
    """The same; acknowledged records that are gone become evidence of the losses.

    Args:
        known: by cluster the view of its controller's log.
        logs: every log.
        journal: what clients were answered, where it is given.
    """
    if journal is None:
        return dict(known)

    def shown(number: int, led: Led) -> Led:
        log = logs[number]
        acks = journal.acknowledged.get((log.topic, log.partition))
        return replace(led, losses=shown_by_clients(led.losses, acks, log.verdict.offsets.log_end))

    return {
        cluster: replace(one, led={number: shown(number, led) for number, led in one.led.items()})
        for cluster, one in known.items()
    }


def _own(partitions: Mapping[Name, PartitionLeaders], log: "AuditedTransactionLog") -> PartitionLeaders | None:
    """The history of a log's partition, if the log is of the same topic."""
    history = partitions.get((log.topic, log.partition))
    replica = _replica(log)
    return history if history is not None and replica is not None and history.is_of(replica.topic_id) else None


def _replica(log: "AuditedTransactionLog") -> ReplicaSummary | None:
    return log.verdict.cluster.replica if log.verdict.cluster is not None else None


def _knows(replica: ReplicaSummary) -> int:
    """The newest leader epoch that a log knows of; its checkpoint has one, too, of which there is no batch yet."""
    return max((epoch for epoch, *_ in (*replica.epochs, *replica.noted)), default=ABSENT)


def _is_behind(log: "AuditedTransactionLog", history: PartitionLeaders | None) -> bool:
    """The log knows nothing of the newest leader, and was not in sync with it when its broker stopped."""
    replica = _replica(log)
    if history is None or replica is None:
        return False
    newest = max((one.epoch for one in history.leaderships if one.leader != ABSENT), default=ABSENT)
    return _knows(replica) < newest and not (replica.stopped and node_of(log.path) in history.in_sync)


def _is_covered(log: "AuditedTransactionLog", history: PartitionLeaders | None) -> bool:
    """The controller's log has every leader of a log, from the first on."""
    replica = _replica(log)
    if history is None or replica is None:
        return False
    epochs = [epoch for epoch, _, _ in replica.epochs]
    return history.leaderships[0].epoch == 0 and max(epochs, default=0) <= history.leaderships[-1].epoch


def _led(
    number: int, own: Mapping[int, tuple["AuditedTransactionLog", PartitionLeaders | None]], *, behind: bool
) -> Led:
    """Who led a log's partition, and what elections outside the in-sync set may have taken from the log."""
    log, history = own[number]
    replica = _replica(log)
    if history is None or replica is None:
        return Led()
    others = [
        (_label(other), copy)
        for place, (other, its) in own.items()
        if place != number and its is history and (copy := _replica(other)) is not None
    ]
    losses = losses_of((*history.unclean, *history.again), replica, others, behind=behind)
    return Led(history.leaderships, losses, _knows(replica))


def _label(log: "AuditedTransactionLog") -> str:
    node = node_of(log.path)
    return f"broker {node}" if node != ABSENT else "another replica"
