"""A consumer in a group: what it asks in which order, and what it makes of each answer."""

import pytest

from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import (
    FetchedOffset,
    JoinAnswer,
    JoinedMember,
    JoinRequest,
    MemberClaim,
    OffsetAndMetadata,
    SyncAnswer,
    SyncRequest,
)
from reference.broker.transaction_metadata import TopicPartition
from reference.client.assignment import Assignment, Subscription, decode_assignment
from reference.client.coordinator_channel import NO_NODE, CoordinatorAnswer, FindCoordinator
from reference.client.group_consumer import ConsumerSettings, GroupConsumer
from reference.client.group_exchange import (
    GROUP_MEANINGS,
    GroupAnswer,
    GroupMeaning,
    GroupOutgoing,
    GroupRequest,
    Heartbeat,
    LeaveGroup,
    MemberRequest,
    OffsetCommit,
    OffsetFetch,
    group_meaning,
)
from reference.client.group_member import MemberSettings, MemberState
from spec.vocabulary import ErrorCode, Offset, Timestamp

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SETTINGS = MemberSettings("g", heartbeat_ms=10, max_poll_ms=1000, retry_backoff_ms=5)
SUBSCRIPTION = Subscription(("t",)).encode()
OFFSETS = {T0: OffsetAndMetadata(Offset(7))}


def consumer_with(settings: ConsumerSettings | None = None) -> GroupConsumer:
    return GroupConsumer(settings or ConsumerSettings(SETTINGS), {"t": 2}, "t")


def sent(consumer: GroupConsumer, now: int = 0) -> GroupOutgoing:
    """The one request of a poll."""
    (outgoing,) = consumer.poll(Timestamp(now))
    return outgoing


def answer(consumer: GroupConsumer, reply: GroupAnswer, now: int = 0) -> GroupRequest:
    """Poll, and answer the one request."""
    outgoing = sent(consumer, now)
    consumer.answer(outgoing.number, reply, Timestamp(now))
    return outgoing.request


def joined(generation: int = 1, *, leads: bool = False) -> JoinAnswer:
    """The answer of a group of two, of which the other one leads."""
    members = (JoinedMember("m-1", None, SUBSCRIPTION), JoinedMember("m-2", None, SUBSCRIPTION)) if leads else ()
    return JoinAnswer(ErrorCode.NONE, "m-1", generation, "range", "m-1" if leads else "m-2", members)


def synced(*partitions: TopicPartition) -> SyncAnswer:
    return SyncAnswer(ErrorCode.NONE, Assignment(partitions).encode())


def offsets(**reported: FetchedOffset) -> OffsetsAnswer:
    return OffsetsAnswer(ErrorCode.NONE, {TopicPartition("t", int(name[1:])): each for name, each in reported.items()})


def join(consumer: GroupConsumer, generation: int = 1) -> None:
    """The consumer is a member that owns T0."""
    answer(consumer, CoordinatorAnswer(node=3))
    answer(consumer, joined(generation))
    answer(consumer, synced(T0))


@pytest.fixture
def consumer() -> GroupConsumer:
    """A member of generation 1 that owns T0, of which the group has read up to 5."""
    consumer = consumer_with()
    join(consumer)
    answer(consumer, offsets(t0=FetchedOffset(ErrorCode.NONE, Offset(5))))
    return consumer


# --- the way into a group -------------------------------------------------------------------------------------


def test_the_way_into_a_group() -> None:
    """Find the coordinator, join with an id that it gives, sync, ask for offsets; then there is something to read."""
    consumer = consumer_with()
    requested = [
        answer(consumer, CoordinatorAnswer(node=3)),
        answer(consumer, JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, "m-1")),
        answer(consumer, joined()),
        answer(consumer, synced(T0)),
        answer(consumer, offsets(t0=FetchedOffset(ErrorCode.NONE, Offset(5)))),
    ]

    assert [FindCoordinator, JoinRequest, JoinRequest, SyncRequest, OffsetFetch] == [type(each) for each in requested]
    assert ["", "m-1"] == [each.member_id for each in requested if isinstance(each, JoinRequest)]
    assert SyncRequest("g", MemberClaim(1, "m-1"), {}) == requested[3]
    assert OffsetFetch("g", (T0,), require_stable=True) == requested[4]
    assert ((T0,), {T0: 5}) == (consumer.fetchable, consumer.consumer.positions)


def test_any_node_knows_the_coordinator() -> None:
    """The first request goes to any node, the next ones to the coordinator."""
    consumer = consumer_with()

    first = sent(consumer)
    consumer.answer(first.number, CoordinatorAnswer(node=3), Timestamp(0))

    assert (NO_NODE, 3) == (first.node, sent(consumer).node)


