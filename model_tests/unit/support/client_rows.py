"""Traces in which one row of a client is false."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

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
