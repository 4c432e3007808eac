"""A session's record compared with a side's answers and state, with ids known by their symbols."""

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
from model_tests.conform.compare import STRANGERS, FieldDifference, Symbols, differences, undecided
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


def test_an_id_that_no_broker_handed_out_gets_a_number_of_its_own() -> None:
    """A symbol that first appears in a request is an id that the client made up."""
    symbols = Symbols()

    first, again, other = symbols.number("pid0"), symbols.number("pid0"), symbols.number("pid1")

    assert first == again == STRANGERS
    assert other != first
    assert symbols.symbol(first) == "pid0"


def test_none_stays_none() -> None:
    """-1 is no id."""
    symbols = Symbols()

    symbols.meet(-1)

    assert symbols.number(-1) == -1
    assert symbols.symbol(-1) == -1


def test_ids_are_named_in_the_order_of_their_appearance() -> None:
    """What a client made up counts too; an id handed out twice keeps its first symbol."""
    symbols = Symbols()

    symbols.meet(7)
    made_up = symbols.number("pid1")
    symbols.meet(9)
    symbols.meet(7)

    assert [symbols.symbol(number) for number in (7, made_up, 9)] == ["pid0", "pid1", "pid2"]
    assert symbols.number("pid2") == 9


def test_a_symbol_that_is_taken_is_given_to_no_other() -> None:
    """An id for which there is no symbol in order stays a bare number, which no recording has."""
    symbols = Symbols()
    symbols.number("pid1")

    symbols.meet(7)

    assert symbols.symbol(7) == 7
