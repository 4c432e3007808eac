"""Batches of traces of any size: some simulated traces, again and again under other names.

No step is linked to one of another copy, so that what holds for the simulated traces holds for all of them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema import BY_NAME
from model_tests.traces.schema_types import arrow_schema, record_batch
from reference.recording.trace import ColumnType

SIMULATED: Final = 240
"""Different traces in a batch: each workload under each profile, some of them twice."""

HOT: Final = 0.9
"""Share of the steps that one trace has in an uneven batch."""

_OF_A_FILE: Final = 240_000
"""Steps of one file."""

_KEPT: Final = frozenset(("profile", "api", "election"))
"""Text that says what a step is, and not where or whose."""
_NAMES: Final = tuple(name for name, column in BY_NAME.items() if column.kind is ColumnType.TEXT and name not in _KEPT)
_IDS: Final = tuple(name for name in BY_NAME if name.endswith("producer_id"))
_WORLD: Final = "world_ms"
"""The world's clock, which no step of a trace may turn back."""
_ID_SPACE: Final = 1_000_000
"""More than the producer ids that one copy hands out."""


def simulated() -> pa.Table:
    """The steps of the traces that are repeated."""
    return pa.Table.from_batches([record_batch(trace_of(seed)) for seed in range(SIMULATED)])


def write_batch(table: pa.Table, steps: int, directory: Path, hot: bool = False) -> int:
    """Write about so many steps as Parquet, and say how many.

    Args:
        table: what is repeated.
        steps: how many.
        directory: for the files.
        hot: whether one trace has `HOT` of all steps; else every copy has traces of its own.
    """
    directory.mkdir(parents=True, exist_ok=True)
    rows: int = table.num_rows
    copies, of_a_file = max(1, -(-steps // rows)), max(1, _OF_A_FILE // rows)
    for number, start in enumerate(range(0, copies, of_a_file)):
        together = [_copy(table, copy, copies, hot) for copy in range(start, min(copies, start + of_a_file))]
        pq.write_table(pa.concat_tables(together), directory / f"{number:05}.parquet", row_group_size=40_000)
    return copies * rows


def _copy(table: pa.Table, copy: int, copies: int, hot: bool) -> pa.Table:
    if not hot or copy >= HOT * copies:
        return table.set_column(_place("trace"), "trace", pc.add(table["trace"], 1 + copy * SIMULATED))
    changed = {
        "trace": pa.array([0] * table.num_rows, pa.int64()),
        "step": pa.array(range(copy * table.num_rows, (copy + 1) * table.num_rows), pa.int64()),
        **dict(_renamed(table, copy)),
    }
    for name, column in changed.items():
        table = table.set_column(_place(name), name, column)
    return table


def _renamed(table: pa.Table, copy: int) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Nodes, clients, topics, ids and times of a copy, and of each trace in it, as no other has them."""
    whose = pc.add(table["trace"], copy * SIMULATED)
    mark = pc.cast(whose, pa.string())
    for name in _NAMES:
        there = pc.not_equal(table[name], "")
        yield name, pc.if_else(there, pc.binary_join_element_wise(table[name], mark, "~"), table[name])
    span = pc.max(table[_WORLD]).as_py() + 1
    reported = pc.greater_equal(table[_WORLD], 0)
    yield _WORLD, pc.if_else(reported, pc.add(table[_WORLD], pc.multiply(whose, span)), table[_WORLD])
    for name in _IDS:
        there = pc.greater_equal(table[name], 0)
        yield name, pc.if_else(there, pc.add(table[name], pc.multiply(whose, _ID_SPACE)), table[name])


def _place(name: str) -> int:
    place: int = arrow_schema().get_field_index(name)
    return place
