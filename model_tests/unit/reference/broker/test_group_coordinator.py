"""Offsets of groups: who may commit them, what a transaction's end makes of them, what a fetch tells."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from model_tests.unit.reference.broker.grouped import (
    GROUP,
    ID,
    PRODUCER,
    T0,
    T1,
    GroupWorld,
    code_of,
    marker_of,
    offsets,
)
from reference.broker.group_coordinator import TransactionalCommit
from reference.broker.group_expiration import expire_offsets
from reference.broker.group_record import OffsetKey
from reference.broker.group_requests import NOBODY, Claim, SyncAnswer, SyncRequest
from reference.broker.ids import ProducerIdentity
from spec.versions import KAFKA_2_4, KAFKA_3_6, KAFKA_3_9, KAFKA_3_9_UNVERIFIED, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import Epoch, ErrorCode, ProducerId, Timestamp

CLASSIC_AND_NEW: Final = pytest.mark.parametrize("profile", [KAFKA_3_9, NEWEST], ids=["classic", "new"])
STRANGER: Final = Claim(1, "nobody-knows")
OTHER: Final = ProducerIdentity(ProducerId(8), Epoch(0))


# --- who may commit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "plain", "transactional"),
    [
        (lambda m: m, ErrorCode.NONE, ErrorCode.NONE),
        (lambda m: m._replace(generation=2), ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (lambda m: m._replace(generation=0), ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (lambda m: m._replace(generation=-1), ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (lambda _: STRANGER, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (lambda _: Claim(1, ""), ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (lambda m: m._replace(group_instance_id="other"), ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (lambda _: NOBODY, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE),
    ],
    ids=["member", "future", "past", "none", "stranger", "unnamed", "no such instance", "nobody"],
)
@CLASSIC_AND_NEW
def test_commits_to_a_group_with_members(
    profile: Profile, claim: Callable[[Claim], Claim], plain: ErrorCode, transactional: ErrorCode
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


@pytest.mark.parametrize("claim", [NOBODY, Claim(-1, "nobody-knows"), Claim(-1, "", "static")])
@CLASSIC_AND_NEW
def test_a_group_without_members_takes_commits_of_no_generation(profile: Profile, claim: Claim) -> None:
    """Whatever member they name."""
    world = GroupWorld(profile)
    world.commit(1)

    assert ErrorCode.NONE == code_of(lambda: world.commit(3, claim))
    assert ErrorCode.NONE == code_of(lambda: world.pend(8, claim))


def test_a_static_instance_that_was_replaced() -> None:
    """The member that held it before is told so, by both kinds of commit."""
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
    """A member that has joined and not synced is told to go on with the rebalance; its transaction commits."""
    world = GroupWorld()
    joined = world.join(instance="static")[0]
    claim = Claim(joined.generation, joined.member_id, "static")

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

    world.groups.commit_offsets("", offsets({T0: 3}), NOBODY)

    assert 3 == world.groups.fetch_offsets("", (T0,), True)[T0].offset
    nameless = TransactionalCommit(4, "", PRODUCER, offsets({T0: 8}))
    assert ErrorCode.INVALID_GROUP_ID == code_of(lambda: world.groups.commit_in_transaction(nameless, world.guard))
    assert ErrorCode.INVALID_GROUP_ID == world.join_named("").error


@pytest.mark.parametrize(("profile", "error"), [(KAFKA_3_6, ErrorCode.NONE), (KAFKA_3_9, ErrorCode.ILLEGAL_GENERATION)])
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
    """Neither commits nor tells anything."""
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
    world, told = GroupWorld(), list[SyncAnswer]()
    world.groups.shards.begin_loading(0)

    world.groups.heartbeat(GROUP, Claim(1, "m-1"))
    world.groups.sync(SyncRequest(GROUP, Claim(1, "m-1"), {}), told.append)

    assert [ErrorCode.REBALANCE_IN_PROGRESS] == [answer.error for answer in told]


# --- transactions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("committed", "offset"), [(True, 8), (False, 3)], ids=["commit", "abort"])
@CLASSIC_AND_NEW
def test_a_marker_decides(profile: Profile, committed: bool, offset: int) -> None:
    """Until then the last committed offset is told, or none to those who ask for a stable one."""
    world = GroupWorld(profile)
    world.commit(3)
    world.pend(8)

    assert 3 == world.committed()
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT == world.fetch(stable=True).error
    assert -1 == world.fetch(stable=True).offset
    assert ErrorCode.NONE == world.fetch(stable=True, partition=T1).error
    world.mark(committed)
    assert offset == world.committed()
    assert offset == world.fetch(stable=True).offset


@CLASSIC_AND_NEW
def test_the_later_record_wins(profile: Profile) -> None:
    """A plain commit after the transaction's own stays, whichever offset is higher; an earlier one gives way."""
    world = GroupWorld(profile)
    world.commit(50)
    world.commit(60, partition=T1)
    world.pend(8)
    world.pend(9, partition=T1)
    world.commit(5)

    world.mark(committed=True)

    assert 5 == world.committed()
    assert 9 == world.committed(T1)


