"""To which partitions records go."""

from collections import Counter
from itertools import pairwise

import pytest

from reference.client.partitioners import (
    AtRandom,
    ByKey,
    Partitioner,
    RoundRobin,
    StickyByBatch,
    StickyByBytes,
    TopicLayout,
    UnknownPartition,
    checked,
    murmur2,
    to_positive,
)
from reference.client.producer import IdempotentProducer
from reference.client.producer_settings import ProducerSettings, default_partitioner
from reference.client.record_producer import RecordProducer
from reference.tape import Tape
from spec.vocabulary import Timestamp

THREE = TopicLayout(3, (0, 1, 2))
HASHES = {
    b"": 275646681,
    b"21": -973932308,
    b"foobar": -790332482,
    bytes((12, 42, 56, 24, 109, 111)): 274204207,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
    b"1": -1993445489,
    b"12": 126087238,
    b"123": -267702483,
    b"1234": -1614185708,
    b"12345": -1188365604,
}
"""Known in several clients of Kafka; all lengths modulo 4 are among them."""


@pytest.mark.parametrize("data", HASHES, ids=repr)
def test_murmur2(data: bytes) -> None:
    """The hash is Kafka's."""
    assert HASHES[data] == murmur2(data)


@pytest.mark.parametrize(
    ("number", "expected"), [(0, 0), (7, 7), (-1, 2**31 - 1), (-(2**31), 0), (-790332482, 1357151166)]
)
def test_to_positive(number: int, expected: int) -> None:
    """The sign bit goes, and nothing else."""
    assert expected == to_positive(number)


def test_a_key_has_its_place() -> None:
    """A key goes to the partition of its hash, also while it has no leader, and does not move for a new batch."""
    partitioner = ByKey(RoundRobin())

    chosen = [partitioner.choose(b"foobar", TopicLayout(10, (0, 1))) for _ in range(3)]

    assert [6, 6, 6] == chosen
    assert not ByKey(StickyByBatch(Tape.seeded(1))).batch_begins(b"foobar", THREE)


def test_more_partitions_move_keys() -> None:
    """Which partition a key has depends on how many there are: order by key ends where partitions are added."""
    partitioner = ByKey(RoundRobin())

    places = [partitioner.choose(b"foobar", TopicLayout(count, ())) for count in (2, 3, 10)]

    assert [0, 0, 6] == places


def test_round_robin() -> None:
    """One after the other, whatever the key, and past those without a leader."""
    partitioner = RoundRobin()

    chosen = [partitioner.choose(b"k", TopicLayout(3, (0, 2))) for _ in range(4)]

    assert [0, 2, 0, 2] == chosen


def test_round_robin_without_any_leader() -> None:
    """With no leader at all every partition has its turn: the records wait."""
    partitioner = RoundRobin()

    assert [0, 1, 2, 0] == [partitioner.choose(None, TopicLayout(3, ())) for _ in range(4)]


def test_round_robin_after_two_billion_records() -> None:
    """The counter loses its sign, not its turn."""
    partitioner = RoundRobin(2**31 - 1)

    assert [1, 0, 1] == [partitioner.choose(None, TopicLayout(2, (0, 1))) for _ in range(3)]


@pytest.mark.parametrize(("skips", "expected"), [(False, [0, 1, 0, 1, 0, 1]), (True, [1, 1, 1, 1, 1, 1])])
def test_round_robin_skips(skips: bool, expected: list[int]) -> None:
    """Where each new batch takes a turn of its own, a partition can be passed over for ever (KAFKA-9965)."""
    batches = IdempotentProducer(2)
    producer = RecordProducer(batches, RoundRobin(skips=skips), (0, 0), ProducerSettings(batch_bytes=100))

    assert expected == [producer.send(None, b"x" * 10, Timestamp(0)).partition for _ in expected]


def test_at_random() -> None:
    """Every partition with a leader has its share, and the same tape chooses the same."""
    layout = TopicLayout(4, (0, 1, 3))

    chosen = [AtRandom(tape).choose(None, layout) for tape in [Tape.seeded(5)] for _ in range(300)]
    again = [AtRandom(tape).choose(None, layout) for tape in [Tape.seeded(5)] for _ in range(300)]

    assert chosen == again
    assert {0, 1, 3} == set(chosen)
    assert min(Counter(chosen).values()) > 60


def test_sticky_by_batch() -> None:
    """It stays until a batch begins, and then goes elsewhere, always."""
    partitioner = StickyByBatch(Tape.seeded(3))

    runs = []
    for _ in range(50):
        runs.append({partitioner.choose(None, THREE) for _ in range(5)})
        assert partitioner.batch_begins(None, THREE)

    assert {1} == {len(run) for run in runs}
    assert all(before != after for before, after in pairwise(runs))


def test_sticky_with_one_partition() -> None:
    """Where there is no other partition it stays."""
    partitioner = StickyByBatch(Tape.seeded(3))
    alone = TopicLayout(3, (1,))

    partitioner.choose(None, alone)
    partitioner.batch_begins(None, alone)

    assert 1 == partitioner.choose(None, alone)


@pytest.mark.parametrize(
    ("sizes", "batch_ends", "leaves"),
    [
        ([99], True, False),
        ([60, 40], True, True),
        ([100], False, False),
        ([100, 99], False, False),
        ([200], False, True),
    ],
    ids=["too few", "enough at the end of a batch", "enough in the middle", "nearly twice", "twice"],
)
def test_sticky_by_bytes(sizes: list[int], batch_ends: bool, leaves: bool) -> None:
    """It leaves after batch.size bytes at the end of a batch, and after twice as many in any case."""
    tape = Tape.recorded([0, 1])
    partitioner = StickyByBytes(tape, batch_bytes=100)
    first = partitioner.choose(None, THREE)

    for size in sizes:
        partitioner.appended(size, THREE, batch_ends=batch_ends)

    assert (0, 1 if leaves else 0) == (first, partitioner.choose(None, THREE))


@pytest.mark.parametrize(("adaptive", "expected"), [(True, {0: 101, 1: 1, 2: 1}), (False, {0: 35, 1: 34, 2: 34})])
def test_short_queues_are_chosen_more_often(adaptive: bool, expected: dict[int, int]) -> None:
    """The weight of a partition is the longest queue, and one, without its own."""
    layout = TopicLayout(3, (0, 1, 2), queued=(0, 100, 100))
    choices = range(sum(expected.values()))

    chosen = Counter(
        StickyByBytes(Tape.recorded([choice]), 100, adaptive=adaptive).choose(None, layout) for choice in choices
    )

    assert expected == dict(chosen)


@pytest.mark.parametrize(
    ("release", "expected"),
    [((2, 3), RoundRobin), ((2, 4), StickyByBatch), ((3, 2), StickyByBatch), ((3, 3), StickyByBytes)],
)
def test_the_default_of_a_release(release: tuple[int, int], expected: type[Partitioner]) -> None:
    """Keys by hash in every release; without key, each has its own way."""
    chosen = default_partitioner(release, Tape.seeded(0), 100)

    assert isinstance(chosen, ByKey)
    assert isinstance(chosen.keyless, expected)


@pytest.mark.parametrize("partition", [-1, 3])
def test_a_partition_that_is_not_there(partition: int) -> None:
    """A record may name any partition of its topic, and no other."""
    with pytest.raises(UnknownPartition, match=f"partition {partition} of 3"):
        checked(partition, THREE)
