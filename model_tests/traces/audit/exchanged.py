"""Folders of one topic under each other's names: by the coordinator the transactions of each are those of the other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from model_tests.traces.audit.findings import Finding, Severity
from model_tests.traces.audit.folders import MOVED, at_partition
from model_tests.traces.logs.kafka_log_segment import Damage
from spec import rules

if TYPE_CHECKING:
    from model_tests.traces.audit.transactions import Log

Findings = Sequence[tuple[Finding, ...]]

_AT_ODDS: Final = (rules.TXN_MARKER_ONCE, rules.TXN_REGISTERED_BEFORE_DATA)
"""Rules that a partition breaks when the coordinator speaks of another under its name."""

_TELLING: Final = 2
"""So many of each folder's transactions make it no chance that the other's name explains them."""

_EXPLAINED: Final = 4
"""Of so many broken ones at most one may be left; that has another cause."""

_MOST_TRIED: Final = 16


def changed_places(
    logs: Sequence["Log"], findings: Findings, join: Callable[[Sequence["Log"]], Findings]
) -> tuple[list["Log"], list[Damage]]:
    """The logs, each of two folders that changed names as that of the other's partition; and which they are.

    Args:
        logs: all of them.
        findings: of each, joined with the coordinator's.
        join: the same of such logs.
    """
    held, damage = list(logs), []
    moved: set[int] = set()
    for left, right in list(_candidates(logs, findings))[:_MOST_TRIED]:
        if moved & {left, right}:
            continue
        tried = list(held)
        tried[left] = at_partition(held[left], logs[right].partition)
        tried[right] = at_partition(held[right], logs[left].partition)
        after = join(tried)
        if _count(after) <= _count(findings) - _least_explained(findings[left], findings[right]):
            held, findings = tried, after
            moved |= {left, right}
            damage += [_damage(logs[number], held[number].partition) for number in (left, right)]
    return held, damage


def _candidates(logs: Sequence["Log"], findings: Findings) -> Iterator[tuple[int, int]]:
    """Pairs of folders of a topic in one directory, each with transactions that are not its own."""
    odd = [number for number, own in enumerate(findings) if _count([own]) >= _TELLING]
    for left, right in combinations(odd, 2):
        topics = {(PurePath(logs[number].path).parent, logs[number].topic) for number in (left, right)}
        if len(topics) == 1 and logs[left].partition != logs[right].partition:
            yield left, right


def _least_explained(*findings: tuple[Finding, ...]) -> int:
    broken = _count(findings)
    return broken - broken // _EXPLAINED


def _count(findings: Iterable[tuple[Finding, ...]]) -> int:
    return sum(one.rule in _AT_ODDS and one.severity is Severity.VIOLATION for own in findings for one in own)


def _damage(log: "Log", partition: int) -> Damage:
    whose = f"its transactions are those of partition {partition} of {log.topic}, by the coordinator's log"
    return Damage(log.path, 0, f"{whose}{MOVED}")
