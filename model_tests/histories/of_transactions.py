"""What Jepsen's checker does not look for: transactions of which a part is seen, and offsets without their outputs."""

from collections.abc import Iterator

import numpy as np

from model_tests.histories.anomalies import (
    SUSPICIOUS,
    UNDECIDED,
    VIOLATION,
    Anomaly,
    AnomalyCases,
    AnomalyKind,
    Describing,
    absent_is,
    of_severity,
)
from model_tests.histories.log_order import LogOrder, among
from model_tests.histories.of_records import aborted_reads, lost
from model_tests.histories.operations import Facts, Integers, OperationResult, Via
from model_tests.histories.severity import Severity


def of_transactions(order: LogOrder, *, read_committed: bool) -> Iterator[AnomalyCases]:
    """Torn transactions, and offsets that are committed without their outputs or with an abort."""
    gone = lost(order)
    yield _torn(order, gone, read_committed=read_committed)
    yield _without_outputs(order, gone)
    yield _of_aborted(order)
    yield _consumed_twice(order)


def _has(order: LogOrder, rows: Facts) -> Facts:
    """Operations with such a row among those that they sent."""
    found = np.zeros(len(order.history), np.bool_)
    found[order.sent.reported.operation[rows]] = True
    return found


def _member(order: LogOrder) -> Facts:
    """Operations of processes that read for a group."""
    member: Facts = np.isin(order.history.via, (Via.SUBSCRIBE.value, Via.TRACKED.value))
    return member


def _torn(order: LogOrder, gone: Facts, *, read_committed: bool) -> AnomalyCases:
    history = order.history
    failed = history.outcome == OperationResult.FAIL.value
    aborted = np.zeros(len(order.sent.reported), np.bool_)
    aborted[aborted_reads(order)[1]] = True
    of_committed = _has(order, order.seen) & _has(order, gone) & order.took_effect
    of_aborted = _has(order, aborted) & _has(order, ~order.seen) & failed
    operations = np.flatnonzero((of_committed | of_aborted) & history.atomic)
    committed = order.took_effect[operations]
    grave = VIOLATION if read_committed else SUSPICIOUS
    severity = np.where(committed, absent_is(history), grave)

    def describe(case: int, reported: Severity) -> Anomaly:
        operation = int(operations[case])
        own = order.sent.reported.operation == operation
        seen, missed = (
            np.flatnonzero(own & order.seen),
            np.flatnonzero(own & (gone if committed[case] else ~order.seen)),
        )
        return _parted(order, reported, operation, seen, missed)

    return AnomalyCases(AnomalyKind.TORN, severity, describe, int(_has(order, order.seen).sum()))


def _parted(order: LogOrder, reported: Severity, operation: int, seen: Integers, missed: Integers) -> Anomaly:
    words, sent = Describing(order), order.sent.reported
    (writer,) = words.called(operation)
    aborted = "" if order.took_effect[operation] else ", which is aborted,"
    behind = ", though readers went on behind it" if order.took_effect[operation] else ""
    message = (
        f"of {writer}{aborted} {_at(order, words, seen[0])} was read, and {_at(order, words, missed[0])} "
        f"was not{behind} ({len(seen)} records read, {len(missed)} not)"
    )
    rows = [int(seen[0]), int(missed[0])]
    offsets, values = sent.offset[rows].tolist(), sent.value[rows].tolist()
    return words.anomaly(AnomalyKind.TORN, reported, int(sent.key[missed[0]]), offsets, values, (operation,), message)


def _at(order: LogOrder, words: Describing, row: int) -> str:
    sent = order.sent.reported
    offset = f" offset {sent.offset[row]}" if sent.offset[row] >= 0 else ""
    return f"{words.record(int(sent.value[row]))} of {words.key(int(sent.key[row]))}{offset}"


def _consumed(order: LogOrder) -> Facts:
    """Given records of transactions that read for a group and have outputs."""
    sends = _has(order, np.ones(len(order.sent.reported), np.bool_))
    consumes = _member(order) & order.history.atomic & sends
    found: Facts = consumes[order.given.reported.operation]
    return found


