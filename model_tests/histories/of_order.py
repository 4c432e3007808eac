"""Anomalies of order: what a process sends and reads, within an operation and from one to the next."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model_tests.histories.anomalies import (
    Anomaly,
    AnomalyCases,
    AnomalyKind,
    Describing,
    broken,
)
from model_tests.histories.breaks import breaks_between, broken_within
from model_tests.histories.group_gaps import group_gaps, members
from model_tests.histories.log_order import LogOrder, Rows, first_of_runs
from model_tests.histories.operations import Facts, Integers, OperationResult
from model_tests.histories.severity import Severity
from spec.algebra import Term
from spec.judging.judge_clients import (
    NextRecord,
    judge_read_back,
    judge_read_past,
    judge_sent_apart,
    judge_sent_back,
)


def of_order(order: LogOrder) -> Iterator[AnomalyCases]:
    """Every class that is about order."""
    yield from _within(order)
    yield from _polls(order)
    yield _sends(order)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Rows that follow each other, and their distance in places."""

    before: Integers
    after: Integers
    distance: Integers

    def where(self, chosen: Facts | Integers) -> "_Pairs":
        return _Pairs(self.before[chosen], self.after[chosen], self.distance[chosen])


def _pairs(rows: Rows, before: Integers, after: Integers) -> _Pairs:
    """Pairs of which both places are known."""
    known = (rows.place[before] >= 0) & (rows.place[after] >= 0)
    before, after = before[known], after[known]
    return _Pairs(before, after, rows.place[after] - rows.place[before])


@dataclass(frozen=True, slots=True)
class _Runs:
    """The records of one operation on one key: its first and its last row."""

    first: Integers
    last: Integers


def _by_operation_and_key(rows: Rows) -> tuple[Integers, Facts]:
    """The rows in the order of operation and key, each as reported, and which of them begin another pair."""
    keys = 1 + int(rows.reported.key.max(initial=0))
    order = np.argsort(rows.reported.operation * keys + rows.reported.key, kind="stable")
    return order, first_of_runs(rows.reported.operation[order], rows.reported.key[order])


def _within(order: LogOrder) -> Iterator[AnomalyCases]:
    for rows, kinds in (
        (order.sent, {AnomalyKind.INT_SEND_SKIP: judge_sent_apart, AnomalyKind.INT_NONMONOTONIC_SEND: judge_sent_back}),
        (order.given, {AnomalyKind.INT_POLL_SKIP: judge_read_past, AnomalyKind.INT_NONMONOTONIC_POLL: judge_read_back}),
    ):
        sorted_rows, first = _by_operation_and_key(rows)
        joined = np.flatnonzero(~first)
        pairs = _pairs(rows, sorted_rows[joined - 1], sorted_rows[joined])
        if rows is order.given:
            pairs = pairs.where(~broken_within(order.history, rows.reported, pairs.after))
        for kind, decision in kinds.items():
            yield _cases(order, rows, kind, pairs, decision(NextRecord(pairs.distance)), len(joined))


def _runs(rows: Rows, chosen: Facts) -> _Runs:
    sorted_rows, first = _by_operation_and_key(rows)
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], len(sorted_rows))[: len(starts)] - 1
    runs = _Runs(sorted_rows[starts], sorted_rows[ends])
    here = chosen[rows.reported.operation[runs.first]]
    return _Runs(runs.first[here], runs.last[here])


def _polls(order: LogOrder) -> Iterator[AnomalyCases]:
    history, rows = order.history, order.given
    runs = _runs(rows, np.ones(len(history), np.bool_))
    operation = rows.reported.operation[runs.first]
    ok = history.outcome[operation] == OperationResult.OK.value
    at, before = _previous(order, rows, runs, ok)
    pairs = _pairs(rows, runs.last[before], runs.first[at])
    pairs = pairs.where(breaks_between(history, rows.reported, pairs.before, pairs.after) == 0)
    pairs = pairs.where(~_in_group_gap(order, pairs))
    resumed = _goes_on_behind(rows, runs, *_previous(order, rows, runs, np.ones(len(ok), np.bool_)), pairs.after)
    via = history.via[rows.reported.operation[pairs.after]]
    read = NextRecord(pairs.distance, via, resumed, history.whole)
    yield _cases(order, rows, AnomalyKind.POLL_SKIP, pairs, judge_read_past(read), len(at))
    yield _cases(order, rows, AnomalyKind.NONMONOTONIC_POLL, pairs, judge_read_back(read), len(at))


