from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model_tests.monitor.monitor import Monitor, rule_counts
from model_tests.traces.schema_types import arrow_schema
from model_tests.unit.monitor.perturbed import changed_traces
from model_tests.unit.traces.conftest import judged_alike
from spec.versions import PROFILES


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_the_monitor_counts_what_the_check_counts(tmp_path: Path) -> None:
    """On traces with changed columns they have every rule at stake, broken and known equally often."""
    rows = list(changed_traces(range(3 * len(PROFILES)), share=0.3))
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema()), tmp_path / "steps.parquet")
    monitor = Monitor()

    for row in rows:
        monitor.judge(row)
    monitor.finish()

    assert list(judged_alike(tmp_path).rules) == list(rule_counts(monitor.findings))
