"""The times of single batches, looked up without reading their logs."""

from pathlib import Path

import numpy as np
import pytest

from model_tests.audit import times
from model_tests.audit.log import read_log
from model_tests.audit.recorded import KAFKA_3_9
from model_tests.audit.times import times_at
from model_tests.logs.kafka_log_derived import OFFSET_ENTRY
from model_tests.logs.kafka_log_folders import LogFolder, list_logs
from model_tests.logs.kafka_log_segment import SegmentRange, read_segment
from reference.log.batch import value_batch
from reference.log.config import LogConfig
from reference.log.disk_log import DiskLog
from spec.vocabulary import LeaderEpoch, Offset

BATCHES = 3000


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Three segments, each batch a millisecond later than the one before."""
    written = DiskLog.create(tmp_path / "t-0", LogConfig(segment_bytes=100_000))
    for number in range(BATCHES):
        batch = value_batch([b"v"], producer_id=1, epoch=0, base_sequence=number, timestamp=1000 + number)
        written.append_all([batch.at(Offset(number), LeaderEpoch(0))])
    written.close()
    (found,) = list_logs([str(tmp_path)]).logs
    return found


def test_every_batch_of_real_logs_has_its_time(recordings: Path) -> None:
    """The same as where the whole log is read."""
    compared = 0

    for log in list_logs([str(recordings / KAFKA_3_9)]).logs:
        batches, _ = read_log(log, crc=False)
        offsets = batches.last_offset[::7].tolist()
        assert times_at(log, offsets) == batches.max_timestamp[::7].tolist(), log.path
        compared += len(offsets)

    assert compared > 500


def test_a_time_costs_a_range_of_its_segment(log: LogFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a log of many batches only those around the requested one are read."""
    read: list[int] = []

    def counted(segment: SegmentRange, *, crc: bool) -> object:
        found = read_segment(segment, crc=crc)
        read.append(len(found[0]))
        return found

    monkeypatch.setattr(times, "read_segment", counted)

    assert times_at(log, [2000, 17]) == [3000, 1017]
    assert 0 < sum(read) < BATCHES / 5


@pytest.mark.parametrize("off_by", [1, 40, 10_000_000])
def test_an_index_that_is_wrong_changes_no_time(log: LogFolder, off_by: int) -> None:
    """The segment is then read whole."""
    for index in Path(log.path).glob("*.index"):
        entries = np.frombuffer(index.read_bytes(), OFFSET_ENTRY).copy()
        entries["position"] += off_by
        index.write_bytes(entries.tobytes())

    assert times_at(log, [0, 700, 1500, 2999]) == [1000, 1700, 2500, 3999]


def test_without_an_index_a_time_is_found(log: LogFolder) -> None:
    """A copy of segments alone has none."""
    for index in Path(log.path).glob("*.index"):
        index.unlink()

    assert times_at(log, [5, 2500]) == [1005, 3500]