def _in_group_gap(order: LogOrder, pairs: _Pairs) -> Facts:
    """Reads with nothing between them but what their group passed over after an abort: that is the finding."""
    gaps = np.concatenate([[0], np.cumsum(group_gaps(order).inside)])
    first, last = order.given.place[pairs.before] + 1, order.given.place[pairs.after]
    member = members(order)[order.given.reported.operation[pairs.after]]
    found: Facts = member & (pairs.distance > 1) & (gaps[last] - gaps[first] == pairs.distance - 1)
    return found


def _goes_on_behind(rows: Rows, runs: _Runs, at: Integers, directly: Integers, after: Integers) -> Facts:
    """Reads that go on right behind what an operation was given that did not succeed, and was not wound back."""
    place = np.full(len(rows.reported), -2, np.int64)
    place[runs.first[at]] = rows.place[runs.last[directly]]
    follows: Facts = place[after] + 1 == rows.place[after]
    return follows


def _previous(order: LogOrder, rows: Rows, runs: _Runs, counts: Facts) -> tuple[Integers, Integers]:
    """Runs, in the order of operations, with the last one before of the same process and key that counts."""
    operation, key = rows.reported.operation[runs.first], rows.reported.key[runs.first]
    process = order.history.process[operation]
    keys = 1 + int(key.max(initial=0))
    sorted_runs = np.argsort(process * keys + key, kind="stable")
    anew = first_of_runs(process[sorted_runs], key[sorted_runs])
    numbers = np.arange(len(sorted_runs))
    start = np.maximum.accumulate(np.where(anew, numbers, 0))
    last = np.maximum.accumulate(np.where(counts[sorted_runs], numbers, -1))
    before = np.concatenate([np.full(min(1, len(last)), -1, np.int64), last[:-1]])
    found = before >= start
    return sorted_runs[found], sorted_runs[before[found]]


def _sends(order: LogOrder) -> AnomalyCases:
    rows = order.sent
    runs = _runs(rows, order.history.outcome != OperationResult.FAIL.value)
    at, before = _previous(order, rows, runs, np.ones(len(runs.first), np.bool_))
    pairs = _pairs(rows, runs.last[before], runs.first[at])
    verdict = judge_sent_back(NextRecord(pairs.distance))
    return _cases(order, rows, AnomalyKind.NONMONOTONIC_SEND, pairs, verdict, len(at))


def _cases(
    order: LogOrder, rows: Rows, kind: AnomalyKind, judged_pairs: _Pairs, verdict: Term, judged: int
) -> AnomalyCases:
    chosen, severity = broken(verdict, len(judged_pairs.after))
    words, pairs = Describing(order), judged_pairs.where(chosen)
    verb = "sent" if rows is order.sent else "was given"

    def describe(case: int, reported: Severity) -> Anomaly:
        ends = (int(pairs.before[case]), int(pairs.after[case]))
        values = tuple(int(rows.reported.value[row]) for row in ends)
        offsets = tuple(int(order.offset[rows.place[row]]) for row in ends)
        operations = tuple(dict.fromkeys(int(rows.reported.operation[row]) for row in ends))
        called = words.called(*operations)
        then = "then" if len(called) == 1 else f"then {called[1]}:"
        message = (
            f"{called[0]} {verb} {words.record(values[0])} at offset {offsets[0]}, {then} "
            f"{words.record(values[1])} at offset {offsets[1]}{_between(int(pairs.distance[case]))}"
        )
        return words.anomaly(kind, reported, int(rows.reported.key[ends[0]]), offsets, values, operations, message)

    return AnomalyCases(kind, severity, describe, judged)


def _between(distance: int) -> str:
    """The number of known records that were left out."""
    return f"; {distance - 1} known records lie between" if distance > 1 else ""
