"""What a group coordinator reads out of its log: committed, pending, buried, and what it cannot read."""

import random
from dataclasses import replace

import pytest

from model_tests.audit.recorded import KAFKA_3_9 as RECORDED_3_9
from model_tests.audit.recorded import unpacked
from model_tests.unit.reference.broker.grouped import GROUP, PRODUCER, T0, T1, GroupWorld, code_of, marker_of
from reference.broker.group_log import LoadedGroups, records_batch, replay
from reference.broker.group_record import GroupKey, OffsetKey, OffsetValue
from reference.broker.ids import ProducerIdentity
from reference.log.batch import data_batch
from reference.log.reader import Placed, read_batches
from reference.log.record import Record
from spec.versions import KAFKA_3_9, NEWEST, SNAPSHOT_4_0, Profile
from spec.vocabulary import Epoch, GroupState, LeaderEpoch, Offset, ProducerId, Timestamp

KEY = OffsetKey(GROUP, T0)
PROFILES = (NEWEST, SNAPSHOT_4_0, replace(KAFKA_3_9, refused_commit_drops_pending=False))
"""Its memory is that of the log; that of 3.9 forgets more."""


def write_raw(world: GroupWorld, key: bytes, value: bytes | None) -> None:
    """Append one record of any bytes to the offsets partition."""
    world.partition.append(data_batch((Record(0, 0, key, value),), timestamp=1000))


def test_a_crash_loses_nothing() -> None:
    """Committed and pending offsets, and the members of a group, are in the log."""
    world = GroupWorld()
    claim = world.member()
    world.commit(3, claim)
    world.pend(8, claim, partition=T1)

    world.crash()

    assert 3 == world.committed()
    assert -1 == world.fetch(stable=True, partition=T1).offset
    group = world.groups.shards.of_group(GROUP).groups[GROUP]
    assert (GroupState.STABLE, 1, claim.member_id) == (group.state, group.generation, group.leader)
    world.commit(4, claim)
    assert 4 == world.committed()


def test_the_records_of_a_batch_are_of_one_time() -> None:
    """That of the commit; only their offsets differ."""
    batch = records_batch(((KEY, b"1"), (KEY, None)), Timestamp(1000))

    assert [(0, 0, b"1"), (1, 0, None)] == [(r.offset_delta, r.timestamp_delta, r.value) for r in batch.records()]
    assert (1000, 1000) == (batch.base_timestamp, batch.max_timestamp)


def test_a_marker_before_and_after_the_crash() -> None:
    """A coordinator that reads the marker knows what the one knew that wrote it."""
    before, after = GroupWorld(), GroupWorld()
    for world in (before, after):
        world.pend(8)

    before.mark(committed=True)
    before.crash()
    after.crash()
    after.mark(committed=True)

    assert [8, 8] == [world.fetch(stable=True).offset for world in (before, after)]


def test_a_crash_before_the_offsets_are_taken_over() -> None:
    """Where they lag the marker, it is in the log all the same, and the next coordinator knows what it decided."""
    world = GroupWorld(KAFKA_3_9)
    world.pend(8)
    world.groups.write_marker(0, marker_of(committed=True), 1)
    assert -1 == world.committed()

    world.crash()

    assert 8 == world.fetch(stable=True).offset


def test_a_tombstone() -> None:
    """A buried offset is gone, also for those who load."""
    world = GroupWorld()
    world.commit(3)
    world.groups.shards.of_group(GROUP).write([(KEY, None)])

    assert -1 == world.committed()
    world.crash()
    assert -1 == world.committed()


@pytest.mark.parametrize(("profile", "offset"), [(KAFKA_3_9, 8), (NEWEST, -1)], ids=["classic", "new"])
def test_a_tombstone_over_an_open_transaction(profile: Profile, offset: int) -> None:
    """Since 4.0 it takes with it what transactions have pending; before, they still commit, as for who loads."""
    world = GroupWorld(profile)
    world.pend(8)
    world.groups.shards.of_group(GROUP).write([(KEY, None)])

    world.mark(committed=True)

    assert offset == world.committed()