def test_a_marker_without_pending_offsets() -> None:
    """Nothing changes, and the next transaction is not touched by the marker of the one before."""
    world = GroupWorld()
    world.commit(3)
    world.mark(committed=True)
    world.pend(8)

    assert 3 == world.committed()
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT == world.fetch(stable=True).error


def test_transactions_of_two_producers() -> None:
    """Each marker ends its own; the offset is stable when both are decided."""
    world = GroupWorld()
    world.pend(8)
    world.pend(9, producer=OTHER)

    world.mark(committed=True)
    assert 8 == world.committed()
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT == world.fetch(stable=True).error
    world.mark(committed=False, producer_id=8, epoch=0)
    assert 8 == world.fetch(stable=True).offset


def test_every_open_transaction_is_waited_for() -> None:
    """Not only the one that began first."""
    world = GroupWorld()
    world.pend(8)
    world.pend(9, producer=OTHER, partition=T1)

    unstable = [world.fetch(stable=True, partition=partition).error for partition in (T0, T1)]

    assert [ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.UNSTABLE_OFFSET_COMMIT] == unstable


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "error"),
    [(4, 9, ErrorCode.INVALID_PRODUCER_EPOCH), (5, 0, ErrorCode.TRANSACTION_COORDINATOR_FENCED)],
    ids=["producer epoch", "coordinator epoch"],
)
def test_a_refused_marker_decides_nothing(epoch: int, coordinator_epoch: int, error: ErrorCode) -> None:
    """A marker of a past producer or of a replaced coordinator leaves the offsets pending."""
    world = GroupWorld()
    world.mark(committed=True, epoch=5, coordinator_epoch=1)
    world.pend(8)

    assert error == code_of(lambda: world.mark(True, epoch, coordinator_epoch))
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT == world.fetch(stable=True).error


@pytest.mark.parametrize(("profile", "offset"), [(KAFKA_3_9, -1), (NEWEST, 8)], ids=["classic", "new"])
def test_a_refused_commit_of_a_zombie(profile: Profile, offset: int) -> None:
    """The classic coordinator forgets with it what the producer has pending: the offset of a committed transaction."""
    world = GroupWorld(profile)
    world.pend(8)
    zombie = PRODUCER._replace(epoch=Epoch(4))

    assert ErrorCode.INVALID_PRODUCER_EPOCH == code_of(lambda: world.pend(9, producer=zombie, verified=lambda: 0))
    world.mark(committed=True)
    assert offset == world.committed()
    world.crash()
    assert 8 == world.committed()


@pytest.mark.parametrize(("profile", "offset"), [(KAFKA_3_9, 9), (NEWEST, 8)], ids=["lagging", "at once"])
def test_offsets_that_lag_the_marker(profile: Profile, offset: int) -> None:
    """Where they are taken over late, the abort of one transaction meets the offsets of the next (KAFKA-17507)."""
    world = GroupWorld(profile)
    lagging = profile.offsets_lag_marker
    world.pend(8)
    world.groups.write_marker(0, marker_of(committed=True), 2)
    assert lagging == (world.fetch(stable=True).error is ErrorCode.UNSTABLE_OFFSET_COMMIT)

    world.pend(9)
    world.groups.take_over_decided()

    assert offset == world.committed()


@pytest.mark.parametrize("guard", [0, 99], ids=["none", "another"])
def test_an_append_without_its_guard(guard: int) -> None:
    """Offsets that nobody verified do not open a transaction on the partition."""
    world = GroupWorld()

    assert ErrorCode.INVALID_TXN_STATE == code_of(lambda: world.pend(8, verified=lambda: guard))
    assert 0 == world.partition.log_end
    unverified = GroupWorld(KAFKA_3_9_UNVERIFIED)
    assert ErrorCode.NONE == code_of(lambda: unverified.pend(8, verified=lambda: 0))


