"""The trace schema as Arrow, Spark and NDJSON have it; `reference.recording.trace` defines the columns themselves.

A client history has rows in it, too: one for each event, in whatever form the history was read. Input that cannot be
judged is set aside (`Quarantined`).
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from gzip import GzipFile
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TextIO, cast

from model_tests.common.reports import BadInput
from reference.recording.trace import COLUMNS, Column, ColumnType
from spec.algebra import choose
from spec.judging.judge import AppendStep
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.coordinator_steps import CoordinatorStep, StepInput
from spec.protocol.ending import IdAndEpoch
from spec.protocol.records import AppendReply, AppendRequest, MetVerification, ProducerEntry, build, scalars

Row = Mapping[str, Any]
"""One step: the value of every column by its name."""

BY_NAME: Final[Mapping[str, Column]] = {column.name: column for column in COLUMNS}

_PYTHON: Final = {ColumnType.INTEGER: int, ColumnType.BOOLEAN: bool, ColumnType.TEXT: str}

STEP_PARTS: Final = (
    ("before_", ProducerEntry),
    ("", AppendRequest),
    ("", MetVerification),
    ("", AppendReply),
    ("after_", ProducerEntry),
)
"""The records that an append step is made of, and the prefix of their columns."""

OF_ID: Final = MappingProxyType(
    {
        "state": "txn_state",
        "pending": "txn_pending",
        "producer_id": "txn_producer_id",
        "producer_epoch": "txn_epoch",
        "last_epoch": "txn_last_epoch",
        "previous_producer_id": "txn_previous_producer_id",
        "next_producer_id": "txn_next_producer_id",
        "timeout": "txn_timeout_ms",
        "start_time": "txn_started_ms",
        "update_time": "txn_updated_ms",
        "client_version": "txn_client_version",
        "fence_failed": "txn_failed_fence",
    }
)
"""The state column of each scalar of a transactional id; the id is known where its state is not absent."""

STEP_BITS: Final = 22
"""Bits of a step's number in its trace: it and the trace's number fit into one integer."""


def column_of(scalar: str) -> str:
    """Name of the column of a request's scalar: its own, but an append is placed at the end of the log before it."""
    return "before_log_end" if scalar == "base_offset" else scalar


def columns_of(*records: tuple[str, type[Any]]) -> tuple[str, ...]:
    """Names of the columns that hold these records' scalars."""
    return tuple(f"{prefix}{column_of(name)}" for prefix, kind in records for name, _ in scalars(kind))


def step_of(scalar: Callable[[str], Any]) -> AppendStep:
    """The append step whose scalars have the values that `scalar` gives for the names of their columns."""
    return AppendStep(
        before=build(ProducerEntry, lambda name: scalar(f"before_{name}")),
        request=build(AppendRequest, lambda name: scalar(column_of(name))),
        reply=build(AppendReply, scalar),
        after=build(ProducerEntry, lambda name: scalar(f"after_{name}")),
        verification=build(MetVerification, scalar),
    )


def coordinator_step_of(scalar: Callable[[str], Any]) -> CoordinatorStep:
    """The coordinator's step whose scalars have the values that `scalar` gives for the names of their columns."""
    return CoordinatorStep(
        before=transaction_entry_of("before_", scalar),
        inputs=StepInput(
            version=scalar("api_version"),
            now=scalar("time_ms"),
            producer=IdAndEpoch(scalar("producer_id"), scalar("producer_epoch")),
            expected=IdAndEpoch(scalar("expected_producer_id"), scalar("expected_epoch")),
            timeout=scalar("timeout_ms"),
            commits=scalar("committed"),
            registered=scalar("before_partition_registered"),
        ),
        error=scalar("error"),
        answered=IdAndEpoch(scalar("reply_producer_id"), scalar("reply_epoch")),
        after=transaction_entry_of("after_", scalar),
        partitions=scalar("before_txn_partitions"),
        partitions_after=scalar("after_txn_partitions"),
        registered_after=scalar("after_partition_registered"),
    )


