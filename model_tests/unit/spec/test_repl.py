"""Replication of a log: what followers fetch and cut off, how far the high watermark goes, who may append."""

import pytest

from spec.protocol.repl import (
    ACKS_ALL,
    ACKS_LEADER,
    ACKS_NONE,
    EpochEnd,
    FollowerFetch,
    Leading,
    Produce,
    ReturningReplica,
    Watermark,
    acknowledged,
    admitted,
    fetched,
    follower_high_watermark,
    holds_back,
    leader_high_watermark,
    truncated_to,
)
from spec.versions import KAFKA_1_0, KAFKA_3_6, NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode

LEADER = Leading(leads=True, epoch=3, log_start=5, log_end=20)
"""Its log: epoch 1 up to offset 10, epoch 3 from there on."""

BY_HIGH_WATERMARK = Profile("before 0.11", truncates_by_leader_epoch=False)


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (2, ErrorCode.FENCED_LEADER_EPOCH),
        (3, ErrorCode.NONE),
        (4, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (ABSENT, ErrorCode.NONE),
    ],
)
def test_leader_and_follower_are_in_the_same_epoch(epoch: int, error: ErrorCode) -> None:
    """The older one has to learn of the election first; a Fetch that names no epoch is answered all the same."""
    reply = fetched(LEADER, FollowerFetch(epoch, 15, 3), EpochEnd(3, 20))

    assert error == reply.error


def test_an_epoch_is_compared_before_leadership() -> None:
    """A former leader answers with the epoch that it knows, if the follower knows another."""
    follower = Leading(leads=False, epoch=3, log_start=0, log_end=20)

    errors = [fetched(follower, FollowerFetch(epoch, 0), EpochEnd()).error for epoch in (2, 3)]

    assert [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER] == errors


@pytest.mark.parametrize(("offset", "inside"), [(4, False), (5, True), (20, True), (21, False)])
def test_a_follower_fetches_within_the_leaders_log(offset: int, inside: bool) -> None:
    """From the log start up to the log end."""
    reply = fetched(LEADER, FollowerFetch(3, offset), EpochEnd())

    assert inside == reply.gives_records
    assert inside != (ErrorCode.OFFSET_OUT_OF_RANGE == reply.error)


@pytest.mark.parametrize(
    ("last_epoch", "offset", "end"), [(2, 15, EpochEnd(1, 10)), (1, 12, EpochEnd(1, 10)), (1, 30, EpochEnd(1, 10))]
)
def test_a_follower_with_other_records_is_reported_so_and_gets_none(
    last_epoch: int, offset: int, end: EpochEnd
) -> None:
    """Its last epoch ended earlier, or never was in the leader's log; that comes before any offset out of range."""
    reply = fetched(LEADER, FollowerFetch(3, offset, last_epoch), end)

    assert ErrorCode.NONE == reply.error
    assert reply.diverges
    assert not reply.gives_records


def test_a_returning_replica_cuts_off_what_the_leader_does_not_have() -> None:
    """It has epoch 1 up to offset 12, and the leader up to offset 10."""
    assert 10 == truncated_to(ReturningReplica(12, 3), EpochEnd(1, 10), EpochEnd(1, 12))


def test_a_returning_replica_keeps_what_it_has_of_the_leaders_log() -> None:
    """It is behind, and nothing is cut off."""
    assert 8 == truncated_to(ReturningReplica(8, 3), EpochEnd(1, 10), EpochEnd(1, 8))


def test_an_epoch_that_the_leader_does_not_have_is_cut_off_whole() -> None:
    """The replica has epoch 1 up to offset 5 and then epoch 2, of which the leader has nothing (KIP-279)."""
    replica, leader, own = ReturningReplica(15, 3), EpochEnd(1, 10), EpochEnd(1, 5)

    assert 5 == truncated_to(replica, leader, own)
    assert 10 == truncated_to(replica, leader, own, KAFKA_1_0)


