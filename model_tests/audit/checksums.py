"""The baseline of the audit's speed: the same tasks, which only compute checksums."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from crc32c import crc32c
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from model_tests.audit.kafka_log import PLAN_OPTION, KafkaLog, VerdictReader
from model_tests.audit.verdict_tasks import TASK, SomeSegments, TaskResult
from model_tests.logs.kafka_log_batches import BEFORE_LENGTH_COUNTS
from model_tests.logs.kafka_log_segment import SegmentRange
from model_tests.spark.worker import begin_task

_COVERED_FROM: Final = 21
"""The first byte of a batch that its checksum covers."""


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
            yield TaskResult(task.number, part=sum(map(_sound, task.log.segments)))
            return
        for number, log, _ in task.logs:
            yield TaskResult(number, part=sum(map(_sound, log.segments)))


def _sound(segment: SegmentRange) -> int:
    """The number of batches of a segment whose checksum is right."""
    content = Path(segment.path).read_bytes()
    view, number = memoryview(content), int.from_bytes
    position = count = 0
    while position < len(content):
        after = position + BEFORE_LENGTH_COUNTS + number(content[position + 8 : position + 12])
        count += crc32c(view[position + _COVERED_FROM : after]) == number(content[position + 17 : position + 21])
        position = after
    return count
