from typing import Any

import pytest

from model_tests.conform.api_versions import TAKEN
from model_tests.conform.fields import MalformedSession
from model_tests.conform.requests import RecordedProduce, Restart, WriteTxnMarkers
from model_tests.conform.sessions import session_of
from model_tests.unit.conform.written import Written, accepted, fetch, init, produce, restart, session
from spec.versions import PROFILES


def values_of(written: Written, step: int) -> tuple[str, ...]:
    request = session_of(written).steps[step].request
    assert isinstance(request, RecordedProduce)
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


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_taken_by_its_name(profile: str) -> None:
    """A session names the release that it was recorded from, as the profiles do."""
    read = session_of(session(restart(), kafka=profile))

    assert PROFILES[profile].under(0) == read.profile


def test_a_release_has_no_younger_transaction_version() -> None:
    """The feature came with 4.0: a session of 2.7 cannot have it."""
    with pytest.raises(MalformedSession, match="txn_version is 2, not within"):
        session_of(session(restart(), kafka="2.7", txn_version=2))


@pytest.mark.parametrize(
    ("kafka", "api", "version", "message"),
    [
        ("2.4", "Produce", 9, "Kafka 2.4 takes Produce versions 0 to 8, not 9"),
        ("4.1", "WriteTxnMarkers", 2, "Kafka 4.1 takes WriteTxnMarkers versions 1 to 1, not 2"),
        ("4.3", "Produce", 2, "Kafka 4.3 takes Produce versions 3 to 13, not 2"),
        ("4.3", "TxnOffsetCommit", 6, "Kafka 4.3 takes TxnOffsetCommit versions 0 to 5, not 6"),
        ("2.7", "ListTransactions", 0, "Kafka 2.7 has no ListTransactions"),
        ("3.9.0", "ProduceMulti", 12, "Kafka 3.9.0 takes Produce versions 0 to 11, not 12"),
    ],
)
def test_a_request_that_the_release_does_not_take_is_one_line(kafka: str, api: str, version: int, message: str) -> None:
    """A session cannot have sent a broker a request that it does not know."""
    step = {"api": api, "version": version, "request": {}, "response": {"error": "NONE", "error_code": 0}}

    with pytest.raises(MalformedSession) as malformed:
        session_of(session(step, kafka=kafka))

    assert f"session hand-A-1 step 0: {message}" == str(malformed.value)


def test_every_profile_says_which_requests_it_takes() -> None:
    """No release is without its versions, and no version counts backwards."""
    assert list(PROFILES) == list(TAKEN)
    assert all(first <= last for taken in TAKEN.values() for first, last in taken.values())


@pytest.mark.parametrize(("version", "reports"), [(1, 0), (2, 2)])
def test_markers_say_their_transaction_version_since_version_2(version: int, reports: int) -> None:
    """Before, the field is not there, and the marker counts as one of version 0."""
    written = {"producer_id": "pid0", "producer_epoch": 1, "committed": True, "coordinator_epoch": 0, "partitions": []}
    step = {
        "api": "WriteTxnMarkers",
        "version": version,
        "request": {"markers": [{**written, "transaction_version": 2}]},
        "response": {"error": "NONE", "error_code": 0, "markers": []},
    }

    request = session_of(session(step, kafka="4.3")).steps[0].request

    assert isinstance(request, WriteTxnMarkers)
    assert [reports] == [marker.transaction_version for marker in request.markers]
    del written["committed"]
    with pytest.raises(MalformedSession, match="step 0 request marker 0: committed is missing"):
        session_of(session({**step, "request": {"markers": [written]}}, kafka="4.3"))


