"""How the exchanges of members with their group's coordinator are recorded and drawn."""

import pytest

from model_tests.diagrams.events import DrawnMessage, Ending, Mark
from model_tests.monitor.drawing import sequence_of
from model_tests.monitor.story import Story
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
from reference.client.consumer import Consumer
from reference.client.coordinator_channel import CoordinatorAnswer, CoordinatorType, FindCoordinator
from reference.client.group_exchange import (
    GroupAnswer,
    GroupRequest,
    Heartbeat,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
)
from reference.recording.recorder import Fate
from reference.world.transaction_world import TransactionWorld
from spec.vocabulary import Api, ErrorCode, Offset

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CLAIM = MemberClaim(2, "m-1")
COMMITS = OffsetCommit("g", CLAIM, {T0: OffsetAndMetadata(Offset(5)), T1: OffsetAndMetadata(Offset(7))})
FETCHES = OffsetFetch("g", (T0, T1), require_stable=True)
FETCHED = FetchedOffset(ErrorCode.NONE, Offset(5))


def exchanged(request: GroupRequest, answer: GroupAnswer, *shown: str) -> list[DrawnMessage]:
    """What is drawn of a request and its answer, with apis that a story hides."""
    world = TransactionWorld()
    story, consumer = Story(world.recorder), Consumer([T0])
    story.hidden -= set(shown)
    world.readers.annotate(Fate.ARRIVED, consumer, 0, request, message=7)
    world.readers.annotate(Fate.ANSWERED, consumer, 0, request, answer, message=7)
    steps = sequence_of(story.rows, "an exchange", Ending("", "end")).steps
    return [event for step in steps for event in step if isinstance(event, DrawnMessage)]


@pytest.mark.parametrize(
    ("request_", "answer", "expected"),
    [
        (JoinRequest("g"), JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, "m-1"), ("", "MEMBER_ID_REQUIRED as m-1")),
        (
            JoinRequest("g", "m-1"),
            JoinAnswer(ErrorCode.NONE, "m-1", 2, "range", "m-1"),
            ("as m-1", "NONE as m-1, generation 2, which it leads"),
        ),
        (
            JoinRequest("g", "m-1"),
            JoinAnswer(ErrorCode.NONE, "m-1", 2, "range", "m-2"),
            ("as m-1", "NONE as m-1, generation 2"),
        ),
        (
            SyncRequest("g", CLAIM, {"m-1": b"", "m-2": b""}),
            SyncAnswer(ErrorCode.NONE, Assignment((T0, T1)).encode()),
            ("as m-1, generation 2 with 2 assignments", "NONE t-0, t-1"),
        ),
        (
            SyncRequest("g", CLAIM, {"m-1": b""}),
            SyncAnswer(ErrorCode.NONE, Assignment((T1,)).encode()),
            ("as m-1, generation 2 with 1 assignment", "NONE t-1"),
        ),
        (SyncRequest("g", CLAIM, {}), SyncAnswer(ErrorCode.NONE), ("as m-1, generation 2", "NONE no partitions")),
        (LeaveGroup("g", CLAIM), ErrorCode.NONE, ("as m-1, generation 2", "NONE")),
        (
            FETCHES,
            OffsetsAnswer(ErrorCode.NONE, {T0: FETCHED, T1: FetchedOffset()}),
            ("t-0, t-1", "t-0 NONE offset 5, t-1 NONE no offset"),
        ),
        (
            COMMITS,
            dict.fromkeys((T0, T1), ErrorCode.NONE),
            ("t-0 offset 5, t-1 offset 7 as m-1, generation 2", "t-0, t-1 NONE"),
        ),
    ],
)
def test_exchanges(request_: GroupRequest, answer: GroupAnswer, expected: tuple[str, str]) -> None:
    """Kafka's name and what matters of the request, and what the member learns."""
    request, reported = exchanged(request_, answer)

    asked, learnt = expected
    assert DrawnMessage("reader-0", "broker-0", f"{request_.API} {asked}".strip()) == request
    assert DrawnMessage("broker-0", "reader-0", learnt) == reported


@pytest.mark.parametrize(
    ("request_", "answer", "expected"),
    [
        (JoinRequest("g", "m-1"), JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID), "UNKNOWN_MEMBER_ID"),
        (SyncRequest("g", CLAIM, {}), SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS), "REBALANCE_IN_PROGRESS"),
        (Heartbeat("g", CLAIM), ErrorCode.ILLEGAL_GENERATION, "ILLEGAL_GENERATION"),
        (LeaveGroup("g", CLAIM), ErrorCode.UNKNOWN_MEMBER_ID, "UNKNOWN_MEMBER_ID"),
        (FETCHES, OffsetsAnswer(ErrorCode.NOT_COORDINATOR), "t-0, t-1 NOT_COORDINATOR"),
        (
            FETCHES,
            OffsetsAnswer(ErrorCode.NONE, {T0: FETCHED, T1: FetchedOffset(ErrorCode.UNSTABLE_OFFSET_COMMIT)}),
            "t-0 NONE offset 5, t-1 UNSTABLE_OFFSET_COMMIT",
        ),
        (COMMITS, dict.fromkeys((T0, T1), ErrorCode.ILLEGAL_GENERATION), "t-0, t-1 ILLEGAL_GENERATION"),
    ],
)
def test_refusals(request_: GroupRequest, answer: GroupAnswer, expected: str) -> None:
    """The request is drawn with each, also a heartbeat."""
    request, reported = exchanged(request_, answer)

    assert request.text.startswith(request_.API)
    assert (expected, Mark.REFUSED) == (reported.text, reported.mark)


def test_heartbeats_without_news_and_lookups_are_not_drawn() -> None:
    """A story may show where the coordinator is looked up."""
    found = FindCoordinator(CoordinatorType.GROUP, "g")

    assert [] == exchanged(Heartbeat("g", CLAIM), ErrorCode.NONE)
    assert [] == exchanged(found, CoordinatorAnswer())
    assert ["FindCoordinator", "NONE"] == [
        each.text for each in exchanged(found, CoordinatorAnswer(), Api.FIND_COORDINATOR)
    ]
