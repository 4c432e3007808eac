"""The evidence that one log adds to the audit of transactions and to the audit of the cluster.

The evidence is a summary of the log. For the logs that brokers keep for themselves, it is the history in them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from model_tests.audit.controller_log_fold import controller_history
from model_tests.audit.controller_log_history import ControllerHistory
from model_tests.audit.coordinator_log_history import ALWAYS, history
from model_tests.audit.findings import Finding
from model_tests.audit.group_log import TOPIC as OFFSETS_TOPIC
from model_tests.audit.group_log import PartitionGroupOffsets, group_offsets, judge_offsets, read_offsets
from model_tests.audit.holes import Holes, Surroundings, holes
from model_tests.audit.partial_log import Condensed
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.replica import ClusterSide, ReplicaSummary, summarized
from model_tests.audit.transactions_summary import TransactionEvidence, with_damage
from model_tests.histories.severity import Severity
from model_tests.logs.controller_log import TOPIC as CONTROLLER_TOPIC
from model_tests.logs.controller_log import read_controller
from model_tests.logs.coordinator_log import MALFORMED, TOPIC, StateRecord, read_states
from model_tests.logs.kafka_log_batches import Batches
from model_tests.logs.kafka_log_derived import LeaderEpochFile
from model_tests.logs.kafka_log_folders import HIGH_WATERMARK, LogFolder
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec import rules
from spec.evidence import Layer, evidences
from spec.versions import NEWEST, Profile
from spec.vocabulary import ABSENT


def _without_segments(missing: Holes, batches: Batches) -> Holes:
    """The holes; a hole between segments counts as unreadable, because the missing file may have held any records."""
    between = np.zeros(len(batches), np.bool_)
    between[1:] = missing.unexplained[1:] & (batches.segment[1:] != batches.segment[:-1])
    return replace(missing, unreadable=missing.unreadable + np.cumsum(between))


def _without_records(missing: Holes, batches: Batches, states: Sequence[StateRecord]) -> Holes:
    """The holes, and the batches with a record that could not be read: that record may have been of any id."""
    read = np.bincount([one.row for one in states], minlength=len(batches))
    lost = ~batches.control & (read < batches.record_count)
    return replace(missing, unreadable=missing.unreadable + np.cumsum(lost))


def _may_have_later(missing: Holes, states: Sequence[StateRecord]) -> set[str]:
    """The ids that may have newer records in the part that could not be read."""
    last = {one.transactional_id: one.row for one in states}
    end = len(missing.unreadable) - 1
    return {name for name, row in last.items() if missing.unreadable_between(row, end)}


def with_transactions(
    log: LogFolder, batches: Batches, around: Surroundings, verdict: PartitionVerdict, damage: list[SegmentDamage]
) -> PartitionVerdict:
    """The verdict with the log's evidence of transactions; damage in the records is added to `damage`."""
    if verdict.reported is None:
        return verdict
    here = with_damage(verdict.reported.here, damage, batches)
    if log.topic != TOPIC or not len(batches):
        return replace(verdict, reported=TransactionEvidence(here))
    states, skipped, bad = read_states(log, batches)
    missing = _without_records(_without_segments(holes(batches, around), batches), batches, states)
    known, findings = history(log.partition, states, missing, whole=around.first_base == 0)
    whole = known.whole and not here.tail_lost and not skipped and not bad and _has_no_hole(missing)
    lost, until = here.tail_lost, _known_until(batches, around, here.end)
    later = _may_have_later(missing, states)
    identities = tuple(
        replace(
            one,
            later_unread=one.later_unread or lost or one.transactional_id in later,
            known_until_ms=until,
            whole=whole,
        )
        for one in known.identities
    )
    damage += bad
    findings += _unread(states, skipped)
    judged = {**verdict.judged, rules.TXN_LEGAL_TRANSITION.id: known.judged}
    return replace(
        verdict,
        findings=tuple(sorted((*verdict.findings, *findings), key=lambda one: (one.offset, one.rule.id))),
        judged=judged,
        reported=TransactionEvidence(here, replace(known, whole=whole, identities=identities, known_until_ms=until)),
    )


