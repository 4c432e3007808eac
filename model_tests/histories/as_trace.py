"""A client history in the trace schema, so that the history rules of traces judge it: rows of clients.

A record is a batch of one; `writer` and `first_record` are its process and its number among all that the process sent.
What a reader read past without being given it is taken and not delivered: records that are known to lie there, and
between them, as control data of no producer, what nothing is known of. Where a reader need not read on it fetches its
offset anew. A history has no producer ids: the number of the operation stands for one. An operation of which the
beginning is not known is no transaction here, and what lies in one of unknown outcome is in the trace only once it
was read.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from model_tests.histories.as_journal import partition_of
from model_tests.histories.breaks import breaks_between
from model_tests.histories.log_order import LogOrder, log_order
from model_tests.histories.operations import Facts, Integers, OperationResult, Operations, Via
from model_tests.traces.schema import complete
from spec.judging.judge_history import READ_COMMITTED, READ_UNCOMMITTED
from spec.versions import NEWEST
from spec.vocabulary import ErrorCode

_Columns = dict[str, Any]
_Event = tuple[int, _Columns]

NO_ACKS: Final = -2
"""The acks of a row that is no Produce."""


def as_trace(history: Operations, number: int = 0, *, read_committed: bool = True) -> Iterator[_Columns]:
    """The rows of a history, as the trace of a number, in the order in which its operations begin and end."""
    order, isolation = log_order(history), READ_COMMITTED if read_committed else READ_UNCOMMITTED
    events = sorted([*_written(order), *_read(order, isolation)], key=lambda event: event[0])
    reported = {"schema": 1, "trace": number, "profile": NEWEST.name, "transaction_version": 2}
    for step, (at, columns) in enumerate(events):
        yield complete({**reported, "step": step, "time_ms": at, "acks": NO_ACKS, **columns})


def _client(history: Operations, operation: int) -> str:
    return f"process {history.processes[history.process[operation]]}"


def _place(history: Operations, key: int) -> _Columns:
    topic, partition = partition_of(history.keys[key])
    return {"topic": topic, "partition": max(0, partition)}


class _Senders:
    """Of sent records what their rows say of them."""

    def __init__(self, order: LogOrder) -> None:
        self._order = order
        self._number = _ordinals(order.history.process[order.sent.reported.operation])
        self._transaction = np.full(len(order.history), -1, np.int64)
        transactions = order.history.atomic & (order.history.invoked > 0)
        writes = np.unique(order.sent.reported.operation[transactions[order.sent.reported.operation]])
        self._transaction[writes] = _ordinals(order.history.process[writes])
        self._by_record = _last_of(order.sent.record, order.once)
        self.by_place = _last_of(np.where(order.placed, order.sent.place, -1), order.placed)

    def of_given(self, record: int, place: int) -> int:
        """The row of the one send of a record, by its value or else by where it lies; -1 if there is none."""
        known, at = (self._by_record, record) if record >= 0 else (self.by_place, place)
        return int(known[at]) if at < len(known) else -1

    def transaction(self, operation: int) -> int:
        """Which of its process's transactions an operation is, -1 for none."""
        return int(self._transaction[operation])

    def columns(self, row: int) -> _Columns:
        """Who made the record, and in which transaction."""
        if row < 0:
            return {"record_count": 1}
        history, operation = self._order.history, int(self._order.sent.reported.operation[row])
        transaction = self.transaction(operation)
        return {
            "writer": _client(history, operation),
            "first_record": int(self._number[row]),
            "record_count": 1,
            "transaction": transaction,
            "transactional": transaction >= 0,
            "producer_id": operation,
            "producer_epoch": 0,
        }


def _ordinals(numbers: Integers) -> Integers:
    """Of each number, the number of equal ones before it."""
    order = np.argsort(numbers, kind="stable")
    first = np.searchsorted(numbers[order], numbers[order])
    ordinals = np.empty(len(numbers), np.int64)
    ordinals[order] = np.arange(len(numbers)) - first
    return ordinals


def _last_of(numbers: Integers, chosen: Facts) -> Integers:
    found = np.full(1 + int(numbers.max(initial=0)), -1, np.int64)
    rows = np.flatnonzero(chosen & (numbers >= 0))
    found[numbers[rows]] = rows
    return found


# --- what was written -----------------------------------------------------------------------------------------


