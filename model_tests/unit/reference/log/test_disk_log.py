from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.errors import Impossible
from reference.log import file_names, sparse_index
from reference.log.batch import RecordBatch, blank_batch, value_batch
from reference.log.checkpoint_file import EpochStart, LeaderEpochs
from reference.log.config import LogConfig
from reference.log.disk_log import DiskLog
from reference.log.partition_log import PartitionLog
from spec.vocabulary import LeaderEpoch, Offset, Timestamp

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=200, segment_index_bytes=960)


def placed(offset: int, count: int = 3, timestamp: int = 0, epoch: int = 0) -> RecordBatch:
    return blank_batch(count, timestamp=timestamp).at(Offset(offset), LeaderEpoch(epoch))


def filled(directory: Path, batches: int = 60, config: LogConfig = SMALL) -> DiskLog:
    log = DiskLog.create(directory, config)
    for number in range(batches):
        log.append(placed(log.log_end, timestamp=1000 + number))
    return log


def test_segments_are_named_after_their_first_offset(tmp_path: Path) -> None:
    """A segment that would grow beyond its limit is followed by one that begins at the log end."""
    log = filled(tmp_path)

    sizes = [path.stat().st_size for path in file_names.files_of(tmp_path, file_names.LOG).values()]

    assert [segment.base_offset for segment in log.segments] == list(file_names.files_of(tmp_path, file_names.LOG))
    assert len(log.segments) == 5
    assert max(sizes) <= SMALL.segment_bytes < sum(sizes)
    assert 180 == log.log_end


@pytest.mark.parametrize("offset", [0, 1, 2, 38, 39, 100, 179])
def test_any_offset_is_found(tmp_path: Path, offset: int) -> None:
    """A read begins with the batch that holds the offset, wherever it lies between index entries and segments."""
    log = filled(tmp_path)

    assert offset // 3 * 3 == log.read(offset, log.log_end)[0].base_offset


def test_nothing_is_found_beyond_the_end(tmp_path: Path) -> None:
    """A read at the log end is empty."""
    assert () == filled(tmp_path).read(180, 200)


@given(st.lists(st.integers(1, 5), max_size=40), st.data())
def test_disk_and_memory_agree(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], data: st.DataObject
) -> None:
    """A log on disk answers as the one in memory, before and after truncation."""
    disk, memory = DiskLog.create(tmp_path_factory.mktemp("log"), SMALL), PartitionLog()
    for count in counts:
        batch = placed(memory.log_end, count)
        disk.append(batch)
        memory.append(batch)
    cut = data.draw(st.integers(0, memory.log_end))
    start = data.draw(st.integers(0, memory.log_end))

    assert memory.read(start, cut) == disk.read(start, cut)
    disk.truncate(cut)
    memory.truncate(cut)
    assert (memory.batches, memory.log_end) == (disk.batches, disk.log_end)
    disk.append(placed(disk.log_end))
    assert len(memory) + 1 == len(disk)
    disk.release()


def test_an_index_entry_is_due_after_the_interval(tmp_path: Path) -> None:
    """Entries are sparse, each points to the first byte of a batch, and closing trims the files."""
    log = filled(tmp_path, config=LogConfig(index_interval_bytes=200, segment_index_bytes=960))
    assert 960 == log.active.path(file_names.INDEX).stat().st_size
    starts = {found.position for found in log.active.found_from()}

    log.close()

    index = sparse_index.decode_offsets(log.active.path(file_names.INDEX).read_bytes())
    assert 0 == index.unused
    assert {entry.position for entry in index.entries} <= starts
    assert all(after.position - before.position > 200 for before, after in pairwise(index.entries))
    assert len(index.entries) + 1 == log.active.path(file_names.TIME_INDEX).stat().st_size // 12


def test_a_full_index_ends_the_segment(tmp_path: Path) -> None:
    """A segment has as many entries as its index has room for, and closing finds room for the last timestamp."""
    log = filled(tmp_path, config=LogConfig(index_interval_bytes=1, segment_index_bytes=60))

    assert len(log.segments) > 5
    assert all(len(segment.index.times) <= 5 for segment in log.segments)


def test_late_records_end_the_segment(tmp_path: Path) -> None:
    """A segment does not span more than segment.ms of record time."""
    log = DiskLog.create(tmp_path, LogConfig(segment_ms=10))
    for timestamp in (100, 110, 111):
        log.append(placed(log.log_end, timestamp=timestamp))

    assert [0, 6] == [segment.base_offset for segment in log.segments]


