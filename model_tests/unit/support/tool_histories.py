"""Histories that Kafka's own tools and system tests write."""

import json
from typing import Any, Final

from model_tests.histories.from_tools import from_tools
from model_tests.histories.operations import Operations

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
