"""The speed of the audit on Spark, against the same tasks that only compute checksums."""

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Final

from model_tests.audit.checksums import Checksums, sound_batches
from model_tests.audit.kafka_log import KafkaLog, verdict_options
from model_tests.audit.log import audit_log, surroundings
from model_tests.audit.options import DEFAULTS
from model_tests.audit.run import run
from model_tests.audit.verdict_tasks import AuditPlan
from model_tests.bench.log_files import client_batches
from model_tests.bench.memory import computed_seconds
from model_tests.logs.kafka_log_folders import list_logs
from model_tests.spark.session import session
from reference.errors import Impossible
from reference.log.config import LogConfig
from reference.log.disk_log import DiskLog

CORES: Final = 2
_MASTER: Final = f"local[{CORES}]"
"""Given with each audit: without it a log of less than a GiB would be judged in this process."""

PARTITIONS: Final = 4
TIMES: Final = 10
VALUES: Final = (b"v" * 114,) * 4
"""Of one batch: 553 bytes in all."""

SEGMENTS: Final = LogConfig(segment_bytes=32 << 20)
ONE_SEGMENT: Final = LogConfig(segment_bytes=(1 << 31) - 1)
WARMED_UP: Final = 12
"""Audits of the small log before anything is measured: the JVM compiles for as many."""

ROUNDS: Final = 3
"""Times that each is measured, after one round that warms up; the fastest counts."""

_TOGETHER: Final = 100  # batches of one write to the file


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds that passed, and seconds for which all processes together computed."""

    passed: float
    computed: float


@dataclass(frozen=True, slots=True)
class AuditTiming:
    """The fastest round of each, in a session that is up.

    Attributes:
        batches: of the larger logs, which are `TIMES` as large as the small one.
        naive: one process reads the bytes of `spread` in a loop over headers and checksums.
        checksums: the bytes of `spread` read, and the checksum of each batch computed.
        rows: the batches of `spread` given to Spark as rows.
        spread: the audit of some partitions.
        hot: the audit of one partition with as many batches.
        whole: the same, all of it in one segment, or in few if it is larger than a segment can be.
        small: the audit of one partition that is so much smaller.
        first: the first audit of the session, in seconds.
        memory: the most memory that a process has for one large partition, to that for a small one.
    """

    batches: int
    naive: Took
    checksums: Took
    rows: Took
    spread: Took
    hot: Took
    whole: Took
    small: Took
    first: float
    memory: float

    @property
    def per_second(self) -> float:
        """Batches that the audit judges in a second."""
        return self.batches / self.spread.passed


def audit_timing(batches: int, scratch: Path) -> AuditTiming:
    """Time the audit of logs without findings, of so many batches and of a tenth of them."""
    spread, hot, whole, small = (scratch / name for name in ("spread", "hot", "whole", "small"))
    for partition in range(PARTITIONS):
        _write(spread / f"t-{partition}", batches // PARTITIONS)
    _write(hot / "t-0", batches)
    _write(whole / "t-0", batches, ONE_SEGMENT)
    _write(small / "t-0", batches // TIMES)
    spark = session(_MASTER)
    spark.dataSource.register(Checksums)
    spark.dataSource.register(KafkaLog)
    first = _timed(lambda: _audit(spread, batches)).passed
    for _ in range(WARMED_UP):
        _audit(small, batches // TIMES)
    measured = AuditTiming(
        batches,
        naive=_fastest(lambda: _naive(spread, batches)),
        checksums=_fastest(lambda: _checksums(spread, batches)),
        rows=_fastest(lambda: _rows(spread)),
        spread=_fastest(lambda: _audit(spread, batches)),
        hot=_fastest(lambda: _audit(hot, batches)),
        whole=_fastest(lambda: _audit(whole, batches)),
        small=_fastest(lambda: _audit(small, batches // TIMES)),
        first=first,
        memory=_peak(hot) / _peak(small),
    )
    shutil.rmtree(scratch)
    return measured


def _write(directory: Path, batches: int, config: LogConfig = SEGMENTS) -> None:
    log = DiskLog.create(directory, config)
    placed = client_batches(batches, VALUES)
    while together := list(islice(placed, _TOGETHER)):
        log.append_all(together)
    log.close()


def _fastest(work: Callable[[], None]) -> Took:
    rounds = [_timed(work) for _ in range(ROUNDS + 1)][1:]
    return Took(min(one.passed for one in rounds), min(one.computed for one in rounds))


def _timed(work: Callable[[], None]) -> Took:
    started, computed = perf_counter(), computed_seconds()
    work()
    return Took(perf_counter() - started, computed_seconds() - computed)


def _audit(directory: Path, batches: int) -> None:
    report = run([directory], master=_MASTER)
    if report.batches != batches or report.findings or report.damage:
        raise Impossible(f"the audit of a sound log of {batches} batches says: {report}")


def _checksums(directory: Path, batches: int) -> None:
    options = verdict_options(AuditPlan(DEFAULTS, (str(directory),), tasks_at_least=2 * CORES))
    rows = session().read.format(Checksums.name()).options(**options).load().collect()
    if sum(row.part for row in rows) != batches:
        raise Impossible(f"{rows} are not {batches} batches")


def _naive(directory: Path, batches: int) -> None:
    if sound_batches(directory) != batches:
        raise Impossible(f"of {batches} batches not all are sound")


def _rows(directory: Path) -> None:
    session().read.format(KafkaLog.name()).load(str(directory)).write.format("noop").mode("overwrite").save()


def _peak(directory: Path) -> float:
    """The most memory that a process of its own has for the audit of a log, in KiB."""
    command = [sys.executable, "-m", "model_tests.bench.audits", str(directory)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # ourselves


def main(directory: str) -> None:
    """Audit one log in this process, and say the most memory that it had."""
    (log,) = list_logs([directory]).logs
    audit_log(log, surroundings(log))
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}\n")


if __name__ == "__main__":
    main(sys.argv[1])
