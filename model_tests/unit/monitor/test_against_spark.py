from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model_tests.check import check
from model_tests.judging.check_report import RuleCount
from model_tests.monitor.monitor import Monitor, rule_counts
from model_tests.traces.schema_types import arrow_schema
from model_tests.unit.monitor.perturbed import changed_traces
from model_tests.unit.traces.conftest import judged_alike
from spec.versions import PROFILES


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_the_monitor_counts_what_the_check_counts(tmp_path: Path) -> None:
    """On traces with changed columns they have every rule at stake, broken and known equally often."""
    assert monitored(3 * len(PROFILES), tmp_path) == list(judged_alike(tmp_path).rules)


def test_the_monitor_counts_what_arrays_count(tmp_path: Path) -> None:
    """The same without Spark, on fewer traces; every kind of row of a chain is among them."""
    counts = monitored(8, tmp_path)

    assert counts == list(check.run(str(tmp_path)).rules)
    assert sum(count.violations for count in counts) > 50


def monitored(traces: int, directory: Path) -> list[RuleCount]:
    """What the monitor counts on so many changed traces, which are written into the directory."""
    rows = list(changed_traces(range(traces), share=0.3))
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema()), directory / "steps.parquet")
    monitor = Monitor()

    for row in rows:
        monitor.judge(row)
    monitor.finish()

    return list(rule_counts(monitor.findings))