def transaction_entry_of(prefix: str, scalar: Callable[[str], Any]) -> TransactionEntry:
    """What a coordinator knows of an id, from the state columns with this prefix."""
    known = scalar(f"{prefix}txn_state") >= 0
    values = {name: scalar(f"{prefix}{column}") for name, column in OF_ID.items()}
    absent = TransactionEntry()
    return replace(
        TransactionEntry(known=known, **values),
        state=choose(known, values["state"], absent.state),
        client_version=choose(known, values["client_version"], absent.client_version),
    )


def complete(row: Row) -> dict[str, Any]:
    """The row with every column, in the schema's order; what it leaves out is absent."""
    return {column.name: row.get(column.name, column.absent) for column in COLUMNS}


def write_ndjson(rows: Iterable[Row], path: Path) -> int:
    """Write rows as one JSON object a line, and return their number."""
    written = 0
    with text_of(path, "w") as lines:
        for row in rows:
            lines.write(ndjson_line(row))
            written += 1
    return written


@contextmanager
def text_of(path: Path, mode: str = "r") -> Iterator[TextIO]:
    """The text of a file, which may be compressed by gzip; compressed again, the same text is the same bytes."""
    if path.suffix != ".gz":
        with path.open(mode, encoding="utf-8") as text:
            yield cast("TextIO", text)
    else:
        with GzipFile(path, f"{mode}b", mtime=0) as packed, TextIOWrapper(packed, encoding="utf-8") as text:
            yield text


def ndjson_line(row: Row) -> str:
    """One row as a line of NDJSON."""
    return json.dumps(complete(row), separators=(",", ":")) + "\n"


def read_ndjson(path: Path, needed: Collection[str] = BY_NAME) -> Iterator[dict[str, Any]]:
    """Rows of a file of JSON objects, one a line.

    Args:
        path: the file.
        needed: columns that no line may leave out.

    Raises:
        BadInput: a line is no such object, or a column has a value of another type.
    """
    with text_of(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _checked(line, f"{path}, line {number}", needed)


def _checked(line: str, where: str, needed: Collection[str]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}: not JSON ({error.msg}); a trace is one JSON object a line") from None
    if not isinstance(row, dict):
        raise BadInput(f"{where}: a {type(row).__name__}, not an object with the columns of a step")
    for name, value in row.items():
        if name in BY_NAME and type(value) is not _PYTHON[BY_NAME[name].kind]:
            raise BadInput(f"{where}: {name} is {value!r}, not of type {BY_NAME[name].kind}")
    missing = [name for name in BY_NAME if name in needed and name not in row]
    if missing:
        raise BadInput(f"{where}: without {', '.join(missing)}; a value that does not apply is absent")
    return row


# --- the rows of a client history, and input that is set aside --------------------------------------------------------


@unique
class HistoryEvent(StrEnum):
    """What a row reports, by the row's `api`; between `INVOKED` and an outcome all rows are of one operation."""

    INVOKED = "ClientInvoked"
    SENT = "ClientSent"  # a record that was to be sent, with its offset if it was acknowledged with one
    GIVEN = "ClientGiven"  # a record that a reader was given
    OK = "ClientOk"
    INFO = "ClientInfo"  # it is not known whether the operation happened
    FAIL = "ClientFail"
    UNPLACED = "ClientUnplaced"  # it is not known how the process gets its partitions
    ASSIGNED = "ClientAssigned"  # it chooses its partitions
    SUBSCRIBED = "ClientSubscribed"  # its group chooses them, at any time
    TRACKED = "ClientTracked"  # likewise, and each such time has a row
    RESET = "ClientReset"  # the process begins anew with all partitions but those that are kept
    KEPT = "ClientKept"
    BROKEN = "ClientBroken"  # it need not read on in a partition
    FROM_START = "ClientFromStart"  # some process reads a partition from its start
    PARTIAL = "ClientPartial"  # why the history is not whole
    UNREAD = "ClientUnread"  # lines that could not be read, by reason


HISTORY_APIS: Final = frozenset(map(str, HistoryEvent))
"""The apis of all these rows."""

OUTCOMES: Final = frozenset(map(str, (HistoryEvent.OK, HistoryEvent.INFO, HistoryEvent.FAIL)))
"""The apis with which an operation ends."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Input set aside because it cannot be judged: a file, or steps of which the first is named."""

    reason: str
    count: int
    where: str
