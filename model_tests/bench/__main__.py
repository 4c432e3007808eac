"""`make bench`: ratios measured in one run, as a table and as `build/bench/report.json`."""

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from model_tests.bench.append import appends
from model_tests.bench.memory import peak_mebibytes
from model_tests.traces.timing import column_verdicts
from model_tests.verify.effort import effort_from_environment
from model_tests.verify.results import Effort

ROWS: Final = {Effort.QUICK: 500_000, Effort.DEFAULT: 3_000_000, Effort.DEEP: 10_000_000}
BATCHES: Final = {Effort.QUICK: 20_000, Effort.DEFAULT: 100_000, Effort.DEEP: 300_000}
DIRECTORY: Final = Path("build/bench")


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure and what it should be."""

    what: str
    figure: float
    unit: str
    target: str
    met: bool


def measure(effort: Effort) -> list[Measured]:
    """Column verdicts, appends, memory, one after the other."""
    appended = appends(BATCHES[effort])
    with tempfile.TemporaryDirectory(prefix="eos-bench-") as scratch:
        judged = column_verdicts(ROWS[effort], Path(scratch))
    speed, peak = appended.per_second, peak_mebibytes()
    return [
        Measured(f"bare scan of {judged.rows:,} rows", judged.scan_seconds, "s", "", met=True),
        Measured("column verdicts on the same rows", judged.verdict_seconds, "s", "", met=True),
        Measured("column verdicts / bare scan", judged.ratio, "x", "at most 1.7", met=judged.ratio <= 1.7),
        Measured("reference append, one process", speed, "batches/s", "at least 30,000", met=speed >= 30_000),
        Measured("peak memory, Python and JVM", peak, "MiB", "at most 4,096", met=peak <= 4096),
    ]


def table_of(measured: list[Measured]) -> Table:
    """The figures for a person to read."""
    table = Table("measured", "figure", "unit", "target")
    for one in measured:
        style = "" if one.met else "red"
        table.add_row(one.what, f"{one.figure:,.2f}", one.unit, one.target, style=style)
    return table


def main() -> None:
    """Measure, print and write; a missed target is shown, and is no failure."""
    measured = measure(effort_from_environment())
    Console().print(table_of(measured))
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    figures = [asdict(one) for one in measured]
    (DIRECTORY / "report.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
