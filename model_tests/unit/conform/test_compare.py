from dataclasses import replace
from typing import Any

import pytest

from model_tests.conform.answers import (
    AppendAnswer,
    ObservableState,
    ProduceAnswer,
    RecordedFetchAnswer,
    SeenPartition,
    SeenProducer,
)
from model_tests.conform.compare import FieldDifference, Symbols, differences, undecided
from model_tests.conform.sessions import SessionStep, StepMarks, session_of
from model_tests.unit.conform.written import accepted, produce, session
from spec.vocabulary import ErrorCode

ACCEPTED = ProduceAnswer({"t-0": AppendAnswer(ErrorCode.NONE, 0, log_start_offset=0)}, several=False)
SEEN = ObservableState({"t-0": SeenPartition((SeenProducer(1, 0, 0, -1, -1), SeenProducer(0, 0, 5, -1, -1)), 1, 1)})


def symbols() -> Symbols:
    known = Symbols()
    known.meet(0)
    known.meet(1)
    return known


def step(**changed: Any) -> SessionStep:
    entry = {"producer_epoch": 0, "coordinator_epoch": -1, "current_txn_start_offset": -1}
    producers = [
        {"producer_id": "pid0", "last_sequence": 5, **entry},
        {"producer_id": "pid1", "last_sequence": 0, **entry},
    ]
    after = {"producers": {"t-0": producers}, "offsets": {"t-0": {"hw": 1, "lso": 1}}}
    return replace(session_of(session(produce(accepted(0)))).steps[0], after=after, **changed)


def test_what_is_as_recorded_has_no_differences() -> None:
    """The order in which producers are listed means nothing."""
    assert differences(step(), ACCEPTED, SEEN, symbols()) == ()


@pytest.mark.parametrize("field", ["error", "error_code", "base_offset", "log_append_time", "log_start_offset"])
def test_every_field_of_the_answer_is_compared(field: str) -> None:
    """Whatever the broker said otherwise, missing fields too, is a difference at its place."""
    falsified = step(response={**accepted(0), field: 99})
    lacking = step(response={key: value for key, value in accepted(0).items() if key != field})

    assert [found.where for found in differences(falsified, ACCEPTED, SEEN, symbols())] == [f"response.{field}"]
    assert [found.where for found in differences(lacking, ACCEPTED, SEEN, symbols())] == [f"response.{field}"]


def test_every_field_of_the_state_is_compared() -> None:
    """A producer, a watermark, or a part of the state that a side does not have."""
    entry = {"producer_id": "pid0", "producer_epoch": 0, "last_sequence": 4}
    groups = {"g0": {"t-0": {"committed": 5, "stable": "UNSTABLE_OFFSET_COMMIT"}}}
    watermarks = {"t-0": {"hw": 1, "lso": 0}}
    after = {"producers": {"t-0": [entry]}, "offsets": watermarks, "groups": groups, "elsewhere": {}}

    found = differences(replace(step(), after=after), ACCEPTED, SEEN, symbols())

    assert [difference.where for difference in found] == [
        "after.producers.t-0.pid0.last_sequence",
        "after.producers.t-0.pid0.coordinator_epoch",
        "after.producers.t-0.pid0.current_txn_start_offset",
        "after.producers.t-0.pid1",
        "after.offsets.t-0.lso",
        "after.groups.g0.t-0.committed",
        "after.groups.g0.t-0.stable",
        "after.elsewhere",
    ]


def test_a_fetch_is_compared_down_to_its_records() -> None:
    """Lists of the same length differ at a position, others as a whole."""
    recorded = {"error": "NONE", "error_code": 0, "hw": 1, "lso": 1, "log_start_offset": 0, "aborted": []}
    fetched = step(response={**recorded, "batches": [], "delivered": [[0, "s1r0"]]})
    answer = RecordedFetchAnswer(ErrorCode.NONE, 1, 1, 0, (), (), ((0, "s2r0"),))

    assert differences(fetched, answer, SEEN, symbols()) == (
        FieldDifference("response.delivered[0][1]", "s1r0", "s2r0"),
    )


def test_only_what_the_recording_marks_is_undecided() -> None:
    """Other clients excuse the name of the error, and only for the names noted; a race excuses nothing."""
    only_error = (FieldDifference("response.error", "TRANSACTION_ABORTABLE", "INVALID_TXN_STATE"),)
    of_partition = (*only_error, FieldDifference("response.partitions.t-0.error_code", 120, 48))
    offset_too = (*only_error, FieldDifference("response.base_offset", 0, -1))
    marks = StepMarks(accept_errors=frozenset({"TRANSACTION_ABORTABLE", "INVALID_TXN_STATE"}))

    assert undecided(only_error, marks).startswith("racy_error")
    assert undecided(of_partition, marks).startswith("racy_error")
    assert undecided(only_error, StepMarks(racy=True)) == ""
    assert undecided(only_error, StepMarks()) == ""
    assert undecided(offset_too, marks) == ""
    assert undecided(only_error, StepMarks(accept_errors=frozenset({"TRANSACTION_ABORTABLE"}))) == ""
