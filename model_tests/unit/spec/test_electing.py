"""The in-sync set and the leader: who leaves, who returns, who is elected, which epoch begins."""

import pytest

from spec.protocol.electing import (
    Candidate,
    ElectionOutcome,
    Proposal,
    ReplicationProgress,
    altered,
    elected,
    is_electable,
    is_empty,
    lags,
    leader_epoch_after,
    may_leave,
    may_return,
    progressed,
    stays_electable,
)
from spec.versions import KAFKA_1_0, KAFKA_2_7, KAFKA_4_0, NEWEST, Profile
from spec.vocabulary import ABSENT, ErrorCode

LAG_MAX = 30_000


def candidate(broker: int, alive: bool = True, in_sync: bool = False, **other: bool) -> Candidate:
    return Candidate(broker, alive, in_sync, **other)


def test_a_follower_that_stands_still_leaves_after_the_lag_time() -> None:
    """It was last caught up at time 0."""
    stuck = ReplicationProgress(end=10, last_fetch=0, leader_end_then=10, caught_up=0)

    assert not lags(stuck, 20, LAG_MAX, LAG_MAX)
    assert lags(stuck, 20, LAG_MAX + 1, LAG_MAX)


def test_a_follower_that_has_everything_never_leaves() -> None:
    """Nothing was appended for longer than the lag time."""
    assert not lags(ReplicationProgress(10, 0, 10, 0), 10, 10 * LAG_MAX, LAG_MAX)


def test_a_follower_that_fetches_but_is_behind_leaves_too() -> None:
    """Its fetches are frequent, and never reach what the leader had at the one before."""
    slow = ReplicationProgress(end=10, last_fetch=0, leader_end_then=20, caught_up=0)

    for now in range(1_000, LAG_MAX + 2_000, 1_000):
        slow = progressed(slow, slow.end + 1, slow.leader_end_then + 10, now)

    assert lags(slow, slow.leader_end_then, LAG_MAX + 1_000, LAG_MAX)


def test_a_follower_of_a_busy_leader_stays() -> None:
    """Each Fetch has what the leader had at the one before, and the leader is ahead again."""
    busy = ReplicationProgress(end=10, last_fetch=0, leader_end_then=20, caught_up=0)

    for now in range(1_000, 3 * LAG_MAX, 1_000):
        busy = progressed(busy, busy.leader_end_then, busy.leader_end_then + 10, now)

    assert not lags(busy, busy.leader_end_then, 3 * LAG_MAX, LAG_MAX)


def test_a_fetch_from_the_log_end_is_caught_up_now() -> None:
    """Whatever was before."""
    assert 7 == progressed(ReplicationProgress(0, 0, 9, 0), 10, 10, now=7).caught_up


@pytest.mark.parametrize(("end", "returns"), [(4, False), (7, False), (8, True)])
def test_a_follower_returns_with_what_the_leaders_epoch_began_with(end: int, returns: bool) -> None:
    """The high watermark of a new leader, here 5, lags behind what may be committed."""
    assert returns == may_return(end, 5, 8)


def test_before_the_repair_a_new_leaders_high_watermark_was_enough() -> None:
    """KAFKA-7128."""
    assert may_return(5, 5, 8, KAFKA_1_0)
    assert not may_return(4, 5, 8, KAFKA_1_0)


