"""Steps that did not wait for the markers before them: each possible course is followed, and no other."""

from typing import Any

import pytest

from model_tests.conform.sessions import session_of
from model_tests.conform.side_by_side import disagreements
from model_tests.unit.conform.written import Written, accepted, produce, refused, session

NONE = {"error": "NONE", "error_code": 0}
BUSY = {"error": "CONCURRENT_TRANSACTIONS", "error_code": 51}


def init(response: Written, **marks: Any) -> Written:
    request = {"transactional_id": "t0", "timeout": 60000, "producer_id": -1, "producer_epoch": -1}
    return {"api": "InitProducerId", "version": 4, "request": request, "response": response, **marks}


def identity(epoch: int) -> Written:
    return {**NONE, "producer_id": "pid0", "producer_epoch": epoch}


NO_PRODUCER = {**BUSY, "producer_id": -1, "producer_epoch": -1}


def begun(*partitions: str) -> list[Written]:
    """A transaction of two partitions with a record in the first."""
    request = {
        "transactional_id": "t0",
        "producer_id": "pid0",
        "producer_epoch": 0,
        "partitions": list(partitions),
    }
    response = {**NONE, "partitions": dict.fromkeys(partitions, "NONE")}
    add = {"api": "AddPartitionsToTxn", "version": 3, "request": request, "response": response}
    return [init(identity(0)), add, sent(accepted(0), 0)]


def sent(response: Written, sequence: int, **marks: Any) -> Written:
    return {**produce(response, named="t0", transactional=True, base_sequence=sequence), **marks}


def ended() -> Written:
    request = {"transactional_id": "t0", "producer_id": "pid0", "producer_epoch": 0, "committed": False}
    return {"api": "EndTxn", "version": 3, "request": request, "response": NONE, "racy": True}


def settled(high_watermark: int) -> Written:
    """Both partitions have their marker; the first has so many offsets."""
    ends, last = {"t-0": high_watermark, "t-1": 1}, {"t-0": high_watermark - 2, "t-1": -1}
    known = {"producer_id": "pid0", "producer_epoch": 0, "coordinator_epoch": 0, "current_txn_start_offset": -1}
    after = {
        "offsets": {name: {"hw": end, "lso": end} for name, end in ends.items()},
        "producers": {name: [{**known, "last_sequence": sequence}] for name, sequence in last.items()},
    }
    return {"api": "_Settle", "version": 0, "request": {}, "response": NONE, "after": after}


def disagreeing(*steps: Written) -> list[tuple[str, int]]:
    found = disagreements([session_of(session(*steps, family="R", id="hand-R-1"))])
    return [(each.by, each.step) for each in found]


@pytest.mark.parametrize("answer", [identity(1), NO_PRODUCER], ids=["markers written", "markers owed"])
def test_a_racing_answer_is_right_if_some_course_leads_to_it(answer: Written) -> None:
    """The coordinator is busy, or it is done."""
    assert [] == disagreeing(*begun("t-0", "t-1"), ended(), init(answer, racy=True), settled(2))


def test_a_racing_answer_that_no_course_leads_to_is_wrong() -> None:
    """A race excuses nothing: no course makes the epoch rise by two."""
    found = disagreeing(*begun("t-0", "t-1"), ended(), init(identity(2), racy=True))

    assert [("specification", 4), ("reference", 4)] == found


def test_the_courses_are_narrowed_by_what_comes_later() -> None:
    """Once the transaction was seen to be over, a batch cannot have joined it."""
    done = init(identity(1), racy=True)
    late = sent(accepted(1), 1, racy=True)

    assert [("specification", 5), ("reference", 5)] == disagreeing(*begun("t-0"), ended(), done, late)[:2]


def test_a_marker_may_overtake_a_batch_that_was_let_in() -> None:
    """The transaction was open when the batch came, and over when it was to be appended: the log refuses it."""
    overtaken = sent(refused("INVALID_TXN_STATE", 48), 1, racy=True)
    in_time = sent(accepted(1), 1, racy=True)

    assert [] == disagreeing(*begun("t-0", "t-1"), ended(), overtaken, settled(2))
    assert [] == disagreeing(*begun("t-0", "t-1"), ended(), in_time, settled(3))
    assert [("specification", 5), ("reference", 5)] == disagreeing(*begun("t-0", "t-1"), ended(), in_time, settled(2))
