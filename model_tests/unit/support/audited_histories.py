"""Histories of clients: rows, printed tools, broken ones, and logs that are audited with them."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from model_tests.histories.anomalies import AnomalyKind
from model_tests.histories.from_edn import from_edn
from model_tests.histories.from_tools import from_tools
from model_tests.histories.operations import Operations
from model_tests.histories.report import ClientsReport, report_on
from model_tests.histories.severity import Severity
from model_tests.judging.histories import Histories
from model_tests.unit.support.judged_transactions import A, B, C

PRODUCER = {"ev": "producer", "p": "one", "tid": "tx"}


def reported(events: list[dict[str, Any]], path: Path) -> str:
    """A journal of these events."""
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    return str(path)


def begin(number: int) -> dict[str, Any]:
    return {"ev": "begin", "p": "one", "txn": number, "ok": True}


def ack(number: int | None, partition: tuple[str, int], offset: int) -> dict[str, Any]:
    return {"ev": "ack", "p": "one", "txn": number, "topic": partition[0], "part": partition[1], "off": offset}


def ended(number: int, how: str, ok: bool = True) -> dict[str, Any]:
    return {"ev": how, "p": "one", "txn": number, "ok": ok}


def both() -> list[dict[str, Any]]:
    """What the client of the two transactions of `begun` saw."""
    return [
        PRODUCER,
        begin(1),
        *(ack(1, partition, 0) for partition in (A, B, C)),
        ended(1, "commit"),
        begin(2),
        *(ack(2, partition, 2) for partition in (A, B, C)),
        ended(2, "abort"),
    ]


def broken(rows: Iterable[Mapping[str, Any]]) -> tuple[set[str], int]:
    """The history rules' checks that do not hold in a trace, and how many were at stake."""
    histories = Histories()
    for row in rows:
        histories.add(row)
    at_stake = [(name, check.holds) for each in histories.judged() for name, check in each.checks() if check.at_stake]
    return {name for name, holds in at_stake if not holds}, len(at_stake)


HISTORIES: Final = Path(__file__).parents[1] / "histories" / "histories"


def judged(text: str, *, read_committed: bool = True) -> ClientsReport:
    """The report on a history in EDN."""
    history = from_edn(text.splitlines(keepends=True))
    return report_on(replace(history, read_committed=read_committed), "history.edn")


def found(reported: ClientsReport) -> dict[AnomalyKind, dict[Severity, int]]:
    """Of each class that has cases how many, by severity."""
    counted = ((one.kind, {how: count for how, count in one.counts.items() if count}) for one in reported.classes)
    return {kind: counts for kind, counts in counted if counts}


PLACE: Final = {"topic": "orders", "partition": 0}


STARTED: Final = {"timestamp": 1, "name": "startup_complete"}


def sent(value: str, offset: int) -> dict[str, Any]:
    """A line of VerifiableProducer."""
    return {"timestamp": 2, "name": "producer_send_success", "key": None, "value": value, "offset": offset, **PLACE}


def consumed(count: int, first: int, last: int) -> dict[str, Any]:
    """The line of one poll."""
    part = {**PLACE, "count": count, "minOffset": first, "maxOffset": last}
    return {"timestamp": 4, "name": "records_consumed", "count": count, "partitions": [part]}


def moved(how: str) -> dict[str, Any]:
    """A rebalance."""
    return {"timestamp": 5, "name": f"partitions_{how}", "partitions": [PLACE]}


def history(**programs: list[dict[str, Any]]) -> Operations:
    """What these programs printed."""
    return from_tools((name, [json.dumps(line) + "\n" for line in lines]) for name, lines in programs.items())


PRODUCED: Final = [STARTED, *(sent(str(number), number) for number in range(4)), {"name": "tool_data", "sent": 4}]


Rows = list[dict[str, Any]]


def _first(rows: Rows, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
    return next((row for row in rows if wanted(row)), None)


def _taken(row: Mapping[str, Any], *, delivered: bool = True) -> bool:
    """A read_committed reader took data of a transaction."""
    data = row["api"] == "ClientFetched" and row["isolation"] == 1 and row["transactional"] and not row["control"]
    return data and row["delivered"] is delivered and row["transaction"] >= 0


def hidden_though_committed(rows: Rows) -> bool:
    """Of two batches of a transaction one is kept from the reader."""
    return _in_one_of_two(rows, delivered=True)


def _in_one_of_two(rows: Rows, *, delivered: bool) -> bool:
    taken = [row for row in rows if _taken(row, delivered=delivered)]
    reported = {
        (r["client"], r["transaction"]) for r in rows if r["api"] == "ClientEndTransactionAnswered" and not r["error"]
    }
    counts = Counter((row["client"], row["writer"], row["transaction"]) for row in taken)
    row = next(
        (r for r in taken if counts[r["client"], r["writer"], r["transaction"]] > 1 and _owner(r) in reported), None
    )
    if row is None:
        return False
    row["delivered"] = not delivered
    return True


def _owner(row: Mapping[str, Any]) -> tuple[object, object]:
    return row["writer"], row["transaction"]


def late_request(rows: Rows) -> bool:
    """A request of the transaction before changes something."""
    row = _first(
        rows, lambda r: r["api"] == "EndTxn" and r["transaction"] > 0 and r["before_txn_state"] != r["after_txn_state"]
    )
    if row is None:
        return False
    row["transaction"] -= 1
    return True
