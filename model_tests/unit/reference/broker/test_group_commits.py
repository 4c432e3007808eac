"""Who may commit the offsets of a group, in a transaction and outside."""

from collections.abc import Callable
from typing import Final

import pytest

from model_tests.unit.reference.broker.grouped import (
    CLASSIC_AND_NEW,
    GROUP,
    PRODUCER,
    T0,
    GroupWorld,
    code_of,
    offsets,
)
from reference.broker.group_coordinator import TransactionalCommit
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import NO_CLAIM, MemberClaim, SyncAnswer, SyncRequest
from spec.versions import BEFORE_3_7, KAFKA_2_4, KAFKA_3_9, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import ErrorCode

STRANGER: Final = MemberClaim(1, "nobody-knows")


@pytest.mark.parametrize(
    ("claim", "plain", "transactional"),
    [
        (lambda m: m, ErrorCode.NONE, ErrorCode.NONE),
        (lambda m: m._replace(generation=2), ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (lambda m: m._replace(generation=0), ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (lambda m: m._replace(generation=-1), ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (lambda _: STRANGER, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (lambda _: MemberClaim(1, ""), ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (lambda m: m._replace(group_instance_id="other"), ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (lambda _: NO_CLAIM, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE),
    ],
    ids=["member", "future", "past", "none", "stranger", "unnamed", "no such instance", "nobody"],
)
@CLASSIC_AND_NEW
def test_commits_to_a_group_with_members(
    profile: Profile, claim: Callable[[MemberClaim], MemberClaim], plain: ErrorCode, transactional: ErrorCode
) -> None:
    """Members of the generation commit; without a claim, only a transaction does, fenced by its transactional id."""
    world = GroupWorld(profile)
    member = world.member()

    assert plain == code_of(lambda: world.commit(3, claim(member)))
    assert transactional == code_of(lambda: world.pend(8, claim(member)))
    assert (3 if plain is ErrorCode.NONE else -1) == world.committed()
    assert (transactional is ErrorCode.NONE) == world.groups.shards.of_group(GROUP).offsets.is_unstable(
        OffsetKey(GROUP, T0)
    )


@pytest.mark.parametrize("claim", [NO_CLAIM, MemberClaim(-1, "nobody-knows"), MemberClaim(-1, "", "static")])
@CLASSIC_AND_NEW
def test_a_group_without_members_takes_commits_of_no_generation(profile: Profile, claim: MemberClaim) -> None:
    """Whatever member they name."""
    world = GroupWorld(profile)
    world.commit(1)

    assert ErrorCode.NONE == code_of(lambda: world.commit(3, claim))
    assert ErrorCode.NONE == code_of(lambda: world.pend(8, claim))


def test_a_static_instance_that_was_replaced() -> None:
    """The member that held it before gets the error, for both kinds of commit."""
    world = GroupWorld()
    old = world.member("static")
    new = world.member("static")

    assert old.member_id != new.member_id
    assert ErrorCode.FENCED_INSTANCE_ID == code_of(lambda: world.commit(3, old))
    assert ErrorCode.FENCED_INSTANCE_ID == code_of(lambda: world.pend(3, old))
    assert ErrorCode.NONE == code_of(lambda: world.commit(3, new))


@pytest.mark.parametrize(
    ("profile", "version", "transactional"),
    [
        (KAFKA_3_9, 4, ErrorCode.UNKNOWN_MEMBER_ID),
        (SNAPSHOT_4_0, 4, ErrorCode.ILLEGAL_GENERATION),
        (NEWEST, 5, ErrorCode.ILLEGAL_GENERATION),
        (NEWEST, 6, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
    ids=["classic", "snapshot", "new", "new v6"],
)
def test_a_generation_of_a_group_that_does_not_exist(profile: Profile, version: int, transactional: ErrorCode) -> None:
    """The classic coordinator creates the group and misses the member; the new one misses the group."""
    world = GroupWorld(profile)

    assert ErrorCode.ILLEGAL_GENERATION == code_of(lambda: world.commit(3, STRANGER))
    assert transactional == code_of(lambda: world.pend(3, STRANGER, version=version))
    assert profile.commit_creates_group == (GROUP in world.groups.shards.of_group(GROUP).groups)


def test_before_the_assignment_plain_commits_wait() -> None:
    """A member that has joined and not synced gets the error to go on with the rebalance; its transaction commits."""
    world = GroupWorld()
    joined = world.join(instance="static")[0]
    claim = MemberClaim(joined.generation, joined.member_id, "static")

    assert ErrorCode.REBALANCE_IN_PROGRESS == code_of(lambda: world.commit(3, claim))
    assert ErrorCode.NONE == code_of(lambda: world.pend(3, claim))


def test_before_2_5_no_member_is_fenced_in_a_transaction() -> None:
    """Only the transactional id fences (KIP-447 came later)."""
    world = GroupWorld(KAFKA_2_4)
    world.member()

    assert ErrorCode.NONE == code_of(lambda: world.pend(3, STRANGER))
    assert ErrorCode.UNKNOWN_MEMBER_ID == code_of(lambda: world.commit(3, STRANGER))


def test_a_group_needs_a_name_for_a_transaction() -> None:
    """Plain offsets may belong to the group of no name."""
    world = GroupWorld()

    world.groups.commit_offsets("", offsets({T0: 3}), NO_CLAIM)

    assert 3 == world.groups.fetch_offsets("", (T0,), True)[T0].offset
    nameless = TransactionalCommit(4, "", PRODUCER, offsets({T0: 8}))
    assert ErrorCode.INVALID_GROUP_ID == code_of(lambda: world.commit_in_transaction(nameless))
    assert ErrorCode.INVALID_GROUP_ID == world.join_named("").error


@pytest.mark.parametrize(
    ("profile", "error"), [(BEFORE_3_7, ErrorCode.NONE), (KAFKA_3_9, ErrorCode.ILLEGAL_GENERATION)]
)
def test_a_rebalance_while_the_transaction_is_verified(profile: Profile, error: ErrorCode) -> None:
    """Since 3.7 the group is looked at after the verification, and the past generation is fenced (KAFKA-15784)."""
    world = GroupWorld(profile)
    zombie = world.member("static")

    def rebalance() -> int:
        joined = world.join(zombie.member_id, "static")[0]
        world.sync(joined)
        return world.guard()

    assert error == code_of(lambda: world.pend(8, zombie, verified=rebalance))
    assert (ErrorCode.UNSTABLE_OFFSET_COMMIT if error is ErrorCode.NONE else ErrorCode.NONE) == world.fetch(True).error


def test_a_coordinator_elsewhere_or_still_loading() -> None:
    """Neither commits nor answers with an offset."""
    world = GroupWorld()
    world.groups.resign(0)
    assert ErrorCode.NOT_COORDINATOR == code_of(lambda: world.commit(3))
    assert ErrorCode.NOT_COORDINATOR == code_of(lambda: world.fetch())
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER == code_of(lambda: world.mark(committed=True))

    world.groups.shards.begin_loading(0)
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS == code_of(lambda: world.pend(3))
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS == code_of(lambda: world.fetch())
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER == code_of(lambda: world.mark(committed=True))


def test_members_of_a_coordinator_that_is_loading() -> None:
    """They live on, and who waits for its assignment joins again: the generation that was being made is lost."""
    world, reported = GroupWorld(), list[SyncAnswer]()
    world.groups.shards.begin_loading(0)

    world.groups.heartbeat(GROUP, MemberClaim(1, "m-1"))
    world.groups.sync(SyncRequest(GROUP, MemberClaim(1, "m-1"), {}), reported.append)

    assert [ErrorCode.REBALANCE_IN_PROGRESS] == [answer.error for answer in reported]
