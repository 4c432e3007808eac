"""A producer of records and its brokers: what a connection is answered, and what becomes of it when it breaks."""

from unittest.mock import patch

import pytest

from reference.client.accumulator import SentRecord
from reference.client.producer_settings import ProducerSettings
from reference.recording.recorder import FATE, Fate
from reference.world.sending import SendingShape, SendingWorld
from spec.vocabulary import ErrorCode

ONE_BY_ONE = ProducerSettings(batch_bytes=80, linger_ms=0, retry_backoff_ms=0)
"""One record fills a batch."""


@pytest.fixture
def world() -> SendingWorld:
    """Two partitions on two nodes, each with a record."""
    world = SendingWorld(shape=SendingShape(settings=ONE_BY_ONE))
    for partition in (0, 1):
        send(world, "x", partition)
    settle(world)
    return world


def send(world: SendingWorld, value: str, partition: int) -> SentRecord:
    return world.producer.send(None, value.encode() * 10, world.clock.now, partition)


def replicate(world: SendingWorld, *partitions: int) -> None:
    for partition in partitions:
        while world.partitions[partition].behind():
            world.follower_fetches(partition, 1)


def arrive(world: SendingWorld) -> None:
    for message in tuple(world.requests.in_transit):
        world.broker_receives(message)


def hear(world: SendingWorld) -> None:
    for message in tuple(world.replies.in_transit):
        world.producer_receives(message)


def settle(world: SendingWorld) -> None:
    for _ in range(10):
        world.producer_runs()
        arrive(world)
        replicate(world, *range(len(world.partitions)))
        hear(world)


def values(world: SendingWorld, partition: int) -> list[str]:
    """The first letters of a partition's records, in the order of its log."""
    log = world.partitions[partition].leader.log
    return [(record.value or b"").decode()[0] for batch in log for record in batch.records()]


def five_in_flight(world: SendingWorld) -> list[SentRecord]:
    """Five batches for partition 0 are replicated; the first request also has one for partition 1, which is not."""
    send(world, "y", 1)
    records = []
    for value in "abcde":
        records.append(send(world, value, 0))
        world.producer_runs()
    arrive(world)
    replicate(world, 0)
    return records


def test_a_connection_is_answered_in_order(world: SendingWorld) -> None:
    """Later requests wait for the first, although their own batches are replicated."""
    five_in_flight(world)
    before = len(world.replies.in_transit)

    replicate(world, 1)

    assert (0, 5) == (before, len(world.replies.in_transit))


def overtaking(world: SendingWorld) -> None:
    """Whatever need not wait is answered."""
    for parked in tuple(world.parked):
        if not world._waits(parked):
            world.parked.remove(parked)
            world.replies.send(parked.answered.call.node, parked.answered)


@pytest.mark.parametrize("in_order", [True, False])
def test_the_window_of_five_needs_answers_in_order(world: SendingWorld, in_order: bool) -> None:
    """If a later batch is acknowledged first, a sixth one is sent, and the broker does not know the first any more."""
    release = SendingWorld._release if in_order else overtaking
    with patch.object(SendingWorld, "_release", release):
        first, *_ = five_in_flight(world)
        hear(world)
        send(world, "f", 0)
        world.producer_runs()
        arrive(world)
        replicate(world, 0)
        world.connection_breaks(0)
        settle(world)

    assert (True if in_order else None) is first.outcome
    assert (world.producer.counts.errors[ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER] == 0) is in_order
    assert 1 == values(world, 0).count("a")


@pytest.mark.parametrize("arriving", range(4))
def test_a_connection_that_breaks(world: SendingWorld, arriving: int) -> None:
    """Whatever has arrived before the break, every record is there once, in order, when it was sent again."""
    for value in "abc":
        send(world, value, 0)
        world.producer_runs()

    world.connection_breaks(0, arriving)
    settle(world)

    assert [*"xabc"] == values(world, 0)


def test_the_leader_fails_over_before_answering(world: SendingWorld) -> None:
    """What waited for replication is refused, and sent again to the next leader."""
    record = send(world, "a", 0)
    world.producer_runs()
    arrive(world)

    world.leader_fails_over(0, 1)
    hear(world)
    world.producer_learns_leaders()
    settle_other(world)

    assert (True, [*"xa"]) == (record.outcome, values(world, 0))


def settle_other(world: SendingWorld) -> None:
    """As `settle`, where node 1 leads partition 0."""
    for _ in range(10):
        world.producer_runs()
        arrive(world)
        for place, partition in enumerate(world.partitions):
            for node in partition.behind():
                world.follower_fetches(place, node)
        hear(world)


def test_leaders_are_learnt_when_nothing_is_under_way(world: SendingWorld) -> None:
    """A producer with a batch under way to the former leader does not go to the next one before it is answered."""
    send(world, "a", 0)
    world.producer_runs()
    world.leader_fails_over(0, 1)

    world.producer_learns_leaders()
    before = list(world.producer.sender.leaders)
    arrive(world)
    hear(world)
    world.producer_learns_leaders()

    assert ([0, 0], [1, 0]) == (before, world.producer.sender.leaders)


def test_a_topic_gets_another_partition(world: SendingWorld) -> None:
    """The producer sends to it from sequence 0, once it has found it; the others go on as before."""
    world.topic_gets_partition()
    world.producer_learns_leaders()
    records = [send(world, value, partition) for partition, value in enumerate("abc")]

    settle(world)

    assert [1, 1, 0] == [record.offset for record in records]


# --- what is recorded -------------------------------------------------------------------------------------------------


def test_each_batch_of_a_request_is_a_row_and_each_of_its_answers_an_annotation(world: SendingWorld) -> None:
    """All are about the same sending; the state is that of the leader, before and after."""
    world.recorder.annotates = True
    for partition in (0, 1):
        send(world, "a", partition)
    begun = len(world.recorder.rows)

    settle(world)

    found = [
        (row.get(FATE), row["message"], row["partition"], row["first_offset"], row["before_log_end"])
        for row in world.recorder.rows[begun:]
        if row["api"] == "Produce"
    ]
    handled, answered = ((None, 1, number, 1, 1) for number in (0, 1)), ((Fate.ANSWERED, 1, p, 1, -1) for p in (0, 1))
    assert [*handled, *answered] == found


def test_a_batch_that_is_too_large_reaches_no_log(world: SendingWorld) -> None:
    """It arrives, and is refused: a row would say that a log has decided about it."""
    world.recorder.annotates = True
    world.shape = SendingShape(settings=ONE_BY_ONE, most_bytes=70)
    send(world, "a", 0)
    begun = len(world.recorder.rows)

    world.producer_runs()
    arrive(world)
    hear(world)

    fates = [(row[FATE], row["error"]) for row in world.recorder.rows[begun:]]
    assert [(Fate.ARRIVED, -1), (Fate.ANSWERED, ErrorCode.MESSAGE_TOO_LARGE)] == fates


def test_copies_and_other_leaders_are_recorded(world: SendingWorld) -> None:
    """As in every world with replicas."""
    send(world, "a", 0)
    world.producer_runs()
    arrive(world)
    begun = len(world.recorder.rows)

    replicate(world, 0)
    world.leader_fails_over(0, 1)

    assert {"ReplicaFetch", "LeaderFailover"} == {row["api"] for row in world.recorder.rows[begun:]}