def test_the_leader_assigns() -> None:
    """The member that leads sends everybody's partitions."""
    consumer = consumer_with()
    answer(consumer, CoordinatorAnswer(node=3))
    answer(consumer, joined(leads=True))

    request = sent(consumer).request

    assert isinstance(request, SyncRequest)
    assert {"m-1": (T0,), "m-2": (T1,)} == {
        member: decode_assignment(data).partitions for member, data in request.assignments.items()
    }


def test_a_member_without_partitions() -> None:
    """Who gets nothing reads nothing and asks for no offsets, but lives."""
    consumer = consumer_with()
    answer(consumer, CoordinatorAnswer(node=3))
    answer(consumer, joined())
    answer(consumer, synced())

    assert ((), []) == (consumer.fetchable, consumer.poll(Timestamp(9)))
    assert Heartbeat("g", MemberClaim(1, "m-1")) == sent(consumer, 10).request


def test_an_unstable_offset_is_asked_for_again() -> None:
    """What an open transaction may still change is not read from; the other partitions are."""
    consumer = consumer_with()
    answer(consumer, CoordinatorAnswer(node=3))
    answer(consumer, joined())
    answer(consumer, synced(T0, T1))
    unstable = FetchedOffset(ErrorCode.UNSTABLE_OFFSET_COMMIT)

    answer(consumer, offsets(t0=unstable, t1=FetchedOffset(ErrorCode.NONE, Offset(3))))

    assert ((T1,), []) == (consumer.fetchable, consumer.poll(Timestamp(4)))
    assert OffsetFetch("g", (T0,), require_stable=True) == sent(consumer, 5).request


def test_a_group_that_has_read_nothing() -> None:
    """Without a committed offset the reset policy decides."""
    consumer = consumer_with()
    join(consumer)

    answer(consumer, offsets(t0=FetchedOffset()))

    assert ((T0,), {}) == (consumer.fetchable, consumer.consumer.positions)
    assert 2 == consumer.consumer.fetch_offset(T0, earliest=2, latest=9)


# --- errors ---------------------------------------------------------------------------------------------------


def test_every_meaning_is_used() -> None:
    """The table has each of the things that a member can do about an answer."""
    used = {meaning for row in GROUP_MEANINGS.values() for meaning in row}

    assert set(GroupMeaning) == used
    assert {len(MemberRequest)} == {len(row) for row in GROUP_MEANINGS.values()}


AFTERWARDS = {
    # (error of a heartbeat): (generation, member id, rejoins, knows the coordinator, has failed)
    ErrorCode.NONE: (1, "m-1", False, True, False),
    ErrorCode.REBALANCE_IN_PROGRESS: (1, "m-1", True, True, False),
    ErrorCode.ILLEGAL_GENERATION: (-1, "m-1", True, True, False),
    ErrorCode.UNKNOWN_MEMBER_ID: (-1, "", True, True, False),
    ErrorCode.NOT_COORDINATOR: (1, "m-1", False, False, False),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: (1, "m-1", False, False, False),
    ErrorCode.NETWORK_EXCEPTION: (1, "m-1", False, False, False),
    ErrorCode.FENCED_INSTANCE_ID: (1, "m-1", False, True, True),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: (1, "m-1", False, True, False),
}


@pytest.mark.parametrize("error", AFTERWARDS, ids=lambda error: error.name)
@pytest.mark.parametrize(
    "requested", [MemberRequest.HEARTBEAT, MemberRequest.OFFSET_COMMIT], ids=["heartbeat", "commit"]
)
def test_after_an_error(consumer: GroupConsumer, requested: MemberRequest, error: ErrorCode) -> None:
    """An error of a heartbeat or of a commit shows what the member still is."""
    if requested is MemberRequest.HEARTBEAT:
        answer(consumer, error, 10)
    else:
        consumer.commit(OFFSETS)
        answer(consumer, {T0: error})
    member = consumer.member

    reported = (
        member.claim.generation,
        member.claim.member_id,
        member.needs_rejoin,
        member.node is not None,
        member.failed,
    )

    assert AFTERWARDS[error] == reported


@pytest.mark.parametrize(
    ("error", "member_id"),
    [
        (ErrorCode.REBALANCE_IN_PROGRESS, "m-1"),
        (ErrorCode.ILLEGAL_GENERATION, "m-1"),
        (ErrorCode.UNKNOWN_MEMBER_ID, ""),
    ],
    ids=lambda value: str(value),
)
def test_after_a_failed_sync(error: ErrorCode, member_id: str) -> None:
    """Without its assignment the member joins again, as who it still is."""
    consumer = consumer_with()
    answer(consumer, CoordinatorAnswer(node=3))
    answer(consumer, joined())

    answer(consumer, SyncAnswer(error))
    request = sent(consumer).request

    assert isinstance(request, JoinRequest)
    assert member_id == request.member_id


