"""What one log adds to the audit of transactions: its own summary, and, of a coordinator's log, the histories."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from model_tests.audit.coordinator_log_history import ALWAYS, history
from model_tests.audit.findings import Finding
from model_tests.audit.holes import Holes, Surroundings, holes
from model_tests.audit.partition_verdict import PartitionVerdict
from model_tests.audit.transactions_summary import TransactionEvidence, with_damage
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import MALFORMED, TOPIC, StateRecord, read_states
from model_tests.logs.kafka_log_batches import Batches
from model_tests.logs.kafka_log_folders import LogFolder
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec import rules
from spec.vocabulary import ABSENT


def _without_segments(missing: Holes, batches: Batches) -> Holes:
    """The holes, those between segments as unreadable: a file is missing there, which may have held any records."""
    between = np.zeros(len(batches), np.bool_)
    between[1:] = missing.unexplained[1:] & (batches.segment[1:] != batches.segment[:-1])
    return replace(missing, unreadable=missing.unreadable + np.cumsum(between))


def _without_records(missing: Holes, batches: Batches, states: Sequence[StateRecord]) -> Holes:
    """The holes with the batches of which not every record could be read: it may have been of any id."""
    read = np.bincount([one.row for one in states], minlength=len(batches))
    lost = ~batches.control & (read < batches.record_count)
    return replace(missing, unreadable=missing.unreadable + np.cumsum(lost))


def _may_have_later(missing: Holes, states: Sequence[StateRecord]) -> set[str]:
    """The ids of which newer records may be in what could not be read."""
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
    """Up to when the coordinator's log is complete: a running broker's may have been copied before the others.

    One that is flushed up to its end was closed.
    """
    return ALWAYS if around.recovery_point == end else int(batches.max_timestamp.max())


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
