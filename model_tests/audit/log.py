"""The audit of one log: its segments, its derived files, and the verdict on both. No Spark."""

from dataclasses import replace

import numpy as np

from model_tests.audit.history_log import NO_CLIENT, ClientSide, received_findings, tallied
from model_tests.audit.holes import Surroundings
from model_tests.audit.indexes import judge_versions
from model_tests.audit.log_evidence import with_cluster, with_transactions
from model_tests.audit.lost_segments import lost_segments, without_lost
from model_tests.audit.options import DAY_MS
from model_tests.audit.partial_log import Wanted, uncondensed
from model_tests.audit.partition import conclude
from model_tests.audit.partition_context import transactions
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.reading import PartialLog, emptied, read_batches, read_part, read_whole
from model_tests.logs.controller_log import TOPIC as CONTROLLER
from model_tests.logs.kafka_log_batches import Batches
from model_tests.logs.kafka_log_derived import DerivedFiles, read_derived, snapshot_offsets
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec import rules
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT


def audit_log(
    log: LogFolder,
    around: Surroundings,
    profile: Profile = NEWEST,
    *,
    crc: bool = True,
    deep: bool = False,
    client: ClientSide = NO_CLIENT,
) -> tuple[PartitionVerdict, list[SegmentDamage]]:
    """Judge one partition, and name what is damaged in its files; `client` is what clients know of it.

    Args:
        log: the partition's directory.
        around: what is known of it besides its batches.
        profile: the release whose decisions judge.
        crc: check each batch's CRC-32C.
        deep: decode every body, too.
        client: what clients know of the partition.
    """
    derived = read_derived(log)
    wanted = wanted_of(log, around, profile, deep=deep)
    if not is_divisible(log, client):
        part = read_whole(log, wanted, crc=crc)
        verdict, damage = concluded(log, part, wanted, derived, conclude(part.log, wanted, derived)[0])
        return with_client(without_lost(part.log, around).rows, verdict, client), damage
    while True:
        part = read_part(log, wanted, crc=crc)
        verdict, request = conclude(part.log, wanted, derived)
        if not request:
            return concluded(log, part, wanted, derived, verdict)
        wanted = wanted.and_also(request)


def is_divisible(log: LogFolder, client: ClientSide = NO_CLIENT) -> bool:
    """Whether less than every batch is enough: clients write the log, and no client history is compared with it."""
    return not log.by_coordinator and log.topic != CONTROLLER and client.is_empty


def wanted_of(log: LogFolder, around: Surroundings, profile: Profile, *, deep: bool = False) -> Wanted:
    """What must be known of a log, as far as its names say.

    Args:
        log: of one partition on one broker.
        around: what is known of the log beside its batches: checkpoints, where segments begin.
        profile: the release whose rules are checked.
        deep: whether the body of every batch is decoded.
    """
    return Wanted(around, around.judging(profile), edges=np.array(snapshot_offsets(log), np.int64), deep=deep)


def concluded(
    log: LogFolder, part: PartialLog, wanted: Wanted, derived: DerivedFiles, verdict: PartitionVerdict
) -> tuple[PartitionVerdict, list[SegmentDamage]]:
    """The verdict on a whole log with its evidence of transactions and of the cluster, and all damage.

    Args:
        log: of one partition on one broker.
        part: what is left of all its segments.
        wanted: what must be known of the log.
        derived: the files that are derived from batches: snapshots and indexes.
        verdict: on the log, so far.
    """
    lost = (
        []
        if verdict.cleaned
        else [SegmentDamage(one.path, 0, "empty, but not the last segment") for one in emptied(log)]
    )
    lost += lost_segments(log, part.log, wanted.around, derived.epochs)
    part = replace(part, log=without_lost(part.log, wanted.around))
    damage = [*part.damage, *lost, *derived.damage, *part.indexes]
    damage += judge_versions(derived)
    damage += part.misled.damage(derived.epochs.path) if derived.epochs is not None else ()
    verdict = _with_bodies(verdict, part) if wanted.deep else verdict
    verdict = with_transactions(log, part.log.rows, wanted.around, verdict, damage)
    verdict = with_cluster(log, part.log, verdict, damage, derived.epochs, wanted.profile)
    return verdict, [*damage, *part.bodies.damage(log.segments)]


def _with_bodies(verdict: PartitionVerdict, part: PartialLog) -> PartitionVerdict:
    """The verdict with what is wrong with the bodies of batches."""
    findings = sorted([*verdict.findings, *part.bodies.findings()], key=lambda one: (one.offset, one.rule.id))
    judged = dict(verdict.judged) | {rules.SEQ_WELL_FORMED.id: part.bodies.judged}
    return replace(verdict, findings=tuple(findings), judged=judged)


def read_log(log: LogFolder, *, crc: bool = True) -> tuple[Batches, list[SegmentDamage]]:
    """The batches of all segments, and what cannot be read of them; a segment that is gone is as one that cannot be."""
    batches, damage, _ = read_batches(log, crc=crc)
    around = surroundings(log)
    return without_lost(uncondensed(batches, around), around).rows, damage


def surroundings(
    log: LogFolder, *, checkpointed_watermark: bool = False, producer_expiry_ms: int = DAY_MS
) -> Surroundings:
    """What is known of a log besides its batches."""
    return Surroundings(
        first_base=log.segments[0].base,
        active_base=log.segments[-1].base,
        log_start=log.checkpointed_start,
        high_watermark=log.checkpointed_watermark if checkpointed_watermark else ABSENT,
        recovery_point=log.recovery_point if log.segments[-1].active else ABSENT,
        cleaned_to=log.cleaned_to,
        cleaner_known=log.cleaner_known,
        by_coordinator=log.by_coordinator,
        producer_expiry_ms=producer_expiry_ms,
    )


def with_client(batches: Batches, verdict: PartitionVerdict, client: ClientSide) -> PartitionVerdict:
    """The verdict with what clients know compared with the log."""
    if client.is_empty:
        return verdict
    found, at = transactions(batches), verdict.offsets
    tallies, findings = verdict.tallies, list(verdict.findings)
    if client.acknowledged is not None:
        tallies = tallied(batches, found, at, client.acknowledged, cleaned=verdict.cleaned)
    if client.received is not None:
        findings += received_findings(batches, found, at, client.received, cleaned=verdict.cleaned)
    return replace(verdict, tallies=tallies, findings=tuple(findings))
