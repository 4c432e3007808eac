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

A name, or a number, may be used again: each `begin`, and each `producer`, starts anew what follows.
"""

import gzip
import json
import lzma
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from pathlib import Path
from typing import Any, Final, TextIO, cast

import numpy as np

from model_tests.common.reports import BadInput
from model_tests.logs.kafka_log_batches import Integers

Partition = tuple[str, int]


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


@dataclass(slots=True)
class _JournalReading:
    attempts: list[JournalTransaction] = field(default_factory=list)
    acks: dict[Partition, list[tuple[int, int, int]]] = field(default_factory=dict)
    current: dict[tuple[str, int | None], int] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


def read_history(path: str) -> ClientJournal:
    """The journal in a file.

    Raises:
        BadInput: the file cannot be read, or one of its lines is no event.
    """
    reading = _JournalReading()
    for number, event in _lines(path):
        try:
            _add(reading, number, event)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path} line {number}: not an event of a journal ({error!r})") from error
    acknowledged = {
        partition: Acknowledged(*np.array(sorted(acks), np.int64).T) for partition, acks in reading.acks.items()
    }
    return ClientJournal(tuple(reading.attempts), acknowledged)


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


def _add(reading: _JournalReading, line: int, event: dict[str, Any]) -> None:
    kind = event["ev"]
    if kind == "producer":
        reading.ids[event["p"]] = event.get("tid") or ""
        reading.current = {key: value for key, value in reading.current.items() if key[0] != event["p"]}
    elif kind == "begin" and event.get("ok", True):
        reading.current.pop((event["p"], event["txn"]), None)
        _attempt(reading, line, event)
    elif kind == "ack":
        number, first, count = _attempt(reading, line, event), int(event["off"]), int(event.get("count", 1))
        partition = (event["topic"], int(event["part"]))
        reading.acks.setdefault(partition, []).extend((first + each, number, line) for each in range(count))
    elif kind == "delete_topic":
        _forget(reading, event["topic"])
    elif kind == "send_offsets" and event["ok"]:
        _attempt(reading, line, event)
    elif kind in ("commit", "abort"):
        reading.attempts[_attempt(reading, line, event)].reported = (
            ReportedEnd(kind) if event["ok"] else ReportedEnd.UNKNOWN
        )


def _forget(reading: _JournalReading, topic: str) -> None:
    """A topic is deleted: another one of its name begins at offset 0."""
    for partition in [partition for partition in reading.acks if partition[0] == topic]:
        del reading.acks[partition]


def _attempt(reading: _JournalReading, line: int, event: dict[str, Any]) -> int:
    """Number of the attempt that an event belongs to."""
    key = (event["p"], event["txn"])
    if key not in reading.current:
        reported = ReportedEnd.NO_TRANSACTION if event["txn"] is None else ReportedEnd.UNKNOWN
        reading.current[key] = len(reading.attempts)
        reading.attempts.append(
            JournalTransaction(event["p"], reading.ids.get(event["p"], ""), event["txn"], line, reported)
        )
    return reading.current[key]
