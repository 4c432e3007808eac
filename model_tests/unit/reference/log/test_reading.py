"""Fetches of logs with several segments, and of a limited size."""

from typing import Final

from reference.broker.marker_channel import TxnMarker, write_marker
from reference.log.batch import value_batch
from reference.log.partition import READ_COMMITTED, Partition
from reference.log.reading import SegmentBases
from spec.versions import KAFKA_3_9_UNVERIFIED
from spec.vocabulary import CoordinatorEpoch, Epoch, Offset, ProducerId, Timestamp

RECORD_BYTES: Final = 69
MARKER_BYTES: Final = 78


def aborted_twice(segment_bytes: int) -> Partition:
    """Two aborted transactions of one record each: offsets 0 and 1, then 2 and 3."""
    partition = Partition(KAFKA_3_9_UNVERIFIED, segment_bytes=segment_bytes)
    for sequence in (0, 1):
        partition.append(value_batch([b"v"], producer_id=1, epoch=0, base_sequence=sequence, transactional=True))
        marker = TxnMarker(ProducerId(1), Epoch(0), False, CoordinatorEpoch(0))
        write_marker(partition, marker, 1, Timestamp(0))
    return partition


def bases(partition: Partition) -> list[int]:
    """Base offset of the batches of a fetch from the start, segment by segment."""
    return [batch.base_offset for batch in partition.fetch(0).batches]


def test_a_fetch_reads_one_segment() -> None:
    """A fetch ends with its segment, even if there is more."""
    partition = aborted_twice(RECORD_BYTES + MARKER_BYTES)

    assert [0, 1] == bases(partition)
    assert [2, 3] == [batch.base_offset for batch in partition.fetch(2).batches]


def test_aborted_transactions_up_to_the_next_segment() -> None:
    """The aborted transactions listed are those that begin before the next segment, or before the log end."""
    one, several = aborted_twice(2**30), aborted_twice(RECORD_BYTES + MARKER_BYTES)

    listed = [partition.fetch(0, READ_COMMITTED).aborted for partition in (one, several)]

    assert [[0, 2], [0]] == [[txn.first_offset for txn in found or ()] for found in listed]


def test_a_limit_of_bytes() -> None:
    """Whole batches up to the limit, but one in any case."""
    partition = aborted_twice(2**30)

    sizes = [len(partition.fetch(0, max_bytes=limit).batches) for limit in (0, 1, RECORD_BYTES + MARKER_BYTES, 10_000)]

    assert [1, 1, 2, 4] == sizes


def test_a_truncated_log_rolls_again() -> None:
    """After truncation the last segment has what is left of it."""
    partition = aborted_twice(RECORD_BYTES + MARKER_BYTES)
    partition.truncate(1, Timestamp(0))
    partition.append(value_batch([b"w"], producer_id=2, epoch=0, base_sequence=0))
    partition.append(value_batch([b"x"], producer_id=2, epoch=0, base_sequence=1))

    assert [0, 1] == bases(partition)


def test_an_empty_segment_does_not_roll() -> None:
    """A batch larger than a segment still goes into an empty one."""
    segments = SegmentBases(10)
    segments.roll(100, Offset(0))
    segments.grow(100)
    before = segments.after(0)
    segments.roll(1, Offset(4))

    assert (None, 4) == (before, segments.after(0))
