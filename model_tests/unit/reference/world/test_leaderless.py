"""A partition that has lost its leader when its transaction is decided (KAFKA-20734)."""

import pytest

from model_tests.unit.reference.world.scenes import T0, T1, began, known, new_world, read, started
from reference.broker.transaction_api import OFFSETS_TOPIC
from reference.broker.transaction_metadata import TopicPartition
from reference.world.settling import settle
from reference.world.transaction_shape import TransactionShape
from reference.world.transaction_world import TransactionWorld
from spec.versions import KAFKA_3_9, KAFKA_4_2, KAFKA_4_3, NEWEST, Profile
from spec.vocabulary import TransactionState

REPORTED = TransactionShape(leaderless_is_known=True)


def decided_without_a_leader(profile: Profile, shape: TransactionShape = REPORTED) -> TransactionWorld:
    """Both partitions have records of a transaction; it is committed while one of them has no leader."""
    world = new_world(profile, shape)
    world.recorder.observer = None
    producer = began(world, started(world))
    world.partition_loses_leader(T1)
    world.application_commits(producer)
    settle(world, 20)
    return world


@pytest.mark.parametrize("profile", [KAFKA_3_9, KAFKA_4_2], ids=["3.9", "4.2"])
def test_before_4_3_its_marker_waits(profile: Profile) -> None:
    """The transaction stays decided, and is complete once the partition has a leader again."""
    world = decided_without_a_leader(profile)
    waits = known(world)
    world.partition_regains_leader(T1)
    settle(world)

    assert (TransactionState.PREPARE_COMMIT, frozenset({T1})) == (waits.state, waits.partitions)
    assert TransactionState.COMPLETE_COMMIT == known(world).state
    assert {T0: (b"0/0/0",), T1: (b"0/0/1",)} == read(world)


@pytest.mark.parametrize("profile", [KAFKA_4_3, NEWEST], ids=["4.3", "4.4"])
def test_since_4_3_its_marker_is_dropped(profile: Profile) -> None:
    """The coordinator takes it for deleted: half of the commit is readable, the other half is open for ever."""
    world = decided_without_a_leader(profile)
    completed = known(world)
    world.partition_regains_leader(T1)
    settle(world)

    assert (TransactionState.COMPLETE_COMMIT, frozenset()) == (completed.state, completed.partitions)
    assert {T0: (b"0/0/0",), T1: ()} == read(world)
    assert (0, 1) == (world.brokers.partitions[T1].leader.last_stable, world.brokers.partitions[T1].leader.log_end)


def test_nodes_that_have_not_heard_of_it_ask_the_leader_that_they_know() -> None:
    """Then the marker waits under 4.3 too."""
    world = decided_without_a_leader(KAFKA_4_3, TransactionShape())

    assert (TransactionState.PREPARE_COMMIT, frozenset({T1})) == (known(world).state, known(world).partitions)


def test_offsets_of_a_coordinator_that_is_gone() -> None:
    """A partition of the offsets topic has no leader between two of its coordinators; it is led once one is elected."""
    world = new_world(KAFKA_4_3, TransactionShape(leaderless_is_known=True))
    partition = TopicPartition(OFFSETS_TOPIC, 0)
    before = world.brokers.is_led(partition)
    world.broker_restarts(0)
    between = world.brokers.is_led(partition)
    world.group_coordinator_fails_over(0, 1)

    assert (True, False, True) == (before, between, world.brokers.is_led(partition))