@pytest.mark.parametrize(("profile", "known"), [(KAFKA_3_9, False), (SNAPSHOT_4_0, True)], ids=["classic", "new"])
def test_a_group_with_aborted_offsets_alone(profile: Profile, known: bool) -> None:
    """Since 4.0 a coordinator that reads them knows the group."""
    world = GroupWorld(profile)
    world.pend(8)
    world.mark(committed=False)

    world.crash()

    assert known == (GROUP in world.groups.shards.of_group(GROUP).groups)


def test_what_cannot_be_read_is_named_and_passed_over() -> None:
    """Keys and values of unknown versions and damaged ones keep no other record from being read."""
    world = GroupWorld()
    write_raw(world, b"\x00\x05\x00\x01g", b"\x00\x00")
    write_raw(world, b"", b"")
    write_raw(world, b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00", b"\x00\x09rest")
    world.commit(3)
    world.partition.append(data_batch((Record(0, 0, b"k", b"v"),), timestamp=1000)._replace(body=b"\x01"))

    world.crash()

    assert 3 == world.committed()
    assert [0, 1, 2, 4] == [skipped.offset for skipped in world.skipped]
    assert ["key version 5", "value version 9"] == [world.skipped[n].reason for n in (0, 2)]


def test_what_was_taken_over_is_what_a_load_finds() -> None:
    """Over random commits, transactions, markers and tombstones, memory and log say the same at every moment."""
    for seed in range(40):
        chance = random.Random(seed)
        world = GroupWorld(chance.choice(PROFILES))
        for _ in range(30):
            act_at_random(world, chance)
            live, loaded = world.groups.shards.of_group(GROUP).offsets, world.topic.load(0).offsets
            assert (loaded.committed, loaded.pending) == (live.committed, live.pending)


def act_at_random(world: GroupWorld, chance: random.Random) -> None:
    """One request of some client; it may be refused."""
    producer = ProducerIdentity(ProducerId(chance.randrange(2)), Epoch(chance.randrange(2)))
    partition, offset = chance.choice([T0, T1]), chance.randrange(100)
    match chance.randrange(5):
        case 0:
            code_of(lambda: world.commit(offset, partition=partition))
        case 1 | 2:
            code_of(lambda: world.pend(offset, producer=producer, partition=partition))
        case 3:
            committed = chance.random() < 0.6
            code_of(lambda: world.mark(committed, producer.epoch, producer_id=producer.producer_id))
        case 4:
            world.groups.shards.of_group(GROUP).write([(OffsetKey(GROUP, partition), None)])


def test_recorded_partitions_are_loaded() -> None:
    """The offsets partitions of a real broker are read without anything to skip, and nothing is left pending."""
    loaded = LoadedGroups()
    with unpacked() as directory:
        for log in sorted((directory / RECORDED_3_9).glob("__consumer_offsets-*/*.log")):
            for found in read_batches(log.read_bytes()):
                assert isinstance(found, Placed)
                replay(found.batch, loaded, KAFKA_3_9)

    assert [] == loaded.skipped
    assert {} == loaded.offsets.pending
    assert {"aio-g", "ctp", "rd-g"} == loaded.offsets.groups()
    assert all(not value.members for value in loaded.groups.values())


def test_a_group_is_buried() -> None:
    """A tombstone of a group removes it and leaves its offsets alone."""
    world = GroupWorld()
    world.commit(3, world.member())
    shard = world.groups.shards.of_group(GROUP)
    shard.write([(GroupKey(GROUP), None)])

    assert {} == world.topic.load(0).groups
    assert 3 == world.committed()


def test_records_of_one_commit_are_one_batch() -> None:
    """A commit of several offsets is durable as a whole."""
    world = GroupWorld()
    shard = world.groups.shards.of_group(GROUP)
    value = OffsetValue(Offset(1), "", Timestamp(1000)).encode()

    shard.write([(KEY, value), (OffsetKey(GROUP, T1), value)], PRODUCER, world.guard())

    (batch,) = world.partition.log
    assert (2, True, 0, LeaderEpoch(0)) == (
        batch.record_count,
        batch.is_transactional,
        batch.base_sequence,
        batch.leader_epoch,
    )
