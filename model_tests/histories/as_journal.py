"""A client history as the join with logs takes it: attempts with the client's answers, and acknowledged offsets."""

from typing import Final

import numpy as np

from model_tests.histories.journal import Acknowledged, ClientJournal, JournalTransaction, Partition, ReportedEnd
from model_tests.histories.operations import OperationResult, Operations

_REPORTED: Final = {
    OperationResult.OK: ReportedEnd.COMMITTED,
    OperationResult.INFO: ReportedEnd.UNKNOWN,
    OperationResult.FAIL: ReportedEnd.ABORTED,
}

_IN_TRANSACTION: Final = (":txn", "transaction")
"""Operations that are known to be transactions; a `:send` may be one or not."""


def as_journal(history: Operations, topic: str = "") -> ClientJournal:
    """The operations that sent something, and of their records those with an offset.

    A record that was sent outside a transaction counts if it was acknowledged. A key that names no partition is a topic
    without one, of which no log is given; a number is a partition of `topic`, if that is given.
    """
    sent = history.sent
    attempts: list[JournalTransaction] = []
    number_of = np.full(len(history), -1, np.int64)
    for row in np.unique(sent.operation[sent.offset >= 0]).tolist():
        attempt = _attempt(history, row)
        if attempt is not None:
            number_of[row] = len(attempts)
            attempts.append(attempt)
    acknowledged: dict[Partition, Acknowledged] = {}
    chosen = (sent.offset >= 0) & (number_of[sent.operation] >= 0)
    rows = np.flatnonzero(chosen)
    rows = rows[np.lexsort((sent.operation[rows], sent.offset[rows], sent.key[rows]))]
    for own in np.split(rows, np.flatnonzero(np.diff(sent.key[rows])) + 1) if len(rows) else ():
        key = history.keys[sent.key[own[0]]]
        operations = sent.operation[own]
        acknowledged[partition_of(key, topic)] = Acknowledged(sent.offset[own], number_of[operations], operations)
    return ClientJournal(tuple(attempts), acknowledged)


def _attempt(history: Operations, row: int) -> JournalTransaction | None:
    outcome, name = OperationResult(int(history.outcome[row])), history.names[history.name[row]]
    producer, index = str(history.processes[history.process[row]]), int(history.index[row])
    if name in _IN_TRANSACTION:
        return JournalTransaction(producer, "", index, index, _REPORTED[outcome])
    return (
        JournalTransaction(producer, "", None, index, ReportedEnd.NO_TRANSACTION)
        if outcome is OperationResult.OK
        else None
    )


def partition_of(key: object, topic: str = "") -> Partition:
    """Topic and partition that a key names: a pair, a text as `orders-0`, or a number, of the topic that is given."""
    if topic and isinstance(key, int) and not isinstance(key, bool):
        return topic, key
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], int):
        return str(key[0]), key[1]
    named, _, number = str(key).removeprefix(":").rpartition("-")
    return (named, int(number)) if named and number.isdecimal() else (str(key), -1)
