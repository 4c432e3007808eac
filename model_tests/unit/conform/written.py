"""Sessions written by hand, in the format of the recorder."""

from typing import Any

Written = dict[str, Any]


def session(*steps: Written, **fields: Any) -> Written:
    """A session of these steps on two partitions of a 3.9.0 broker."""
    plain = {
        "id": "hand-A-1",
        "family": "A",
        "kafka": "3.9.0",
        "txn_version": 0,
        "config": {"verification": True},
        "topics": {"t": {"partitions": 2}},
        "steps": list(steps),
    }
    return {**plain, **fields}


def init(producer: str = "pid0") -> Written:
    """InitProducerId without transactional id."""
    response = {"error": "NONE", "error_code": 0, "producer_id": producer, "producer_epoch": 0}
    return {
        "api": "InitProducerId",
        "version": 3,
        "request": {"transactional_id": None, "timeout": 1},
        "response": response,
    }


def batch(**fields: Any) -> Written:
    """A batch of one record of pid0, sequence 0."""
    plain = {
        "partition": "t-0",
        "producer_id": "pid0",
        "producer_epoch": 0,
        "base_sequence": 0,
        "record_count": 1,
        "transactional": False,
    }
    return {**plain, **fields}


def produce(response: Written, version: int = 9, acks: int = -1, named: str | None = None, **fields: Any) -> Written:
    """Produce of one batch, and its answer."""
    request = {**batch(**fields), "transactional_id": named, "acks": acks}
    return {"api": "Produce", "version": version, "request": request, "response": response}


def accepted(offset: int, log_start: int = 0) -> Written:
    """The answer to an appended batch."""
    return {**_error("NONE", 0), "base_offset": offset, "log_append_time": -1, "log_start_offset": log_start}


def resent(offset: int) -> Written:
    """The answer from the duplicate cache."""
    return {**accepted(offset), "log_append_time": "set"}


def refused(error: str, code: int, log_start: int = 0) -> Written:
    """The answer to a refused batch."""
    return {**_error(error, code), "base_offset": -1, "log_append_time": -1, "log_start_offset": log_start}


def out_of_order() -> Written:
    """The answer to a batch with the wrong sequence."""
    return refused("OUT_OF_ORDER_SEQUENCE_NUMBER", 45)


def restart() -> Written:
    """The broker is killed and comes back."""
    response = {**_error("NONE", 0), "coordinator_epoch": 0}
    return {"api": "_Restart", "version": 0, "request": {"signal": "KILL"}, "response": response}


def fetch(offset: int, response: Written, isolation: str = "read_uncommitted") -> Written:
    """Fetch of the first partition."""
    request = {"partition": "t-0", "offset": offset, "isolation": isolation}
    return {"api": "Fetch", "version": 11, "request": request, "response": response}


def _error(error: str, code: int) -> Written:
    return {"error": error, "error_code": code}
