"""Batches and damage as Arrow record batches: the rows of the `kafka-log` data source."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from model_tests.logs.kafka_log_batches import COLUMNS, Batches, dtype_of
from model_tests.logs.kafka_log_segment import SegmentDamage, SegmentRange

_SMALL: Final = {
    "size": pa.int32(),
    "last_offset_delta": pa.int32(),
    "record_count": pa.int32(),
    "attributes": pa.int16(),
    "leader_epoch": pa.int32(),
    "producer_epoch": pa.int16(),
    "base_sequence": pa.int32(),
    "control_type": pa.int16(),
    "coordinator_epoch": pa.int32(),
    "follows_damage": pa.bool_(),
}

SCHEMA: Final = pa.schema(
    [
        pa.field("log", pa.int32()),  # number of the partition's folder in the listing
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        *(pa.field(name, _SMALL.get(name, pa.int64())) for name in COLUMNS),
        pa.field("damage", pa.string()),  # null in the row of a batch
        pa.field("path", pa.string()),  # of the damaged file, else null
    ]
)

_SPARK_NAMES: Final = {
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.int16(): "smallint",
    pa.bool_(): "boolean",
    pa.string(): "string",
}

SPARK_SCHEMA: Final = ", ".join(f"`{field.name}` {_SPARK_NAMES[field.type]}" for field in SCHEMA)

ROWS_AT_ONCE: Final = 1 << 16
"""Batches of a log that become one record batch of Arrow."""


def rows_of(
    log: int, topic: str, partition: int, segment: SegmentRange, batches: Batches, damage: list[SegmentDamage]
) -> Iterator[pa.RecordBatch]:
    """The rows of one segment.

    Args:
        log: number of the log.
        topic: its name.
        partition: its number.
        segment: where the batches are from.
        batches: those that could be read.
        damage: what could not; a row each, after the batches.
    """
    for start in range(0, len(batches), ROWS_AT_ONCE):
        part = batches.take(np.arange(start, min(start + ROWS_AT_ONCE, len(batches))))
        columns = {name: getattr(part, name) for name in COLUMNS}
        yield _record_batch(log, topic, partition, columns, [None] * len(part), [None] * len(part))
    if damage:
        columns = {name: np.full(len(damage), 0, dtype_of(name)) for name in COLUMNS}
        columns["segment"] = np.full(len(damage), segment.base, np.int64)
        columns["position"] = np.array([one.position for one in damage], np.int64)
        yield _record_batch(
            log, topic, partition, columns, [one.message for one in damage], [one.path for one in damage]
        )


def _record_batch(
    log: int,
    topic: str,
    partition: int,
    columns: dict[str, npt.NDArray[Any]],
    messages: list[str | None],
    paths: list[str | None],
) -> pa.RecordBatch:
    count = len(messages)
    arrays = [
        pa.repeat(pa.scalar(log, pa.int32()), count),
        pa.repeat(pa.scalar(topic), count),
        pa.repeat(pa.scalar(partition, pa.int32()), count),
        *(pa.array(columns[name]).cast(SCHEMA.field(name).type) for name in COLUMNS),
        pa.array(messages, pa.string()),
        pa.array(paths, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
