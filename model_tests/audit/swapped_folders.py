"""Folders of one topic under each other's names: by the coordinator's log, each has the other's transactions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice, permutations
from operator import eq
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from model_tests.audit.findings import Finding
from model_tests.audit.folders import MOVED, at_partition
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec import rules

if TYPE_CHECKING:
    from model_tests.audit.partition_verdict import AuditedTransactionLog

Findings = Sequence[tuple[Finding, ...]]

_AT_ODDS: Final = (rules.TXN_MARKER_ONCE, rules.TXN_REGISTERED_BEFORE_DATA)
"""Rules that a partition breaks when the coordinator speaks of another under its name."""

_EVENT: Final = 2
"""So many transactions for each folder make it no chance that other names explain them."""

_EXPLAINED: Final = 4
"""Of so many broken ones of a folder at most one may be left; that has another cause."""

_TOGETHER: Final = 3
"""So many folders are tried in each other's places."""

_MOST_TRIED: Final = 64
"""Candidates that are tried, each of which joins all transactions again."""


def changed_places(
    logs: Sequence["AuditedTransactionLog"],
    findings: Findings,
    join: Callable[[Sequence["AuditedTransactionLog"]], Findings],
) -> tuple[list["AuditedTransactionLog"], list[SegmentDamage]]:
    """The logs, each of folders that changed names as that of the partition it is; and which they are.

    Args:
        logs: all of them.
        findings: of each, joined with the coordinator's.
        join: the same of such logs.
    """
    held, damage = list(logs), []
    moved: set[int] = set()
    for places in islice(_candidates(logs, findings), _MOST_TRIED):
        if not moved.isdisjoint(places):
            continue
        tried = list(held)
        for number, partition in places.items():
            tried[number] = at_partition(held[number], partition)
        after = join(tried)
        if all(_count(after[number]) <= _count(findings[number]) // _EXPLAINED for number in places):
            held = tried
            moved |= places.keys()
            damage += [_damage(logs[number], partition) for number, partition in places.items()]
    return held, damage


def _candidates(logs: Sequence["AuditedTransactionLog"], findings: Findings) -> Iterator[dict[int, int]]:
    """Folders of a topic in one directory, all with transactions that are not their own, with others' partitions."""
    odd = {number: count for number, own in enumerate(findings) if (count := _count(own))}
    for size in range(2, _TOGETHER + 1):
        for numbers in combinations(odd, size):
            own = [logs[number].partition for number in numbers]
            topics = {(PurePath(logs[number].path).parent, logs[number].topic) for number in numbers}
            if len(topics) == 1 and sum(odd[number] for number in numbers) >= _EVENT * size:
                others = (each for each in permutations(own) if not any(map(eq, own, each)))
                yield from (dict(zip(numbers, each, strict=True)) for each in others)


def _count(findings: Iterable[Finding]) -> int:
    return sum(one.rule in _AT_ODDS and one.severity is Severity.VIOLATION for one in findings)


def _damage(log: "AuditedTransactionLog", partition: int) -> SegmentDamage:
    whose = f"its transactions are those of partition {partition} of {log.topic}, by the coordinator's log"
    return SegmentDamage(log.path, 0, f"{whose}{MOVED}")
