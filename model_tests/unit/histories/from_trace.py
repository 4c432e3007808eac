"""A trace of the simulator as a history in EDN: what its applications were answered, and what its readers were given.

Left out is what a history of Jepsen's workload does not have: producers that are not idempotent or do not wait for all
replicas, and readers that begin elsewhere than at the start of a partition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]

READ_COMMITTED = 1
ALL = -1
"""Acks of all replicas in sync."""


@dataclass(slots=True)
class _HistoryWriting:
    """Lines so far, the batches of each transaction that is under way, and those of no transaction, in their order."""

    lines: list[str] = field(default_factory=list)
    open: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)
    plain: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    processes: dict[str, int] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)

    def op(self, kind: str, called: str, value: str, process: str) -> None:
        number = self.processes.setdefault(process, len(self.processes))
        head = f"{{:type :{kind}, :f :{called}, :value [{value}], "
        self.lines.append(f"{head}:process {number}, :index {len(self.lines)}}}\n")


def as_edn(rows: Sequence[Row]) -> str:
    """Transactions as operations from begin to end, other batches as sends; readers that see committed records only."""
    writing = _HistoryWriting(left_out=set(_not_exact(rows)))
    for row in rows:
        reported = _REPORTS.get(row["api"])
        if reported is not None:
            reported(writing, row)
    for client in list(writing.open):
        _ends(writing, client, "info")
    for (client, _), (outcome, value) in sorted(writing.plain.items()):
        writing.op(outcome, "send", value, client)
    return "".join(writing.lines)


def _not_exact(rows: Iterable[Row]) -> Iterator[str]:
    """Producers that are not idempotent, or do not wait for all replicas."""
    for row in rows:
        if row["api"] in ("ClientSend", "ClientAcknowledged") and row["acks"] != ALL:
            yield row["client"]
        elif row["api"] in ("ClientAcknowledged", "ClientFetched") and row["writer"] and row["producer_id"] < 0:
            yield row["writer"]


def _key(row: Row) -> str:
    return f'"{row["topic"]}-{row["partition"]}"'


def _values(row: Row) -> list[str]:
    first = row["first_record"]
    return [f'"{row["writer"]}/{number}"' for number in range(first, first + row["record_count"])]


def _sends(row: Row) -> str:
    offset = row["first_offset"]
    pairs = ((offset + number, value) for number, value in enumerate(_values(row)))
    return " ".join(f"[:send {_key(row)} {f'[{at} {value}]' if offset >= 0 else value}]" for at, value in pairs)


def _begins(writing: _HistoryWriting, row: Row) -> None:
    _ends(writing, row["client"], "info")
    writing.open[row["client"]] = {}
    writing.op("invoke", "txn", "", row["client"])


def _batch(writing: _HistoryWriting, row: Row) -> None:
    client = row["client"]
    if row["transaction"] >= 0:
        if client in writing.open:
            writing.open[client][_key(row), row["first_record"]] = _sends(row)
    elif client not in writing.left_out:
        outcome = "ok" if row["api"] == "ClientAcknowledged" else "info"
        writing.plain[client, row["first_record"]] = (outcome, _sends(row))


def _answered(writing: _HistoryWriting, row: Row) -> None:
    _ends(writing, row["client"], "info" if row["error"] else "ok" if row["committed"] else "fail")


def _gone(writing: _HistoryWriting, row: Row) -> None:
    _ends(writing, row["client"], "info")


def _ends(writing: _HistoryWriting, client: str, outcome: str) -> None:
    batches = writing.open.pop(client, None)
    if batches is not None:
        writing.op(outcome, "txn", " ".join(batches.values()), client)


def _taken(writing: _HistoryWriting, row: Row) -> None:
    reader = row["client"]
    if row["isolation"] != READ_COMMITTED or {reader, row["writer"]} & writing.left_out or not row["writer"]:
        return
    if reader not in writing.processes:
        writing.op("ok", "assign", _key(row), reader)
    if row["delivered"] and not row["control"]:
        given = " ".join(f"[{row['first_offset'] + at} {value}]" for at, value in enumerate(_values(row)))
        writing.op("ok", "poll", f"[:poll {{{_key(row)} [{given}]}}]", reader)


def _goes_elsewhere(writing: _HistoryWriting, row: Row) -> None:
    if row["api"] == "ClientFetchOffsets" or row["error"]:
        writing.left_out.add(row["client"])


_REPORTS = {
    "ClientBeginTransaction": _begins,
    "ClientSend": _batch,
    "ClientAcknowledged": _batch,
    "ClientSendFailed": _batch,
    "ClientEndTransactionAnswered": _answered,
    "ClientCrash": _gone,
    "ClientFetched": _taken,
    "ClientFetchOffsets": _goes_elsewhere,
    "ConsumerFetch": _goes_elsewhere,
}
