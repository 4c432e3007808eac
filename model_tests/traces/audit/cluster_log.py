"""What one log adds to the audit of a cluster: a summary, the controller's history, the offsets of groups."""

from dataclasses import replace

from model_tests.traces.audit.controller_log_fold import controller_history
from model_tests.traces.audit.controller_log_history import ControllerHistory
from model_tests.traces.audit.findings import Finding, PartitionVerdict
from model_tests.traces.audit.group_log import TOPIC as OFFSETS_TOPIC
from model_tests.traces.audit.group_log import PartitionGroupOffsets, group_offsets, judge_offsets, read_offsets
from model_tests.traces.audit.partial_log import Condensed
from model_tests.traces.audit.replica import ClusterSide, summarized, with_replica
from model_tests.traces.logs.controller_log import TOPIC, read_controller
from model_tests.traces.logs.kafka_log_batches import Batches
from model_tests.traces.logs.kafka_log_derived import LeaderEpochFile
from model_tests.traces.logs.kafka_log_folders import LogFolder
from model_tests.traces.logs.kafka_log_segment import SegmentDamage
from spec.versions import NEWEST, Profile


def with_cluster(
    log: LogFolder,
    held: Condensed,
    verdict: PartitionVerdict,
    damage: list[SegmentDamage],
    epochs: LeaderEpochFile | None = None,
    profile: Profile = NEWEST,
) -> PartitionVerdict:
    """The verdict with what the log tells of the cluster.

    Args:
        log: the partition's folder.
        held: what is left of it; of a log of the brokers' own, all batches.
        verdict: what the log by itself showed.
        damage: what cannot be read; damaged records are added.
        epochs: its leader-epoch checkpoint.
        profile: the release.
    """
    here = verdict.reported.here if verdict.reported is not None else None
    if here is None:
        return verdict
    cleaned_to = max(here.cleaned_to, log.cleaned_to)
    at, batches = verdict.offsets, held.rows
    replica = summarized(log, held.blocks, held.epochs, at.log_start, at.log_end, cleaned_to)
    replica = replace(replica, noted=tuple(zip(epochs.epochs, epochs.starts, strict=True)) if epochs else ())
    history = _controller(log, batches, damage, profile) if log.topic == TOPIC and len(batches) else None
    groups = None
    if log.topic == OFFSETS_TOPIC and len(batches):
        groups, findings = _groups(log, batches, damage, profile)
        verdict = replace(verdict, findings=(*verdict.findings, *findings))
    side = ClusterSide(replica, history, groups)
    return with_replica(verdict, side, tail_lost=here.tail_lost and bool(damage), whole=log.segments[-1].active)


def _groups(
    log: LogFolder, batches: Batches, damage: list[SegmentDamage], profile: Profile
) -> tuple[PartitionGroupOffsets, list[Finding]]:
    read = read_offsets(log, batches)
    damage += read.damage
    return group_offsets(log.partition, read, batches, profile), judge_offsets(read, batches)


def _controller(log: LogFolder, batches: Batches, damage: list[SegmentDamage], profile: Profile) -> ControllerHistory:
    read = read_controller(log, batches)
    damage += read.damage
    end, epoch = int(batches.last_offset[-1]) + 1, int(batches.leader_epoch[-1])
    history, _ = controller_history(read, end, epoch, int(batches.max_timestamp[-1]), profile)
    return history
