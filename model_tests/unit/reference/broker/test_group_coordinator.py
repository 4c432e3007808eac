"""Offsets of groups at their broker: whole transactions, refusals, partitions that move, expiry."""

from dataclasses import replace

import pytest

from model_tests.unit.reference.broker.grouped import (
    GROUP,
    ID,
    PRODUCER,
    T0,
    T1,
    GroupWorld,
    code_of,
)
from reference.broker.group_deletion import delete_offsets, expire_offsets
from reference.broker.group_record import OffsetKey
from spec.versions import KAFKA_0_11, KAFKA_3_9, KAFKA_3_9_UNVERIFIED, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import Epoch, ErrorCode, ProducerId, Timestamp


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
    """The error depends on the version; from version 5 on the broker itself puts the group there."""
    world = GroupWorld(NEWEST)
    producer = world.transactions.init_producer_id(ID, 60_000)

    assert error == world.request(producer, 8, version)[T0]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_fenced_producer(version: int) -> None:
    """It gets the error about its epoch that a partition gives."""
    world = GroupWorld(SNAPSHOT_4_0)
    producer = world.begin()

    stale = producer._replace(epoch=Epoch(producer.epoch - 1))

    assert ErrorCode.INVALID_PRODUCER_EPOCH == world.request(stale, 8, version)[T0]
    unknown = producer._replace(producer_id=ProducerId(99))
    assert ErrorCode.INVALID_PRODUCER_ID_MAPPING == world.request(unknown, 8, version)[T0]


def test_a_transaction_that_is_being_ended() -> None:
    """The client gets the error to try again, and not that replicas are missing as a producer does."""
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
    """The client gets the offsets partition's own refusals as errors of coordinators."""
    world = GroupWorld(KAFKA_3_9_UNVERIFIED)
    world.partition.leads = False

    assert ErrorCode.NOT_COORDINATOR == code_of(lambda: world.commit(3))
    assert ErrorCode.NOT_COORDINATOR == world.request(PRODUCER, 8)[T0]
    assert -1 == world.committed()


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


def test_an_offset_expires_though_a_transaction_may_change_it() -> None:
    """Before 4.0; what the transaction has pending stays, and counts when it has committed."""
    world = GroupWorld(KAFKA_3_9)
    world.commit(3)
    world.pend(8)
    world.pass_time(100_000)

    assert (OffsetKey(GROUP, T0),) == expire_offsets(world.groups)
    assert -1 == world.committed()
    assert GROUP in world.groups.shards.of_group(GROUP).groups
    world.mark(committed=True)
    assert 8 == world.committed()


@pytest.mark.parametrize(
    ("profile", "loaded"),
    [(KAFKA_0_11, 9), (KAFKA_3_9, 9), (SNAPSHOT_4_0, -1), (NEWEST, -1)],
    ids=["0.11", "3.9", "snapshot", "newest"],
)
def test_offsets_of_a_topic_that_is_gone(profile: Profile, loaded: int) -> None:
    """What is pending goes with what is committed; before 4.0 there is no tombstone of it, and who loads has it."""
    worlds = GroupWorld(profile), GroupWorld(profile)
    for world in worlds:
        world.commit(3)
        world.commit(4, partition=T1)
        world.pend(8)
        world.pend(9, partition=T1)
        assert (OffsetKey(GROUP, T1),) == delete_offsets(world.groups, {T1})
        assert (3, -1) == (world.committed(T0), world.committed(T1))

    there, moved = worlds
    moved.crash()
    for world in worlds:
        world.mark(committed=True)
    assert (8, -1) == (there.committed(T0), there.committed(T1))
    assert (8, loaded) == (moved.committed(T0), moved.committed(T1))


@pytest.mark.parametrize(("profile", "written"), [(KAFKA_3_9, 0), (NEWEST, 1)], ids=["classic", "new"])
def test_offsets_that_are_pending_alone(profile: Profile, written: int) -> None:
    """Only the new coordinator has the log say that they are gone."""
    world = GroupWorld(profile)
    world.pend(8)
    size = world.partition.log_end

    assert (OffsetKey(GROUP, T0),) == delete_offsets(world.groups, {T0})
    world.mark(committed=True)

    assert (-1, size + written + 1) == (world.committed(), world.partition.log_end)


@pytest.mark.parametrize(("profile", "offset"), [(KAFKA_3_9, -1), (NEWEST, 3)], ids=["classic", "new"])
def test_offsets_whose_tombstones_are_refused(profile: Profile, offset: int) -> None:
    """A classic coordinator has forgotten them all the same, until the log is read again."""
    world = GroupWorld(profile)
    world.commit(3)
    world.partition.leads = False

    forgotten = delete_offsets(world.groups, {T0, T1})

    assert (() if offset == 3 else (OffsetKey(GROUP, T0),)) == forgotten
    assert offset == world.committed()
    world.partition.leads = True
    world.crash()
    assert 3 == world.committed()


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


def test_an_offset_with_an_expiry() -> None:
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
