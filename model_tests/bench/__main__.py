"""`make bench`: ratios measured in one run, as a table and as `build/bench/report.json`."""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from model_tests.bench.append import appends
from model_tests.bench.audits import audit_timing
from model_tests.bench.log_files import TOGETHER, log_timing
from model_tests.bench.memory import peak_mebibytes
from model_tests.bench.simulation import simulations
from model_tests.traces.timing import column_verdicts
from model_tests.verify.effort import effort_from_environment
from model_tests.verify.results import Effort

ROWS: Final = {Effort.QUICK: 500_000, Effort.DEFAULT: 3_000_000, Effort.DEEP: 10_000_000}
BATCHES: Final = {Effort.QUICK: 20_000, Effort.DEFAULT: 100_000, Effort.DEEP: 300_000}
SIMULATED: Final = {Effort.QUICK: 15, Effort.DEFAULT: 45, Effort.DEEP: 300}
AUDITED: Final = {Effort.QUICK: 200_000, Effort.DEFAULT: 2_000_000, Effort.DEEP: 4_000_000}
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
    """Appends, simulation, files of a log, column verdicts, the audit, memory, one after the other."""
    appended = appends(BATCHES[effort]).per_second
    measured = [
        Measured("reference append, one process", appended, "batches/s", "at least 30,000", met=appended >= 30_000),
        *_simulations(effort),
        *(one for part in (_log_files, _column_verdicts, _audit) for one in _in_scratch(part, effort)),
    ]
    peak = peak_mebibytes()
    return [*measured, Measured("peak memory, Python and JVM", peak, "MiB", "at most 4,096", met=peak <= 4096)]


def _simulations(effort: Effort) -> Iterator[Measured]:
    for timing in simulations(SIMULATED[effort]):
        what = f"simulation, {timing.workload}"
        yield Measured(what, timing.plain, "steps/s", "at least 20,000", met=timing.plain >= 20_000)
        monitored = timing.monitored
        yield Measured(f"{what}, monitored", monitored, "steps/s", "at least 10,000", met=monitored >= 10_000)
        yield Measured(f"judging a step, {timing.workload}", timing.microseconds, "us", "", met=True)


def _in_scratch(part: Callable[[Effort, Path], list[Measured]], effort: Effort) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="eos-bench-") as scratch:
        return part(effort, Path(scratch))


def _log_files(effort: Effort, scratch: Path) -> list[Measured]:
    timing = log_timing(BATCHES[effort], scratch)
    written, together = timing.megabytes(timing.write), timing.megabytes(timing.write_together)
    gigabyte = 1000 / timing.megabytes(timing.recover)
    overhead = timing.write / timing.plain_write
    checked = timing.recover / timing.plain_read
    return [
        Measured("log files, one batch an append", written, "MB/s", "at least 100", met=written >= 100),
        Measured(f"log files, {TOGETHER} batches an append", together, "MB/s", "at least 100", met=together >= 100),
        Measured("one batch an append / plain write and CRC", overhead, "x", "at most 8", met=overhead <= 8),
        Measured("recovery of 1 GB of batches", gigabyte, "s", "at most 60", met=gigabyte <= 60),
        Measured("recovery / plain read and CRC", checked, "x", "", met=True),
    ]


def _column_verdicts(effort: Effort, scratch: Path) -> list[Measured]:
    judged = column_verdicts(ROWS[effort], scratch)
    return [
        Measured(f"bare scan of {judged.rows:,} rows", judged.scan_seconds, "s", "", met=True),
        Measured("column verdicts on the same rows", judged.verdict_seconds, "s", "", met=True),
        Measured("column verdicts / bare scan", judged.ratio, "x", "at most 1.7", met=judged.ratio <= 1.7),
    ]


def _audit(effort: Effort, scratch: Path) -> list[Measured]:
    timing = audit_timing(AUDITED[effort], scratch)
    speed, ratio = timing.per_second, timing.audit / timing.read
    return [
        Measured(f"first audit of {timing.batches:,} batches", timing.first, "s", "", met=True),
        Measured("audit in a warm session", speed, "batches/s", "at least 400,000", met=speed >= 400_000),
        Measured("audit / the same batches read as rows", ratio, "x", "at most 1.5", met=ratio <= 1.5),
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
