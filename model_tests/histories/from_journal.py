"""What clients did and were answered: a journal of lines of JSON, as text, `.gz` or `.xz`.

Every line is an object with `ev`. Those that are read:

| `ev` | fields | means |
| --- | --- | --- |
| `producer` | `p`, `tid` | a producer begins, under a name; `tid` is its transactional id or null |
| `begin` | `p`, `txn` | it begins a transaction, with a number of its own |
| `ack` | `p`, `txn`, `topic`, `part`, `off` | a record was acknowledged; `txn` is null outside transactions |
| | `count` | so many records from `off` on, one if it is not given |
| `delete_topic` | `topic` | a topic was deleted: what was acknowledged in it until then is no longer there |
| `send_offsets` | `p`, `txn`, `ok` | input offsets joined the transaction |
| `commit`, `abort` | `p`, `txn`, `ok` | the answer to the end of the transaction; `ok` false is an unknown outcome |

A name, or a number, may be used again: each `begin`, and each `producer`, starts anew what follows. There are no
values: a record is known by its offset. What a reader received (`--received`) is another process, of whose time nothing
is known.
"""

import gzip
import json
import lzma
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO, cast

import numpy as np

from model_tests.common.reports import BadInput
from model_tests.histories.building import NOT_REPORTED, Building
from model_tests.histories.operations import MOST, TRANSACTION, Integers, OperationResult, Operations, Partition
from spec.judging.judge_clients import ReaderAssignment

READER: Final = "reader"

_TOGETHER: Final = 1_000_000
"""Records that one line may acknowledge: each takes memory."""


@dataclass(slots=True)
class _Attempt:
    """A transaction as its client saw it, or all that a producer sent outside of one, which has no number."""

    line: int
    producer: str
    transactional_id: str
    number: object
    result: OperationResult


@dataclass(slots=True)
class _JournalReading:
    """A journal while it is read: attempts, and of each acknowledged record partition, offset and attempt."""

    attempts: list[_Attempt] = field(default_factory=list)
    acks: list[tuple[Partition, int, int]] = field(default_factory=list)
    current: dict[tuple[str, object], int] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


def from_journal(path: str, received: Mapping[Partition, Integers]) -> Operations:
    """The history of a journal's producers and of one reader.

    Args:
        path: the journal.
        received: offsets that the reader was given, in its order; none where there is no reader.

    Raises:
        BadInput: the file cannot be read, or one of its lines is no event.
    """
    reading = _JournalReading()
    for number, event in _lines(path):
        try:
            _add(reading, number, event)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path} line {number}: not an event of a journal ({error!r})") from error
    building = Building()
    operations = [_operation(building, attempt) for attempt in reading.attempts]
    for partition, offset, attempt in reading.acks:
        building.sends(operations[attempt], partition, offset, NOT_REPORTED)
    reader = building.process(READER)
    building.begins_anew(reader, ReaderAssignment.ASSIGN, received, at_start=True)
    for number, (partition, offsets) in enumerate(received.items(), start=1):
        building.tick()
        operation = building.operation(reader, number, OperationResult.OK, "reads", 0)
        for offset in offsets.tolist():
            building.gives(operation, partition, offset, NOT_REPORTED)
    return building.built()


def _operation(building: Building, attempt: _Attempt) -> int:
    """Attempts of the same producer follow each other by their lines; a number may be any value."""
    building.tick()
    shown = isinstance(attempt.number, int) and 0 <= attempt.number <= MOST
    return building.operation(
        building.process(attempt.producer),
        attempt.line,
        attempt.result,
        "sends" if attempt.number is None else TRANSACTION,
        building.now,
        atomic=attempt.number is not None,
        number=cast(int, attempt.number) if shown else None,
        transactional_id=attempt.transactional_id,
    )


_PLACE: Final = ("topic", "partition", "offset")
CONSOLE: Final = re.compile(
    r"^(?:\w+:\d+\W|NO_TIMESTAMP\W)?\s*Partition:(?P<partition>\d+)\W+Offset:(?P<offset>\d+)(?:\W|$)"
)
"""A record as the console consumer prints it with `print.partition` and `print.offset`."""


