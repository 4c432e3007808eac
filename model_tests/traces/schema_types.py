"""The schema of traces as Arrow has it; the schema itself needs none."""

from collections.abc import Sequence
from operator import itemgetter

import pyarrow as pa

from model_tests.traces.schema import Row
from reference.recording.trace import COLUMNS, ColumnType


def arrow_schema() -> pa.Schema:
    """The schema of Arrow and Parquet."""
    kinds = {ColumnType.INTEGER: pa.int64(), ColumnType.BOOLEAN: pa.bool_(), ColumnType.TEXT: pa.string()}
    return pa.schema([pa.field(column.name, kinds[column.kind]) for column in COLUMNS])


def record_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows with every column as Arrow has them."""
    schema = arrow_schema()
    columns = zip(*map(itemgetter(*schema.names), rows), strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
