"""Corners of the replicas' decisions that no session, trace or search meets: order, and edges by one."""

import pytest

from spec.protocol import electing, repl
from spec.protocol.electing import (
    Candidate,
    ElectionOutcome,
    ReplicationProgress,
    elected,
    leader_epoch_after,
    progressed,
)
from spec.protocol.repl import EpochEnd, FollowerFetch, Leading, ReturningReplica, Watermark
from spec.versions import KAFKA_2_7, KAFKA_4_0, NEWEST
from spec.vocabulary import ErrorCode

FOLLOWS = Leading(leads=False, epoch=4, log_start=0, log_end=9)
LEADS = Leading(leads=True, epoch=4, log_start=0, log_end=9)


def test_an_unknown_leader_epoch_is_reported_before_a_missing_leader() -> None:
    """The broker has not heard of the election yet."""
    refused = repl.fetched(FOLLOWS, FollowerFetch(5, 3), EpochEnd())

    assert refused.error == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_who_is_refused_is_reported_nothing_of_the_log() -> None:
    """Not that it diverges, either."""
    refused = repl.fetched(FOLLOWS, FollowerFetch(4, 8, last_epoch=3), EpochEnd(2, 5))

    assert (refused.error, refused.diverges) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, False)


@pytest.mark.parametrize(
    ("end", "expected"),
    [(EpochEnd(2, 9), True), (EpochEnd(3, 4), True), (EpochEnd(3, 5), False)],
    ids=["an older epoch", "ends one before", "ends there"],
)
def test_when_a_follower_diverges(end: EpochEnd, expected: bool) -> None:
    """The leader does not have its last epoch, or less of it."""
    assert repl.fetched(LEADS, FollowerFetch(4, 5, last_epoch=3), end).diverges is expected


@pytest.mark.parametrize(("reported", "end", "expected"), [(4, 5, 4), (5, 4, 4), (5, 5, 5)])
def test_a_follower_knows_its_leaders_high_watermark(reported: int, end: int, expected: int) -> None:
    """As far as its own log goes."""
    assert repl.follower_high_watermark(reported, end) == expected


def test_a_replica_without_the_leaders_epoch_goes_as_far_as_the_leader_says() -> None:
    """Its own log cannot say more."""
    assert repl.truncated_to(ReturningReplica(9, 2), EpochEnd(3, 6), EpochEnd()) == 6


@pytest.mark.parametrize(("least_end", "expected"), [(6, 6), (5, 5), (4, 5)])
def test_the_high_watermark_rises_by_one(least_end: int, expected: int) -> None:
    """And never falls."""
    assert repl.leader_high_watermark(Watermark(5, least_end, 2, 2)) == expected


@pytest.mark.parametrize(
    ("last_fetch", "caught_up", "offset", "expected"),
    [(10, 3, 8, 10), (4, 3, 8, 4), (2, 3, 8, 3), (10, 3, 7, 3), (10, 3, 9, 20)],
    ids=["then", "a moment later", "an older fetch", "less than then", "now"],
)
def test_when_a_follower_was_caught_up(last_fetch: int, caught_up: int, offset: int, expected: int) -> None:
    """As of its last Fetch where it now has what the leader had then; as of now where it has everything."""
    before = ReplicationProgress(5, last_fetch, 8, caught_up)

    assert progressed(before, offset, 9, 20) == ReplicationProgress(offset, 20, 9, expected)


@pytest.mark.parametrize(
    ("candidate", "unclean_allowed", "expected"),
    [
        (Candidate(0, alive=True, in_sync=False), True, ElectionOutcome(0, stays_in_sync=False, unclean=True)),
        (Candidate(0, alive=True, in_sync=True), True, ElectionOutcome(0, stays_in_sync=True, unclean=False)),
        (Candidate(0, alive=False, in_sync=True), True, ElectionOutcome(-1, stays_in_sync=True, unclean=False)),
        (Candidate(0, alive=True, in_sync=False), False, ElectionOutcome(-1, stays_in_sync=True, unclean=False)),
    ],
    ids=["unclean", "clean", "dead", "behind"],
)
def test_the_election_of_a_single_replica(
    candidate: Candidate, unclean_allowed: bool, expected: ElectionOutcome
) -> None:
    """Broker 0 is a broker; without a leader, nothing is unclean."""
    assert elected([candidate], unclean_allowed) == expected


def test_before_4_1_the_last_leader_is_not_known() -> None:
    """Without a replica in sync there is no leader (KIP-966)."""
    last = Candidate(1, alive=True, in_sync=False, last_known=True)

    assert [elected([last], False, profile).leader for profile in (KAFKA_4_0, NEWEST)] == [-1, 1]


def test_where_nothing_changes_no_leader_epoch_begins() -> None:
    """Neither today nor when a smaller set began one."""
    assert [leader_epoch_after(4, elects=False, shrinks=False, profile=each) for each in (KAFKA_2_7, NEWEST)] == [4, 4]
    assert leader_epoch_after(4, elects=False, shrinks=True, profile=KAFKA_2_7) == 5


def test_a_follower_in_step_does_not_lag() -> None:
    """However long ago it was heard of."""
    assert not electing.lags(ReplicationProgress(9, 0, 9, 0), 9, 99_999, 10_000)
