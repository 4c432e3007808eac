"""A client history as rows of the trace schema, one for each event, and back: `eos check` and `eos replay` read them.

The rows of an operation follow each other, from `INVOKED` to its outcome; operations come in the order of the history.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from model_tests.histories.as_journal import partition_of
from model_tests.histories.building import NOT_REPORTED, Building
from model_tests.histories.operations import NEVER, Breaks, OperationRecords, OperationResult, Operations
from model_tests.traces.schema import HistoryEvent, Row, complete
from spec.judging.judge_clients import ReaderAssignment
from spec.judging.judge_history import READ_COMMITTED, READ_UNCOMMITTED
from spec.versions import NEWEST
from spec.vocabulary import ABSENT

_Columns = dict[str, Any]

_OUTCOMES: Final = {
    OperationResult.OK: HistoryEvent.OK,
    OperationResult.INFO: HistoryEvent.INFO,
    OperationResult.FAIL: HistoryEvent.FAIL,
}
_PLACED: Final = {
    ReaderAssignment.UNKNOWN: HistoryEvent.UNPLACED,
    ReaderAssignment.ASSIGN: HistoryEvent.ASSIGNED,
    ReaderAssignment.SUBSCRIBE: HistoryEvent.SUBSCRIBED,
    ReaderAssignment.TRACKED: HistoryEvent.TRACKED,
}
NO_ACKS: Final = -2
"""The acks of a row that is no Produce."""


def as_trace(history: Operations, number: int = 0) -> Iterator[_Columns]:
    """The rows of a history, as the trace of a number."""
    of_all = {"schema": 1, "trace": number, "profile": NEWEST.name, "transaction_version": 2, "acks": NO_ACKS}
    of_all["isolation"] = READ_COMMITTED if history.read_committed else READ_UNCOMMITTED
    for step, (event, columns) in enumerate(_Writing(history).events()):
        yield complete({**of_all, "step": step, "api": str(event), **columns})


class _Writing:
    """A history while it is written."""

    def __init__(self, history: Operations) -> None:
        self._history = history
        self._processes, self._values = _texts(history.processes), _texts(history.values)
        places = [partition_of(key) for key in history.keys]
        counts = Counter(places)
        self._places = [
            {"topic": topic if counts[topic, partition] == 1 else f"{topic} ({key})", "partition": partition}
            for key, (topic, partition) in enumerate(places)
        ]

    def events(self) -> Iterator[tuple[HistoryEvent, _Columns]]:
        """Every event with its columns."""
        history = self._history
        yield from ((HistoryEvent.PARTIAL, {"operation": why}) for why in history.partial)
        yield from (
            (HistoryEvent.UNREAD, {"operation": why, "record_count": count}) for why, count in history.aside.items()
        )
        yield from ((HistoryEvent.FROM_START, self._places[key]) for key in history.from_start.tolist())
        for event, breaks in (
            (HistoryEvent.RESET, history.reset),
            (HistoryEvent.KEPT, history.kept),
            (HistoryEvent.BROKEN, history.broken),
        ):
            yield from ((event, columns) for columns in self._breaks(breaks))
        sent, given = _by_operation(history.sent, len(history)), _by_operation(history.given, len(history))
        via: dict[int, int] = {}
        for operation in range(len(history)):
            process = int(history.process[operation])
            client: _Columns = {"client": self._processes[process]}
            if via.get(process, ReaderAssignment.UNKNOWN) != (now := int(history.via[operation])):
                via[process] = now
                yield _PLACED[ReaderAssignment(now)], client
            called = client | {
                "operation": history.names[history.name[operation]],
                "message": int(history.index[operation]),
                "transactional": bool(history.atomic[operation]),
            }
            yield HistoryEvent.INVOKED, {**called, "time_ms": int(history.invoked[operation])}
            for event, reported, rows in (
                (HistoryEvent.SENT, history.sent, sent),
                (HistoryEvent.GIVEN, history.given, given),
            ):
                yield from ((event, client | self._record(reported, row)) for row in rows[operation])
            completed = int(history.completed[operation])
            ended = {**called, "time_ms": completed if completed < NEVER else ABSENT}
            yield _OUTCOMES[OperationResult(int(history.outcome[operation]))], ended

    def _record(self, records: OperationRecords, row: int) -> _Columns:
        offset, value = int(records.offset[row]), int(records.value[row])
        text = {"value": self._values[value], "record_count": 1} if value >= 0 else {}
        return {
            **self._places[records.key[row]],
            "offset": offset,
            "first_offset": offset,
            "last_offset": offset,
            **text,
        }

    def _breaks(self, breaks: Breaks) -> Iterator[_Columns]:
        for process, at, key in zip(breaks.process.tolist(), breaks.at.tolist(), breaks.key.tolist(), strict=True):
            place = self._places[key] if key >= 0 else {}
            yield {"client": self._processes[process], "time_ms": at, **place}


def _texts(things: Sequence[object]) -> list[str]:
    """A text for each thing; what is not the same has another one."""
    texts = [str(thing) for thing in things]
    counts = Counter(texts)
    return [text if counts[text] == 1 else f"{text} ({number})" for number, text in enumerate(texts)]


def _by_operation(records: OperationRecords, operations: int) -> list[list[int]]:
    """The rows of each operation, in their order."""
    rows = np.argsort(records.operation, kind="stable")
    ends = np.searchsorted(records.operation[rows], np.arange(1, operations))
    return [part.tolist() for part in np.split(rows, ends)]


# --- back -----------------------------------------------------------------------------------------------------


_ENDED: Final[Mapping[str, OperationResult]] = {str(event): outcome for outcome, event in _OUTCOMES.items()}
_VIA: Final[Mapping[str, ReaderAssignment]] = {str(event): via for via, event in _PLACED.items()}


def from_trace(rows: Iterable[Row]) -> Operations:
    """The history in the rows of a trace; those of other apis are left out.

    Where a row of the history is missing, the history is not whole.
    """
    reading = _Reading()
    for row in rows:
        reading.add(row)
    return reading.done()


def from_lines(lines: Iterable[str]) -> Operations:
    """The history in lines of JSON, a row each; what is no row of one is set aside and counted."""
    reading = _Reading()
    for line in lines:
        if line.strip():
            reading.add_line(line)
    return reading.done()


READ: Final = (
    *("step", "api", "client", "topic", "partition", "operation", "message", "value", "record_count", "first_offset"),
    *("time_ms", "transactional", "isolation"),
)
"""The columns that are read."""

_MISSING: Final = "steps of the trace are missing"


class _Reading:
    """Where a reading of rows is: the operation that is under way."""

    def __init__(self) -> None:
        self.building = Building()
        self._begun: Row | None = None
        self._records: list[Row] = []
        self._next: int | None = None

    def add(self, row: Row) -> None:
        """The next row."""
        api, building = row["api"], self.building
        self._require(row["step"] == (0 if self._next is None else self._next))
        self._next = row["step"] + 1
        building.now = row["time_ms"]
        building.read_committed &= row["isolation"] == READ_COMMITTED
        if api == HistoryEvent.INVOKED:
            self._begun, self._records = row, []
        elif api in (HistoryEvent.SENT, HistoryEvent.GIVEN):
            self._records.append(row)
        elif api in _ENDED:
            self._ends(row)
        elif api in _VIA:
            building.breaks(building.process(row["client"]), _VIA[api], ())
        else:
            self._other(row)

    def add_line(self, line: str) -> None:
        """The next row, as a line of JSON."""
        try:
            self.add(complete(json.loads(line)))
        except json.JSONDecodeError as error:
            self.building.set_aside(f"not JSON ({error.msg})")
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            self.building.set_aside(f"no row of a history: {str(error)[:80]}")

    def _ends(self, row: Row) -> None:
        building, process = self.building, self.building.process(row["client"])
        begun, self._begun = self._begun, None
        operation = building.operation(
            process,
            row["message"],
            _ENDED[row["api"]],
            row["operation"],
            0 if begun is None else begun["time_ms"],
            ends=row["time_ms"] >= 0,
            atomic=row["transactional"],
        )
        for record in self._records:
            add = building.sends if record["api"] == HistoryEvent.SENT else building.gives
            value = record["value"] if record["record_count"] > 0 else NOT_REPORTED
            add(operation, _key(record), record["first_offset"], value)
        self._records = []

    def _other(self, row: Row) -> None:
        building = self.building
        if row["api"] == HistoryEvent.PARTIAL:
            building.partial[row["operation"]] = None
        elif row["api"] == HistoryEvent.UNREAD:
            building.set_aside(row["operation"], row["record_count"])
        elif row["api"] == HistoryEvent.FROM_START:
            building.reads_from_start(_key(row))
        elif row["api"] == HistoryEvent.RESET:
            building.resets(building.process(row["client"]))
        elif row["api"] == HistoryEvent.KEPT:
            building.keeps(building.process(row["client"]), _key(row))
        elif row["api"] == HistoryEvent.BROKEN:
            building.breaks(building.process(row["client"]), None, [_key(row)])

    def done(self) -> Operations:
        """The history."""
        self._require(self._begun is None)
        return self.building.built()

    def _require(self, whole: bool) -> None:
        if not whole:
            self.building.partial[_MISSING] = None


def _key(row: Row) -> object:
    topic, partition = row["topic"], row["partition"]
    return (topic, partition) if partition >= 0 else int(topic) if topic.isdecimal() else topic
