"""Corners of what leaders and controllers of replicas decide: order of checks, and edges by one."""

from dataclasses import replace

import pytest

from spec.protocol import repl
from spec.protocol.electing import Candidate, ElectionOutcome, Proposal, altered, chosen
from spec.protocol.repl import EpochEnd, FetchReply, FollowerFetch, Leading, ReturningReplica
from spec.versions import KAFKA_2_5, KAFKA_2_7, NEWEST, Profile
from spec.vocabulary import ErrorCode

LEADS = Leading(leads=True, epoch=4, log_start=2, log_end=9, incarnation=5)
FETCH = FollowerFetch(4, 6, last_epoch=3, incarnation=5)
IN_STEP = EpochEnd(3, 9)
PRESENT = Proposal(leads=True, leader_epoch=4, partition_epoch=7, ineligible=False)
DEAD = Candidate(0, alive=False, in_sync=False)
FIRST, SECOND = (Candidate(broker, alive=True, in_sync=True) for broker in (0, 1))
BEHIND = Candidate(0, alive=True, in_sync=False)
ELIGIBLE = Candidate(1, alive=True, in_sync=False, eligible=True)
ABSENT_MEMBER = Candidate(0, alive=False, in_sync=True)
LAST = Candidate(0, alive=True, in_sync=False, last_known=True)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, ErrorCode.NONE),
        ({"registered": False}, ErrorCode.STALE_BROKER_EPOCH),
        ({"registered": False, "leader_epoch": 5}, ErrorCode.STALE_BROKER_EPOCH),
        ({"leader_epoch": 5}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 8}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 8, "leader_epoch": 3}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 3, "leads": False}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": 6, "leads": False}, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": 6, "ill_formed": True}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"ill_formed": True, "ineligible": True}, ErrorCode.INVALID_REQUEST),
        ({"ill_formed": True}, ErrorCode.INVALID_REQUEST),
        ({"ineligible": True}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_what_a_controller_answers_to_a_proposal(changes: dict[str, int], error: ErrorCode) -> None:
    """The first check decides; epochs that it does not know yet are a newer controller's."""
    assert altered(replace(PRESENT, **changes), 4, 7).error == error


@pytest.mark.parametrize(("known", "error"), [(7, ErrorCode.NONE), (8, ErrorCode.INVALID_UPDATE_VERSION)])
def test_before_2_7_a_leader_wrote_the_set_itself(known: int, error: ErrorCode) -> None:
    """On condition of the version that it knew, and of nothing else."""
    request = replace(PRESENT, leads=False, leader_epoch=3, ineligible=True, ill_formed=True, registered=False)

    assert altered(request, 4, known, profile=KAFKA_2_5).error == error


@pytest.mark.parametrize(
    ("candidates", "leader", "prefers", "expected"),
    [
        ((FIRST, SECOND), 1, False, ElectionOutcome(1, stays_in_sync=True, unclean=False)),
        ((FIRST, SECOND), 1, True, ElectionOutcome(0, stays_in_sync=True, unclean=False)),
        ((DEAD, SECOND), 1, True, ElectionOutcome(1, stays_in_sync=True, unclean=False)),
        ((DEAD, ELIGIBLE), 1, False, ElectionOutcome(1, stays_in_sync=True, unclean=False)),
        ((DEAD, ELIGIBLE), -1, False, ElectionOutcome(1, stays_in_sync=False, unclean=False)),
        ((ELIGIBLE,), -1, True, ElectionOutcome(1, stays_in_sync=False, unclean=False)),
        ((ELIGIBLE, FIRST), 0, True, ElectionOutcome(0, stays_in_sync=True, unclean=False)),
        ((ELIGIBLE, FIRST), 1, False, ElectionOutcome(0, stays_in_sync=True, unclean=False)),
        ((ELIGIBLE, ABSENT_MEMBER), 1, True, ElectionOutcome(-1, stays_in_sync=True, unclean=False)),
        ((LAST,), -1, True, ElectionOutcome(0, stays_in_sync=False, unclean=True)),
        ((LAST, ABSENT_MEMBER), -1, False, ElectionOutcome(-1, stays_in_sync=True, unclean=False)),
        ((LAST, replace(ELIGIBLE, alive=False)), -1, False, ElectionOutcome(-1, stays_in_sync=True, unclean=False)),
        ((replace(LAST, alive=False),), -1, False, ElectionOutcome(-1, stays_in_sync=True, unclean=False)),
        ((FIRST, SECOND), -1, False, ElectionOutcome(0, stays_in_sync=True, unclean=False)),
        ((BEHIND, SECOND), 0, False, ElectionOutcome(1, stays_in_sync=True, unclean=False)),
        ((DEAD,), 0, False, ElectionOutcome(-1, stays_in_sync=True, unclean=False)),
    ],
    ids=[
        "stays",
        "preferred",
        "preferred is dead",
        "eligible stays",
        "eligible",
        "preferred is eligible",
        "preferred is eligible beside a member",
        "leader is eligible beside a member",
        "eligible beside a dead member",
        "led last",
        "led last, a dead member",
        "led last, a dead eligible",
        "led last and is away",
        "anew",
        "behind",
        "none",
    ],
)
def test_who_leads(candidates: tuple[Candidate, ...], leader: int, prefers: bool, expected: ElectionOutcome) -> None:
    """The present leader while it is fit to lead, else the preferred one if it is fit, else one is elected."""
    assert chosen(candidates, leader, prefers, False) == expected


@pytest.mark.parametrize(("prefers", "leader"), [(True, -1), (False, 0)])
def test_a_preferred_election_is_not_unclean(prefers: bool, leader: int) -> None:
    """Whatever is allowed."""
    assert chosen((BEHIND, DEAD), 1, prefers, True).leader == leader


@pytest.mark.parametrize(
    ("changes", "end", "error", "diverges"),
    [
        ({}, IN_STEP, ErrorCode.NONE, False),
        ({}, EpochEnd(-1, 9), ErrorCode.OFFSET_OUT_OF_RANGE, False),
        ({}, EpochEnd(3, -1), ErrorCode.OFFSET_OUT_OF_RANGE, False),
        ({"last_epoch": -1}, EpochEnd(), ErrorCode.NONE, False),
        ({"offset": 1}, IN_STEP, ErrorCode.OFFSET_OUT_OF_RANGE, False),
        ({"offset": 2}, IN_STEP, ErrorCode.NONE, False),
        ({"offset": 9}, IN_STEP, ErrorCode.NONE, False),
        ({"offset": 10}, IN_STEP, ErrorCode.NONE, True),
        ({"offset": 10, "last_epoch": -1}, EpochEnd(), ErrorCode.OFFSET_OUT_OF_RANGE, False),
        ({"incarnation": 4}, IN_STEP, ErrorCode.NOT_LEADER_OR_FOLLOWER, False),
        ({"incarnation": 4, "offset": 10}, IN_STEP, ErrorCode.NONE, True),
        ({"incarnation": 4, "offset": 1}, IN_STEP, ErrorCode.OFFSET_OUT_OF_RANGE, False),
        ({"epoch": 5, "offset": 1}, IN_STEP, ErrorCode.UNKNOWN_LEADER_EPOCH, False),
        ({"epoch": 3, "offset": 1}, IN_STEP, ErrorCode.FENCED_LEADER_EPOCH, False),
    ],
)
def test_what_a_leader_says_to_a_follower(
    changes: dict[str, int], end: EpochEnd, error: ErrorCode, diverges: bool
) -> None:
    """Leader epoch, then range, then incarnation; a divergence is answered before the fetch counts for a follower."""
    reply = repl.fetched(LEADS, replace(FETCH, **changes), end)

    assert (reply.error, reply.diverges) == (error, diverges)


@pytest.mark.parametrize(
    ("profile", "error"), [(KAFKA_2_7, ErrorCode.NONE), (NEWEST, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
)
def test_since_3_5_a_fetch_is_of_an_incarnation(profile: Profile, error: ErrorCode) -> None:
    """Before, one that was sent before a restart counted for the follower after it."""
    reply: FetchReply = repl.fetched(LEADS, replace(FETCH, incarnation=4), IN_STEP, profile=profile)

    assert reply.error == error


@pytest.mark.parametrize(
    ("leader", "own", "expected"),
    [
        (EpochEnd(3, 6), EpochEnd(3, 4), 4),
        (EpochEnd(3, 6), EpochEnd(2, 8), 8),
        (EpochEnd(-1, 6), EpochEnd(2, 4), 6),
        (EpochEnd(0, 6), EpochEnd(0, 4), 4),
        (EpochEnd(3, 12), EpochEnd(2, 12), 9),
        (EpochEnd(), EpochEnd(), 2),
    ],
    ids=["of one epoch", "of an older one", "unnamed", "of epoch 0", "beyond its log", "unreported"],
)
def test_how_far_a_returning_replica_goes_back(leader: EpochEnd, own: EpochEnd, expected: int) -> None:
    """To the smaller end of an epoch that both have; else to the end of its own older one, and asks again."""
    assert repl.truncated_to(ReturningReplica(9, 2), leader, own) == expected


@pytest.mark.parametrize(("reported", "expected"), [(2, 3), (3, 3), (4, 4), (10, 9)])
def test_a_followers_high_watermark_is_within_its_log(reported: int, expected: int) -> None:
    """Neither below its start nor above its end."""
    assert repl.follower_high_watermark(reported, 9, 3) == expected
