from dataclasses import replace
from typing import Any

import pytest

from spec import rules
from spec.protocol.coordinator import names_of
from spec.protocol.groups import (
    NO_MEMBER,
    GroupEntry,
    KnownClaim,
    after_commit,
    commit_guards,
    is_checked,
    join,
    join_guards,
    left,
    reloaded,
    sync,
    sync_guards,
)
from spec.protocol.guards import branch, error_of
from spec.versions import KAFKA_2_4, KAFKA_2_5, KAFKA_3_9, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode, GroupState

STABLE, EMPTY, AWAITING = GroupState.STABLE, GroupState.EMPTY, GroupState.COMPLETING_REBALANCE
NO_GROUP = GroupEntry()
SIMPLE = GroupEntry(known=True)

CURRENT = KnownClaim(generation=3, member_given=True, member_known=True)
STATIC = replace(CURRENT, instance_given=True, instance_known=True, instance_matches=True)
STRANGER = KnownClaim(generation=3, member_given=True)


def group(state: GroupState = STABLE, generation: int = 3) -> GroupEntry:
    return GroupEntry(known=True, state=state.value, generation=generation)


def decided(
    entry: GroupEntry,
    claim: KnownClaim,
    profile: Profile = NEWEST,
    *,
    transactional: bool = True,
    not_found: bool = False,
) -> tuple[str, ErrorCode]:
    checks = commit_guards(entry, claim, profile, transactional=transactional, not_found=not_found)
    number = branch(checks)
    return names_of(checks)[number], ErrorCode(error_of(checks, number))


