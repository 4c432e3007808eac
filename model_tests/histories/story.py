"""The story of a case: what its operations sent to partitions and were given by them, as a sequence diagram."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from model_tests.diagrams import events
from model_tests.diagrams.events import DrawnMessage, Ending, Event, Mark, Note, participants_of
from model_tests.histories.anomalies import MEANINGS, Anomaly, written
from model_tests.histories.log_order import LogOrder, Rows, among
from model_tests.histories.operations import NEVER, OperationResult
from model_tests.histories.severity import Severity

MOST: Final = 6
"""Records of one operation that are drawn: those that the case is about first."""

READERS: Final = 2
"""Others that are drawn, of those that were given records of the case."""

_UNKNOWN: Final = "; it is not known whether it happened"


def story_of(case: Anomaly, order: LogOrder) -> events.Sequence | None:
    """The story of a case; nothing where none of its operations has a record."""
    reported = _Reported(case, order)
    rows = sorted({*case.rows, *reported.readers()}, key=reported.time)
    steps = [step for step in (tuple(reported.step(row)) for row in rows) if step]
    if not steps:
        return None
    participants = dict.fromkeys(who for step in steps for event in step for who in event.concerned)
    order_of = (
        *(who for who in participants if who in reported.processes),
        *(who for who in participants if who not in reported.processes),
    )
    title = f"{case.kind} at {_partition(case.key)}"
    return events.Sequence(title, participants_of(steps, order_of), tuple(steps), ending(case))


def ending(case: Anomaly) -> Ending:
    """The last line; it names the rule as violated only for a violation."""
    rule = MEANINGS[case.kind].rule.id
    if case.severity is Severity.VIOLATION:
        return Ending(rule, case.message)
    return Ending("", f"{rule}, {case.severity}: {case.message}")


class _Reported:
    """What is drawn of the operations of one case."""

    def __init__(self, case: Anomaly, order: LogOrder) -> None:
        self._case, self._order, self._history = case, order, order.history
        self.processes: set[str] = set()
        sent = order.sent.record[np.isin(order.sent.reported.operation, case.rows)]
        self._records = np.unique(sent[sent >= 0])

    def time(self, row: int) -> int:
        """When an operation was done, as far as the history shows."""
        completed = int(self._history.completed[row])
        return completed if completed < NEVER else int(self._history.invoked[row])

    def readers(self) -> list[int]:
        """The first other operations that were given what those of the case sent."""
        given = self._order.given
        readers = given.reported.operation[among(given.record, self._records)]
        return [row for row in dict.fromkeys(readers.tolist()) if row not in self._case.rows][:READERS]

    def step(self, row: int) -> Iterator[Event]:
        """What an operation sent, and what it was given."""
        history = self._history
        process = f"process {history.processes[history.process[row]]}"
        self.processes.add(process)
        outcome = OperationResult(int(history.outcome[row]))
        named = f"{history.names[history.name[row]]} {int(history.index[row])}"
        sent, given = (self._of(rows, row) for rows in (self._order.sent, self._order.given))
        for number in sent[:MOST]:
            yield self._sends(number, process, named, outcome)
        for number in given[:MOST]:
            yield self._gives(number, process, named)
        left = max(len(sent) - MOST, 0) + max(len(given) - MOST, 0)
        if left:
            yield Note(process, f"{named}: and {left} more record{'s' if left > 1 else ''}")

    def _of(self, rows: Rows, row: int) -> list[int]:
        """Records of an operation, those that the case is about first."""
        numbers: Sequence[int] = np.flatnonzero(rows.reported.operation == row).tolist()
        return sorted(numbers, key=lambda number: not self._is_about(rows, number))

    def _is_about(self, rows: Rows, number: int) -> bool:
        if rows is self._order.given and rows.record[number] in self._records:
            return True
        if self._key(rows, number) != self._case.key:
            return False
        return int(rows.reported.offset[number]) in self._case.offsets or self._value(rows, number) in self._case.values

    def _key(self, rows: Rows, number: int) -> str:
        return written(self._history.keys[rows.reported.key[number]])

    def _value(self, rows: Rows, number: int) -> str:
        value = int(rows.reported.value[number])
        return written(self._history.values[value]) if value >= 0 else "a record"

    def _sends(self, number: int, process: str, named: str, outcome: OperationResult) -> DrawnMessage:
        rows = self._order.sent
        offset = int(rows.reported.offset[number])
        at = f", gets offset {offset}" if offset >= 0 else ""
        text = f"{named} sends {self._value(rows, number)}{at}"
        if outcome is OperationResult.FAIL:
            return DrawnMessage(process, _partition(self._key(rows, number)), text, Mark.REFUSED)
        unknown = _UNKNOWN if outcome is OperationResult.INFO else ""
        return DrawnMessage(process, _partition(self._key(rows, number)), f"{text}{unknown}")

    def _gives(self, number: int, process: str, named: str) -> DrawnMessage:
        rows = self._order.given
        offset = int(rows.reported.offset[number])
        at = f" at offset {offset}" if offset >= 0 else ""
        text = f"{named} is given {self._value(rows, number)}{at}"
        return DrawnMessage(_partition(self._key(rows, number)), process, text)


def _partition(key: str) -> str:
    return f"partition {key}"
