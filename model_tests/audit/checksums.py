"""The baseline of the audit's speed: the same tasks, which only compute checksums."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import Final

from crc32c import crc32c
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from model_tests.audit.kafka_log import PLAN_OPTION, KafkaLog, VerdictReader
from model_tests.audit.verdict_tasks import TASK, SomeSegments, TaskResult
from model_tests.logs.kafka_log_segment import SegmentRange
from model_tests.spark.worker import begin_task

_HEADER: Final = Struct(">qiiBIhiqqqhii")
"""Of record batches of version 2: base offset, length, leader epoch, magic, checksum, and what follows it."""

_BEFORE_LENGTH_ENDS: Final = 12
_CHECKED_FROM: Final = 21
_CHECKSUM: Final = 4
"""Bytes that the length does not count, the first byte that the checksum covers, and the place of the checksum in
`_HEADER`."""


def sound_batches(directory: Path) -> int:
    """How many batches of the segments in a directory, and in those in it, have the checksum that they say."""
    return sum(_sound_in(path.read_bytes()) for path in sorted(directory.rglob("*.log")))


def _sound_in(content: bytes) -> int:
    view, at, sound = memoryview(content), 0, 0
    while at + _HEADER.size <= len(content):
        header = _HEADER.unpack_from(content, at)
        end = at + _BEFORE_LENGTH_ENDS + header[1]
        sound += crc32c(view[at + _CHECKED_FROM : end]) == header[_CHECKSUM]
        at = end
    return sound


class Checksums(KafkaLog):
    """The audit's data source, of which the tasks compute checksums and nothing else."""

    @classmethod
    def name(cls) -> str:
        """What the format is called."""
        return "kafka-log-checksums"

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for the options given."""
        return ChecksumReader(self.options[PLAN_OPTION])


class ChecksumReader(VerdictReader):
    """The same tasks, and from each the number of batches whose checksum is right."""

    def read(self, partition: InputPartition) -> Iterator[TaskResult]:
        """The count as a row."""
        begin_task()
        task = TASK.decode(partition.value)
        if isinstance(task, SomeSegments):
            yield TaskResult(task.number, part=_sound_of(task.log.segments))
            return
        for number, log, _ in task.logs:
            yield TaskResult(number, part=_sound_of(log.segments))


def _sound_of(segments: Iterable[SegmentRange]) -> int:
    return sum(_sound_in(Path(segment.path).read_bytes()) for segment in segments)
