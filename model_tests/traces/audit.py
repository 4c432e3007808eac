"""`eos audit`: real log directories, each partition read and judged by one Spark task, which hands back findings."""

import time
from collections.abc import Iterable, Sequence
from typing import Final

from model_tests.reports import BadInput
from model_tests.traces.audit_findings import Verdict
from model_tests.traces.audit_holes import Surroundings
from model_tests.traces.audit_log import DAY_MS, audit_log, surroundings
from model_tests.traces.audit_report import Audited, AuditReport
from model_tests.traces.audit_wire import decode, encode
from model_tests.traces.kafka_log_folders import HIGH_WATERMARK, Listing, LogFolder, list_logs, size_of
from model_tests.traces.kafka_log_segment import Damage
from model_tests.traces.session import LOCAL, session
from spec.versions import NEWEST, Profile

_BYTES_OF_A_TASK: Final = 64 << 20
_BYTES_OF_A_LOG: Final = 64 << 10
"""What it costs to open a log's files, as if they were so many bytes longer."""


def run(
    paths: Iterable[object],
    *,
    master: str = LOCAL,
    crc: bool = True,
    checkpointed_watermark: bool = False,
    producer_expiry_ms: int = DAY_MS,
    profile: Profile = NEWEST,
) -> AuditReport:
    """Audit everything under the paths.

    Args:
        paths: brokers' log directories, partitions' folders, or segments.
        master: where Spark runs.
        crc: whether each batch's CRC-32C is checked.
        checkpointed_watermark: take the high watermark from the broker's checkpoint, not from the log's end.
        producer_expiry_ms: `producer.id.expiration.ms` of the brokers.
        profile: the release whose append decision judges.

    Raises:
        BadInput: the checkpoint of the high watermark is asked for, and there is none.
    """
    began = time.monotonic()
    listing = list_logs([str(path) for path in paths])
    if checkpointed_watermark and listing.logs and all(log.checkpointed_watermark < 0 for log in listing.logs):
        raise BadInput(f"no high watermark to take: no {HIGH_WATERMARK} beside the logs names any of them")
    around = [
        surroundings(log, checkpointed_watermark=checkpointed_watermark, producer_expiry_ms=producer_expiry_ms)
        for log in listing.logs
    ]
    verdicts = _on_spark(listing, around, profile, master, crc) if listing.logs else {}
    assumed = _assumed(crc, checkpointed_watermark, producer_expiry_ms, profile)
    return _report(listing, verdicts, assumed, time.monotonic() - began)


def run_here(paths: Iterable[object], *, crc: bool = True, profile: Profile = NEWEST) -> AuditReport:
    """The same in this process, without Spark: for logs so small that starting it would take longer."""
    began = time.monotonic()
    listing = list_logs([str(path) for path in paths])
    verdicts = {number: audit_log(log, surroundings(log), profile, crc=crc) for number, log in enumerate(listing.logs)}
    assumed = _assumed(crc, False, DAY_MS, profile)
    return _report(listing, verdicts, assumed, time.monotonic() - began)


def _on_spark(
    listing: Listing, around: Sequence[Surroundings], profile: Profile, master: str, crc: bool
) -> dict[int, tuple[Verdict, list[Damage]]]:
    """The verdict on every log, by its number; a task reads and judges whole logs."""

    def judge(task: list[tuple[int, LogFolder, Surroundings]]) -> list[tuple[int, str]]:
        return [(number, encode(*audit_log(log, beside, profile, crc=crc))) for number, log, beside in task]

    context = session(master).sparkContext
    tasks = [
        [(number, listing.logs[number], around[number]) for number in numbers]
        for numbers in shared_out(listing.logs, 2 * context.defaultParallelism)
    ]
    judged = context.parallelize(tasks, len(tasks)).map(judge).collect()
    return {number: decode(text) for verdicts in judged for number, text in verdicts}


def shared_out(logs: Sequence[LogFolder], tasks_at_least: int) -> list[list[int]]:
    """The numbers of the logs by task: the largest first, small ones together."""
    sizes = [_BYTES_OF_A_LOG + sum(size_of(segment) for segment in log.segments) for log in logs]
    enough = min(_BYTES_OF_A_TASK, sum(sizes) // tasks_at_least + 1)
    tasks: list[list[int]] = []
    room = 0
    for number in sorted(range(len(logs)), key=lambda number: -sizes[number]):
        if room <= 0:
            tasks.append([])
            room = enough
        tasks[-1].append(number)
        room -= sizes[number]
    return tasks


def _report(
    listing: Listing,
    verdicts: dict[int, tuple[Verdict, list[Damage]]],
    assumed: tuple[str, ...],
    seconds: float,
) -> AuditReport:
    """The report on the logs of a listing, of which each has its verdict."""
    audited, damage = [], list(listing.damage)
    for number, log in enumerate(listing.logs):
        verdict, own = verdicts[number]
        audited.append(Audited(log.path, log.topic, log.partition, verdict))
        damage += own
    return AuditReport(
        audited=tuple(sorted(audited, key=lambda one: (one.topic, one.partition, one.path))),
        damage=tuple(sorted(damage, key=lambda one: (one.path, one.position))),
        ignored=tuple(sorted(set(listing.ignored))),
        assumed=assumed,
        seconds=seconds,
    )


def _assumed(crc: bool, checkpointed_watermark: bool, producer_expiry_ms: int, profile: Profile) -> tuple[str, ...]:
    source = f"{HIGH_WATERMARK} where that names the partition, else " if checkpointed_watermark else ""
    return (
        f"The high watermark is {source}the log's end: the log is at rest.",
        "The log start is log-start-offset-checkpoint where that names the partition, else the first segment's name.",
        f"A broker may forget a producer after {producer_expiry_ms / 3_600_000:g} h without a batch.",
        "Offsets that are missing outside the active segment may have been removed by the log cleaner.",
        f"Appends are judged as Kafka {profile.name} decides them.",
        f"CRC-32C was {'checked' if crc else 'not checked'}.",
    )
