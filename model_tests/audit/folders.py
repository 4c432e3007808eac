"""Folders under another's name: a topic's id that is another topic's, transactional ids that belong elsewhere."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from model_tests.audit.controller_view import Controlled
from model_tests.audit.transactions_clusters import coordinator_count, coordinator_partition
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec import rules

if TYPE_CHECKING:
    from model_tests.audit.partition_verdict import AuditedTransactionLog

_BY_NAME: Final = (rules.LSO_BOUNDS, rules.REPL_HW_BOUNDS)
"""Rules that compare the log with the broker's checkpoints for a partition of this name."""


def by_their_content(
    logs: Sequence["AuditedTransactionLog"], controllers: Mapping[str, Controlled]
) -> tuple[list["AuditedTransactionLog"], list[SegmentDamage]]:
    """The logs, of which a folder under another's name is compared with nothing that goes by its name; and which are.

    A coordinator's log is read as that of the partition its ids belong to; of a partition of clients no more than the
    topic is known, so that it is not joined with others.
    """
    held, damage = list(logs), []
    for cluster in {log.cluster for log in logs}:
        numbers = [number for number, log in enumerate(logs) if log.cluster == cluster]
        own = [(number, logs[number]) for number in numbers]
        for number, topic in _of_another_topic(own, controllers.get(cluster)):
            held[number] = apart(logs[number])
            damage.append(
                SegmentDamage(logs[number].path, 0, f"its topic id in partition.metadata is that of {topic}{MOVED}")
            )
        for number, partition, count in _of_another_coordinator(own):
            held[number] = _as_partition(logs[number], partition)
            whose = f"its transactional ids belong to partition {partition} of {count}"
            damage.append(SegmentDamage(logs[number].path, 0, f"{whose}{MOVED}"))
    return held, damage


MOVED: Final = (
    ": the folder was renamed, or copied to another's place. Give it its own name before a broker starts on it"
)


def apart(log: "AuditedTransactionLog") -> "AuditedTransactionLog":
    """The log by itself, joined with no other."""
    left = tuple(one for one in log.verdict.findings if one.rule not in _BY_NAME)
    return replace(log, verdict=replace(log.verdict, findings=left, reported=None, cluster=None))


def at_partition(log: "AuditedTransactionLog", partition: int) -> "AuditedTransactionLog":
    """The log of clients as that of another partition of its topic; what brokers say of its name is not of it."""
    return replace(apart(log), partition=partition, verdict=replace(apart(log).verdict, reported=log.verdict.reported))


def _as_partition(log: "AuditedTransactionLog", partition: int) -> "AuditedTransactionLog":
    """The log of another partition of the coordinator."""
    reported = log.verdict.reported
    if reported is None or reported.coordinated is None:
        return log
    own = replace(reported, coordinated=replace(reported.coordinated, partition=partition))
    alone = apart(log)
    return replace(alone, partition=partition, verdict=replace(alone.verdict, reported=own))


def _of_another_topic(
    logs: Sequence[tuple[int, "AuditedTransactionLog"]], controller: Controlled | None
) -> Iterator[tuple[int, str]]:
    """Logs with the topic id that another topic has, by the controller's log or else by most of its folders."""
    ids = {number: _topic_id(log) for number, log in logs}
    folders: dict[str, Counter[str]] = {}
    for number, log in logs:
        folders.setdefault(ids[number], Counter())[log.topic] += 1
    owners = {topic_id: owner for topic_id, names in folders.items() if (owner := _most(names))}
    if controller is not None:
        named = {log.topic for _, log in logs}
        owners |= {one.topic_id: one.topic for one in controller.partitions.values() if one.topic in named}
    for number, log in logs:
        owner = owners.get(ids[number], log.topic) if ids[number] else log.topic
        if owner != log.topic:
            yield number, owner


def _topic_id(log: "AuditedTransactionLog") -> str:
    side = log.verdict.cluster
    return side.replica.topic_id if side is not None and side.replica is not None else ""


def _most(names: Counter[str]) -> str:
    """The name that more folders have than any other."""
    (first, most), *others = names.most_common(2)
    return first if not others or others[0][1] < most else ""


def _of_another_coordinator(logs: Sequence[tuple[int, "AuditedTransactionLog"]]) -> Iterator[tuple[int, int, int]]:
    """Logs of which all ids belong to one other partition, with that partition and the number of ids."""
    known = {
        number: (reported.coordinated.partition, reported.coordinated.ids)
        for number, log in logs
        if (reported := log.verdict.reported) is not None
        and reported.coordinated is not None
        and reported.coordinated.ids
    }
    count = coordinator_count(list(known.values()))
    for number, (partition, ids) in known.items() if count else ():
        belongs = coordinator_partition(ids[0], count)
        if partition != belongs:
            yield number, belongs, count
