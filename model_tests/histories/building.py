"""A client history while it is read: events one after another, into columns.

Arguments:
    offset: in the answer, or `UNKNOWN`.
    operation: its row in the history.
    value: of the record, or `UNKNOWN`.
"""

from array import array
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from model_tests.histories.operations import (
    MOST,
    NEVER,
    UNKNOWN,
    UNREAD,
    Breaks,
    Integers,
    OperationRecords,
    OperationResult,
    Operations,
)
from spec.judging.judge_clients import ReaderAssignment
from spec.vocabulary import NO_OFFSET


class _Numbering:
    """Numbers in the order in which things are first met."""

    __slots__ = ("_numbers", "met")

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self.met: list[Any] = []

    def number(self, thing: object) -> int:
        try:
            found = self._numbers.get(thing)
        except TypeError:  # a map or the like, which is known by what it is written as
            return self.number(repr(thing))
        if found is None:
            found = self._numbers[thing] = len(self.met)
            self.met.append(thing)
        return found


class _Columns:
    """Rows of integers, column by column."""

    __slots__ = ("columns",)

    def __init__(self, width: int) -> None:
        self.columns = [array("q") for _ in range(width)]

    def add(self, *row: int) -> None:
        for column, value in zip(self.columns, row, strict=True):
            column.append(value)

    def made(self) -> list[Integers]:
        return [np.array(column, np.int64) for column in self.columns]


class Building:
    """A history while it is read; places in it are those of `tick`.

    Attributes:
        now: place of the current event.
        partial: why the history is not whole.
        aside: lines set aside, by reason.
        passed_over: lines without records, by what they are.
        read_committed: its readers are to see committed records only.
    """

    def __init__(self) -> None:
        """Nothing has happened."""
        self.now = 0
        self.partial: dict[str, None] = {}
        self.aside: dict[str, int] = {}
        self.passed_over: dict[str, int] = {}
        self.read_committed = True
        self._processes, self._keys, self._values, self._names = _Numbering(), _Numbering(), _Numbering(), _Numbering()
        self._ids = _Numbering()
        self._operations = _Columns(10)
        self._sent, self._given = _Columns(4), _Columns(4)
        self._broken, self._reset, self._kept = _Columns(3), _Columns(3), _Columns(3)
        self._from_start: set[int] = set()
        self._via: dict[int, ReaderAssignment] = {}
        self._count = 0

    def tick(self) -> int:
        """The next place in the history."""
        self.now += 1
        return self.now

    def process(self, name: object) -> int:
        """The number of a process."""
        return self._processes.number(name)

    def set_aside(self, reason: str, count: int = 1) -> None:
        """Lines that cannot be read: what they had is missing."""
        self.aside[reason] = self.aside.get(reason, 0) + count
        self.partial[UNREAD] = None

    def passes_over(self, what: str) -> None:
        """A line without records."""
        self.passed_over[what] = self.passed_over.get(what, 0) + 1

    def operation(
        self,
        process: int,
        index: int,
        outcome: OperationResult,
        name: str,
        invoked: int,
        *,
        ends: bool = True,
        atomic: bool = True,
        number: int | None = None,
        transactional_id: str = "",
    ) -> int:
        """The number of an operation that ends now.

        Args:
            process: who carries it out.
            index: what the history calls it.
            outcome: whether it was done, as far as one knows.
            name: of what is done.
            invoked: place in the history at which it began.
            ends: it ends; else its end is not known.
            atomic: its records are in one transaction.
            number: the client's own number of it.
            transactional_id: that it was done under, as far as one knows.
        """
        completed = self.now if ends else NEVER
        via = self._via.get(process, ReaderAssignment.UNKNOWN)
        called, known_as = self._names.number(name), UNKNOWN
        if transactional_id:
            known_as = self._ids.number(transactional_id)
        own = UNKNOWN if number is None else number
        self._operations.add(index, process, outcome, invoked, completed, atomic, via, called, own, known_as)
        self._count += 1
        return self._count - 1

    def sends(self, operation: int, key: object, offset: int, value: object) -> None:
        """A record that was to be sent; `UNKNOWN` stands for a value that is not known."""
        self._sent.add(operation, self._keys.number(key), offset, self._value(value))

    def gives(self, operation: int, key: object, offset: int, value: object) -> None:
        """A record that a reader was given, likewise."""
        self._given.add(operation, self._keys.number(key), offset, self._value(value))

    def begins_anew(
        self, process: int, via: ReaderAssignment, keys: Iterable[object], *, at_start: bool = False
    ) -> None:
        """A process is to read these partitions and no others; it continues where it was, or begins at the start.

        Args:
            process: of the client.
            via: how it came to them: assign, or a subscription.
            keys: the partitions.
            at_start: whether it begins at the start.
        """
        self._via[process] = via
        self.resets(process)
        for key in {self._keys.number(key): key for key in keys}.values():
            if at_start:
                self.reads_from_start(key)
            else:
                self.keeps(process, key)

    def resets(self, process: int) -> None:
        """A process begins anew with all partitions, but for those that it keeps."""
        self._reset.add(process, self.now, UNKNOWN)

    def keeps(self, process: int, key: object) -> None:
        """It continues with a partition where it was."""
        self._kept.add(process, self.now, self._keys.number(key))

    def reads_from_start(self, key: object) -> None:
        """Some process reads a partition from its start."""
        self._from_start.add(self._keys.number(key))

    def breaks(self, process: int, via: ReaderAssignment | None, keys: Iterable[object]) -> None:
        """A process was given or loses partitions: it need not read on in them."""
        if via is not None:
            self._via[process] = via
        for key in keys:
            self._broken.add(process, self.now, self._keys.number(key))

    def built(self) -> Operations:
        """The history."""
        index, process, outcome, invoked, completed, atomic, via, name, number, known_as = self._operations.made()
        return Operations(
            *(index, process, outcome, invoked, completed, atomic.astype(np.bool_), via, name, number, known_as),
            sent=OperationRecords(*self._sent.made()),
            given=OperationRecords(*self._given.made()),
            broken=Breaks(*self._broken.made()),
            reset=Breaks(*self._reset.made()),
            kept=Breaks(*self._kept.made()),
            from_start=np.array(sorted(self._from_start), np.int64),
            processes=self._processes.met,
            keys=self._keys.met,
            values=self._values.met,
            names=self._names.met,
            transactional_ids=self._ids.met,
            partial=tuple(self.partial),
            aside=dict(self.aside),
            passed_over=dict(self.passed_over),
            read_committed=self.read_committed,
        )

    def _value(self, value: object) -> int:
        return UNKNOWN if value is NOT_REPORTED else self._values.number(value)


NOT_REPORTED: Final = object()
"""In place of a value: the history does not have it."""


def reported_offset(offset: object) -> int:
    """An offset of a history, -1 where there is none.

    Raises:
        ValueError: it is none.
    """
    if offset is None:
        return NO_OFFSET
    if isinstance(offset, bool) or not isinstance(offset, int) or not -1 <= offset <= MOST:
        raise ValueError(f"no offset: {str(offset)[:40]}")
    return offset
