"""`make bench`: ratios measured in one run, as a table and as `build/bench/report.json`."""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from model_tests.bench import checking, one_process, probing, serving, simulating
from model_tests.bench.audits import PARTITIONS, TIMES, audit_timing
from model_tests.bench.instant import STEPS as INSTANT_STEPS
from model_tests.bench.instant import instant_timing
from model_tests.bench.log_files import TOGETHER, log_timing
from model_tests.bench.memory import peak_mebibytes
from model_tests.bench.one_process import TRACES, appends, simulation_memory, simulations, together
from model_tests.bench.trace_batches import simulated, write_batch
from model_tests.check.timing import column_verdicts
from model_tests.verify import results
from model_tests.verify.effort import effort_from_environment
from model_tests.verify.results import RunEffort

MOST_COMPUTED_MS: Final = 1_000 / 300
"""Of client, judge and nodes for a judged step: they take turns, so 300 of them have to fit in a second of one core."""

ROWS: Final = {RunEffort.QUICK: 500_000, RunEffort.DEFAULT: 3_000_000, RunEffort.DEEP: 10_000_000}
BATCHES: Final = {RunEffort.QUICK: 20_000, RunEffort.DEFAULT: 100_000, RunEffort.DEEP: 300_000}
SIMULATED: Final = {RunEffort.QUICK: 15, RunEffort.DEFAULT: 45, RunEffort.DEEP: 300}
AUDITED: Final = {RunEffort.QUICK: 200_000, RunEffort.DEFAULT: 1_000_000, RunEffort.DEEP: 4_000_000}
"""Batches of each of two logs, of some 550 bytes each; a third has a tenth of them."""

CHECKED: Final = {RunEffort.QUICK: 100_000, RunEffort.DEFAULT: 1_000_000, RunEffort.DEEP: 1_000_000}
"""Steps of the smaller of two batches of traces; the other has ten times as many."""

SPREAD: Final = {RunEffort.QUICK: 100, RunEffort.DEFAULT: 400, RunEffort.DEEP: 2_000}
"""Traces that are simulated on Spark."""

REPLAYED: Final = {RunEffort.QUICK: 5_000, RunEffort.DEFAULT: 50_000, RunEffort.DEEP: 50_000}
"""Steps of a trace that is replayed from its file."""

SENT: Final = {RunEffort.QUICK: 50_000, RunEffort.DEFAULT: 200_000, RunEffort.DEEP: 1_000_000}
"""Messages of a client to a server."""

TRANSACTIONS: Final = {RunEffort.QUICK: 300, RunEffort.DEFAULT: 2_000, RunEffort.DEEP: 10_000}
"""Transactions of a client at a server."""

PROBED: Final = {RunEffort.QUICK: 5, RunEffort.DEFAULT: 20, RunEffort.DEEP: 100}
"""Seeds of each family of sessions that a broker is probed with."""

LOADED: Final = {RunEffort.QUICK: 10, RunEffort.DEFAULT: 60, RunEffort.DEEP: 600}
"""Seconds of transactions while the memory of a server is looked at."""

CHECKS: Final = 3
"""Rounds of a trace check, of which the median counts."""

