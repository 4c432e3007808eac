"""A partition on disk in the corners that runs of its machine found: log starts inside a segment, cuts, cleanings."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from reference.errors import InvalidTxnState
from reference.log import file_names
from reference.log.batch import RecordBatch, data_batch, marker_batch
from reference.log.config import LogConfig
from reference.log.damage import RepairKind
from reference.log.disk_partition import DiskPartition
from reference.log.partition import READ_COMMITTED
from reference.log.record import Record
from spec.versions import KAFKA_3_9_UNVERIFIED
from spec.vocabulary import ControlType, Offset, Origin, ProducerId, Timestamp

LARGE: Final = LogConfig()
EACH_ALONE: Final = LogConfig(segment_bytes=1, delete_retention_ms=10)
"""Every batch begins a segment."""

NOW: Final = Timestamp(1000)


def opened(directory: Path, config: LogConfig = LARGE, *, log_start: int = 0, clean: bool = False) -> DiskPartition:
    return DiskPartition(directory, KAFKA_3_9_UNVERIFIED, config, log_start=log_start, clean=clean)


def data(pid: int, sequence: int, keys: Sequence[bytes] = (b"k",), *, transactional: bool = False) -> RecordBatch:
    records = [Record(delta, 0, key, b"v") for delta, key in enumerate(keys)]
    epoch, sequence = (0, sequence) if pid >= 0 else (-1, -1)
    return data_batch(
        records, producer_id=pid, epoch=epoch, base_sequence=sequence, timestamp=0, transactional=transactional
    )


def ends(partition: DiskPartition, pid: int, outcome: ControlType = ControlType.ABORT) -> None:
    partition.append(marker_batch(pid, 0, outcome, 0, 0), Origin.COORDINATOR)


def keys_of(partition: DiskPartition) -> list[bytes | None]:
    return [record.key for batch in partition.disk.batches if not batch.is_control for record in batch.records()]


def cut(directory: Path, dropped: int) -> None:
    """Drop bytes from the end of the newest segment."""
    path = max(directory.glob(f"*{file_names.LOG}"))
    os.truncate(path, path.stat().st_size - dropped)


def test_a_snapshot_of_what_was_cut_off_does_not_replace_that_of_the_rest(tmp_path: Path) -> None:
    """The producer is only known below the log start: the segment's check remembers it, a later snapshot does not."""
    partition = opened(tmp_path)
    partition.append(data(9, 0))
    partition.append(data(-1, -1))
    partition.disk.advance_start(1)
    partition.append(data(8, 0))
    partition.disk.snapshots.take(3, partition.state.producers)
    partition.crash()
    cut(tmp_path, dropped=1)

    again = opened(tmp_path, log_start=1)

    assert (1, 2) == (again.log_start, again.log_end)
    assert {9} == set(again.state.producers)
    assert [2] == again.disk.snapshots.offsets()
    again.crash()


def test_the_state_of_a_segment_that_goes_goes_too(tmp_path: Path) -> None:
    """The only segment lies below the log start; no state follows from it."""
    partition = opened(tmp_path)
    partition.append(data(9, 0, transactional=True))
    partition.crash()
    next(tmp_path.glob(f"*{file_names.TIME_INDEX}")).unlink()

    again = opened(tmp_path, log_start=5, clean=True)

    assert {RepairKind.REBUILT_INDEX, RepairKind.REMOVED_SEGMENT, RepairKind.NO_STATE} == {
        r.kind for r in again.repairs
    }
    assert {} == again.state.producers
    assert 5 == again.last_stable == again.log_end
    again.crash()


def test_a_check_takes_the_snapshot_at_its_segments_start_anew(tmp_path: Path) -> None:
    """Only the last segment is checked; afterwards it has its snapshot again, as when it was begun."""
    partition = opened(tmp_path, EACH_ALONE)
    for sequence in range(4):
        partition.append(data(9, sequence))
    partition.crash()
    taken = partition.disk.snapshots.offsets()
    for offset in taken:
        partition.disk.snapshots.delete(offset)

    again = DiskPartition(tmp_path, KAFKA_3_9_UNVERIFIED, EACH_ALONE, recovery_point=3)

    assert [1, 2, 3] == taken
    assert [3, 4] == again.disk.snapshots.offsets()
    again.crash()


def test_what_is_written_outside_a_forgotten_transaction_keeps_a_log_closed(tmp_path: Path) -> None:
    """There was no marker to refuse; the transaction's data is still in the file, and its check insists."""
    partition = opened(tmp_path)
    partition.append(data(7, 0, transactional=True))
    partition.disk.advance_start(1)
    partition.crash()
    again = opened(tmp_path, log_start=1)
    assert [RepairKind.NO_STATE] == [repair.kind for repair in again.repairs]
    again.append(data(7, 0))
    again.crash()

    with pytest.raises(InvalidTxnState):
        opened(tmp_path, log_start=1)


