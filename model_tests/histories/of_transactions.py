"""What Jepsen's checker does not look for: transactions of which a part is seen, and offsets without their outputs."""

from collections.abc import Iterator

import numpy as np

from model_tests.histories.anomalies import (
    Anomaly,
    AnomalyCases,
    AnomalyKind,
    Describing,
    broken,
)
from model_tests.histories.group_gaps import consumed, group_gaps, members
from model_tests.histories.log_order import LogOrder
from model_tests.histories.of_records import aborted_reads, sent_records
from model_tests.histories.operations import Facts, Integers
from model_tests.histories.severity import Severity
from spec.judging.judge_clients import (
    ConsumedNext,
    ReportedTransaction,
    is_lost,
    judge_consumed,
    judge_outputs,
    judge_torn,
)


def of_transactions(order: LogOrder) -> Iterator[AnomalyCases]:
    """Torn transactions, and offsets that are committed without their outputs or with an abort."""
    gone = np.asarray(is_lost(sent_records(order)), np.bool_)
    transactions = _transactions(order, gone)
    yield _torn(order, gone, transactions)
    yield _without_outputs(order, gone, transactions)
    yield _of_aborted(order)
    yield _consumed_twice(order)


def _has(order: LogOrder, rows: Facts) -> Facts:
    """Operations with such a row among those that they sent."""
    found = np.zeros(len(order.history), np.bool_)
    found[order.sent.reported.operation[rows]] = True
    return found


def _transactions(order: LogOrder, gone: Facts) -> ReportedTransaction:
    """The operations as columns."""
    history = order.history
    aborted, consumes = np.zeros(len(order.sent.reported), np.bool_), np.zeros(len(history), np.bool_)
    aborted[aborted_reads(order)[1]] = True
    consumes[order.given.reported.operation[consumed(order)]] = True
    return ReportedTransaction(
        atomic=history.atomic,
        took_effect=order.took_effect,
        seen=_has(order, order.seen),
        lost=_has(order, gone),
        aborted_seen=_has(order, aborted),
        unseen=_has(order, ~order.seen),
        consumes=consumes,
        read_committed=history.read_committed,
        whole=history.whole,
    )


def _torn(order: LogOrder, gone: Facts, transactions: ReportedTransaction) -> AnomalyCases:
    operations, severity = broken(judge_torn(transactions), len(order.history))
    committed = order.took_effect[operations]

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
    rows = [
        min(own.tolist(), key=lambda row: (words.key(int(sent.key[row])), int(sent.offset[row])))
        for own in (seen, missed)
    ]
    aborted = "" if order.took_effect[operation] else ", which is aborted,"
    behind = ", though readers continued after it" if order.took_effect[operation] else ""
    message = (
        f"of {writer}{aborted} {_at(order, words, rows[0])} was read, and {_at(order, words, rows[1])} "
        f"was not{behind} ({len(seen)} records read, {len(missed)} not)"
    )
    offsets, values = sent.offset[rows].tolist(), sent.value[rows].tolist()
    return words.anomaly(AnomalyKind.TORN, reported, int(sent.key[rows[1]]), offsets, values, (operation,), message)


def _at(order: LogOrder, words: Describing, row: int) -> str:
    sent = order.sent.reported
    offset = f" offset {sent.offset[row]}" if sent.offset[row] >= 0 else ""
    return f"{words.record(int(sent.value[row]))} of {words.key(int(sent.key[row]))}{offset}"


def _without_outputs(order: LogOrder, gone: Facts, transactions: ReportedTransaction) -> AnomalyCases:
    operations, severity = broken(judge_outputs(transactions), len(order.history))
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

    return AnomalyCases(AnomalyKind.OFFSETS_WITHOUT_OUTPUTS, severity, describe, int(transactions.consumes.sum()))


def _of_aborted(order: LogOrder) -> AnomalyCases:
    """Runs that a group passed over after an abort, as one does that is not wound back to its committed offset."""
    gaps, words = group_gaps(order), Describing(order)
    given = order.given

    def describe(case: int, reported: Severity) -> Anomaly:
        first, last = int(gaps.first[case]), int(gaps.last[case])
        inside = (given.place >= first) & (given.place <= last) & consumed(order)
        behind = members(order)[given.reported.operation] & order.given_ok & (given.place > last)
        behind &= given.reported.key == order.key[first]
        onward = np.flatnonzero(behind)[np.argmin(given.place[behind])]
        rows = (int(np.flatnonzero(inside)[0]), int(onward))
        operations = [int(given.reported.operation[row]) for row in rows]
        aborted, further = words.called(*operations)
        places = np.unique(given.place[inside])
        key, offsets = int(order.key[first]), order.offset[[first, last]]
        message = (
            f"{words.key(key)} offsets {_range(offsets)} ({last - first + 1} records) were given to no operation of "
            f"the group that succeeded ({_range(order.offset[places[[0, -1]]])} to {aborted}, which is aborted), and "
            f"{further} went on at offset {order.offset[given.place[onward]]}: the group passed over them. After an "
            "abort its consumer has to go back to the committed offset"
        )
        values = [int(given.reported.value[row]) for row in rows]
        return words.anomaly(
            AnomalyKind.OFFSETS_OF_ABORTED, reported, key, offsets.tolist(), values, operations, message
        )

    return AnomalyCases(AnomalyKind.OFFSETS_OF_ABORTED, gaps.severity, describe, gaps.judged)


def _range(offsets: Integers) -> str:
    first, last = offsets.tolist()
    return f"{first}..{last}" if last > first else str(first)


def _consumed_twice(order: LogOrder) -> AnomalyCases:
    words, reported = Describing(order), order.given.reported
    rows = np.flatnonzero(consumed(order) & order.given_ok & (order.given.place >= 0))
    sorted_rows = rows[np.lexsort((reported.operation[rows], order.given.place[rows]))]
    before, after = sorted_rows[:-1], sorted_rows[1:]
    together = reported.operation[after] == reported.operation[before]
    judged = ConsumedNext(order.given.place[after] - order.given.place[before], together)
    again, severity = broken(judge_consumed(judged), len(after))

    def describe(case: int, how: Severity) -> Anomaly:
        row = int(after[again[case]])
        operations = [int(reported.operation[one]) for one in (row, before[again[case]])]
        key, offset, value = int(reported.key[row]), int(reported.offset[row]), int(reported.value[row])
        last, first = words.called(*operations)
        where = f"{words.record(value)} of {words.key(key)} offset {offset}"
        message = f"{where} was consumed by {last}, and by {first} before it"
        return words.anomaly(AnomalyKind.CONSUMED_TWICE, how, key, (offset,), (value,), operations, message)

    return AnomalyCases(AnomalyKind.CONSUMED_TWICE, severity, describe, len(rows))