# --- the broker's part --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "version"),
    [(KAFKA_3_9, 3), (SNAPSHOT_4_0, 4), (NEWEST, 4), (NEWEST, 5)],
    ids=["3", "4", "new 4", "new 5"],
)
def test_a_whole_transaction(profile: Profile, version: int) -> None:
    """Added, committed, ended: the offset is there, and partitions that do not exist are named."""
    world = GroupWorld(profile)
    producer = world.transactions.init_producer_id(ID, 60_000) if version == 5 else world.begin()

    answers = world.request(producer, 8, version)

    assert [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] == list(answers.values())
    world.end(producer)
    assert 8 == world.fetch(stable=True).offset


@pytest.mark.parametrize(
    ("version", "error"),
    [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE), (5, ErrorCode.NONE)],
)
def test_a_group_that_is_not_in_the_transaction(version: int, error: ErrorCode) -> None:
    """The version says how it is told; from version 5 on the broker itself puts it there."""
    world = GroupWorld(NEWEST)
    producer = world.transactions.init_producer_id(ID, 60_000)

    assert error == world.request(producer, 8, version)[T0]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_fenced_producer(version: int) -> None:
    """It is told of its epoch in the words of a partition."""
    world = GroupWorld(SNAPSHOT_4_0)
    producer = world.begin()

    stale = producer._replace(epoch=Epoch(producer.epoch - 1))

    assert ErrorCode.INVALID_PRODUCER_EPOCH == world.request(stale, 8, version)[T0]
    unknown = producer._replace(producer_id=ProducerId(99))
    assert ErrorCode.INVALID_PRODUCER_ID_MAPPING == world.request(unknown, 8, version)[T0]


def test_a_transaction_that_is_being_ended() -> None:
    """The client is told to try again, and not that replicas are missing as a producer is."""
    world = GroupWorld(SNAPSHOT_4_0)
    producer = world.begin()
    world.end(producer, sent=False)

    bumped = producer._replace(epoch=Epoch(producer.epoch + 1))

    assert ErrorCode.CONCURRENT_TRANSACTIONS == world.request(bumped, 8)[T0]
    assert 0 == world.partition.log_end


@pytest.mark.parametrize(
    ("version", "error"), [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
)
def test_old_clients_know_no_loading(version: int, error: ErrorCode) -> None:
    """Before version 2 the coordinator is not available while it loads."""
    world = GroupWorld()
    world.groups.shards.begin_loading(0)

    assert error == world.request(PRODUCER, 8, version)[T0]


def test_partitions_that_lose_their_leader() -> None:
    """The offsets partition's own refusals are told in words of coordinators."""
    world = GroupWorld(KAFKA_3_9_UNVERIFIED)
    world.partition.leads = False

    assert ErrorCode.NOT_COORDINATOR == code_of(lambda: world.commit(3))
    assert ErrorCode.NOT_COORDINATOR == world.request(PRODUCER, 8)[T0]
    assert -1 == world.committed()


# --- expiry -------------------------------------------------------------------------------------------------------


def test_offsets_expire() -> None:
    """An offset that no transaction may still change goes after its retention, and the group with the last one."""
    world = GroupWorld()
    world.commit(3)
    world.commit(4, partition=T1)
    world.pend(8, partition=T1)

    world.pass_time(99_999)
    assert () == expire_offsets(world.groups)
    world.pass_time(1)
    assert (OffsetKey(GROUP, T0),) == expire_offsets(world.groups)
    world.mark(committed=False)
    assert (OffsetKey(GROUP, T1),) == expire_offsets(world.groups)

    assert {} == dict(world.groups.shards.of_group(GROUP).groups)
    world.crash()
    assert [-1, -1] == [world.committed(T0), world.committed(T1)]


def test_offsets_of_a_group_with_members_stay() -> None:
    """Their time begins when the last member has left."""
    world = GroupWorld()
    claim = world.member()
    world.commit(3, claim)
    world.clock.advance(1_000_000)

    assert () == expire_offsets(world.groups)
    world.groups.leave(GROUP, claim.member_id)
    assert () == expire_offsets(world.groups)
    world.clock.advance(100_000)
    assert (OffsetKey(GROUP, T0),) == expire_offsets(world.groups)
    world.crash()
    assert {} == dict(world.groups.shards.of_group(GROUP).groups)


def test_an_offset_that_says_when_it_expires() -> None:
    """Values of version 1 have a time of their own."""
    world = GroupWorld()
    world.commit(3)
    shard = world.groups.shards.of_group(GROUP)
    ((key, recorded),) = shard.offsets.committed.items()
    value = replace(recorded.value, expires_ms=Timestamp(2000), version=1)
    shard.write([(key, value.encode())])

    assert () == expire_offsets(world.groups)
    world.pass_time(1000)
    assert (key,) == expire_offsets(world.groups)
