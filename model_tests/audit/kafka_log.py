"""The Spark data source `kafka-log`: the batches of Kafka's log directories as rows, headers and control records only.

    spark.dataSource.register(KafkaLog)
    spark.read.format("kafka-log").load("/var/lib/kafka/data")

A row is one batch, or, where `damage` is not null, bytes that are none. Options: `path`, one or more (as JSON in
`paths`); `crc`, whether CRC-32C is checked (true). With the option `plan`, that of an audit (`verdict_options`), a row
is one partition, or a part of one, read and judged in the task, so that only findings and totals leave it.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from model_tests.audit.verdict_tasks import PLAN, TASK, AuditPlan, TaskResult, VerdictTasks
from model_tests.common.reports import BadInput
from model_tests.logs.kafka_log_arrow import SPARK_SCHEMA, rows_of
from model_tests.logs.kafka_log_folders import LogFolder, list_logs, size_of
from model_tests.logs.kafka_log_read import SegmentRange, read_checked
from model_tests.logs.locations import remember
from model_tests.spark.worker import begin_task

VERDICT_SCHEMA: Final = "log bigint, verdict binary, part bigint, left binary"
"""The columns of `verdict_tasks.TaskResult`."""

PLAN_OPTION: Final = "plan"
"""The option of the source that has an audit's plan."""

_BYTES_OF_A_TASK: Final = 32 << 20
"""Segments of a task together have so many bytes: a task's start costs little beside them."""


@dataclass(frozen=True, slots=True)
class SegmentOwner:
    """One segment, and whose it is."""

    log: int
    topic: str
    partition: int
    segment: SegmentRange


class SegmentTask(InputPartition):
    """Segments that one task reads."""

    def __init__(self, places: Sequence[SegmentOwner]) -> None:
        super().__init__(None)
        self.places = tuple(places)


class KafkaLog(DataSource):
    """Log directories of Kafka brokers."""

    @classmethod
    def name(cls) -> str:
        """What the format is called."""
        return "kafka-log"

    def schema(self) -> str:
        """Columns of a batch's header, its control record, and damage."""
        return VERDICT_SCHEMA if PLAN_OPTION in self.options else SPARK_SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for the options given."""
        return VerdictReader(self.options[PLAN_OPTION]) if PLAN_OPTION in self.options else KafkaLogReader(self.options)


class KafkaLogReader(DataSourceReader):
    """Reads segment by segment."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.crc = options.get("crc", "true").lower() != "false"
        self.paths = _paths(options)
        self.places = _places(self.paths)

    def partitions(self) -> Sequence[InputPartition]:
        """Tasks of neighbouring segments, about as large as each other."""
        return [SegmentTask(places) for places in grouped(self.places)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of the task's segments.

        Raises:
            TypeError: the partition is none that this reader made.
        """
        begin_task()
        remember(self.paths)
        if not isinstance(partition, SegmentTask):
            raise TypeError(partition)
        for place in partition.places:
            batches, damage = read_checked(place.segment, crc=self.crc)
            yield from rows_of(place.log, place.topic, place.partition, place.segment, batches, damage)


class VerdictReader(DataSourceReader):
    """The tasks of an audit as Spark plans and runs them."""

    def __init__(self, plan: str) -> None:
        self.plan = plan

    def partitions(self) -> Sequence[InputPartition]:
        """A partition for each task."""
        return [InputPartition(TASK.encode(task)) for task in self._tasks().tasks()]

    def read(self, partition: InputPartition) -> Iterator[TaskResult]:
        """The rows of a task."""
        begin_task()
        yield from self._tasks().run(TASK.decode(partition.value))

    def _tasks(self) -> VerdictTasks:
        return VerdictTasks(PLAN.decode(base64.b64decode(self.plan)))


def verdict_options(plan: AuditPlan) -> dict[str, str]:
    """The options of the source by which its rows are the results of an audit's tasks."""
    return {PLAN_OPTION: base64.b64encode(PLAN.encode(plan)).decode()}


def places_of(logs: Iterable[LogFolder]) -> list[SegmentOwner]:
    """Every segment of the logs, numbered as they come."""
    return [
        SegmentOwner(number, log.topic, log.partition, segment)
        for number, log in enumerate(logs)
        for segment in log.segments
    ]


def grouped(places: Iterable[SegmentOwner]) -> Iterator[list[SegmentOwner]]:
    """Neighbouring segments together, up to the bytes of a task."""
    group: list[SegmentOwner] = []
    size = 0
    for place in places:
        group.append(place)
        size += size_of(place.segment)
        if size >= _BYTES_OF_A_TASK:
            yield group
            group, size = [], 0
    if group:
        yield group


def _paths(options: Mapping[str, str]) -> list[str]:
    return list(json.loads(options["paths"])) if "paths" in options else [options.get("path", "")]


def _places(paths: Sequence[str]) -> list[SegmentOwner]:
    listing = list_logs(paths)
    if listing.damage:
        raise BadInput("; ".join(f"{bad.path}: {bad.message}" for bad in listing.damage))
    return places_of(listing.logs)