@pytest.mark.parametrize(
    ("entry", "claim", "name", "error"),
    [
        (group(), CURRENT, "passed", ErrorCode.NONE),
        (group(), STATIC, "passed", ErrorCode.NONE),
        (group(GroupState.PREPARING_REBALANCE), CURRENT, "passed", ErrorCode.NONE),
        (SIMPLE, NO_MEMBER, "passed", ErrorCode.NONE),
        (NO_GROUP, NO_MEMBER, "passed", ErrorCode.NONE),
        (SIMPLE, replace(STRANGER, generation=-1), "passed", ErrorCode.NONE),
        (SIMPLE, KnownClaim(instance_given=True), "passed", ErrorCode.NONE),
        (NO_GROUP, STRANGER, "group_unknown", ErrorCode.ILLEGAL_GENERATION),
        (group(GroupState.DEAD), CURRENT, "group_dead", ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (group(), replace(STATIC, instance_known=False), "instance_unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (group(), replace(STATIC, instance_matches=False), "instance_fenced", ErrorCode.FENCED_INSTANCE_ID),
        (
            group(),
            KnownClaim(instance_given=True, instance_known=True),
            "instance_fenced",
            ErrorCode.FENCED_INSTANCE_ID,
        ),
        (group(), STRANGER, "member_unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (group(), KnownClaim(generation=3), "member_unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (SIMPLE, KnownClaim(generation=0), "member_unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (group(), replace(CURRENT, generation=2), "generation_other", ErrorCode.ILLEGAL_GENERATION),
        (group(), replace(CURRENT, generation=4), "generation_other", ErrorCode.ILLEGAL_GENERATION),
        (group(), replace(CURRENT, generation=-1), "generation_other", ErrorCode.ILLEGAL_GENERATION),
    ],
)
@pytest.mark.parametrize("transactional", [True, False], ids=["transactional", "plain"])
def test_who_may_commit(entry: GroupEntry, claim: KnownClaim, name: str, error: ErrorCode, transactional: bool) -> None:
    """A named member must be a current one of the current generation, in a transaction as outside."""
    assert (name, error) == decided(entry, claim, transactional=transactional)


def test_only_a_transactional_commit_may_leave_out_the_member_in_a_group_with_members() -> None:
    """The oldest versions of TxnOffsetCommit cannot name a member; OffsetCommit always could."""
    assert ("passed", ErrorCode.NONE) == decided(group(), NO_MEMBER)
    assert ("members_only", ErrorCode.UNKNOWN_MEMBER_ID) == decided(group(), NO_MEMBER, transactional=False)


def test_a_group_that_awaits_its_assignment_takes_transactional_commits_alone() -> None:
    """A plain one gets the error that a rebalance is under way."""
    assert ("passed", ErrorCode.NONE) == decided(group(AWAITING), CURRENT)
    assert ("assignment_awaited", ErrorCode.REBALANCE_IN_PROGRESS) == decided(
        group(AWAITING), CURRENT, transactional=False
    )


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (KAFKA_3_9, ("member_unknown", ErrorCode.UNKNOWN_MEMBER_ID)),
        (SNAPSHOT_4_0, ("group_unknown", ErrorCode.ILLEGAL_GENERATION)),
        (NEWEST, ("group_unknown", ErrorCode.ILLEGAL_GENERATION)),
    ],
    ids=lambda value: value.name if isinstance(value, Profile) else "",
)
def test_before_4_0_a_transactional_commit_makes_its_group_first(
    profile: Profile, expected: tuple[str, ErrorCode]
) -> None:
    """Then a generation is one of a group without members; a plain commit is refused as one of no group."""
    assert expected == decided(NO_GROUP, STRANGER, profile)
    assert ("group_unknown", ErrorCode.ILLEGAL_GENERATION) == decided(NO_GROUP, STRANGER, profile, transactional=False)


def test_a_group_that_is_not_there_has_an_error_of_its_own_in_newer_requests() -> None:
    """GROUP_ID_NOT_FOUND instead of ILLEGAL_GENERATION."""
    assert ("group_unknown", ErrorCode.GROUP_ID_NOT_FOUND) == decided(NO_GROUP, STRANGER, not_found=True)


def test_before_2_5_a_transactional_commit_is_not_held_against_the_group() -> None:
    """Only the transactional id fences (KIP-447)."""
    past = replace(CURRENT, generation=2)

    assert [decided(group(), past, profile)[0] for profile in (KAFKA_2_4, KAFKA_2_5)] == ["passed", "generation_other"]
    assert decided(group(), past, KAFKA_2_4, transactional=False)[0] == "generation_other"


def test_every_refusal_is_of_the_generation_fence() -> None:
    """Whichever check it is."""
    checks = commit_guards(SIMPLE, NO_MEMBER, NEWEST, transactional=False)

    assert {rules.OFFSETS_GENERATION_FENCE} == {check.rule for check in checks}


def test_who_names_no_member_is_not_checked() -> None:
    """Nor who names one without a generation, in a group that has none."""
    assert [is_checked(SIMPLE, claim) for claim in (NO_MEMBER, STRANGER, replace(STRANGER, generation=-1))] == [
        False,
        True,
        False,
    ]
    assert is_checked(group(), replace(STRANGER, generation=-1))


@pytest.mark.parametrize(
    ("entry", "claim", "version", "name", "error"),
    [
        (NO_GROUP, KnownClaim(), 5, "member_id_required", ErrorCode.MEMBER_ID_REQUIRED),
        (NO_GROUP, KnownClaim(), 3, "passed", ErrorCode.NONE),
        (NO_GROUP, KnownClaim(member_given=True, member_known=True), 5, "passed", ErrorCode.NONE),
        (NO_GROUP, KnownClaim(instance_given=True), 5, "passed", ErrorCode.NONE),
        (group(), KnownClaim(member_given=True), 5, "member_unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (group(), replace(STATIC, instance_matches=False), 5, "instance_fenced", ErrorCode.FENCED_INSTANCE_ID),
        (group(GroupState.DEAD), KnownClaim(), 5, "group_dead", ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_who_may_join(entry: GroupEntry, claim: KnownClaim, version: int, name: str, error: ErrorCode) -> None:
    """A member without id is given one and comes again (KIP-394); a static one needs none."""
    decision = join(entry, claim, version, NEWEST)

    assert (name, error) == (names_of(join_guards(entry, claim, version, NEWEST))[decision.branch], decision.error)
    assert (name != "passed") == (decision.entry == entry)


def test_a_generation_begins_with_joining_and_is_stable_with_its_assignment() -> None:
    """The first is 1; the end of the last member is a generation too."""
    joined = join(NO_GROUP, KnownClaim(instance_given=True), 5, NEWEST).entry
    synced = sync(joined, replace(STATIC, generation=1), NEWEST).entry
    again = join(synced, CURRENT, 5, NEWEST).entry

    assert (joined, synced) == (group(AWAITING, 1), group(STABLE, 1))
    assert (again, left(again)) == (group(AWAITING, 2), group(EMPTY, 3))


def test_a_static_member_that_comes_back_keeps_the_generation() -> None:
    """It has a new member id, by which the one before it is fenced (KIP-345)."""
    back = KnownClaim(instance_given=True, instance_known=True)

    assert join(group(STABLE, 4), back, 5, NEWEST).entry == group(STABLE, 4)
    assert join(group(EMPTY, 4), back, 5, NEWEST).entry == group(AWAITING, 5)


@pytest.mark.parametrize(
    ("entry", "claim", "name", "error"),
    [
        (group(AWAITING), CURRENT, "passed", ErrorCode.NONE),
        (group(STABLE), STATIC, "passed", ErrorCode.NONE),
        (group(AWAITING), STRANGER, "member_unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (group(AWAITING), replace(CURRENT, generation=2), "generation_other", ErrorCode.ILLEGAL_GENERATION),
        (group(AWAITING), replace(STATIC, instance_known=False), "instance_unknown", ErrorCode.UNKNOWN_MEMBER_ID),
        (group(AWAITING), replace(STATIC, instance_matches=False), "instance_fenced", ErrorCode.FENCED_INSTANCE_ID),
        (group(GroupState.PREPARING_REBALANCE), CURRENT, "rebalancing", ErrorCode.REBALANCE_IN_PROGRESS),
        (group(GroupState.DEAD), CURRENT, "group_dead", ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_who_gets_an_assignment(entry: GroupEntry, claim: KnownClaim, name: str, error: ErrorCode) -> None:
    """A current member of the current generation, once all have joined."""
    decision = sync(entry, claim, NEWEST)

    assert (name, error) == (names_of(sync_guards(entry, claim, NEWEST))[decision.branch], decision.error)
    assert decision.entry == (group(STABLE) if name == "passed" else entry)


@pytest.mark.parametrize(
    ("profile", "fields", "known"),
    [
        (NEWEST, {"recorded": True, "transactional": True}, True),
        (NEWEST, {"recorded": True, "transactional": False}, True),
        (NEWEST, {"recorded": False, "transactional": True}, False),
        (KAFKA_3_9, {"recorded": False, "transactional": True}, True),
        (KAFKA_3_9, {"recorded": False, "transactional": False}, False),
    ],
)
def test_a_group_comes_to_be_with_its_first_record(profile: Profile, fields: dict[str, Any], known: bool) -> None:
    """Before 4.0 with the first transactional commit, whatever was answered."""
    assert known == after_commit(NO_GROUP, profile, **fields).known
    assert after_commit(group(), profile, **fields) == group()


def test_a_new_coordinator_knows_what_is_in_the_log() -> None:
    """Members and generation with their records, else nothing."""
    assert reloaded(group(), has_records=True) == group()
    assert reloaded(group(), has_records=False) == NO_GROUP
