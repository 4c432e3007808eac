"""Logs that are audited with the history of their clients."""

import gzip
import json
from pathlib import Path
from typing import Any

from model_tests.unit.support.transaction_stories import A, B, C

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
