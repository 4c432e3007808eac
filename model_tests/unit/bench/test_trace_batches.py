from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from model_tests.bench import trace_batches
from model_tests.bench.trace_batches import write_batch
from model_tests.simulate.simulate import trace_of
from model_tests.traces.schema_types import record_batch


@pytest.fixture
def table() -> pa.Table:
    """A few short traces, as many as a batch numbers."""
    return pa.Table.from_batches([record_batch(trace_of(seed, steps=25)) for seed in (0, 1, 2, 3)])


def test_a_batch_is_as_large_as_asked_and_every_step_stands_once(table: pa.Table, tmp_path: Path) -> None:
    """What is repeated gets a number of its own each time."""
    steps = write_batch(table, 950, tmp_path)

    written = pq.read_table(tmp_path, columns=["trace", "step"]).to_pylist()
    assert 1000 == steps == len(written)
    assert 1000 == len({(row["trace"], row["step"]) for row in written})
    assert 40 == len({row["trace"] for row in written})


def test_one_trace_is_hot_and_its_copies_share_nothing(table: pa.Table, tmp_path: Path) -> None:
    """Nine tenths of the steps are of one trace; no node, topic, client or producer id of it comes in two copies.

    The world's clock continues from copy to copy.
    """
    write_batch(table, 1000, tmp_path, hot=True)

    written = pq.read_table(tmp_path)
    hot = written.filter(pc.equal(written["trace"], 0))
    assert 900 == hot.num_rows
    assert list(range(900)) == sorted(hot["step"].to_pylist())
    times = [row["world_ms"] for row in hot.sort_by("step").to_pylist() if row["world_ms"] >= 0]
    assert times == sorted(times)
    for name in (*trace_batches._NAMES, *trace_batches._IDS):
        copies = [set(hot.slice(start, 100)[name].to_pylist()) - {"", -1} for start in range(0, 900, 100)]
        assert not copies[0] & copies[1], name
        assert len(copies[0]) == len(copies[8]), name
    assert {"producer_id", "reply_producer_id"} <= set(trace_batches._IDS)
    assert {"node", "client", "topic", "transactional_id", "group", "member"} <= set(trace_batches._NAMES)
