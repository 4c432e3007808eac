"""Circles of transactions: by the order of the logs, by who was given whose records, and by time.

By time there is a circle where an operation was given, through any number of others, a record of one that began after
it had ended; that needs no edges of time, only the latest beginning among all that an operation rests on.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model_tests.histories.anomalies import (
    SUSPICIOUS,
    VIOLATION,
    Anomaly,
    AnomalyCases,
    AnomalyKind,
    Describing,
    of_severity,
)
from model_tests.histories.log_order import LogOrder
from model_tests.histories.operations import NEVER, Integers
from model_tests.histories.severity import Severity
from spec.engines.components import components

_PEELINGS = 64
"""Rounds in which operations that are in no circle are taken out at once, before the rest is searched one by one."""


@dataclass(frozen=True, slots=True)
class _Edges:
    """From operations to operations, with the record or the place that each is about."""

    source: Integers
    target: Integers
    key: Integers
    value: Integers

    def where(self, chosen: Integers) -> "_Edges":
        return _Edges(self.source[chosen], self.target[chosen], self.key[chosen], self.value[chosen])

    def and_also(self, other: "_Edges") -> "_Edges":
        return _Edges(
            np.concatenate([self.source, other.source]),
            np.concatenate([self.target, other.target]),
            np.concatenate([self.key, other.key]),
            np.concatenate([self.value, other.value]),
        )


def of_cycles(order: LogOrder) -> Iterator[AnomalyCases]:
    """Every class that is about circles."""
    writes, reads = _writes(order), _reads(order)
    grave = VIOLATION if order.history.read_committed else SUSPICIOUS
    by_writes, by_reads = _circles(order, writes), _circles(order, reads)
    yield _cases(order, AnomalyKind.WRITE_CYCLE, writes, by_writes, of_severity(len(by_writes), SUSPICIOUS))
    both = writes.and_also(reads)
    known = {operation for one in (*by_reads, *by_writes) for operation in one}
    mixed = [one for one in _circles(order, both) if known.isdisjoint(one)]
    severity = np.array([grave] * len(by_reads) + [SUSPICIOUS] * len(mixed), np.int64)
    yield _cases(order, AnomalyKind.READ_CYCLE, both, by_reads + mixed, severity)
    yield from _by_time(order, reads, grave)


def _writes(order: LogOrder) -> _Edges:
    """From who wrote a place to who wrote the next one of the partition."""
    writer = np.full(len(order.key) + 1, -1, np.int64)
    here = np.flatnonzero(order.placed)[::-1]
    writer[order.sent.place[here]] = here
    first, second = writer[:-2], writer[1:-1]
    linked = (
        np.flatnonzero((first >= 0) & (second >= 0) & (order.key[:-1] == order.key[1:])) if len(order.key) else first
    )
    sent = order.sent.reported
    first, second = first[linked], second[linked]
    return _apart(_Edges(sent.operation[first], sent.operation[second], sent.key[second], sent.value[second]))


def _reads(order: LogOrder) -> _Edges:
    """From who sent a record to whom it was given."""
    senders = np.flatnonzero(order.once & (order.sent.record >= 0) & order.took_effect[order.sent.reported.operation])
    sender = np.full(2 + max(int(one.record.max(initial=-1)) for one in (order.sent, order.given)), -1, np.int64)
    sender[order.sent.record[senders]] = order.sent.reported.operation[senders]
    given = order.given.reported
    source = sender[order.given.record]
    rows = np.flatnonzero(source >= 0)
    source = source[rows]
    return _apart(_Edges(source, given.operation[rows], given.key[rows], given.value[rows]))


def _apart(edges: _Edges) -> _Edges:
    return edges.where(np.flatnonzero(edges.source != edges.target))


# --- circles --------------------------------------------------------------------------------------------------


def _circles(order: LogOrder, edges: _Edges) -> list[list[int]]:
    """Of each set of operations that all lead to each other a shortest circle, as operations in its order."""
    left = _peeled(_in_blocks(order, edges), len(order.history))
    successors: dict[int, list[int]] = {}
    for source, target in zip(left.source.tolist(), left.target.tolist(), strict=True):
        successors.setdefault(source, []).append(target)
        successors.setdefault(target, [])
    return [_circle(successors, one) for one in components(successors) if len(one) > 1]


def _in_blocks(order: LogOrder, edges: _Edges) -> _Edges:
    """Edges that a circle may have: no circle leaves a stretch of the history that edges against its order span."""
    end = np.argsort(np.argsort(order.history.completed, kind="stable"), kind="stable")
    back = end[edges.source] > end[edges.target]
    bounds = np.zeros(len(end) + 1, np.int64)
    np.add.at(bounds, end[edges.target[back]], 1)
    np.add.at(bounds, end[edges.source[back]], -1)
    inside = np.cumsum(bounds)[:-1] > 0
    block = np.cumsum(np.append(True, ~inside[:-1])) if len(inside) else bounds[:0]
    chosen = block[end[edges.source]] == block[end[edges.target]]
    return edges.where(np.flatnonzero(chosen))


def _peeled(edges: _Edges, operations: int) -> _Edges:
    """The edges without those of operations that nothing leads to, or that lead to nothing; again and again."""
    for _ in range(_PEELINGS):
        leads, led = np.zeros(operations, np.bool_), np.zeros(operations, np.bool_)
        leads[edges.source] = True
        led[edges.target] = True
        stays = led[edges.source] & leads[edges.target]
        if stays.all():
            break
        edges = edges.where(np.flatnonzero(stays))
    return edges


def _circle(successors: Mapping[int, Sequence[int]], among: Sequence[int]) -> list[int]:
    """A shortest circle through one of these operations."""
    inside, start = set(among), min(among)
    came: dict[int, int] = {}
    walks = deque([start])
    while walks:
        here = walks.popleft()
        for after in successors[here]:
            if after == start:
                return _walked(came, start, here)
            if after in inside and after not in came:
                came[after] = here
                walks.append(after)
    return sorted(among)


def _walked(came: Mapping[int, int], start: int, end: int) -> list[int]:
    way = [end]
    while way[-1] != start:
        way.append(came[way[-1]])
    return way[::-1]


def _cases(
    order: LogOrder, kind: AnomalyKind, edges: _Edges, circles: Sequence[Sequence[int]], severity: Integers
) -> AnomalyCases:
    words = Describing(order)

    def describe(case: int, reported: Severity) -> Anomaly:
        circle = circles[case]
        steps = list(zip(circle, [*circle[1:], circle[0]], strict=True))
        rows = [int(np.flatnonzero((edges.source == a) & (edges.target == b))[0]) for a, b in steps[:8]]
        message = "; ".join(_edge(words, edges, row) for row in rows)
        values = [int(edges.value[row]) for row in rows]
        return words.anomaly(kind, reported, int(edges.key[rows[0]]), (), values, circle[:8], message)

    return AnomalyCases(kind, severity, describe, len(edges.source))


def _edge(words: Describing, edges: _Edges, row: int) -> str:
    first, second = words.called(int(edges.source[row]), int(edges.target[row]))
    value, key = words.record(int(edges.value[row])), words.key(int(edges.key[row]))
    return f"{first} comes before {second} by {value} of {key}"


# --- by time --------------------------------------------------------------------------------------------------


def _by_time(order: LogOrder, reads: _Edges, severity: int) -> Iterator[AnomalyCases]:
    history = order.history
    latest = _latest_beginning(order, reads)
    bad = np.flatnonzero((history.invoked[latest] > history.completed) & (history.completed < NEVER))
    same = history.process[latest[bad]] == history.process[bad]
    for kind, rows in ((AnomalyKind.READ_CYCLE_PROCESS, bad[same]), (AnomalyKind.READ_CYCLE_REALTIME, bad[~same])):
        yield _of_time(order, kind, reads, rows, latest[rows], severity)


def _latest_beginning(order: LogOrder, reads: _Edges) -> Integers:
    """Of each operation the one that began last among itself and all that it was given records of, in whatever way."""
    beginning = np.argsort(order.history.invoked, kind="stable")
    rank = np.empty(len(beginning), np.int64)
    rank[beginning] = np.arange(len(beginning))
    source, target = reads.source, reads.target
    while len(source):
        later = rank[source] > rank[target]
        source, target = source[later], target[later]
        if not len(source):
            break
        before = rank.copy()
        np.maximum.at(rank, target, rank[source])
        moved = rank > before
        again = moved[reads.source]
        source, target = reads.source[again], reads.target[again]
    return beginning[rank] if len(rank) else rank


def _of_time(
    order: LogOrder, kind: AnomalyKind, reads: _Edges, rows: Integers, latest: Integers, severity: int
) -> AnomalyCases:
    words = Describing(order)

    def describe(case: int, reported: Severity) -> Anomaly:
        given, began = int(rows[case]), int(latest[case])
        edge = int(np.flatnonzero(reads.target == given)[0])
        first, second = words.called(given, began)
        message = f"{first} had ended before {second} began, and rests on what that one sent"
        value = int(reads.value[edge])
        return words.anomaly(kind, reported, int(reads.key[edge]), (), (value,), (given, began), message)

    return AnomalyCases(kind, of_severity(len(rows), severity), describe, len(reads.source))
