"""Anomalies of single records: where they lie, who was given them, and who was not."""

from collections.abc import Iterator

import numpy as np

from model_tests.histories.anomalies import (
    VIOLATION,
    Anomaly,
    AnomalyCases,
    AnomalyKind,
    Describing,
    broken,
    of_severity,
)
from model_tests.histories.group_gaps import group_gaps, members
from model_tests.histories.log_order import LogOrder, among, extremes
from model_tests.histories.operations import Facts, Integers, OperationResult
from model_tests.histories.severity import Severity
from spec.judging.judge_clients import (
    GivenRecord,
    KnownSpan,
    WrittenRecord,
    judge_given,
    judge_own,
    judge_passed,
    judge_place,
    judge_unseen,
    judge_value,
)


def of_records(order: LogOrder) -> Iterator[AnomalyCases]:
    """Every class that is about single records."""
    words = Describing(order)
    yield _duplicate(order, words)
    yield _inconsistent(order, words)
    yield _aborted_read(order, words)
    yield _precommitted_read(order, words)
    yield _lost_write(order, words)
    yield _unseen(order, words)


def sent_records(order: LogOrder) -> WrittenRecord:
    """The sent records as columns.

    A reader is known to have been before a record if it was given an earlier one, or was to read from the start.
    """
    given, key = order.given, order.sent.reported.key
    here = order.given_ok & (given.place >= 0)
    begun, _ = extremes(given.reported.key[here], given.place[here], len(order.history.keys))
    begun[order.history.from_start] = -1
    return WrittenRecord(
        answer=order.outcome_of(order.sent.reported),
        placed=order.placed,
        seen=order.seen,
        handed=order.handed,
        place=order.sent.place,
        begun=begun[key],
        furthest=_furthest(order)[key],
        alone=_furthest(order, ~members(order))[key],
        left_out=np.append(group_gaps(order).inside, False)[order.sent.place],
        whole=order.history.whole,
    )


def _furthest(order: LogOrder, readers: Facts | None = None) -> Integers:
    """Of each key the last place that a reader was given, or one of some readers."""
    bound = np.full(len(order.history.keys), -1, np.int64)
    here = order.given_ok & (order.given.place >= 0)
    here &= True if readers is None else readers[order.given.reported.operation]
    np.maximum.at(bound, order.given.reported.key[here], order.given.place[here])
    return bound


def _known(order: LogOrder) -> tuple[Integers, Integers]:
    """Record and place of everything that is known to lie somewhere, by its own offset."""
    here, there = order.placed, order.given.spot >= 0
    record = np.concatenate([order.sent.record[here], order.given.record[there]])
    place = np.concatenate([order.sent.place[here], order.given.place[there]])
    reported = record >= 0
    return record[reported], place[reported]


def _duplicate(order: LogOrder, words: Describing) -> AnomalyCases:
    records, places = _known(order)
    count = 1 + int(records.max(initial=-1))
    once = among(np.arange(count), order.sent.record[order.once])
    again, severity = broken(judge_value(KnownSpan(*extremes(records, places, count), once)), count)

    def describe(case: int, reported: Severity) -> Anomaly:
        offsets = order.offset[np.unique(places[records == again[case]])]
        sent = np.flatnonzero(order.sent.record == again[case])
        given = np.flatnonzero(order.given.record == again[case])
        key, value = _key_and_value(order, sent, given)
        count = {0: "no sender is known", 1: "it was sent once"}.get(len(sent), f"{len(sent)} times sent")
        message = f"{words.record(value)} lies at offsets {_listed(offsets)}; {count}"
        operations = (*order.sent.reported.operation[sent][:2], *order.given.reported.operation[given][:2])
        return words.anomaly(AnomalyKind.DUPLICATE, reported, key, offsets[:8].tolist(), (value,), operations, message)

    return AnomalyCases(AnomalyKind.DUPLICATE, severity, describe, len(records))


def _key_and_value(order: LogOrder, sent: Integers, given: Integers) -> tuple[int, int]:
    rows, reported = (sent, order.sent.reported) if len(sent) else (given, order.given.reported)
    return int(reported.key[rows[0]]), int(reported.value[rows[0]])