def test_a_lost_sync_joins_again() -> None:
    """After a broken connection the coordinator is looked for, and the generation is not taken for complete."""
    consumer = consumer_with()
    answer(consumer, CoordinatorAnswer(node=3))
    answer(consumer, joined())
    outgoing = sent(consumer)

    consumer.lose(outgoing.number, Timestamp(0))
    answer(consumer, CoordinatorAnswer(node=4), 5)

    assert isinstance(sent(consumer, 5).request, JoinRequest)


def test_an_answer_about_a_former_generation_changes_nothing(consumer: GroupConsumer) -> None:
    """A commit that was sent before the rebalance is refused after it."""
    consumer.commit(OFFSETS)
    commit = sent(consumer)
    answer(consumer, ErrorCode.REBALANCE_IN_PROGRESS, 10)
    answer(consumer, joined(generation=2), 10)

    consumer.answer(commit.number, {T0: ErrorCode.ILLEGAL_GENERATION}, Timestamp(10))

    assert (MemberClaim(2, "m-1"), MemberState.COMPLETING_REBALANCE) == (consumer.member.claim, consumer.member.state)


def test_unexpected_errors() -> None:
    """Heartbeats continue after them, a commit fails, a join ends the consumer."""
    unexpected = ErrorCode.UNKNOWN_SERVER_ERROR

    assert [GroupMeaning.FATAL, GroupMeaning.RETRY, GroupMeaning.FAILS] == [
        group_meaning(request, unexpected)
        for request in (MemberRequest.JOIN_GROUP, MemberRequest.HEARTBEAT, MemberRequest.OFFSET_COMMIT)
    ]


def test_a_failed_consumer_asks_nothing(consumer: GroupConsumer) -> None:
    """A static instance that another one has replaced stops."""
    answer(consumer, ErrorCode.FENCED_INSTANCE_ID, 10)
    consumer.commit(OFFSETS)

    assert ([], []) == (consumer.poll(Timestamp(1000)), consumer.beat(Timestamp(1000)))


# --- rebalances -----------------------------------------------------------------------------------------------


def test_partitions_are_given_up_before_joining_again(consumer: GroupConsumer) -> None:
    """The member reads on until its next poll; then it owns nothing until it is assigned again."""
    answer(consumer, ErrorCode.REBALANCE_IN_PROGRESS, 10)
    before = consumer.fetchable

    request = sent(consumer, 10).request

    assert isinstance(request, JoinRequest)
    assert ((T0,), ()) == (before, consumer.fetchable)


def test_positions_are_asked_for_after_a_rebalance(consumer: GroupConsumer) -> None:
    """Also of partitions that stay: another member may have had them in between."""
    consumer.seek(T0, 9)
    answer(consumer, ErrorCode.REBALANCE_IN_PROGRESS, 10)
    answer(consumer, joined(generation=2), 10)
    answer(consumer, synced(T0), 10)

    assert OffsetFetch("g", (T0,), require_stable=True) == sent(consumer, 10).request


def test_partitions_of_a_lost_generation_are_not_read_on(consumer: GroupConsumer) -> None:
    """A member that was thrown out gives up what it owned, and commits nothing for it."""
    call = consumer.commit(OFFSETS)
    beat = consumer.beat(Timestamp(10))[0]
    consumer.answer(beat.number, ErrorCode.UNKNOWN_MEMBER_ID, Timestamp(10))

    request = sent(consumer, 10).request

    assert isinstance(request, JoinRequest)
    assert ((), ErrorCode.ILLEGAL_GENERATION) == (consumer.fetchable, call.error)


def test_an_application_that_is_busy_for_too_long_leaves(consumer: GroupConsumer) -> None:
    """After max.poll.interval.ms the heartbeat thread leaves the group; the next poll joins it as a new member."""
    outgoing = consumer.beat(Timestamp(1000))[0]
    consumer.answer(outgoing.number, ErrorCode.NONE, Timestamp(1000))

    request = sent(consumer, 1001).request

    assert LeaveGroup("g", MemberClaim(1, "m-1")) == outgoing.request
    assert isinstance(request, JoinRequest)
    assert ("", ()) == (request.member_id, consumer.fetchable)


