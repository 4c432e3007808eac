from pathlib import Path

import numpy as np
import pytest

from model_tests.audit.log import is_divisible
from model_tests.audit.options import DEFAULTS
from model_tests.audit.recorded import DEFECTS, KAFKA_3_9
from model_tests.audit.verdict_tasks import AuditPlan, SomeSegments, VerdictTasks, neighbours
from model_tests.logs.kafka_log_batches import joined
from model_tests.logs.kafka_log_derived import OFFSET_ENTRY
from model_tests.logs.kafka_log_folders import list_logs, size_of
from model_tests.logs.kafka_log_ranges import ranges_of
from model_tests.logs.kafka_log_read import read_checked
from model_tests.unit.support.divided_logs import Divided
from reference.log.batch import value_batch
from reference.log.config import LogConfig
from reference.log.disk_log import DiskLog
from spec.vocabulary import LeaderEpoch, Offset

BATCHES = 6000
PRODUCERS = 5


@pytest.mark.slow
@pytest.mark.parametrize("recording", [KAFKA_3_9, DEFECTS])
def test_a_log_in_parts_is_judged_as_the_whole_log(recordings: Path, recording: str) -> None:
    """Every finding, every count and all damage, on real logs and on those with defects, each segment by itself."""
    divided = Divided(recordings / recording)
    compared = 0

    for number, log in enumerate(divided.logs):
        if is_divisible(log):
            verdict, damage = divided.verdicts[number]
            expected, expected_damage = divided.whole(log)
            assert verdict == expected, log.path
            assert sorted(damage, key=str) == sorted(expected_damage, key=str), log.path
            compared += 1

    assert compared > 15
    assert len(divided.sizes) > compared
    assert len(divided.rereads) == 2
    assert 0 < len(divided.rereads[1]) < compared


def sound_log(folder: Path, segment_bytes: int = 100_000) -> None:
    """Idempotent producers in several segments."""
    log = DiskLog.create(folder, LogConfig(segment_bytes=segment_bytes))
    for number in range(BATCHES):
        producer, sequence = number % PRODUCERS, number // PRODUCERS
        batch = value_batch([b"v"], producer_id=producer, epoch=0, base_sequence=sequence, timestamp=1)
        log.append_all([batch.at(Offset(number), LeaderEpoch(0))])
    log.close()


def test_a_part_sends_less_than_a_kibibyte_for_each_producer(tmp_path: Path) -> None:
    """However many batches it has; and a sound log is read once."""
    sound_log(tmp_path / "t-0")

    divided = Divided(tmp_path)

    assert divided.verdicts[0][0].batches == BATCHES
    assert divided.rereads == [set()]
    assert len(divided.sizes) >= 3
    assert max(divided.sizes) <= 1024 * PRODUCERS


def test_a_single_segment_is_read_in_ranges(tmp_path: Path) -> None:
    """However large it is: its ranges are as much as it is, and lead to the verdict on the whole."""
    sound_log(tmp_path / "t-0", 1 << 30)

    divided = Divided(tmp_path, divided_from=50_000)

    (log,) = divided.logs
    assert len(log.segments) == 1
    assert len(divided.sizes) > 5
    assert divided.rereads == [set()]
    assert divided.verdicts[0] == divided.whole(log)
    assert divided.verdicts[0][0].batches == BATCHES


@pytest.mark.parametrize("off_by", [-1, 1, 40])
def test_an_index_that_leads_into_a_batch_cuts_nothing(tmp_path: Path, off_by: int) -> None:
    """The segment is read once more, whole; what is wrong with its index is said as of any other."""
    sound_log(tmp_path / "t-0", 1 << 30)
    index = tmp_path / "t-0" / f"{0:020}.index"
    entries = np.frombuffer(index.read_bytes(), OFFSET_ENTRY).copy()
    entries["position"] += off_by
    index.write_bytes(entries.tobytes())

    divided = Divided(tmp_path, divided_from=50_000)

    assert divided.rereads == [set(), {0}]
    assert divided.verdicts[0] == divided.whole(divided.logs[0])
    assert divided.verdicts[0][0].batches == BATCHES
    assert len(divided.verdicts[0][1]) == 1


@pytest.mark.parametrize("enough", [1, 10_000, 100_000, 10_000_000])
def test_ranges_of_a_segment_follow_each_other(tmp_path: Path, enough: int) -> None:
    """Each begins where the one before ends, and where a batch begins; none is much smaller than requested."""
    sound_log(tmp_path / "t-0", 1 << 30)
    (log,) = list_logs([str(tmp_path)]).logs
    (segment,) = log.segments
    batches, _ = read_checked(segment)

    ranges = ranges_of(segment, enough)

    assert ranges[0].since is None
    assert ranges[-1].until is None
    assert [one.until for one in ranges[:-1]] == [one.since for one in ranges[1:]]
    assert sum(map(size_of, ranges)) == size_of(segment)
    assert min(map(size_of, ranges)) >= min(enough, size_of(segment)) / 2
    read = joined(read_checked(one)[0] for one in ranges)
    assert read.base_offset.tolist() == batches.base_offset.tolist()
    assert read.position.tolist() == batches.position.tolist()


def test_segments_of_a_task_follow_each_other(tmp_path: Path) -> None:
    """Each segment is in one task, whatever a task is given."""
    sound_log(tmp_path / "t-0")
    (log,) = list_logs([str(tmp_path)]).logs

    for enough in (1, 150_000, 1 << 30):
        groups = list(neighbours(log.segments, enough))
        assert [segment for group in groups for segment in group] == list(log.segments)

    assert len(list(neighbours(log.segments, 1 << 30))) == 1


def test_logs_that_need_every_batch_are_not_divided(recordings: Path) -> None:
    """The brokers' own topics are read whole, by one task each."""
    plan = AuditPlan(DEFAULTS, (str(recordings / KAFKA_3_9),), tasks_at_least=1_000_000, divided_from=1)
    tasks = VerdictTasks(plan).tasks()
    divided = {task.log.topic for task in tasks if isinstance(task, SomeSegments)}

    assert divided
    assert not any(topic.startswith("__") for topic in divided)
