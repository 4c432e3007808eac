"""A client history as the join with logs takes it: attempts with the client's answers, and acknowledged offsets."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

import numpy as np

from model_tests.histories.operations import (
    TRANSACTION,
    UNKNOWN,
    Facts,
    Integers,
    OperationResult,
    Operations,
    Partition,
)


@unique
class ReportedEnd(StrEnum):
    """The answer that a client got to the end of a transaction."""

    COMMITTED = "commit"
    ABORTED = "abort"
    UNKNOWN = "unknown"
    NO_TRANSACTION = "none"


@dataclass(slots=True)
class JournalTransaction:
    """One transaction as a client saw it, or everything a producer sent outside transactions.

    Attributes:
        line: of the journal where it begins.
    """

    producer: str
    transactional_id: str
    number: int | None
    line: int
    reported: ReportedEnd

    @property
    def name(self) -> str:
        """Producer and number of the transaction, as the journal has them."""
        return f"{self.producer} transaction {self.number}" if self.number is not None else self.producer


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Acknowledged offsets of one partition, ascending.

    Attributes:
        offsets: the offsets.
        attempts: the number of the attempt of each.
        order: a number for each, higher for what was acknowledged later.
    """

    offsets: Integers
    attempts: Integers
    order: Integers


@dataclass(frozen=True, slots=True)
class ClientJournal:
    """A whole journal."""

    attempts: tuple[JournalTransaction, ...]
    acknowledged: Mapping[Partition, Acknowledged]


_REPORTED: Final = {
    OperationResult.OK: ReportedEnd.COMMITTED,
    OperationResult.INFO: ReportedEnd.UNKNOWN,
    OperationResult.FAIL: ReportedEnd.ABORTED,
}


def as_journal(history: Operations, topic: str = "") -> ClientJournal:
    """The transactions, the operations that sent something outside of one, and their records that have an offset.

    A record that was sent outside a transaction counts if it was acknowledged. A key that names no partition is a topic
    without one, of which no log is given; a number is a partition of `topic`, if that is given.
    """
    sent = history.sent
    number_of = np.full(len(history), UNKNOWN, np.int64)
    attempts: list[JournalTransaction] = []
    for row in np.flatnonzero(_is_attempt(history)).tolist():
        number_of[row] = len(attempts)
        attempts.append(_attempt(history, row))
    rows = np.flatnonzero((sent.offset >= 0) & (number_of[sent.operation] >= 0))
    rows = rows[np.lexsort((sent.operation[rows], sent.offset[rows], sent.key[rows]))]
    acknowledged = {
        partition_of(history.keys[sent.key[own[0]]], topic): Acknowledged(
            sent.offset[own], number_of[sent.operation[own]], own
        )
        for own in np.split(rows, np.flatnonzero(np.diff(sent.key[rows])) + 1)
        if len(own)
    }
    return ClientJournal(tuple(attempts), acknowledged)


def _named(history: Operations, *names: str) -> Facts:
    """Operations that are called so."""
    found: Facts = np.isin(history.name, [number for number, name in enumerate(history.names) if name in names])
    return found


def _is_attempt(history: Operations) -> Facts:
    """The operations of which a log may have something.

    A `:txn` may have been a transaction of reads alone, and a `:send` was in a transaction or not.
    """
    sends = np.zeros(len(history), np.bool_)
    sends[history.sent.operation[history.sent.offset >= 0]] = True
    of_transaction = _named(history, ":txn", TRANSACTION)
    succeeded = history.outcome == OperationResult.OK.value
    found: Facts = (sends & (of_transaction | succeeded)) | _named(history, TRANSACTION)
    return found


def _attempt(history: Operations, row: int) -> JournalTransaction:
    index, number, known_as = (int(one[row]) for one in (history.index, history.number, history.transactional_id))
    outside = history.names[history.name[row]] not in (":txn", TRANSACTION)
    return JournalTransaction(
        str(history.processes[history.process[row]]),
        "" if known_as < 0 else history.transactional_ids[known_as],
        None if outside else number if number >= 0 else index,
        index,
        ReportedEnd.NO_TRANSACTION if outside else _REPORTED[OperationResult(int(history.outcome[row]))],
    )


def partition_of(key: object, topic: str = "") -> Partition:
    """Topic and partition that a key names: a pair, a text as `orders-0`, or a number, of the topic that is given."""
    if topic and isinstance(key, int) and not isinstance(key, bool):
        return topic, key
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], int):
        return str(key[0]), key[1]
    named, _, number = str(key).removeprefix(":").rpartition("-")
    return (named, int(number)) if named and number.isdecimal() else (str(key), -1)
