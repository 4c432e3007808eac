"""What group coordinators of old releases do otherwise: whom they look at, in which order, and with which error."""

from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from model_tests.unit.reference.broker.grouped import GROUP, PRODUCER, T0, GroupWorld, code_of, offsets
from reference.broker.group_coordinator import TransactionalCommit
from reference.broker.group_metadata import ClassicGroup
from reference.broker.group_offsets import check_commit
from reference.broker.group_requests import NO_CLAIM, JoinAnswer, JoinRequest, MemberClaim, SyncAnswer, SyncRequest
from spec.versions import PROFILES, Profile
from spec.vocabulary import ErrorCode, GroupState

NONE, UNKNOWN, ILLEGAL = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION
FENCED, UNAVAILABLE = ErrorCode.FENCED_INSTANCE_ID, ErrorCode.COORDINATOR_NOT_AVAILABLE
AWAITED: Final = ErrorCode.REBALANCE_IN_PROGRESS
NAMELESS: Final = ErrorCode.INVALID_GROUP_ID
STRANGER: Final = MemberClaim(1, "nobody-knows")
FOREIGN: Final = (("another", b""),)


def of_releases(*wanted: str) -> pytest.MarkDecorator:
    """Once for each release, by its name."""
    return pytest.mark.parametrize("profile", [PROFILES[name] for name in wanted], ids=wanted)


def by_release(*rows: tuple[str, object]) -> pytest.MarkDecorator:
    """Once for each release, with what it does."""
    return pytest.mark.parametrize(
        ("profile", "expected"), [(PROFILES[name], what) for name, what in rows], ids=[name for name, _ in rows]
    )


def named(world: GroupWorld, group: str, claim: MemberClaim = STRANGER) -> list[ErrorCode]:
    """What a transaction's commit, SyncGroup, Heartbeat and LeaveGroup of a group are answered."""
    request = TransactionalCommit(0, group, PRODUCER, offsets({T0: 8}), claim)
    synced: list[SyncAnswer] = []
    world.groups.sync(SyncRequest(group, claim, {}), synced.append)
    return [
        code_of(lambda: world.commit_in_transaction(request)),
        synced[0].error,
        code_of(lambda: world.groups.heartbeat(group, claim)),
        code_of(lambda: world.groups.leave(group, claim.member_id)),
    ]


@by_release(
    ("0.11", [NONE, UNKNOWN, UNKNOWN, UNKNOWN]), ("1.0", [NONE, UNKNOWN, UNKNOWN, UNKNOWN]), ("2.0", [NAMELESS] * 4)
)
def test_a_group_without_a_name(profile: Profile, expected: list[ErrorCode]) -> None:
    """Before 2.0 JoinGroup alone looks at the name."""
    world = GroupWorld(profile)

    assert expected == named(world, "")
    assert NAMELESS == world.join_named("").error


# --- a group that is dead -----------------------------------------------------------------------------------------


def dead(world: GroupWorld) -> tuple[ClassicGroup, MemberClaim]:
    """A group that is deleted while a request holds it, and its member."""
    claim = world.member()
    group = world.groups.shards.of_group(GROUP).groups[GROUP]
    group.state = GroupState.DEAD
    return group, claim


@by_release(("0.11", UNKNOWN), ("2.0", UNKNOWN), ("2.4", UNAVAILABLE), ("2.7", UNAVAILABLE), ("4.4", UNAVAILABLE))
def test_a_dead_group(profile: Profile, expected: ErrorCode) -> None:
    """Since 2.4 its members look for another coordinator instead of joining anew."""
    world = GroupWorld(profile)
    group, claim = dead(world)
    members, answers = world.groups.members, list[JoinAnswer | SyncAnswer]()

    errors = [
        code_of(lambda: check_commit(group, claim, False, profile)),
        code_of(lambda: check_commit(group, NO_CLAIM, True, profile)),
        code_of(lambda: members.join(group, JoinRequest(GROUP), answers.append)),
        code_of(lambda: members.join(group, JoinRequest(GROUP, claim.member_id), answers.append)),
        code_of(lambda: members.sync(group, SyncRequest(GROUP, claim, {}), answers.append)),
        code_of(lambda: members.heartbeat(group, claim)),
        code_of(lambda: members.leave(group, claim.member_id)),
    ]

    assert ([expected] * 7, []) == (errors, answers)