@pytest.mark.parametrize(
    ("proposal", "error"),
    [
        (Proposal(True, 4, 9, False), ErrorCode.NONE),
        (Proposal(True, 3, 9, False), ErrorCode.FENCED_LEADER_EPOCH),
        (Proposal(False, 3, 8, True), ErrorCode.FENCED_LEADER_EPOCH),
        (Proposal(False, 4, 8, False), ErrorCode.INVALID_REQUEST),
        (Proposal(True, 4, 8, True), ErrorCode.INVALID_UPDATE_VERSION),
        (Proposal(True, 4, 9, True), ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_the_controller_lets_in_for_the_present_leader_and_set(proposal: Proposal, error: ErrorCode) -> None:
    """Leader epoch 4 and partition epoch 9; the first of several reasons is answered."""
    decided = altered(proposal, 4, 9)

    assert error == decided.error
    assert decided.granted == (error == ErrorCode.NONE)


def test_the_first_live_in_sync_replica_of_the_assignment_leads() -> None:
    """Not the first live one, and not the first in sync."""
    replicas = (candidate(1), candidate(2, alive=False, in_sync=True), candidate(3, in_sync=True))

    assert ElectionOutcome(3, stays_in_sync=True, unclean=False) == elected(replicas, unclean_allowed=True)


def test_nobody_leads_where_nobody_in_sync_is_alive() -> None:
    """Unless an unclean election is allowed: then the first live one, and it alone is in sync."""
    replicas = (candidate(1, alive=False, in_sync=True), candidate(2), candidate(3))

    assert ABSENT == elected(replicas, unclean_allowed=False).leader
    assert ElectionOutcome(2, stays_in_sync=False, unclean=True) == elected(replicas, unclean_allowed=True)


def test_an_eligible_replica_leads_cleanly_where_nobody_is_in_sync() -> None:
    """Since KIP-966; it is in sync alone. Who is in sync and dead is waited for."""
    replicas = (candidate(1), candidate(2, alive=False), candidate(3, eligible=True))
    waiting = (candidate(1), candidate(2, alive=False, in_sync=True), candidate(3, eligible=True))

    assert ElectionOutcome(3, stays_in_sync=False, unclean=False) == elected(replicas, unclean_allowed=True)
    assert ElectionOutcome(1, stays_in_sync=False, unclean=True) == elected(replicas, True, KAFKA_4_0)
    assert ElectionOutcome(ABSENT, stays_in_sync=True, unclean=False) == elected(waiting, unclean_allowed=False)
    assert ElectionOutcome(1, stays_in_sync=False, unclean=True) == elected(waiting, unclean_allowed=True)


def test_the_last_leader_leads_where_no_other_is_left() -> None:
    """It may have lost records."""
    replicas = (candidate(1), candidate(2, last_known=True))

    assert ElectionOutcome(2, stays_in_sync=False, unclean=True) == elected(replicas, unclean_allowed=False)


@pytest.mark.parametrize("profile", [NEWEST, KAFKA_4_0], ids=lambda profile: profile.name)
@pytest.mark.parametrize("unclean", [True, False], ids=["unclean", "clean"])
def test_who_is_electable_is_elected_alone(profile: Profile, unclean: bool) -> None:
    """The two decisions agree on every candidate."""
    facts = (True, False)
    every = [Candidate(7, a, i, e, k) for a in facts for i in facts for e in facts for k in facts]

    for each in every:
        alone = (each,)
        electable = is_electable(each, is_empty(alone), not each.eligible, unclean, profile)
        assert electable == (7 == elected(alone, unclean, profile).leader)


def test_beside_a_member_neither_the_eligible_nor_the_last_leader_is_electable() -> None:
    """An eligible replica is in the way of the last leader, too."""
    eligible, last = candidate(7, eligible=True), candidate(7, last_known=True)

    assert [is_electable(each, True, True, False) for each in (eligible, last)] == [True, True]
    assert [is_electable(each, False, True, False) for each in (eligible, last)] == [False, False]
    assert [is_electable(each, True, False, False) for each in (eligible, last)] == [True, False]


@pytest.mark.parametrize(("left", "stays"), [(2, False), (1, True)])
def test_who_leaves_a_set_that_is_then_too_small_stays_electable(left: int, stays: bool) -> None:
    """The high watermark does not go on without it; since KIP-966."""
    assert stays == stays_electable(left, 2)
    assert not stays_electable(left, 2, KAFKA_4_0)


def test_the_last_replica_leaves_only_under_kip_966() -> None:
    """Before, it stays in sync whatever it lost."""
    assert may_leave(1)
    assert not may_leave(1, KAFKA_4_0)
    assert may_leave(2, KAFKA_4_0)


def test_every_election_begins_a_leader_epoch() -> None:
    """A smaller in-sync set did too, where the controller made it so, until 3.6."""
    assert 5 == leader_epoch_after(4, elects=True, shrinks=False)
    assert 5 == leader_epoch_after(4, elects=True, shrinks=True, profile=KAFKA_2_7)
    assert 4 == leader_epoch_after(4, elects=False, shrinks=True)
    assert 5 == leader_epoch_after(4, elects=False, shrinks=True, profile=KAFKA_2_7)