def test_a_batch_around_the_log_start_reports_of_its_producer(tmp_path: Path) -> None:
    """The log start is inside a batch: its later records can be read, so it is replayed."""
    partition = opened(tmp_path)
    partition.append(data(9, 0, (b"a", b"b", b"c")))
    partition.append(data(8, 0))
    partition.disk.advance_start(1)

    partition.truncate(3, NOW)

    assert (1, 3) == (partition.log_start, partition.log_end)
    assert {9: 2} == {pid: entry.last_sequence for pid, entry in partition.state.producers.items()}
    partition.crash()


def test_a_check_reads_the_batches_below_the_log_start_too(tmp_path: Path) -> None:
    """A transaction that began below the log start and ended above it is in the index that the check derives."""
    partition = opened(tmp_path)
    partition.append(data(9, 0, transactional=True))
    partition.append(data(9, 1, transactional=True))
    ends(partition, 9)
    listed = list(partition.aborted)
    partition.disk.advance_start(1)
    partition.crash()

    again = opened(tmp_path, log_start=1)

    assert [(9, 0, 2)] == [entry[:3] for entry in again.aborted]
    assert listed == list(again.aborted)
    again.crash()


def test_aborted_data_goes_although_its_marker_is_in_a_later_segment(tmp_path: Path) -> None:
    """The aborted record is the newest of its key, and must not remove the committed one."""
    partition = opened(tmp_path, EACH_ALONE)
    partition.append(data(8, 0))
    partition.append(data(9, 0, transactional=True))
    ends(partition, 9)
    partition.append(data(7, 0, (b"other",)))

    partition.clean(NOW)

    assert [8, 7] == [b.producer_id for b in partition.disk.batches if not b.is_control and b.record_count]
    assert [b"k", b"other"] == keys_of(partition)
    partition.crash()


def test_after_cleaning_the_index_in_memory_is_that_of_the_segments(tmp_path: Path) -> None:
    """Where no aborted data is left, and its marker has gone, nothing aborted is listed any more."""
    partition = opened(tmp_path, EACH_ALONE)
    partition.append(data(9, 0, transactional=True))
    ends(partition, 9)
    partition.append(data(9, 1))
    partition.append(data(8, 0))
    before = len(list(partition.aborted))

    for time in (0, 0, 1000):
        partition.clean(Timestamp(time))

    assert (1, []) == (before, list(partition.aborted))
    assert [] == list(partition.disk.aborted_from(0))
    partition.crash()


def test_a_fetch_is_answered_from_one_segment_of_the_disk(tmp_path: Path) -> None:
    """Batches and aborted transactions are those up to where the next segment begins."""
    partition = opened(tmp_path, EACH_ALONE)
    partition.append(data(8, 0))
    partition.append(data(9, 0, transactional=True))
    ends(partition, 9)

    result = partition.fetch(0, READ_COMMITTED)

    assert [0] == [batch.base_offset for batch in result.batches]
    assert () == result.aborted
    assert [1, 2, None] == [partition.segments.after(offset) for offset in (0, 1, 2)]
    partition.crash()


def test_segments_that_cleaning_has_joined_answer_as_one(tmp_path: Path) -> None:
    """What bounded an answer before a cleaning or a retention bounds none after it."""
    partition = opened(tmp_path, LogConfig(segment_bytes=150))
    for sequence in range(6):
        partition.append(data(8, sequence))
    before = [int(segment.base_offset) for segment in partition.disk.segments]

    for _ in range(2):
        partition.clean(NOW)

    assert [0, 2, 4] == before
    assert [0, 4] == [int(segment.base_offset) for segment in partition.disk.segments]
    assert 4 == partition.segments.after(0)
    partition.disk.advance_start(4)
    assert partition.segments.after(4) is None
    partition.crash()


def test_a_fetch_continues_where_cleaning_left_a_segment_empty(tmp_path: Path) -> None:
    """Nothing of the segment is left at the offset: the answer comes from the next one."""
    partition = opened(tmp_path, LogConfig(segment_bytes=200))
    for _ in range(2):
        partition.append(data(-1, -1, (b"a",)))
        partition.append(data(-1, -1, (b"a",)))
    partition.append(data(-1, -1, (b"a",)))

    partition.clean(NOW)

    left = [int(batch.base_offset) for batch in partition.disk.batches]
    assert [left[:1]] == [[int(b.base_offset) for b in partition.fetch(0).batches]]
    assert [left[-1]] == [int(b.base_offset) for b in partition.fetch(left[0] + 1).batches][:1]
    partition.crash()


def test_the_last_sequence_of_a_producer_survives_cleaning_and_crash(tmp_path: Path) -> None:
    """None of its records is left, nor any snapshot: the emptied batch has the sequence; a resend is a duplicate."""
    partition = opened(tmp_path, EACH_ALONE)
    partition.append(data(9, 0))
    partition.append(data(8, 0))
    partition.append(data(7, 0))
    partition.clean(NOW)
    assert [0, 1] == [b.record_count for b in partition.disk.batches][:2]
    partition.crash()
    for path in tmp_path.glob(f"*{file_names.SNAPSHOT}"):
        path.unlink()

    again = opened(tmp_path, EACH_ALONE)

    assert 0 == again.state.entry(ProducerId(9)).last_sequence
    assert again.append(data(9, 0)).duplicate
    assert Offset(3) == again.log_end
    again.crash()