@by_release(("2.0", [ErrorCode.INCONSISTENT_GROUP_PROTOCOL, UNKNOWN, ILLEGAL]), ("2.4", [UNAVAILABLE] * 3))
def test_what_is_wrong_besides_in_a_dead_group(profile: Profile, expected: list[ErrorCode]) -> None:
    """Before 2.4 JoinGroup looks at the protocols first, and SyncGroup at member and generation."""
    world = GroupWorld(profile)
    group, claim = dead(world)
    members, answers = world.groups.members, list[JoinAnswer | SyncAnswer]()
    late = SyncRequest(GROUP, claim._replace(generation=claim.generation + 1), {})

    errors = [
        code_of(lambda: members.join(group, JoinRequest(GROUP, protocols=FOREIGN), answers.append)),
        code_of(lambda: members.sync(group, SyncRequest(GROUP, STRANGER, {}), answers.append)),
        code_of(lambda: members.sync(group, late, answers.append)),
    ]

    assert (expected, []) == (errors, answers)


# --- the order of what is looked at -------------------------------------------------------------------------------


@by_release(
    ("0.11", [AWAITED, AWAITED, AWAITED]),
    ("2.0", [AWAITED, AWAITED, AWAITED]),
    ("2.4", [AWAITED, UNKNOWN, ILLEGAL]),
    ("4.4", [AWAITED, UNKNOWN, ILLEGAL]),
)
def test_commits_before_the_assignment(profile: Profile, expected: list[ErrorCode]) -> None:
    """Before 2.4 a stranger, too, is answered REBALANCE_IN_PROGRESS as long as the assignment is awaited."""
    world = GroupWorld(profile)
    joined = world.join()[0]
    member = MemberClaim(joined.generation, joined.member_id)
    claims = member, STRANGER, member._replace(generation=joined.generation + 1)

    assert expected == [code_of(partial(world.commit, 3, claim)) for claim in claims]


@pytest.mark.parametrize(
    ("claim", "before", "since"),
    [
        (lambda m: m, NONE, NONE),
        (lambda m: m._replace(group_instance_id="other"), NONE, UNKNOWN),
        (lambda m: m._replace(group_instance_id="other", member_id="nobody-knows"), UNKNOWN, UNKNOWN),
        (lambda m: m._replace(group_instance_id="other", generation=9), ILLEGAL, UNKNOWN),
        (lambda m: m._replace(member_id="nobody-knows"), FENCED, FENCED),
        (lambda m: m._replace(member_id=""), FENCED, FENCED),
    ],
    ids=["member", "unknown instance", "and member", "and generation", "another's instance", "instance alone"],
)
@of_releases("2.4", "2.5", "2.7", "3.6", "4.4")
def test_an_instance_without_a_member(
    profile: Profile, claim: Callable[[MemberClaim], MemberClaim], before: ErrorCode, since: ErrorCode
) -> None:
    """Before 3.0 it does not count in commits and SyncGroup, and the member id decides."""
    world = GroupWorld(profile)
    request = claim(world.member("static"))
    expected = before if profile.name < "3" else since
    synced: list[SyncAnswer] = []

    world.groups.sync(SyncRequest(GROUP, request, {}), synced.append)

    assert [expected] * 3 == [
        synced[0].error,
        code_of(lambda: world.commit(3, request)),
        code_of(lambda: world.groups.heartbeat(GROUP, request)),
    ]
    in_transaction = expected if profile.commits_fenced_by_generation else NONE
    assert in_transaction == code_of(lambda: world.pend(8, request))


@of_releases("2.4", "2.7", "3.6", "4.4")
def test_a_member_joins_again_under_an_instance_without_a_member(profile: Profile) -> None:
    """No release lets it."""
    world = GroupWorld(profile)
    member = world.member()

    assert [UNKNOWN] == [answer.error for answer in world.join(member.member_id, "other")]