def _listed(offsets: Integers) -> str:
    shown = ", ".join(map(str, offsets[:8].tolist()))
    return shown if len(offsets) <= 8 else f"{shown} and {len(offsets) - 8} more"


def _inconsistent(order: LogOrder, words: Describing) -> AnomalyCases:
    records, places = _known(order)
    again, severity = broken(judge_place(KnownSpan(*extremes(places, records, len(order.key)))), len(order.key))
    contradicted = np.flatnonzero(order.contradicted)

    def describe(case: int, reported: Severity) -> Anomaly:
        if case >= len(again):
            return _contradicted(order, words, int(contradicted[case - len(again)]), reported)
        place = again[case]
        sent = np.flatnonzero(order.placed & (order.sent.place == place))
        given = np.flatnonzero((order.given.spot >= 0) & (order.given.place == place))
        values = np.concatenate([order.sent.reported.value[sent], order.given.reported.value[given]])
        operations = np.concatenate([order.sent.reported.operation[sent], order.given.reported.operation[given]])
        values, first = np.unique(values, return_index=True)
        key, offset = int(order.key[place]), int(order.offset[place])
        message = f"offset {offset} has the values {', '.join(words.value(int(one)) for one in values[:8])}"
        return words.anomaly(
            AnomalyKind.INCONSISTENT_OFFSETS,
            reported,
            key,
            (offset,),
            values[:8].tolist(),
            operations[first][:8].tolist(),
            message,
        )

    severity = np.append(severity, of_severity(len(contradicted), VIOLATION))
    return AnomalyCases(AnomalyKind.INCONSISTENT_OFFSETS, severity, describe, len(records))


def _contradicted(order: LogOrder, words: Describing, row: int, severity: Severity) -> Anomaly:
    """An acknowledgement that names a place where readers were given another record."""
    sent, given = order.sent.reported, order.given.reported
    key, value, offset = int(sent.key[row]), int(sent.value[row]), int(sent.offset[row])
    there = np.flatnonzero((given.key == key) & (given.offset == offset))[0]
    itself = np.flatnonzero(order.given.record == order.sent.record[row])[0]
    operations = (int(sent.operation[row]), int(given.operation[there]), int(given.operation[itself]))
    writer, reader, _ = words.called(*operations)
    values, offsets = (value, int(given.value[there])), (offset, int(given.offset[itself]))
    message = (
        f"{words.record(value)} was acknowledged at offset {offset}, where readers were given "
        f"{words.record(values[1])} ({reader}), and itself was read at offset {offsets[1]}: the acknowledgement of "
        f"{writer} is wrong"
    )
    return words.anomaly(AnomalyKind.INCONSISTENT_OFFSETS, severity, key, offsets, values, operations, message)


def aborted_reads(order: LogOrder) -> tuple[Integers, Integers, Integers]:
    """Rows of given records that should not have been, of a sender's record that is aborted, and how grave it is."""
    failed = order.outcome_of(order.sent.reported) == OperationResult.FAIL.value
    found: list[tuple[Integers, Integers, Integers]] = []
    for sent, given in ((order.sent.record, order.given.record), (_of_unnamed(order))):
        aborted, spared = among(given, sent[failed]), among(given, sent[~failed])
        record = GivenRecord(order.history.read_committed, order.given_ok, aborted, spared)
        rows, severity = broken(judge_given(record), len(given))
        sender = np.zeros(2 + max(int(one.max(initial=-1)) for one in (sent, given)), np.int64)
        sender[sent[failed]] = np.flatnonzero(failed)
        found.append((rows, sender[given[rows]], severity))
    rows, senders, severity = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return rows, senders, severity


def _of_unnamed(order: LogOrder) -> tuple[Integers, Integers]:
    """Spots in place of records, where values are not known."""
    return np.where(order.sent.record < 0, order.sent.spot, -1), order.given.spot