def _without_outputs(order: LogOrder, gone: Facts) -> AnomalyCases:
    consumes = np.zeros(len(order.history), np.bool_)
    consumes[order.given.reported.operation[_consumed(order)]] = True
    operations = np.flatnonzero(consumes & order.took_effect & _has(order, gone))
    words = Describing(order)

    def describe(case: int, reported: Severity) -> Anomaly:
        operation = int(operations[case])
        row = int(np.flatnonzero((order.sent.reported.operation == operation) & gone)[0])
        given = int(np.flatnonzero(order.given.reported.operation == operation)[-1])
        (writer,) = words.called(operation)
        up_to = f"{words.key(int(order.given.reported.key[given]))} offset {order.given.reported.offset[given]}"
        message = f"{writer} consumed up to {up_to}, and its output {_at(order, words, row)} is lost"
        sent = order.sent.reported
        return words.anomaly(
            *(AnomalyKind.OFFSETS_WITHOUT_OUTPUTS, reported, int(sent.key[row]), (int(sent.offset[row]),)),
            *((int(sent.value[row]),), (operation,), message),
        )

    severity = of_severity(len(operations), absent_is(order.history))
    return AnomalyCases(AnomalyKind.OFFSETS_WITHOUT_OUTPUTS, severity, describe, int(consumes.sum()))


def _of_aborted(order: LogOrder) -> AnomalyCases:
    given, history = order.given, order.history
    consumed = _consumed(order) & (given.place >= 0)
    outcome = order.outcome_of(given.reported)
    bound = np.full(len(history.keys), -1, np.int64)
    group = _member(order)[given.reported.operation] & (outcome == OperationResult.OK.value) & (given.place >= 0)
    np.maximum.at(bound, given.reported.key[group], given.place[group])
    aborted = consumed & (outcome == OperationResult.FAIL.value) & (given.place < bound[given.reported.key])
    rows = np.flatnonzero(aborted & ~among(given.place, given.place[order.given_ok]))
    return _of_given(
        order,
        AnomalyKind.OFFSETS_OF_ABORTED,
        rows,
        UNDECIDED,
        "was consumed by {0}, which is aborted, and by no other; the group went on behind it",
        int(consumed.sum()),
    )


def _consumed_twice(order: LogOrder) -> AnomalyCases:
    given = order.given
    rows = np.flatnonzero(_consumed(order) & order.given_ok & (given.place >= 0))
    sorted_rows = rows[np.lexsort((given.reported.operation[rows], given.place[rows]))]
    place, operation = given.place[sorted_rows], given.reported.operation[sorted_rows]
    again = np.flatnonzero((place[1:] == place[:-1]) & (operation[1:] != operation[:-1])) + 1
    return _of_given(
        order,
        AnomalyKind.CONSUMED_TWICE,
        sorted_rows[again],
        SUSPICIOUS,
        "was consumed by {0}, and by {1} before it",
        len(rows),
        sorted_rows[again - 1],
    )


def _of_given(
    order: LogOrder,
    kind: AnomalyKind,
    rows: Integers,
    severity: int,
    what: str,
    judged: int,
    before: Integers | None = None,
) -> AnomalyCases:
    """Cases about records that were given, with the operations that they were given to."""
    words, reported = Describing(order), order.given.reported

    def describe(case: int, how: Severity) -> Anomaly:
        chosen = [int(one[case]) for one in (rows, before) if one is not None]
        row = chosen[0]
        operations = [int(reported.operation[one]) for one in chosen]
        key, offset, value = int(reported.key[row]), int(reported.offset[row]), int(reported.value[row])
        where = f"{words.record(value)} of {words.key(key)} offset {offset} "
        message = where + what.format(*words.called(*operations))
        return words.anomaly(kind, how, key, (offset,), (value,), operations, message)

    return AnomalyCases(kind, of_severity(len(rows), severity), describe, judged)
