"""How the exchanges of a group are described."""

import pytest

from model_tests.scenarios.group_stage import group_answer_words, group_request_words, is_reported_of_group
from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import (
    FetchedOffset,
    JoinAnswer,
    JoinRequest,
    MemberClaim,
    OffsetAndMetadata,
    SyncAnswer,
    SyncRequest,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.client.assignment import Assignment
from reference.client.coordinator_channel import CoordinatorType, FindCoordinator
from reference.client.group_exchange import (
    GroupAnswer,
    GroupRequest,
    Heartbeat,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
)
from spec.vocabulary import ErrorCode, Offset

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CLAIM = MemberClaim(2, "m-1")


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (FindCoordinator(CoordinatorType.GROUP, "g"), "FindCoordinator g"),
        (JoinRequest("g"), "JoinGroup"),
        (JoinRequest("g", "m-1"), "JoinGroup as m-1"),
        (SyncRequest("g", CLAIM, {}), "SyncGroup of m-1, generation 2"),
        (SyncRequest("g", CLAIM, {"m-1": b""}), "SyncGroup of m-1, generation 2: 1 assignment"),
        (Heartbeat("g", CLAIM), "Heartbeat of m-1, generation 2"),
        (LeaveGroup("g", CLAIM), "LeaveGroup of m-1, generation 2"),
        (OffsetFetch("g", (T0, T1), require_stable=True), "OffsetFetch t-0, t-1"),
        (OffsetCommit("g", CLAIM, {T0: OffsetAndMetadata(Offset(5))}), "OffsetCommit t-0 up to 5"),
    ],
)
def test_requests(request_: GroupRequest, expected: str) -> None:
    """Kafka's name, and what matters of it."""
    assert expected == group_request_words(request_)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (JoinAnswer(ErrorCode.NONE, "m-1", 2, "range", "m-1"), "generation 2, which it leads"),
        (JoinAnswer(ErrorCode.NONE, "m-1", 2, "range", "m-2"), "generation 2"),
        (JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID), "UNKNOWN_MEMBER_ID"),
        (SyncAnswer(ErrorCode.NONE, Assignment((T0, T1)).encode()), "t-0, t-1"),
        (SyncAnswer(ErrorCode.NONE), "no partitions"),
        (
            OffsetsAnswer(
                ErrorCode.NONE,
                {T0: FetchedOffset(ErrorCode.NONE, Offset(5)), T1: FetchedOffset(ErrorCode.UNSTABLE_OFFSET_COMMIT)},
            ),
            "t-0: 5, t-1: UNSTABLE_OFFSET_COMMIT",
        ),
        (OffsetsAnswer(ErrorCode.NONE, {T0: FetchedOffset()}), "t-0: none"),
        (ErrorCode.NONE, "done"),
        ({T0: ErrorCode.ILLEGAL_GENERATION}, "ILLEGAL_GENERATION"),
    ],
)
def test_answers(answer: GroupAnswer, expected: str) -> None:
    """What the member learns."""
    assert expected == group_answer_words(answer)


def test_what_is_reported() -> None:
    """Heartbeats are shown where they are refused; the look-up of the coordinator never is."""
    beat = Heartbeat("g", CLAIM)

    assert [False, False, True] == [
        is_reported_of_group(beat),
        is_reported_of_group(beat, ErrorCode.NONE),
        is_reported_of_group(beat, ErrorCode.REBALANCE_IN_PROGRESS),
    ]
    assert not is_reported_of_group(FindCoordinator(CoordinatorType.GROUP, "g"))
