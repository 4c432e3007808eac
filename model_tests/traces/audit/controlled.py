"""What the controller's log says of the logs of a cluster: who led, which of them are behind, what is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from model_tests.traces.audit.controller_log_history import ControllerHistory, PartitionHistory
from model_tests.traces.audit.findings import Loss
from model_tests.traces.audit.meta_properties import cluster_of, node_of
from spec.vocabulary import ABSENT

if TYPE_CHECKING:
    from model_tests.traces.audit.transactions import Log

Name = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Controlled:
    """What the controller's log says of the partitions of one cluster.

    Attributes:
        log: number of the log that is furthest of its copies.
        losses: by the number of a log what unclean elections may have taken from it, where all its leaders are known.
        behind: numbers of logs that need not have what their partition's newest leaders appended.
    """

    log: int
    history: ControllerHistory
    partitions: Mapping[Name, PartitionHistory]
    losses: Mapping[int, tuple[Loss, ...]]
    behind: frozenset[int]

    def coordinator_epochs(self, topic: str) -> Mapping[int, PartitionHistory]:
        """The partitions of an internal topic, whose leader epochs are the epochs of its coordinators."""
        return {number: one for (name, number), one in self.partitions.items() if name == topic}


def controlled(logs: Sequence["Log"]) -> dict[str, Controlled]:
    """By cluster what its controller's log says; of several copies the furthest is read."""
    best: dict[str, tuple[int, ControllerHistory]] = {}
    for number, log in enumerate(logs):
        history = log.verdict.cluster.controller if log.verdict.cluster is not None else None
        if history is not None:
            cluster = cluster_of(log.path)
            if cluster not in best or history.reach > best[cluster][1].reach:
                best[cluster] = (number, history)
    found = {}
    for cluster, (number, history) in best.items():
        partitions = {(one.topic, one.partition): one for one in history.partitions}
        own = {other: (log, _own(partitions, log)) for other, log in enumerate(logs) if cluster_of(log.path) == cluster}
        behind = frozenset(other for other, (log, partition) in own.items() if _is_behind(log, partition))
        told = {other: one for other, one in own.items() if _is_covered(*one)}
        losses = {other: _losses(*one, behind=other in behind) for other, one in told.items()}
        found[cluster] = Controlled(number, history, partitions, losses, behind)
    return found


def _own(partitions: Mapping[Name, PartitionHistory], log: "Log") -> PartitionHistory | None:
    """The history of a log's partition, if the log is of the same topic."""
    history = partitions.get((log.topic, log.partition))
    replica = log.verdict.cluster.replica if log.verdict.cluster is not None else None
    return history if history is not None and replica is not None and history.is_of(replica.topic_id) else None


def _is_behind(log: "Log", history: PartitionHistory | None) -> bool:
    """The log has nothing of the newest leader, and was not in sync with it when its broker stopped."""
    replica = log.verdict.cluster.replica if log.verdict.cluster is not None else None
    if history is None or replica is None:
        return False
    newest = max((one.epoch for one in history.leaderships if one.leader != ABSENT), default=ABSENT)
    last = max((epoch for epoch, _, _ in replica.epochs), default=ABSENT)
    return last < newest and not (replica.stopped and node_of(log.path) in history.in_sync)


def _is_covered(log: "Log", history: PartitionHistory | None) -> bool:
    """The controller's log has every leader of a log, from the first on."""
    replica = log.verdict.cluster.replica if log.verdict.cluster is not None else None
    if history is None or replica is None:
        return False
    epochs = [epoch for epoch, _, _ in replica.epochs]
    return history.leaderships[0].epoch == 0 and max(epochs, default=0) <= history.leaderships[-1].epoch


def _losses(log: "Log", history: PartitionHistory | None, *, behind: bool) -> tuple[Loss, ...]:
    """Where the leader of an unclean election, or whoever came after it, went on in a log, if it got so far."""
    replica = log.verdict.cluster.replica if log.verdict.cluster is not None else None
    if history is None or replica is None:
        return ()
    found = []
    for one in history.unclean:
        start = next((offset for epoch, offset, _ in replica.epochs if epoch >= one.epoch), replica.log_end)
        if start == replica.log_end and behind:
            continue
        election = f"the unclean election of broker {one.leader} for leader epoch {one.epoch}"
        found.append(Loss(start, one.epoch, f"{election} (offset {one.offset} of the controller's log)"))
    return tuple(found)
