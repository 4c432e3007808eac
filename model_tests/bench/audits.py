"""How fast the audit judges batches on Spark, against the same data source that only reads them."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

from model_tests.bench.log_files import client_batches
from model_tests.traces.audit import run
from model_tests.traces.kafka_log import KafkaLog
from model_tests.traces.session import LOCAL, session
from reference.errors import Impossible
from reference.log.disk_log import DiskLog

PARTITIONS: Final = 4
VALUES: Final = (b"v" * 30,) * 3
ROUNDS: Final = 3
"""Times that audit and reading take turns, after two rounds that warm up; the fastest of each counts."""

_TOGETHER: Final = 100


@dataclass(frozen=True, slots=True)
class AuditTiming:
    """Seconds of the fastest round of each, in a session that is up and warm.

    Attributes:
        read: every batch read and checked, and given to Spark as a row.
        audit: every batch read, checked and judged.
        first: the first audit of the session.
    """

    batches: int
    read: float
    audit: float
    first: float

    @property
    def per_second(self) -> float:
        """Batches that the audit judges in a second."""
        return self.batches / self.audit


def audit_timing(batches: int, scratch: Path, master: str = LOCAL) -> AuditTiming:
    """Time the audit of a log directory of four partitions without findings."""
    for partition in range(PARTITIONS):
        _write(scratch / f"t-{partition}", batches // PARTITIONS)
    session(master)
    first = _audit(scratch, batches)
    rounds = [(_read(scratch), _audit(scratch, batches)) for _ in range(ROUNDS + 1)][1:]
    return AuditTiming(batches, min(read for read, _ in rounds), min(audit for _, audit in rounds), first)


def _write(directory: Path, batches: int) -> None:
    log = DiskLog.create(directory)
    placed = list(client_batches(batches, VALUES))
    for number in range(0, batches, _TOGETHER):
        log.append_all(placed[number : number + _TOGETHER])
    log.close()


def _audit(scratch: Path, batches: int) -> float:
    started = perf_counter()
    report = run([scratch])
    seconds = perf_counter() - started
    if report.batches != batches or report.findings or report.damage:
        raise Impossible(f"the audit of a sound log of {batches} batches says: {report}")
    return seconds


def _read(scratch: Path) -> float:
    spark = session()
    spark.dataSource.register(KafkaLog)
    rows = spark.read.format("kafka-log").load(str(scratch))
    started = perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return perf_counter() - started
