"""Markers that partitions of a completed transaction lack, and what may excuse it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from model_tests.traces.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.traces.audit.findings import Severity, lost_between
from model_tests.traces.audit.transactions_join import Gap, Joined
from model_tests.traces.audit.transactions_located import OFFSETS_TOPIC, Located, abort_command, located, outcome_word
from model_tests.traces.audit.transactions_reach import Reach
from spec import rules
from spec.evidence import Layer, evidences
from spec.vocabulary import ControlType

COPY_AGAIN: Final = "nothing in the log is later than the end of the transaction, copy it again"
"""It may have been copied before its coordinator's log, and the marker have come in between."""


@evidences(rules.TXN_MARKER_ONCE, Layer.AUDIT)
def without_marker(one: Joined, missing: list[str], told: Reach) -> Iterator[Located]:
    """Registered partitions of a completed transaction that have no marker."""
    if not one.known.completed:
        return
    for gap in one.gaps:
        excuse = _excuse(gap) or ("" if told.is_after(one.known, gap) else COPY_AGAIN)
        if excuse:
            missing.append(f"{gap.place.name}: {excuse}")
            continue
        yield _missing_marker(one, gap)


def _missing_marker(one: Joined, gap: Gap) -> Located:
    known, outcome = one.known, outcome_word(one.known.outcome)
    has_marker = [ended for ended in one.ended if not ended.again]
    elsewhere = f"; {len(has_marker)} other partitions have theirs" if has_marker else ""
    decided = f"the coordinator's log says {_complete(known)} (offset {known.completed_offset})"
    data = f"data from offset {gap.runs[0].first_offset} on" if gap.runs else ""
    if gap.runs and gap.last:
        message = f"{data} has no marker, though {decided}{elsewhere}: it hangs and holds the last stable offset"
        remedy = abort_command(gap.place, gap.runs[0])
        if outcome == "COMMIT":
            remedy += " (it aborts these records; the client was told that they are committed: write them again)"
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
    begun = gap.runs[0].first_offset if gap.runs else gap.after
    loss = lost_between(gap.place.losses or (), begun, gap.before)
    severity = Severity.VIOLATION
    if loss is not None:
        severity = Severity.KNOWN
        message += f"; {loss.election} took away what was committed from offset {loss.offset} on"
    split = gap.place.topic == OFFSETS_TOPIC and outcome == "COMMIT" and has_marker
    rule = rules.OFFSETS_ATOMIC if split else rules.TXN_MARKER_ONCE
    if split:
        message += "; the outputs are visible, the input offsets are not"
    place, finding = located(
        gap.place, rule, told_at(gap), known, message, "WriteTxnMarkers", remedy, severity=severity
    )
    return place, replace(finding, until=gap.before)


def told_at(gap: Gap) -> int:
    """The offset of the finding that a marker is missing."""
    if gap.runs:
        return gap.runs[0].first_offset
    return gap.before if not gap.last else max(gap.before - 1, gap.after)


def _complete(known: CoordinatorTransaction) -> str:
    return "CompleteCommit" if known.outcome == ControlType.COMMIT.value else "CompleteAbort"


def _excuse(gap: Gap) -> str:
    """What may have removed the marker; empty where nothing can."""
    summary = gap.place.summary
    if any(gap.after <= place <= gap.before for place in summary.unreadable):
        return "unreadable bytes where the marker should be"
    if gap.last and (summary.tail_lost or gap.place.behind):
        return "the end of its log is missing" if summary.tail_lost else "another replica is further"
    if gap.runs and not gap.by_time:
        return ""
    if gap.first and summary.begin > 0:
        return f"its log begins at offset {summary.begin} only"
    if gap.after < summary.cleaned_to:
        return "the log cleaner was there"
    if any(gap.after < place <= gap.before for place in summary.gone):
        # the cleaner takes no marker before the data that it ends; of a copy that was cut, the last segment was cleaned
        return "" if gap.runs or gap.place.topic != OFFSETS_TOPIC else "the log cleaner may have been there"
    unknown = gap.place.losses is None
    if unknown and any(gap.after < place <= gap.before for place in summary.leader_changes):
        return (
            "the leader changed there, and an unclean election loses data and marker, says the controller's log alone"
        )
    return ""