def _written(order: LogOrder) -> Iterator[_Event]:
    history, sent, senders = order.history, order.sent.reported, _Senders(order)
    rows = np.argsort(sent.operation, kind="stable")
    starts = np.searchsorted(sent.operation[rows], np.arange(len(history) + 1)).tolist()
    for operation in np.unique(sent.operation).tolist():
        outcome, ends = OperationResult(int(history.outcome[operation])), int(history.completed[operation])
        client: _Columns = {"client": _client(history, operation), "acks": -1}
        transaction = senders.transaction(operation)
        is_transaction = transaction >= 0
        call = {
            **client,
            "transaction": transaction,
            "transactional": True,
            "committed": outcome is not OperationResult.FAIL,
        }
        if is_transaction:
            yield int(history.invoked[operation]), {"api": "ClientBeginTransaction", **call}
        for row in rows[starts[operation] : starts[operation + 1]].tolist():
            batch = {**client, **senders.columns(row), **_place(history, int(sent.key[row]))}
            yield int(history.invoked[operation]), {"api": "ClientSend", **batch}
            offset = int(sent.offset[row]) if order.took_effect[operation] else -1
            yield from ((ends, each) for each in _reported_of(batch, outcome, offset, is_transaction))
        if is_transaction:
            yield ends, {"api": "ClientEndTransaction", **call}
        if is_transaction and outcome is not OperationResult.INFO:
            yield ends, {"api": "ClientEndTransactionAnswered", **call, "error": int(ErrorCode.NONE)}


def _reported_of(batch: _Columns, outcome: OperationResult, offset: int, is_transaction: bool) -> Iterator[_Columns]:
    if outcome is not OperationResult.FAIL and offset >= 0:
        found = {"first_offset": offset, "last_offset": offset, "error": int(ErrorCode.NONE)}
        yield {"api": "ClientAcknowledged", **batch, **found}
    elif outcome is OperationResult.FAIL and not is_transaction:
        yield {"api": "ClientSendFailed", **batch, "error": int(ErrorCode.UNKNOWN_SERVER_ERROR)}


# --- what was read --------------------------------------------------------------------------------------------


def _read(order: LogOrder, isolation: int) -> Iterator[_Event]:
    history, given, senders = order.history, order.given, _Senders(order)
    before, broken = _reads_before(order)
    for row in np.flatnonzero(given.spot >= 0).tolist():
        operation, key = int(given.reported.operation[row]), int(given.reported.key[row])
        at = int(history.completed[operation])
        reader = {"client": _client(history, operation), "isolation": isolation, **_place(history, key)}
        if broken[row]:
            yield at, {"api": "ClientFetchOffsets", **reader, "offset": -1, "error": int(ErrorCode.NONE)}
        else:
            last = int(given.place[before[row]])
            for columns in _passed(order, senders, last, int(given.place[row])):
                yield at, {"api": "ClientFetched", **reader, **columns}
        record = senders.columns(senders.of_given(int(given.record[row]), int(given.place[row])))
        offset = int(given.reported.offset[row])
        yield at, {"api": "ClientFetched", **reader, **record, **_range(offset, offset), "delivered": True}


def _range(first: int, last: int) -> _Columns:
    return {"offset": first, "first_offset": first, "last_offset": last}


def _passed(order: LogOrder, senders: _Senders, last: int, place: int) -> Iterator[_Columns]:
    """What lies between two places that a reader was given one after the other."""
    for at in range(last + 1, place + 1):
        first, end = int(order.offset[at - 1]) + 1, int(order.offset[at]) - 1
        if first <= end:
            yield {**_range(first, end), "control": True}
        if at < place:
            sender = int(senders.by_place[at]) if at < len(senders.by_place) else -1
            yield {**senders.columns(sender), **_range(int(order.offset[at]), int(order.offset[at]))}


def _reads_before(order: LogOrder) -> tuple[Integers, Facts]:
    """Of given records the one before of the same process and key, and where it need not be followed by this one."""
    history, reported = order.history, order.given.reported
    rows = np.flatnonzero(order.given.spot >= 0)
    process = history.process[reported.operation[rows]]
    rows = rows[np.lexsort((rows, reported.key[rows], process))]
    before, broken = np.full(len(reported), -1, np.int64), np.ones(len(reported), np.bool_)
    if len(rows) > 1:
        first, second = rows[:-1], rows[1:]
        same = (reported.key[first] == reported.key[second]) & (
            history.process[reported.operation[first]] == history.process[reported.operation[second]]
        )
        first, second = first[same], second[same]
        before[second] = first
        kept = np.isin(history.via[reported.operation[second]], (Via.ASSIGN.value, Via.TRACKED.value))
        kept &= history.outcome[reported.operation[first]] == OperationResult.OK.value
        kept |= reported.operation[first] == reported.operation[second]
        broken[second] = ~kept | (breaks_between(history, reported, first, second) > 0)
    return before, broken