def _known_until(batches: Batches, around: Surroundings, end: int) -> int:
    """Until when the coordinator's log is complete: a running broker's may have been copied before the other logs.

    A log that is flushed up to its end was closed.
    """
    return ALWAYS if around.recovery_point == end else int(batches.max_timestamp[-1])


def _has_no_hole(missing: Holes) -> bool:
    return not (missing.cleaned[-1] or missing.unreadable[-1])


def _unread(states: list[StateRecord], skipped: list[tuple[int, str]]) -> list[Finding]:
    """One finding for all records of the same unknown kind, at the first of them."""
    unread = [(one.offset, f"{one.transactional_id}: {one.unread}") for one in states if one.unread]
    found: dict[str, list[tuple[int, str]]] = {}
    for offset, why in (*unread, *skipped):
        if MALFORMED not in why:
            found.setdefault(why.rpartition(": ")[2], []).append((offset, why))
    return [
        Finding(
            rules.TXN_LEGAL_TRANSITION,
            Severity.UNDECIDED,
            alike[0][0],
            ABSENT,
            ABSENT,
            f"records that are skipped: {len(alike)}, this the first ({alike[0][1]}): what they change is not known",
        )
        for alike in found.values()
    ]


def with_cluster(
    log: LogFolder,
    held: Condensed,
    verdict: PartitionVerdict,
    damage: list[SegmentDamage],
    epochs: LeaderEpochFile | None = None,
    profile: Profile = NEWEST,
) -> PartitionVerdict:
    """The verdict with the log's evidence of the cluster.

    Args:
        log: the partition's folder.
        held: what remains of the log after condensing; for a log that brokers keep for themselves, all batches.
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
    history = _controller(log, batches, damage, profile) if log.topic == CONTROLLER_TOPIC and len(batches) else None
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


def with_replica(verdict: PartitionVerdict, side: ClusterSide, *, tail_lost: bool, whole: bool) -> PartitionVerdict:
    """The verdict with the log's evidence of the cluster.

    Args:
        verdict: the verdict so far.
        side: the log's evidence.
        tail_lost: bytes at the log's end cannot be read, and are reported as damage.
        whole: the last segment is the one that the broker appends to, so that the log's end is that of the file.
    """
    replica = side.replica
    found = list(verdict.findings)
    judged = dict(verdict.judged)
    if replica is not None and replica.high_watermark != ABSENT and whole and not tail_lost:
        judged[rules.REPL_HW_BOUNDS.id] = 1
        beyond = _beyond_end(replica)
        found = [*(one for one in found if not _says_the_same(one, beyond)), *beyond]
    order = sorted(found, key=lambda one: (one.offset, one.rule.id))
    return replace(verdict, findings=tuple(order), judged=judged, cluster=side)


@evidences(rules.REPL_HW_BOUNDS, Layer.AUDIT)
def _beyond_end(replica: ReplicaSummary) -> list[Finding]:
    """A high watermark above the log's end: what was committed is not there."""
    if replica.high_watermark <= replica.log_end:
        return []
    message = (
        f"the log ends at offset {replica.log_end}, but {HIGH_WATERMARK} has the high watermark "
        f"{replica.high_watermark}: committed records are missing, or were not copied"
    )
    severity = Severity.VIOLATION
    if not replica.stopped:
        message += (
            "; the broker was not stopped cleanly: a crash of the machine, or a copy while it ran, may explain it"
        )
        severity = Severity.UNDECIDED
    return [Finding(rules.REPL_HW_BOUNDS, severity, replica.log_end, ABSENT, ABSENT, message)]


def _says_the_same(finding: Finding, beyond: Sequence[Finding]) -> bool:
    """The recovery point is beyond the log's end too, which decides nothing by itself."""
    return bool(beyond) and finding.rule is rules.LSO_BOUNDS and finding.severity is Severity.UNDECIDED