AFTER: dict[str, Any] = {
    "producers": {"t-0": []},
    "offsets": {"t-0": {"hw": 0, "lso": 0}},
    "transactions": {"t0": {"error": "TRANSACTIONAL_ID_NOT_FOUND"}},
}
FETCHED: dict[str, Any] = {
    **{"error": "NONE", "error_code": 0, "hw": 0, "lso": 0, "log_start_offset": 0, "aborted": None},
    **{"batches": [], "delivered": []},
}


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (produce({**accepted(0), "base_offset": "0"}), "step 0 response: base_offset is '0', not an integer"),
        (fetch(0, {**FETCHED, "batches": [{}]}), "step 0 response batches 0: producer_id is missing"),
        (fetch(0, {**FETCHED, "aborted": [["x", 0]]}), "step 0 response: aborted is [['x', 0]], not null, or a list"),
        ({**init(), "response": {"error": "NONE"}}, "step 0 response: error_code is missing"),
        ({**restart(), "after": {**AFTER, "offsets": {"t-0": {"hw": 0}}}}, "step 0 after offsets t-0: lso is missing"),
        ({**restart(), "after": {"offsets": {}}}, "step 0 after: producers is missing"),
        (
            {**restart(), "after": {**AFTER, "producers": {"t-0": [{"producer_id": 4}]}}},
            "step 0 after producers t-0 0: producer_id is 4, not a symbol as pid0, or -1",
        ),
        (
            {**restart(), "after": {**AFTER, "transactions": {"t0": {"state": "Empty"}}}},
            "step 0 after transactions t0: producer_id is missing",
        ),
        ({**restart(), "after": {**AFTER, "groups": {"g0": []}}}, "step 0 after groups g0 is [], not an object"),
    ],
)
def test_an_answer_or_a_state_that_lacks_a_field_is_one_line(step: Written, message: str) -> None:
    """What is missing or of another type is compared with nothing."""
    with pytest.raises(MalformedSession) as malformed:
        session_of(session(step))

    assert str(malformed.value).startswith(f"session hand-A-1 {message}")
    assert session_of(session({**restart(), "after": AFTER})).steps[0].after == AFTER


def test_a_step_that_shows_a_defect_says_so() -> None:
    """The recorder names the step; the others are judged as ever."""
    read = session_of(session(restart(), restart(), config={"kafka_bug": "step 1: a marker is missing"}))

    assert ["", "a marker is missing"] == [step.marks.bug for step in read.steps]


@pytest.mark.parametrize("bug", ["step 7: no such step", "the second", 3])
def test_a_defect_of_no_step_is_malformed(bug: object) -> None:
    """A mark that cannot be read excuses nothing."""
    with pytest.raises(MalformedSession, match="kafka_bug"):
        session_of(session(restart(), config={"kafka_bug": bug}))


def test_a_repetition_of_a_repetition_has_the_values_of_the_original() -> None:
    """The bytes sent again are those of the step that first had them."""
    sent = produce(accepted(0))
    written = session(init(), sent, {**sent, "replay_of": 1}, {**sent, "replay_of": 2})

    values = [values_of(written, step) for step in (1, 2, 3)]

    assert values == [("s1r0",), ("s1r0",), ("s1r0",)]


def test_what_is_not_specified_yet_is_named() -> None:
    """A session names the requests by which neither side is judged."""
    delete = {"api": "DeleteGroups", "version": 3, "request": {}, "response": {"error": "NONE"}}
    leave = {**delete, "api": "LeaveGroup"}

    assert session_of(session(delete, leave, delete)).unsupported == ("DeleteGroups", "LeaveGroup")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": 7}, "the session: id is 7, not a string"),
        ({"family": "Q"}, "session hand-A-1: family is 'Q', not A or Ax"),
        ({"kafka": "5.0"}, "session hand-A-1: kafka is '5.0', not " + " or ".join(PROFILES)),
        ({"txn_version": 3}, "session hand-A-1: txn_version is 3, not within 0 .. 0"),
        ({"topics": []}, "session hand-A-1 topics is [], not an object"),
        ({"steps": []}, "session hand-A-1: steps is [], not a list with something in it"),
        ({"steps": ["x"]}, "session hand-A-1 step 0 is 'x', not an object"),
    ],
)
def test_a_malformed_session_is_named_with_the_field(fields: dict[str, Any], message: str) -> None:
    """One line gives the place in the session and what is wrong."""
    with pytest.raises(MalformedSession) as malformed:
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
    """One line gives the field of the step that is wrong."""
    with pytest.raises(MalformedSession) as malformed:
        session_of(session(init(), produce_with({field: value})))

    assert str(malformed.value).startswith(f"session hand-A-1 step 1 request: {message}")


@pytest.mark.parametrize("repeated", [1, 7, -1, "0"])
def test_only_an_earlier_step_of_the_same_kind_can_be_repeated(repeated: object) -> None:
    """A repetition of itself, of what comes later, or of another request is malformed."""
    with pytest.raises(MalformedSession, match="replay_of"):
        session_of(session(init(), {**produce(accepted(0)), "replay_of": repeated}))
    with pytest.raises(MalformedSession, match="not the number of a Produce"):
        session_of(session(init(), {**produce(accepted(0)), "replay_of": 0}))


def test_a_step_without_an_answer_is_malformed() -> None:
    """There is nothing to compare with."""
    with pytest.raises(MalformedSession, match="step 0: response is missing"):
        session_of(session({"api": "Fetch", "version": 11, "request": {}}))
