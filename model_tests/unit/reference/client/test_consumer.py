"""What a consumer delivers, and where it continues."""

import pytest

from reference.broker.group_api import OffsetsAnswer
from reference.broker.group_requests import FetchedOffset, OffsetAndMetadata
from reference.broker.marker_channel import TxnMarker, write_marker
from reference.broker.transaction_metadata import TopicPartition
from reference.client.consumer import Consumer, NoPosition, OffsetReset
from reference.log.batch import value_batch
from reference.log.partition import READ_COMMITTED, READ_UNCOMMITTED, Partition
from spec.versions import KAFKA_2_7
from spec.vocabulary import CoordinatorEpoch, Epoch, ErrorCode, Offset, ProducerId, Timestamp

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def partition() -> Partition:
    """Offsets 0 aborted, 1 its marker, 2 committed, 3 its marker, 4 without transaction, 5 undecided."""
    log = Partition(KAFKA_2_7)
    for sequence, committed in enumerate((False, True)):
        append(log, sequence, producer_id=7)
        marker = TxnMarker(ProducerId(7), Epoch(0), committed, CoordinatorEpoch(0))
        write_marker(log, marker, 1, Timestamp(0))
    log.append(value_batch([b"plain"]))
    append(log, 0, producer_id=8)
    return log


def append(log: Partition, sequence: int, producer_id: int) -> None:
    value = f"{producer_id}/{sequence}".encode()
    log.append(value_batch([value], producer_id=producer_id, epoch=0, base_sequence=sequence, transactional=True))


def read_on(consumer: Consumer, partition: Partition) -> list[tuple[int, bytes | None]]:
    """Offset and value of what the next fetch delivers."""
    offset = consumer.fetch_offset(T0, partition.log_start, partition.last_stable)
    result = partition.fetch(offset, consumer.isolation)
    return [(each.offset, each.record.value) for each in consumer.receive(T0, result)]


def test_read_committed(partition: Partition) -> None:
    """Aborted and undecided records and markers are not delivered; the position goes past those that are decided."""
    consumer = Consumer([T0], READ_COMMITTED)

    assert [(2, b"7/1"), (4, b"plain")] == read_on(consumer, partition)
    assert 5 == consumer.positions[T0]
    assert [] == read_on(consumer, partition)


def test_read_uncommitted(partition: Partition) -> None:
    """All but the markers is delivered."""
    consumer = Consumer([T0], READ_UNCOMMITTED)

    assert [(0, b"7/0"), (2, b"7/1"), (4, b"plain"), (5, b"8/0")] == read_on(consumer, partition)


def test_seek_into_an_aborted_transaction(partition: Partition) -> None:
    """Each fetch lists the aborted transactions anew, so that a consumer may start anywhere."""
    consumer = Consumer([T0])
    read_on(consumer, partition)

    consumer.seek(T0, 0)

    assert [(2, b"7/1"), (4, b"plain")] == read_on(consumer, partition)
    assert [2, 4, 2, 4] == [each.offset for each in consumer.received]


@pytest.mark.parametrize(
    ("reset", "expected"), [(OffsetReset.EARLIEST, 0), (OffsetReset.LATEST, 5)], ids=["earliest", "latest"]
)
def test_without_a_position(partition: Partition, reset: OffsetReset, expected: int) -> None:
    """The policy decides where to begin, and where to continue when the log does not have the position."""
    consumer = Consumer([T0], reset=reset)

    assert expected == consumer.fetch_offset(T0, 0, partition.last_stable)

    consumer.seek(T0, 99)
    consumer.out_of_range(T0, 0, partition.last_stable)

    assert expected == consumer.positions[T0]


def test_a_consumer_that_may_not_choose() -> None:
    """Without a policy it needs a position, and it reads what it is assigned alone."""
    consumer = Consumer([T0], reset=OffsetReset.NONE)

    with pytest.raises(NoPosition):
        consumer.fetch_offset(T0, 0, 0)
    with pytest.raises(NoPosition):
        consumer.seek(T1, 0)


def test_committed_offsets() -> None:
    """It starts where its group was; what is undecided it must ask for again, what is unknown it resets."""
    consumer = Consumer([T0, T1, TopicPartition("t", 2)])
    answer = {
        T0: FetchedOffset(offset=Offset(4)),
        T1: FetchedOffset(ErrorCode.UNSTABLE_OFFSET_COMMIT),
        TopicPartition("t", 2): FetchedOffset(),
    }

    unstable = consumer.start_from(OffsetsAnswer(ErrorCode.NONE, answer))

    assert ((T1,), {T0: OffsetAndMetadata(Offset(4))}) == (unstable, consumer.consumed())


def test_another_assignment(partition: Partition) -> None:
    """Positions on partitions that stay are kept, others forgotten."""
    consumer = Consumer([T0, T1])
    consumer.seek(T1, 3)
    consumer.seek(T0, 2)
    read_on(consumer, partition)

    consumer.assign([T0])

    assert {T0: 5} == consumer.positions
    assert frozenset({T0}) == consumer.assigned