def test_without_an_answer_a_replica_goes_back_to_its_own_high_watermark() -> None:
    """The leader knows of no epoch that is small enough; before KIP-101 that was the rule."""
    assert 3 == truncated_to(ReturningReplica(12, 3), EpochEnd(), EpochEnd())
    assert 3 == truncated_to(ReturningReplica(12, 3), EpochEnd(1, 10), EpochEnd(1, 12), BY_HIGH_WATERMARK)


def test_the_high_watermark_rises_to_the_least_log_end() -> None:
    """Enough replicas are in sync."""
    assert 8 == leader_high_watermark(Watermark(current=5, least_end=8, in_sync=2, min_in_sync=2))


def test_the_high_watermark_never_falls_on_a_leader() -> None:
    """A new leader does not know yet how far its followers are."""
    assert 5 == leader_high_watermark(Watermark(current=5, least_end=0, in_sync=3, min_in_sync=2))


def test_the_high_watermark_stays_where_too_few_are_in_sync() -> None:
    """Since 3.7; before, a leader alone committed whatever was not sent with acks=all."""
    alone = Watermark(current=5, least_end=8, in_sync=1, min_in_sync=2)

    assert 5 == leader_high_watermark(alone)
    assert 8 == leader_high_watermark(alone, KAFKA_3_6)


@pytest.mark.parametrize(
    ("in_sync", "proposed", "caught_up", "waits"),
    [
        (True, False, False, True),
        (False, True, False, True),
        (False, False, True, True),
        (False, False, False, False),
    ],
)
def test_the_high_watermark_waits_for_whoever_may_lead(
    in_sync: bool, proposed: bool, caught_up: bool, waits: bool
) -> None:
    """Who is in sync, who may be by now, and who is about to be."""
    assert waits == holds_back(in_sync=in_sync, proposed=proposed, caught_up=caught_up)


@pytest.mark.parametrize(("reported", "end", "known"), [(5, 8, 5), (8, 5, 5)])
def test_a_follower_knows_the_high_watermark_as_far_as_its_log_goes(reported: int, end: int, known: int) -> None:
    """The reported high watermark may be beyond what the follower has."""
    assert known == follower_high_watermark(reported, end)


@pytest.mark.parametrize(
    ("acks", "in_sync", "error"),
    [
        (ACKS_ALL, 2, ErrorCode.NONE),
        (ACKS_ALL, 1, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ACKS_LEADER, 1, ErrorCode.NONE),
        (ACKS_NONE, 1, ErrorCode.NONE),
        (2, 2, ErrorCode.INVALID_REQUIRED_ACKS),
        (-2, 2, ErrorCode.INVALID_REQUIRED_ACKS),
    ],
)
def test_only_acks_all_asks_for_enough_replicas(acks: int, in_sync: int, error: ErrorCode) -> None:
    """Others are appended by a leader alone."""
    admission = admitted(Produce(acks, in_sync, min_in_sync=2))

    assert error == admission.error
    assert admission.granted == (error == ErrorCode.NONE)


@pytest.mark.parametrize(
    ("acks", "in_sync", "high_watermark", "error"),
    [
        (ACKS_ALL, 2, 10, ErrorCode.NONE),
        (ACKS_ALL, 2, 9, ErrorCode.REQUEST_TIMED_OUT),
        (ACKS_ALL, 1, 9, ErrorCode.REQUEST_TIMED_OUT),
        (ACKS_ALL, 1, 10, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
        (ACKS_LEADER, 1, 0, ErrorCode.NONE),
    ],
)
def test_acks_all_is_acknowledged_below_the_high_watermark(
    acks: int, in_sync: int, high_watermark: int, error: ErrorCode
) -> None:
    """If the in-sync set shrank since the append, the records stay in the log and the producer gets an error."""
    assert error == acknowledged(Produce(acks, in_sync, min_in_sync=2), high_watermark, required=10).error


def test_the_newest_release_has_every_repair() -> None:
    """The defaults of the behaviours are those of the newest release."""
    assert NEWEST.truncates_by_leader_epoch
    assert NEWEST.high_watermark_needs_min_isr
