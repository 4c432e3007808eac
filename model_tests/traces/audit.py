"""`eos audit`: real log directories, read by Spark through `kafka-log`, each partition judged where its rows meet."""

import time
from collections.abc import Callable, Iterable
from typing import Final

import pyarrow as pa

from model_tests.traces.audit_findings import Verdict
from model_tests.traces.audit_holes import Surroundings
from model_tests.traces.audit_partition import audit_batches
from model_tests.traces.audit_report import Audited, AuditReport
from model_tests.traces.audit_wire import decode, encode
from model_tests.traces.kafka_log import KafkaLog, as_option, places_of
from model_tests.traces.kafka_log_arrow import batches_and_damage
from model_tests.traces.kafka_log_batches import no_batches
from model_tests.traces.kafka_log_folders import Listing, LogFolder, list_logs
from model_tests.traces.kafka_log_segment import Damage
from model_tests.traces.session import LOCAL, session
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT

DAY_MS: Final = 24 * 3600 * 1000

_VERDICT: Final = pa.schema([pa.field("log", pa.int32()), pa.field("verdict", pa.string())])


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
    """
    began = time.monotonic()
    listing = list_logs([str(path) for path in paths])
    around = [
        surroundings(log, checkpointed_watermark=checkpointed_watermark, producer_expiry_ms=producer_expiry_ms)
        for log in listing.logs
    ]
    verdicts = _on_spark(listing, around, profile, master, crc) if listing.logs else {}
    for number in range(len(listing.logs)):
        verdicts.setdefault(number, (audit_batches(no_batches(), around[number], profile), []))
    return _report(listing, verdicts, crc, checkpointed_watermark, producer_expiry_ms, time.monotonic() - began)


def _on_spark(
    listing: Listing, around: list[Surroundings], profile: Profile, master: str, crc: bool
) -> dict[int, tuple[Verdict, list[Damage]]]:
    """The verdict on every log that has a batch or damage, by the number of the log."""
    spark = session(master)
    spark.dataSource.register(KafkaLog)
    segments = as_option(places_of(listing.logs))
    rows = spark.read.format("kafka-log").option("segments", segments).option("crc", str(crc)).load()
    judged = rows.groupBy("log").applyInArrow(_judging(around, profile), "log int, verdict string")
    return {row.log: decode(row.verdict) for row in judged.collect()}


def _judging(around: list[Surroundings], profile: Profile) -> Callable[[pa.Table], pa.Table]:
    """What a worker does with the rows of one log."""

    def judge(rows: pa.Table) -> pa.Table:
        log = rows["log"][0].as_py()
        batches, damage = batches_and_damage(rows)
        verdict = audit_batches(batches, around[log], profile)
        return pa.Table.from_pylist([{"log": log, "verdict": encode(verdict, damage)}], _VERDICT)

    return judge


def surroundings(
    log: LogFolder, *, checkpointed_watermark: bool = False, producer_expiry_ms: int = DAY_MS
) -> Surroundings:
    """What is known of a log besides its batches."""
    return Surroundings(
        first_base=log.segments[0].base,
        active_base=log.segments[-1].base,
        log_start=log.checkpointed_start,
        high_watermark=log.checkpointed_watermark if checkpointed_watermark else ABSENT,
        cleaned_to=log.cleaned_to,
        cleaner_known=log.cleaner_known,
        by_coordinator=log.by_coordinator,
        producer_expiry_ms=producer_expiry_ms,
    )


def _report(
    listing: Listing,
    verdicts: dict[int, tuple[Verdict, list[Damage]]],
    crc: bool,
    checkpointed_watermark: bool,
    producer_expiry_ms: int,
    seconds: float,
) -> AuditReport:
    audited, damage = [], list(listing.damage)
    for number, log in enumerate(listing.logs):
        verdict, own = verdicts[number]
        audited.append(Audited(log.path, log.topic, log.partition, verdict))
        damage += own if verdict.cleaned else [*own, *_emptied(log)]
    return AuditReport(
        audited=tuple(sorted(audited, key=lambda one: (one.topic, one.partition, one.path))),
        damage=tuple(sorted(damage, key=lambda one: (one.path, one.position))),
        ignored=tuple(sorted(set(listing.ignored))),
        assumed=_assumed(crc, checkpointed_watermark, producer_expiry_ms),
        seconds=seconds,
    )


def _emptied(log: LogFolder) -> list[Damage]:
    """Segments without a byte that are not the last one; only the cleaner leaves such."""
    return [
        Damage(segment.path, 0, "empty, but not the last segment")
        for segment in log.segments
        if segment.base in log.empty and not segment.active
    ]


def _assumed(crc: bool, checkpointed_watermark: bool, producer_expiry_ms: int) -> tuple[str, ...]:
    source = "replication-offset-checkpoint" if checkpointed_watermark else "the log's end: the log is at rest"
    return (
        f"The high watermark is {source}.",
        "The log start is log-start-offset-checkpoint where that names the partition, else the first segment's name.",
        f"A broker may forget a producer after {producer_expiry_ms / 3_600_000:g} h without a batch.",
        "Offsets that are missing outside the active segment may have been removed by the log cleaner.",
        f"CRC-32C was {'checked' if crc else 'not checked'}.",
    )
