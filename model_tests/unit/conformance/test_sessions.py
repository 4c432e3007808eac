from typing import Any

import pytest

from model_tests.conformance.fields import Malformed
from model_tests.conformance.requests import Produce, Restart
from model_tests.conformance.sessions import session_of
from model_tests.unit.conformance.written import Written, accepted, init, produce, restart, session


def values_of(written: Written, step: int) -> tuple[str, ...]:
    request = session_of(written).steps[step].request
    assert isinstance(request, Produce)
    return request.batches[0].values


def produce_with(fields: dict[str, Any]) -> Written:
    return produce(accepted(0), **fields)


def test_a_session_is_read_with_the_profile_of_its_broker() -> None:
    """Build, transaction version and verification of the recording are behaviours of the profile."""
    written = session(restart(), kafka="4.0-SNAPSHOT", txn_version=1, config={"verification": False})

    read = session_of(written)

    assert (read.profile.name, read.profile.transaction_version) == ("4.0-SNAPSHOT", 1)
    assert not read.profile.partition_verification
    assert read.partitions == ("t-0", "t-1")
    assert read.steps[0].request == Restart(clean=False)


def test_a_repetition_of_a_repetition_has_the_values_of_the_original() -> None:
    """The bytes sent again are those of the step that first had them."""
    sent = produce(accepted(0))
    written = session(init(), sent, {**sent, "replay_of": 1}, {**sent, "replay_of": 2})

    values = [values_of(written, step) for step in (1, 2, 3)]

    assert values == [("s1r0",), ("s1r0",), ("s1r0",)]


def test_what_is_not_specified_yet_is_named() -> None:
    """A session says which of its requests neither side is held against."""
    delete = {"api": "DeleteGroups", "version": 3, "request": {}, "response": {"error": "NONE"}}
    leave = {**delete, "api": "LeaveGroup"}

    assert session_of(session(delete, leave, delete)).unsupported == ("DeleteGroups", "LeaveGroup")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": 7}, "the session: id is 7, not a string"),
        ({"family": "Q"}, "session hand-A-1: family is 'Q', not A or Ax"),
        ({"kafka": "5.0"}, "session hand-A-1: kafka is '5.0', not 3.9.0 or 4.0-SNAPSHOT"),
        ({"txn_version": 3}, "session hand-A-1: txn_version is 3, not within 0 .. 2"),
        ({"topics": []}, "session hand-A-1 topics is [], not an object"),
        ({"steps": []}, "session hand-A-1: steps is [], not a list with something in it"),
        ({"steps": ["x"]}, "session hand-A-1 step 0 is 'x', not an object"),
    ],
)
def test_a_malformed_session_is_named_with_the_field(fields: dict[str, Any], message: str) -> None:
    """One line says where in the session what is wrong."""
    with pytest.raises(Malformed) as malformed:
        session_of(session(restart(), **fields))

    assert str(malformed.value).startswith(message)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("record_count", "1", "record_count is '1', not an integer"),
        ("record_count", 10**9, "record_count is 1000000000, not within 0 .. 100000"),
        ("base_sequence", 2**31, "base_sequence is 2147483648, not within"),
        ("producer_epoch", True, "producer_epoch is True, not an integer"),
        ("producer_id", 17, "producer_id is 17, not a symbol as pid0, or -1"),
        ("transactional", None, "transactional is None, not true or false"),
        ("control", "MAYBE", "control is 'MAYBE', not COMMIT or ABORT"),
    ],
)
def test_a_malformed_batch_is_named_with_step_and_field(field: str, value: object, message: str) -> None:
    """One line says which field of which step is wrong."""
    with pytest.raises(Malformed) as malformed:
        session_of(session(init(), produce_with({field: value})))

    assert str(malformed.value).startswith(f"session hand-A-1 step 1 request: {message}")


@pytest.mark.parametrize("repeated", [1, 7, -1, "0"])
def test_only_an_earlier_step_of_the_same_kind_can_be_repeated(repeated: object) -> None:
    """A repetition of itself, of what comes later, or of another request is malformed."""
    with pytest.raises(Malformed, match="replay_of"):
        session_of(session(init(), {**produce(accepted(0)), "replay_of": repeated}))
    with pytest.raises(Malformed, match="not the number of a Produce"):
        session_of(session(init(), {**produce(accepted(0)), "replay_of": 0}))


def test_a_step_without_an_answer_is_malformed() -> None:
    """There is nothing to compare with."""
    with pytest.raises(Malformed, match="step 0: response is missing"):
        session_of(session({"api": "Fetch", "version": 11, "request": {}}))