@by_release(("2.4", NONE), ("2.7", NONE), ("3.6", UNKNOWN), ("4.4", UNKNOWN))
def test_leaving_under_an_instance_without_a_member(profile: Profile, expected: ErrorCode) -> None:
    """Before 3.0 the member id decides here too."""
    world = GroupWorld(profile)
    member = world.member()

    assert expected == code_of(lambda: world.groups.leave(GROUP, member.member_id, "other"))


@pytest.mark.parametrize(
    ("claim", "before", "since"),
    [
        (lambda m: MemberClaim(m.generation, ""), NONE, UNKNOWN),
        (lambda m: MemberClaim(m.generation + 1, ""), ILLEGAL, UNKNOWN),
        (lambda m: MemberClaim(-1, m.member_id), NONE, ILLEGAL),
        (lambda _: MemberClaim(-1, "nobody-knows"), UNKNOWN, UNKNOWN),
        (lambda _: NO_CLAIM, NONE, NONE),
    ],
    ids=["generation alone", "past generation alone", "member alone", "stranger alone", "nobody"],
)
@of_releases("2.5", "2.7", "3.6", "4.4")
def test_a_transaction_that_names_half_a_member(
    profile: Profile, claim: Callable[[MemberClaim], MemberClaim], before: ErrorCode, since: ErrorCode
) -> None:
    """Before 3.0 member and generation count each by itself, where it is named."""
    world = GroupWorld(profile)
    request = claim(world.member())

    assert (before if profile.name < "3" else since) == code_of(lambda: world.pend(8, request))


@pytest.mark.parametrize(
    ("claim", "before", "since"),
    [
        (MemberClaim(-1, "nobody-knows"), UNKNOWN, NONE),
        (MemberClaim(1, ""), ILLEGAL, UNKNOWN),
        (MemberClaim(0, ""), NONE, UNKNOWN),
        (MemberClaim(-1, "", "static"), NONE, NONE),
    ],
    ids=["member", "generation", "first generation", "instance"],
)
@of_releases("2.5", "2.7", "3.6", "4.4")
def test_a_transaction_in_a_group_without_members(
    profile: Profile, claim: MemberClaim, before: ErrorCode, since: ErrorCode
) -> None:
    """Before 3.0 an empty group is like any other; since, it takes what names no generation."""
    world = GroupWorld(profile)
    world.commit(3)

    assert (before if profile.name < "3" else since) == code_of(lambda: world.pend(8, claim))


# --- a group that is not there ------------------------------------------------------------------------------------


@by_release(
    ("2.7", [ILLEGAL, ILLEGAL]),
    ("3.6", [ILLEGAL, ILLEGAL]),
    ("3.9.0", [ILLEGAL, ILLEGAL]),
    ("4.0-SNAPSHOT", [ILLEGAL, ErrorCode.GROUP_ID_NOT_FOUND]),
    ("4.4", [ILLEGAL, ErrorCode.GROUP_ID_NOT_FOUND]),
)
def test_a_generation_of_a_group_that_is_not_there(profile: Profile, expected: list[ErrorCode]) -> None:
    """Since 4.0 version 9 of OffsetCommit is answered that there is no such group."""
    world = GroupWorld(profile)

    commit = partial(world.groups.commit_offsets, GROUP, offsets({T0: 3}), STRANGER)

    assert expected == [code_of(partial(commit, version)) for version in (8, 9)]


# --- verification -------------------------------------------------------------------------------------------------


@by_release(("3.6", NONE), ("3.9.0", ErrorCode.INVALID_TXN_STATE), ("3.9.0-nover", NONE))
def test_offsets_outside_the_transaction(profile: Profile, expected: ErrorCode) -> None:
    """In 3.6 data alone is verified, and offsets go into a partition that is in no transaction."""
    world = GroupWorld(profile)
    producer = world.transactions.init_producer_id("payments", 60_000)

    assert expected == world.request(producer, 8, version=3)[T0]
    assert (expected is NONE) == (world.fetch(stable=True).error is ErrorCode.UNSTABLE_OFFSET_COMMIT)