DIRECTORY: Final = Path("build/bench")


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure and what it should be."""

    what: str
    figure: float
    unit: str
    target: str
    met: bool


Part = Callable[[RunEffort, Path], Iterable[Measured]]
"""Measures something; the directory is its own, and goes with it."""


def measure(effort: RunEffort, chosen: Iterable[str] = ()) -> list[Measured]:
    """The parts with these names one by one, or all; and the memory that they took together."""
    parts = list(chosen) or list(PARTS)
    measured = [one for name in parts for one in _in_scratch(PARTS[name], effort)]
    peak = peak_mebibytes()
    return [*measured, Measured("peak memory, Python and JVM", peak, "MiB", "at most 4,096", met=peak <= 4096)]


def _append(effort: RunEffort, _scratch: Path) -> list[Measured]:
    speed = appends(BATCHES[effort]).per_second
    return [Measured("reference append, one process", speed, "batches/s", "at least 30,000", met=speed >= 30_000)]


def _search(_effort: RunEffort, _scratch: Path) -> list[Measured]:
    timing = one_process.timed(CHECKS)
    speed, what = timing.per_second, f"explicit search of {timing.states:,} states, CPU time"
    return [Measured(what, speed, "states/s", "at least 30,000", met=speed >= 30_000)]


def _simulations(effort: RunEffort, _scratch: Path) -> Iterator[Measured]:
    timings = tuple(simulations(SIMULATED[effort]))
    for timing in (*timings, together(timings)):
        what = f"simulation, {timing.workload}"
        yield Measured(what, timing.plain, "steps/s", "at least 20,000", met=timing.plain >= 20_000)
        monitored = timing.monitored
        yield Measured(f"{what}, monitored", monitored, "steps/s", "at least 10,000", met=monitored >= 10_000)
        yield Measured(f"judging a step, {timing.workload}", timing.microseconds, "us", "", met=True)
    memory = simulation_memory()
    yield Measured("memory of one simulated trace", memory.one, "MiB", "", met=True)
    yield Measured(f"memory of {TRACES} in turn / of one", memory.ratio, "x", "at most 16", met=memory.ratio <= 16)


def _in_scratch(part: Part, effort: RunEffort) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="eos-bench-") as scratch:
        return list(part(effort, Path(scratch)))


def _log_files(effort: RunEffort, scratch: Path) -> list[Measured]:
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


def _column_verdicts(effort: RunEffort, scratch: Path) -> list[Measured]:
    judged = column_verdicts(ROWS[effort], scratch)
    return [
        Measured(f"bare scan of {judged.rows:,} rows", judged.scan_seconds, "s", "", met=True),
        Measured("column verdicts on the same rows", judged.verdict_seconds, "s", "", met=True),
        Measured("column verdicts / bare scan", judged.ratio, "x", "at most 1.7", met=judged.ratio <= 1.7),
    ]


def _audit(effort: RunEffort, scratch: Path) -> list[Measured]:
    timing = audit_timing(AUDITED[effort], scratch / "audited")
    speed, ratio = timing.per_second, timing.spread.passed / timing.checksums.passed
    growth, uneven = timing.hot.passed / timing.small.passed, timing.hot.passed / timing.spread.passed
    computed = timing.spread.computed / timing.checksums.computed
    computed_growth = timing.hot.computed / timing.small.computed
    as_rows, whole = timing.spread.passed / timing.rows.passed, timing.whole.passed / timing.spread.passed
    each = timing.spread.computed / timing.batches * 1e6
    naive, factor = timing.batches / timing.naive.passed, timing.naive.passed / timing.spread.passed
    return [
        Measured(f"first audit of {timing.batches:,} batches", timing.first, "s", "", met=True),
        Measured("audit on two cores", speed, "batches/s", "at least 1,200,000", met=speed >= 1_200_000),
        Measured("all cores' time of a batch", each, "us", "", met=True),
        Measured("a loop over headers, one process", naive, "batches/s", "", met=True),
        Measured("speed of the audit / of that loop over headers", factor, "x", "at least 1", met=factor >= 1),
        Measured("audit / checksums alone", ratio, "x", "at most 1.35", met=ratio <= 1.35),
        Measured("audit / checksums alone, all cores' time", computed, "x", "", met=True),
        Measured("audit / the same batches as rows", as_rows, "x", "at most 1.5", met=as_rows <= 1.5),
        Measured(f"audit of {TIMES} times the batches", growth, "x", "at most 11", met=growth <= 11),
        Measured(f"audit of {TIMES} times the batches, all cores' time", computed_growth, "x", "", met=True),
        Measured(f"one partition / {PARTITIONS} as large together", uneven, "x", "at most 1.2", met=uneven <= 1.2),
        Measured(f"one segment / {PARTITIONS} partitions together", whole, "x", "at most 1.2", met=whole <= 1.2),
        Measured(f"memory of {TIMES} times the batches", timing.memory, "x", "at most 1.5", met=timing.memory <= 1.5),
    ]


def _instant(effort: RunEffort, scratch: Path) -> list[Measured]:
    timing = instant_timing(REPLAYED[effort], scratch)
    ratio = timing.audit / timing.naive
    return [
        Measured("CPU time of the audit of one dump", timing.dump, "s", "at most 1", met=timing.dump <= 1),
        Measured("CPU time of the audit of 100 MB", timing.audit, "s", "at most 3", met=timing.audit <= 3),
        Measured("the same / a loop over headers, its CPU time", ratio, "x", "", met=True),
        Measured(
            f"CPU time of a check of {INSTANT_STEPS:,} steps", timing.check, "s", "at most 5", met=timing.check <= 5
        ),
        Measured(
            f"CPU time of a replay of {timing.replayed:,} steps",
            timing.replay,
            "s",
            "at most 5",
            met=timing.replay <= 5,
        ),
    ]


def _spread(effort: RunEffort, scratch: Path) -> list[Measured]:
    timing = simulating.timed(SPREAD[effort], CHECKS, scratch)
    share = timing.ratio
    return [
        Measured("simulation on Spark, one core", timing.on_spark, "steps/s", "", met=True),
        Measured("simulation on Spark, one core / without Spark", share, "x", "at least 0.9", met=share >= 0.9),
    ]


def _checks(effort: RunEffort, scratch: Path) -> list[Measured]:
    table, steps = simulated(), CHECKED[effort]
    small, even, hot, large = (scratch / name for name in ("small", "even", "hot", "large"))
    write_batch(table, table.num_rows, small)
    write_batch(table, steps, even)
    write_batch(table, steps, hot, hot=True)
    write_batch(table, 10 * steps, large)
    (alone,) = checking.timed("local[1]", CHECKS, small, even)
    by_even, by_hot, by_large = checking.timed("local[2]", CHECKS, small, even, hot, large)
    growth = by_large.check / by_even.check * by_even.steps / by_large.steps * 10
    gain, uneven = alone.check / by_even.check, by_hot.check / by_even.check
    speed, ratio, peak = by_large.per_second, by_large.ratio, by_large.peak
    return [
        Measured(f"check of {by_large.steps:,} steps", by_large.check, "s", "", met=True),
        Measured("check on two cores", speed, "steps/s", "at least 1,000,000", met=speed >= 1_000_000),
        Measured("all cores' time of a step", by_large.check_computed / by_large.steps * 1e6, "us", "", met=True),
        Measured("check / scan and sort", ratio, "x", "at most 2.2", met=ratio <= 2.2),
        Measured("check / scan and sort, all cores' time", by_large.computed_ratio, "x", "", met=True),
        Measured("check of ten times the steps", growth, "x", "at most 11", met=growth <= 11),
        Measured("check on one core / on two", gain, "x", "at least 1.7", met=gain >= 1.7),
        Measured("one trace with 90 % of the steps / even", uneven, "x", "at most 1.5", met=uneven <= 1.5),
        Measured("the same, all cores' time", by_hot.check_computed / by_even.check_computed, "x", "", met=True),
        Measured("peak memory of the check", peak, "MiB", "at most 4,096", met=peak <= 4096),
    ]


def _serving(effort: RunEffort, _scratch: Path) -> Iterator[Measured]:
    sent, count = SENT[effort], TRANSACTIONS[effort]
    loads = {}
    for judged in (False, True):
        with serving.served(1, judged=judged) as nodes:
            loads[judged] = serving.messages(nodes, sent), serving.transactions(nodes, count)
    (plain_sent, plain_done), (judged_sent, judged_done) = loads[False], loads[True]
    with serving.served(3, judged=True) as nodes:
        three = serving.transactions(nodes, count)
    with serving.served(1, judged=True) as nodes:
        endless = serving.endless(nodes, LOADED[effort])
    for load, what, least in (
        (judged_sent, "idempotent messages of 100 bytes, one node, judged", 20_000),
        (judged_done, "transactions, one node, judged", 150),
        (three, "transactions, three nodes, judged", 50),
    ):
        met = load.per_second >= least
        yield Measured(f"serve: {what}", load.per_second, "/s", f"at least {least:,}", met=met)
        yield Measured("serve: CPU time of the nodes for one", load.microseconds, "us", "", met=True)
    for what, judged_load, plain in (
        ("messages", judged_sent, plain_sent),
        ("transactions", judged_done, plain_done),
    ):
        ratio = judged_load.computed / plain.computed
        yield Measured(f"serve: {what} judged / not, CPU time", ratio, "x", "at most 2", met=ratio <= 2)
    grown = endless.grown / endless.count * 1_000
    yield Measured(f"serve: memory of {endless.count:,} transactions", endless.grown, "MiB", "", met=True)
    yield Measured("serve: memory of 1,000 transactions", grown, "MiB", "at most 3", met=grown <= 3)


def _recording(effort: RunEffort, scratch: Path) -> Iterator[Measured]:
    load = serving.timed(SENT[effort], CHECKS, scratch)
    yield Measured(
        "record: messages by way of the proxy", load.recorded, "/s", "at least 20,000", met=load.recorded >= 20_000
    )
    yield Measured("record: by way of the proxy / direct", load.ratio, "x", "at least 0.7", met=load.ratio >= 0.7)


def _probing(effort: RunEffort, _scratch: Path) -> Iterator[Measured]:
    for cpus, where in ((1, "one CPU"), (2, "two CPUs")):
        load = probing.timed(PROBED[effort], CHECKS, cpus)
        met = load.judged >= 300
        yield Measured(f"probe: judged steps over one connection, {where}", load.judged, "/s", "at least 300", met=met)
        met = load.ratio <= 1.5
        yield Measured(f"probe: requests judged / not, {where}", load.ratio, "x", "at most 1.5", met=met)
        met = load.computed <= MOST_COMPUTED_MS
        what = f"probe: CPU time of a judged step, {where}"
        yield Measured(what, load.computed, "ms", "at most 3.3, 300/s in turns", met=met)
        met = load.computed_ratio <= 1.5
        yield Measured(
            f"probe: CPU time of requests judged / not, {where}", load.computed_ratio, "x", "at most 1.5", met=met
        )


PARTS: Final[Mapping[str, Part]] = {
    "append": _append,
    "search": _search,
    "serve": _serving,
    "record": _recording,
    "probe": _probing,
    "simulation": _simulations,
    "log": _log_files,
    "columns": _column_verdicts,
    "audit": _audit,
    "instant": _instant,
    "spread": _spread,
    "checks": _checks,
}
"""What is measured, by the name on the command line, in order."""


def table_of(measured: list[Measured]) -> Table:
    """The figures for a person to read."""
    table = Table("measured", "figure", "unit", "target")
    for one in measured:
        style = "" if one.met else "red"
        table.add_row(one.what, f"{one.figure:,.2f}", one.unit, one.target, style=style)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write; a missed target is shown, and is no failure."""
    parser = argparse.ArgumentParser(prog="python -m model_tests.bench", description=__doc__)
    parser.add_argument(
        "part", nargs="*", help=f"measure only this, and write no report: {', '.join(PARTS)}", metavar="PART"
    )
    chosen: list[str] = parser.parse_args(arguments).part
    if unknown := [name for name in chosen if name not in PARTS]:
        parser.error(f"there is no {' or '.join(unknown)} to measure, only {', '.join(PARTS)}")
    effort, of = effort_from_environment(), {"commit": results.commit(), "sources": results.digest()}
    measured = measure(effort, chosen)
    Console().print(table_of(measured))
    if not chosen:
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        report = {**of, "profile": effort.value, "figures": [asdict(one) for one in measured]}
        (DIRECTORY / "report.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