def _aborted_read(order: LogOrder, words: Describing) -> AnomalyCases:
    rows, senders, severity = aborted_reads(order)

    def describe(case: int, reported: Severity) -> Anomaly:
        given, sent = rows[case], senders[case]
        operations = (order.sent.reported.operation[sent], order.given.reported.operation[given])
        writer, reader = words.called(*map(int, operations))
        key, value, offset = (
            int(one[given])
            for one in (order.given.reported.key, order.given.reported.value, order.given.reported.offset)
        )
        message = f"{reader} was given {words.record(value)} at offset {offset}, of which {writer} got a failure"
        return words.anomaly(AnomalyKind.ABORTED_READ, reported, key, (offset,), (value,), operations, message)

    return AnomalyCases(AnomalyKind.ABORTED_READ, severity, describe, len(order.given.reported))


def _precommitted_read(order: LogOrder, words: Describing) -> AnomalyCases:
    sent, given = order.sent, order.given
    most = max(1, len(sent.reported) + len(given.reported))
    own = sent.reported.operation * most + sent.record
    taken = given.reported.operation * most + given.record
    is_own = (given.record >= 0) & np.isin(taken, own[sent.record >= 0])
    rows, severity = broken(judge_own(GivenRecord(order.history.read_committed, own=is_own)), len(is_own))

    def describe(case: int, reported: Severity) -> Anomaly:
        row = rows[case]
        key, value, offset = (
            int(given.reported.key[row]),
            int(given.reported.value[row]),
            int(given.reported.offset[row]),
        )
        operations = (given.reported.operation[row],)
        (reader,) = words.called(int(operations[0]))
        message = f"{reader} was given {words.record(value)}, which it sent itself and had not committed"
        return words.anomaly(AnomalyKind.PRECOMMITTED_READ, reported, key, (offset,), (value,), operations, message)

    return AnomalyCases(AnomalyKind.PRECOMMITTED_READ, severity, describe, len(sent.reported))


def _lost_write(order: LogOrder, words: Describing) -> AnomalyCases:
    rows, severity = broken(judge_passed(sent_records(order)), len(order.sent.reported))
    bound = _furthest(order)

    def describe(case: int, reported: Severity) -> Anomaly:
        row = rows[case]
        key, value, place = (
            int(order.sent.reported.key[row]),
            int(order.sent.reported.value[row]),
            order.sent.place[row],
        )
        reader = np.flatnonzero(order.given_ok & (order.given.place == bound[key]))[0]
        operations = (order.sent.reported.operation[row], order.given.reported.operation[reader])
        writer, further = words.called(*map(int, operations))
        offsets = (int(order.offset[place]), int(order.offset[bound[key]]))
        how = "was given only to operations that failed, or may have" if order.handed[row] else "was given to no reader"
        if reported is Severity.UNDECIDED and not order.handed[row] and not order.history.partial:
            how += ", and no reader is known to have read from before it"
        message = (
            f"{words.record(value)} at offset {offsets[0]}, sent by {writer}, {how}; "
            f"{further} was given offset {offsets[1]}"
        )
        return words.anomaly(AnomalyKind.LOST_WRITE, reported, key, offsets, (value,), operations, message)

    return AnomalyCases(AnomalyKind.LOST_WRITE, severity, describe, int(order.placed.sum()))


def _unseen(order: LogOrder, words: Describing) -> AnomalyCases:
    acknowledged = order.outcome_of(order.sent.reported) == OperationResult.OK.value
    rows, severity = broken(judge_unseen(sent_records(order)), len(order.sent.reported))

    def describe(case: int, reported: Severity) -> Anomaly:
        row = rows[case]
        key, value, offset = (
            int(one[row]) for one in (order.sent.reported.key, order.sent.reported.value, order.sent.reported.offset)
        )
        operations = (order.sent.reported.operation[row],)
        (writer,) = words.called(int(operations[0]))
        where = f"at offset {offset}" if offset >= 0 else "at an unknown offset"
        message = f"{words.record(value)} {where}, sent by {writer}, was not read to the end of the history"
        return words.anomaly(AnomalyKind.UNSEEN, reported, key, (offset,), (value,), operations, message)

    return AnomalyCases(AnomalyKind.UNSEEN, severity, describe, int(acknowledged.sum()))