def test_a_time_is_found(tmp_path: Path) -> None:
    """The first batch with a record of that time or later, none if all are earlier."""
    log = filled(tmp_path)

    assert [0, 0, 90, 177, None] == [log.offset_for_time(time) for time in (0, 1000, 1030, 1059, 1060)]


def test_batches_of_one_append_lie_in_one_segment(tmp_path: Path) -> None:
    """An append that does not fit begins a new segment as a whole."""
    log = filled(tmp_path, batches=11)

    log.append_all((placed(33), placed(36), placed(39)))

    assert [0, 33] == [segment.base_offset for segment in log.segments]


def test_retention_by_size_keeps_at_least_the_size(tmp_path: Path) -> None:
    """The oldest segments go as long as what is left is not smaller than the limit."""
    log = filled(tmp_path, config=SMALL._replace(retention_bytes=2000, retention_ms=-1))

    gone = log.retain(Timestamp(0), log.log_end)

    assert (1, log.segments[0].base_offset) == (gone, log.log_start) or gone == 2
    assert log.size >= 2000
    assert log.size - log.segments[0].size < 2000


def test_retention_by_time_goes_by_the_newest_record(tmp_path: Path) -> None:
    """A segment goes when its newest record is too old, and only below the high watermark."""
    log = filled(tmp_path, config=SMALL._replace(retention_ms=10))

    assert 0 == log.retain(Timestamp(2000), high_watermark=5)
    assert 5 == log.retain(Timestamp(2000), log.log_end)
    assert (180, 180, 1) == (log.log_start, log.log_end, len(log.segments))
    assert 0 == log.retain(Timestamp(9000), log.log_end)


def test_the_start_moves_inside_a_segment(tmp_path: Path) -> None:
    """The start may be any offset; segments go when they are wholly below it."""
    log = filled(tmp_path)
    second = log.segments[1].base_offset

    log.advance_start(second + 1)

    assert (second + 1, second) == (log.log_start, log.segments[0].base_offset)
    with pytest.raises(Impossible, match="log start"):
        log.advance_start(second)


def test_an_offset_is_written_once(tmp_path: Path) -> None:
    """A batch below the log end is a caller's mistake."""
    with pytest.raises(Impossible, match="below the log end"):
        filled(tmp_path).append(placed(3))


def test_truncation_below_the_first_segment_starts_over(tmp_path: Path) -> None:
    """A follower whose leader's log begins earlier throws everything away."""
    log = filled(tmp_path)
    log.advance_start(log.segments[2].base_offset)

    log.truncate(1)

    assert (1, 1, 0) == (log.log_start, log.log_end, log.size)


def test_leader_epochs_follow_the_batches(tmp_path: Path) -> None:
    """The first batch of an epoch shows where it began; truncation and the log start forget."""
    log = DiskLog.create(tmp_path)
    for epoch in (0, 0, 2, 5):
        log.append(placed(log.log_end, epoch=epoch))
    assert [(0, 0), (2, 6), (5, 9)] == log.epochs.entries

    log.truncate(9)
    log.advance_start(7)

    assert [(2, 7)] == log.epochs.entries
    assert b"0\n1\n2 7\n" == (tmp_path / file_names.LEADER_EPOCHS).read_bytes()


def test_the_end_of_an_epoch_is_where_the_next_began(tmp_path: Path) -> None:
    """What a follower asks when it must find out where its log diverges."""
    epochs = LeaderEpochs(tmp_path, tuple(EpochStart(LeaderEpoch(e), Offset(o)) for e, o in ((1, 10), (3, 20))))

    answers = [epochs.end_offset_for(epoch, Offset(35)) for epoch in (0, 1, 2, 3, 4)]

    assert [(0, 10), (1, 20), (1, 20), (3, 35), (-1, -1)] == answers


def test_an_epoch_that_does_not_fit_replaces_what_does(tmp_path: Path) -> None:
    """An unclean leader begins its epoch at a lower offset: later beginnings are no longer true."""
    epochs = LeaderEpochs(tmp_path)
    for epoch, start in ((1, 0), (2, 50), (3, 40), (3, 60)):
        epochs.assign(LeaderEpoch(epoch), Offset(start))

    assert [(1, 0), (3, 40)] == epochs.entries


def test_a_batch_larger_than_a_chunk_is_read(tmp_path: Path) -> None:
    """Reading in chunks grows with the batch."""
    log = DiskLog.create(tmp_path)
    for size in (10, 100_000, 10):
        log.append(value_batch([b"x" * size]).at(log.log_end, LeaderEpoch(0)))

    assert [0, 1, 2] == [found.batch.base_offset for found in log.active.found_from(chunk_size=64)]  # type: ignore[union-attr]
    assert [1, 2] == [batch.base_offset for batch in log.read(1, 3)]
