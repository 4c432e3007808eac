"""Markers that partitions of a completed transaction lack, and what may explain it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from model_tests.audit.controller_log_history import LeaderEpochEntry
from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.copy_horizon import Reach
from model_tests.audit.losses import Loss
from model_tests.audit.transaction_findings import OFFSETS_TOPIC, Located, abort_command, located, outcome_word
from model_tests.audit.transactions_join import Gap, JoinedTransaction, MarkedData
from model_tests.audit.transactions_rows import broken, outcome_of
from model_tests.audit.transactions_summary import PartitionTransactions
from model_tests.common.reports import listed
from model_tests.histories.severity import Severity
from spec import rules
from spec.judging.judge_join import (
    FARTHEST_CLOCKS_MS,
    Excuse,
    UnmarkedPartition,
    excuse,
    is_undecided_gap,
    judge_unmarked,
)
from spec.rules import Rule
from spec.vocabulary import ABSENT, Api, ControlType

EXCUSED_BY: Final = MappingProxyType(
    {
        Excuse.UNREADABLE: "unreadable bytes where the marker should be",
        Excuse.END_LOST: "the end of its log is missing",
        Excuse.BEHIND: "another replica is further",
        Excuse.BEGUN_LATER: "its log begins only {begun}",
        Excuse.CLEANED: "the log cleaner was there",
        Excuse.MAY_BE_CLEANED: "the log cleaner may have been there",
        Excuse.LEADER_CHANGED: (
            "the leader changed there; an unclean election loses data and marker, and only the controller's log "
            "shows whether it was one"
        ),
        Excuse.COPIED_EARLIER: "nothing in the log is later than the end of the transaction, copy it again",
    }
)
"""What a marker that is missing is excused by."""


def row_of(one: JoinedTransaction, gap: Gap, reported: Reach) -> UnmarkedPartition:
    """A partition without a marker as the decisions take it.

    Args:
        one: the transaction.
        gap: of its partitions.
        reported: how far each log is known to go.
    """
    summary = gap.place.summary
    return UnmarkedPartition(
        offsets=gap.place.topic == OFFSETS_TOPIC,
        marked=sum(not ended.again for ended in one.ended),
        first=gap.first,
        last=gap.last,
        has_data=bool(gap.runs),
        by_time=gap.by_time,
        begun_later=summary.begin > 0 or summary.earliest_ms > one.known.completed_ms + FARTHEST_CLOCKS_MS,
        end_lost=summary.tail_lost,
        behind=gap.place.behind,
        unreadable=any(gap.after <= place <= gap.before for place in summary.unreadable),
        cleaned=gap.after < summary.cleaned_to,
        gone=any(gap.after < place <= gap.before for place in summary.gone),
        led=gap.place.led is not None,
        leader_changed=any(gap.after < place <= gap.before for place in summary.leader_changes),
        copied_later=reported.is_after(one.known, gap),
    )


def without_marker(one: JoinedTransaction, missing: list[str], reported: Reach) -> Iterator[tuple[Gap, Located]]:
    """Registered partitions of a completed transaction that have no marker, each with the finding about it."""
    outcome = outcome_of(one.known)
    for gap in one.gaps:
        row = row_of(one, gap, reported)
        if is_undecided_gap(outcome, row):
            why = EXCUSED_BY[Excuse(excuse(row))].format(begun=_begun(gap.place.summary))
            missing.append(f"{gap.place.name}: {why}")
        for check in broken(judge_unmarked(outcome, row)):
            yield gap, _missing_marker(check.rule, one, gap)


def _begun(summary: PartitionTransactions) -> str:
    """Where a log begins that has nothing of a transaction."""
    anew = "after the end of the transaction, as of a topic that was deleted and made again, or that lost its begin"
    return f"at offset {summary.begin}" if summary.begin else anew


def _missing_marker(rule: Rule, one: JoinedTransaction, gap: Gap) -> Located:
    known, outcome = one.known, outcome_word(one.known.outcome)
    has_marker = [ended for ended in one.ended if not ended.again]
    elsewhere = f"; {len(has_marker)} other partitions have theirs" if has_marker else ""
    decided = f"the coordinator's log says {_complete(known)} (offset {known.completed_offset})"
    data = f"data from offset {gap.runs[0].first_offset} on" if gap.runs else ""
    if gap.runs and gap.last:
        message = f"{data} has no marker, though {decided}{elsewhere}: it hangs and holds the last stable offset"
        remedy = abort_command(gap.place, gap.runs[0])
        remedy += _torn_by_it(has_marker) if outcome == "COMMIT" else ""
    elif gap.runs:
        message = (
            f"{data} has no {outcome} marker of its own, though {decided}{elsewhere}: "
            f"the next transaction's marker at offset {gap.before} ended it"
        )
        remedy = ""
    else:
        message = (
            f"no {outcome} marker and no data of the transaction between offsets {gap.after} and {gap.before}, "
            f"though the partition is registered and {decided}{elsewhere}"
        )
        remedy = ""
    cause, severity = _leaderless(known, gap), Severity.VIOLATION
    if taken := _taken(known, gap):
        cause, severity = taken, Severity.KNOWN
    message += f"; {cause}" if cause else ""
    if rule is rules.OFFSETS_ATOMIC:
        message += "; the outputs are visible, the input offsets are not"
    place, finding = located(
        gap.place, rule, _reported_at(gap), known, message, Api.WRITE_TXN_MARKERS, remedy, severity=severity
    )
    return place, replace(finding, until=gap.before)


def _torn_by_it(has_marker: Sequence[MarkedData]) -> str:
    """What the operator has to know before aborting what was committed."""
    others = listed(ended.place.name for ended in has_marker)
    torn = f"{others} got COMMIT, so that this tears the transaction" if others else "its outcome was COMMIT"
    return (
        f" (it aborts these records, and the tool knows no commit: {torn}; the client got the answer that they "
        "are committed: write them again)"
    )


def _taken(known: CoordinatorTransaction, gap: Gap) -> str:
    """How an election took the marker away; empty where none is shown to have."""
    led = gap.place.led
    for loss in reversed(led.losses if led is not None else ()):
        holder = _holder(known, gap, loss)
        if holder is not None:
            how = "not in sync" if not loss.again else "which lost it"
            return (
                f"{loss.election} took the marker away: broker {holder.leader} led in leader epoch {holder.epoch} when "
                f"the transaction ended, and broker {loss.elected}, {how}, continues at offset {loss.offset}: records "
                f"are lost {loss.reported()}"
            )
    return ""


def _holder(known: CoordinatorTransaction, gap: Gap, loss: Loss) -> LeaderEpochEntry | None:
    """Who had the marker that an election took away; None where it cannot have been so.

    The partition had a leader while the coordinator waited for the marker, and still when it had it: without a leader
    it may never have been written. The election came after that. From the offset on at which the elected one continues,
    everything is gone, and the marker cannot have been before: nothing is missing there, and no marker there is later
    than the end of the transaction.
    """
    led, begun = gap.place.led, gap.runs[0].first_offset if gap.runs else gap.after
    if led is None or not begun < loss.offset <= gap.before:
        return None
    if loss.again and not loss.is_shown:
        return None
    summary = gap.place.summary
    if any(begun < place <= loss.offset for place in summary.gone):
        return None
    if any(begun < one.offset < loss.offset and one.timestamp > known.completed_ms for one in summary.markers):
        return None
    then = led.at(known.completed_ms)
    if then is None or then.leader == ABSENT:
        return None
    before = [one for one in led.during(_decided_ms(known), known.completed_ms) if one.epoch < loss.epoch]
    others = [one for one in before if one.leader != ABSENT and (loss.again or one.leader != loss.elected)]
    return others[-1] if others else None


def _leaderless(known: CoordinatorTransaction, gap: Gap) -> str:
    """The partition had no leader while the coordinator waited, which some releases take for its deletion."""
    led = gap.place.led
    waited = led.during(_decided_ms(known), known.completed_ms) if led is not None else []
    empty = next((one for one in reversed(waited) if one.leader == ABSENT), None)
    if empty is None:
        return ""
    return (
        f"{gap.place.name} had no leader in leader epoch {empty.epoch} (offset {empty.offset} of the controller's "
        "log), while the coordinator was to write its marker: one of 4.3 or 4.4 takes such a partition for deleted and "
        "completes without it (KAFKA-20734)"
    )


def _decided_ms(known: CoordinatorTransaction) -> int:
    """From when on markers may have been written."""
    return known.prepared_ms if known.prepared_ms != ABSENT else known.completed_ms


def _reported_at(gap: Gap) -> int:
    """The offset of the finding that a marker is missing."""
    if gap.runs:
        return gap.runs[0].first_offset
    return gap.before if not gap.last else max(gap.before - 1, gap.after)


def _complete(known: CoordinatorTransaction) -> str:
    return "CompleteCommit" if known.outcome == ControlType.COMMIT.value else "CompleteAbort"
