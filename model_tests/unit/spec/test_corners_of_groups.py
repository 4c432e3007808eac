"""Corners of a group's decisions that no session, trace or search meets: order, and edges by one."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from spec.protocol import committing, offsets
from spec.protocol.committing import ADDS_SINCE, CommitDecision, CommitRequest, commit, commit_in_transaction
from spec.protocol.coordinator import names_of
from spec.protocol.groups import NO_MEMBER, GroupEntry, KnownClaim, commit_guards, join, join_guards, sync, sync_guards
from spec.protocol.guards import branch
from spec.protocol.offsets import NO_OFFSET, OffsetEntry, apply
from spec.versions import KAFKA_3_6, NEWEST
from spec.vocabulary import ErrorCode, GroupState

STABLE, DEAD, AWAITING = GroupState.STABLE, GroupState.DEAD, GroupState.COMPLETING_REBALANCE
CURRENT = KnownClaim(generation=3, member_given=True, member_known=True)
STATIC = replace(CURRENT, instance_given=True, instance_known=True, instance_matches=True)
STRANGER = KnownClaim(generation=3, member_given=True)
PAST = replace(CURRENT, generation=2)
REFUSED = ErrorCode.INVALID_TXN_STATE.value


def group(state: GroupState = STABLE) -> GroupEntry:
    return GroupEntry(known=True, state=state.value, generation=3)


@pytest.mark.parametrize(
    ("entry", "claim", "transactional", "first"),
    [
        (group(DEAD), STRANGER, True, "group_dead"),
        (group(AWAITING), NO_MEMBER, False, "members_only"),
        (group(AWAITING), CURRENT, False, "assignment_awaited"),
        (group(), replace(STRANGER, generation=2), True, "member_unknown"),
        (GroupEntry(), replace(STRANGER, generation=0), True, "group_unknown"),
    ],
    ids=["dead", "nobody", "awaited", "unknown", "generation 0"],
)
def test_of_two_checks_of_a_commit_the_first_decides(
    entry: GroupEntry, claim: KnownClaim, transactional: bool, first: str
) -> None:
    """In Kafka's order."""
    checks = commit_guards(entry, claim, NEWEST, transactional=transactional)

    assert names_of(checks)[branch(checks)] == first


@pytest.mark.parametrize(
    ("entry", "claim", "first"),
    [
        (group(DEAD), replace(STATIC, instance_matches=False), "group_dead"),
        (group(), replace(STATIC, instance_matches=False, member_known=False), "instance_fenced"),
    ],
    ids=["dead", "fenced"],
)
def test_of_two_checks_of_a_join_the_first_decides(entry: GroupEntry, claim: KnownClaim, first: str) -> None:
    """In Kafka's order."""
    checks = join_guards(entry, claim, 5, NEWEST)

    assert names_of(checks)[branch(checks)] == first


@pytest.mark.parametrize(
    ("entry", "claim", "first"),
    [
        (group(DEAD), STRANGER, "group_dead"),
        (group(), replace(STRANGER, generation=2), "member_unknown"),
        (group(GroupState.PREPARING_REBALANCE), PAST, "generation_other"),
    ],
    ids=["dead", "unknown", "past"],
)
def test_of_two_checks_of_a_sync_the_first_decides(entry: GroupEntry, claim: KnownClaim, first: str) -> None:
    """In Kafka's order."""
    checks = sync_guards(entry, claim, NEWEST)

    assert names_of(checks)[sync(entry, claim, NEWEST).branch] == first


@pytest.mark.parametrize(("version", "error"), [(3, ErrorCode.NONE), (4, ErrorCode.MEMBER_ID_REQUIRED)])
def test_since_version_4_a_newcomer_comes_again_with_an_id(version: int, error: ErrorCode) -> None:
    """Of a static member no id is required."""
    assert join(group(), NO_MEMBER, version, NEWEST).error == error


@pytest.mark.parametrize(
    ("claim", "generation"),
    [(NO_MEMBER, 4), (STATIC, 4), (replace(STATIC, member_given=False), 3)],
    ids=["newcomer", "static, with its id", "static, back without its id"],
)
def test_only_a_static_member_that_comes_back_keeps_the_generation(claim: KnownClaim, generation: int) -> None:
    """Another member that joins begins a new one."""
    assert join(group(), claim, 3, NEWEST).entry.generation == generation


# --- commits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("commits", "since"), [(commit_in_transaction, 6), (commit, 9)], ids=["in a transaction", "plain"]
)
def test_since_when_a_group_is_not_found(commits: Callable[..., CommitDecision], since: int) -> None:
    """Older versions of the request know no such error."""
    errors = [
        commits(GroupEntry(), CommitRequest(version, claim=STRANGER), NEWEST).error for version in (since - 1, since)
    ]

    assert errors == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.GROUP_ID_NOT_FOUND]


def test_a_group_without_a_name_is_refused_first() -> None:
    """Before the coordinator of the transaction is heard, and before the members are looked at."""
    request = CommitRequest(3, verification_error=REFUSED, claim=STRANGER, group_unnamed=True)

    assert [commit_in_transaction(group(), request, profile).error for profile in (KAFKA_3_6, NEWEST)] == [
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.INVALID_GROUP_ID,
    ]


def test_before_3_7_the_members_were_looked_at_first() -> None:
    """Since then the coordinator of the transaction is heard first (KAFKA-15784)."""
    request = CommitRequest(3, verification_error=REFUSED, claim=STRANGER)

    assert [commit_in_transaction(group(), request, profile).error for profile in (KAFKA_3_6, NEWEST)] == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.INVALID_TXN_STATE,
    ]


def test_the_coordinator_is_asked_to_add_since_version_5() -> None:
    """Before, it is checked whether the partition is there."""
    assert [committing.as_produce(version) for version in (ADDS_SINCE - 1, ADDS_SINCE)] == [0, 12]


# --- offsets --------------------------------------------------------------------------------------------------


def test_without_anything_pending_a_marker_changes_nothing() -> None:
    """Whatever the group's offset is."""
    known = OffsetEntry(5, 10)

    assert [apply(each, NO_OFFSET, commits=True).committed for each in (known, NO_OFFSET)] == [known, NO_OFFSET]


def test_of_two_commits_the_later_record_holds() -> None:
    """Later by one is later."""
    earlier, later = OffsetEntry(5, 10), OffsetEntry(6, 11)

    assert offsets.committed_after(earlier, later) == offsets.committed_after(later, earlier) == later
    assert apply(later, earlier, commits=True).committed == apply(earlier, later, commits=True).committed == later