def test_a_busy_application_beats(consumer: GroupConsumer) -> None:
    """Between polls the heartbeat thread keeps the member alive, and does not join for it."""
    answered = consumer.beat(Timestamp(10))[0]
    consumer.answer(answered.number, ErrorCode.REBALANCE_IN_PROGRESS, Timestamp(10))

    assert Heartbeat("g", MemberClaim(1, "m-1")) == answered.request
    assert [] == consumer.beat(Timestamp(19))
    assert [Heartbeat] == [type(each.request) for each in consumer.beat(Timestamp(20))]


@pytest.mark.parametrize(("instance", "expected"), [(None, [LeaveGroup]), ("i-1", [])])
def test_closing(instance: str | None, expected: list[type]) -> None:
    """A member announces that it leaves; a static one does not, since it comes back."""
    consumer = consumer_with(ConsumerSettings(MemberSettings("g", group_instance_id=instance)))
    join(consumer)

    assert expected == [type(each.request) for each in consumer.close()]


# --- commits --------------------------------------------------------------------------------------------------


def test_a_commit_names_its_generation(consumer: GroupConsumer) -> None:
    """A commit without offsets is of the positions."""
    call = consumer.commit()

    request = answer(consumer, {T0: ErrorCode.NONE})

    assert OffsetCommit("g", MemberClaim(1, "m-1"), {T0: OffsetAndMetadata(Offset(5))}) == request
    assert call.error is ErrorCode.NONE


def test_a_commit_is_sent_again_to_the_new_coordinator(consumer: GroupConsumer) -> None:
    """A moved coordinator loses no commit."""
    call = consumer.commit(OFFSETS)
    answer(consumer, {T0: ErrorCode.NOT_COORDINATOR})
    answer(consumer, CoordinatorAnswer(node=4), 5)

    outgoing = sent(consumer, 5)
    consumer.answer(outgoing.number, {T0: ErrorCode.NONE}, Timestamp(5))

    assert (4, OFFSETS) == (outgoing.node, getattr(outgoing.request, "offsets", None))
    assert call.error is ErrorCode.NONE


def test_automatic_commits() -> None:
    """Positions are committed every so often by poll, and before partitions are given up."""
    automatic = consumer_with(ConsumerSettings(SETTINGS, auto_commit_ms=8))
    join(automatic)
    answer(automatic, offsets(t0=FetchedOffset(ErrorCode.NONE, Offset(5))))

    by_time = answer(automatic, {T0: ErrorCode.NONE}, 8)
    beat = automatic.beat(Timestamp(10))[0]
    automatic.answer(beat.number, ErrorCode.REBALANCE_IN_PROGRESS, Timestamp(10))
    automatic.seek(T0, 6)
    last = answer(automatic, {T0: ErrorCode.NONE}, 10)
    afterwards = sent(automatic, 10).request

    positions = [each.offsets[T0].offset for each in (by_time, last) if isinstance(each, OffsetCommit)]
    assert [5, 6] == positions
    assert isinstance(afterwards, JoinRequest)


def test_after_an_abort_the_consumer_goes_back(consumer: GroupConsumer) -> None:
    """What was delivered in the aborted transaction is delivered again."""
    consumer.seek(T0, 9)

    consumer.rewind()
    answer(consumer, offsets(t0=FetchedOffset(ErrorCode.NONE, Offset(5))))

    assert {T0: 5} == consumer.consumer.positions


def test_a_rewind_asks_anew() -> None:
    """The answer to a question from before is not listened to."""
    consumer = consumer_with()
    join(consumer)
    fetch = sent(consumer)

    consumer.rewind()
    consumer.answer(fetch.number, offsets(t0=FetchedOffset(ErrorCode.NONE, Offset(5))), Timestamp(0))

    assert ({}, ()) == (consumer.consumer.positions, consumer.fetchable)


def test_a_seek_wins_over_a_fetch_under_way() -> None:
    """A partition whose place the application has said is not moved."""
    consumer = consumer_with()
    join(consumer)
    fetch = sent(consumer)

    consumer.seek(T0, 9)
    consumer.answer(fetch.number, offsets(t0=FetchedOffset(ErrorCode.NONE, Offset(5))), Timestamp(0))

    assert {T0: 9} == consumer.consumer.positions


def test_the_metadata_of_a_lost_generation_stays(consumer: GroupConsumer) -> None:
    """A member that was thrown out names its old generation in a transaction, and so is fenced (KIP-447)."""
    beat = consumer.beat(Timestamp(10))[0]

    consumer.answer(beat.number, ErrorCode.UNKNOWN_MEMBER_ID, Timestamp(10))

    assert (MemberClaim(-1, ""), MemberClaim(1, "m-1")) == (consumer.member.claim, consumer.metadata)