def read_received(path: str, topic: str = "") -> Mapping[Partition, Integers]:
    """Offsets that a read_committed reader received, in its order.

    Args:
        path: the file: lines `[topic, partition, offset, ...]`, or objects with these fields as kcat prints them, or
            what the console consumer printed of one topic with `--property print.partition=true --property
            print.offset=true`, the lines of other tools between them.
        topic: what the console consumer read, which it does not print.

    Raises:
        BadInput: the file cannot be read, or one of its lines is no record.
    """
    found: dict[Partition, list[int]] = {}
    printed = _printed(path)
    if printed:
        if not topic:
            raise BadInput(f"{path}: a console consumer does not print which topic it read: give the logs of one topic")
        for number, offset in printed:
            found.setdefault((topic, number), []).append(offset)
        return {partition: np.array(offsets, np.int64) for partition, offsets in found.items()}
    for number, record in _lines(path):
        try:
            topic, partition, offset = (record[name] for name in _PLACE) if isinstance(record, dict) else record[:3]
            found.setdefault((str(topic), int(partition)), []).append(int(offset))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path} line {number}: not [topic, partition, offset, ...]") from error
    return {partition: np.array(offsets, np.int64) for partition, offsets in found.items()}


def _printed(path: str) -> list[tuple[int, int]]:
    """Partition and offset of each record that the console consumer printed; none where it printed nothing of them."""
    try:
        with _opened(path) as file:
            found = (CONSOLE.match(line) for line in file)
            return [(int(one["partition"]), int(one["offset"][:18])) for one in found if one]
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError):
        return []  # the reading of its lines names it


def _lines(path: str) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, json.loads(line)
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        raise BadInput(f"{path} line {number}: not JSON ({error.msg})") from error


def _opened(path: str) -> TextIO:
    if path.endswith(".gz"):
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8"))
    if path.endswith(".xz"):
        return cast(TextIO, lzma.open(path, "rt", encoding="utf-8"))
    return Path(path).open(encoding="utf-8")


_ENDS: Final = {"commit": OperationResult.OK, "abort": OperationResult.FAIL}


def _add(reading: _JournalReading, line: int, event: dict[str, Any]) -> None:
    kind = event["ev"]
    if kind == "producer":
        reading.ids[event["p"]] = event.get("tid") or ""
        reading.current = {key: value for key, value in reading.current.items() if key[0] != event["p"]}
    elif kind == "begin" and event.get("ok", True):
        reading.current.pop((event["p"], event["txn"]), None)
        _attempt(reading, line, event)
    elif kind == "ack":
        first, count = int(event["off"]), int(event.get("count", 1))
        partition, attempt = (str(event["topic"]), int(event["part"])), _attempt(reading, line, event)
        if not 0 <= count <= _TOGETHER:
            raise ValueError(f"count is {count}, and a line acknowledges {_TOGETHER:,} records at most")
        if first < 0 or first + count - 1 > MOST:
            raise ValueError(f"there is no offset {first} with {count - 1} behind it")
        reading.acks.extend((partition, first + each, attempt) for each in range(count))
    elif kind == "delete_topic":
        _forget(reading, event["topic"])
    elif kind == "send_offsets" and event["ok"]:
        _attempt(reading, line, event)
    elif kind in _ENDS:
        reading.attempts[_attempt(reading, line, event)].result = _ENDS[kind] if event["ok"] else OperationResult.INFO


def _forget(reading: _JournalReading, topic: str) -> None:
    """A topic is deleted: another one of its name begins at offset 0."""
    reading.acks = [ack for ack in reading.acks if ack[0][0] != topic]


def _attempt(reading: _JournalReading, line: int, event: dict[str, Any]) -> int:
    """Number of the attempt that an event belongs to."""
    key = (event["p"], event["txn"])
    if key not in reading.current:
        result = OperationResult.OK if event["txn"] is None else OperationResult.INFO
        reading.current[key] = len(reading.attempts)
        reading.attempts.append(_Attempt(line, event["p"], reading.ids.get(event["p"], ""), event["txn"], result))
    return reading.current[key]
