"""Findings about transactions, each with its place in a log; and findings about markers that are not in their place."""

from collections.abc import Iterable, Iterator
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.findings import Finding
from model_tests.audit.transactions_join import JoinedTransaction, LogIndex, MarkedData, ProducerTransactions
from model_tests.audit.transactions_rows import broken, marker_of, outcome_of
from model_tests.audit.transactions_summary import AuditedMarker, DataRun
from model_tests.histories.severity import Severity
from spec import rules
from spec.judging.judge_join import agrees, judge_copy
from spec.rules import Rule
from spec.vocabulary import Api, ControlType

OFFSETS_TOPIC: Final = "__consumer_offsets"

BY_HAND: Final = "; an operator may have aborted it by hand"

Located = tuple[LogIndex, Finding]
"""A finding, and the log it is in."""


def outcome_word(outcome: int) -> str:
    """COMMIT or ABORT."""
    return "COMMIT" if outcome == ControlType.COMMIT.value else "ABORT"


def hidden(place: LogIndex, first: int, end: int) -> bool:
    """The log may have lost a marker between the two offsets."""
    summary = place.summary
    return first < summary.cleaned_to or any(first <= offset <= end for offset in summary.unreadable)


def abort_command(place: LogIndex, run: DataRun) -> str:
    """What an operator runs to end a hanging transaction; printed, never run."""
    tool, where = (
        "kafka-transactions.sh --bootstrap-server HOST:PORT",
        f"--topic {place.topic} --partition {place.partition}",
    )
    command, begin = f"{tool} abort {where} --start-offset {run.first_offset}", place.summary.begin
    if not begin or any(one.producer_id == run.producer_id for one in place.summary.markers):
        return command
    return (
        f"{command} (the log begins at offset {begin} only: if the transaction began before, with the "
        f"CurrentTransactionStartOffset that {tool} describe-producers {where} has for producer {run.producer_id})"
    )


def located(
    place: LogIndex,
    rule: Rule,
    offset: int,
    known: CoordinatorTransaction,
    message: str,
    step: str,
    remedy: str,
    epoch: int | None = None,
    severity: Severity = Severity.VIOLATION,
) -> Located:
    """A finding about a known transaction, at its place.

    Args:
        place: of the log.
        rule: that is broken.
        offset: of the batch.
        known: the transaction, as its coordinator has it.
        message: what is wrong.
        step: that failed.
        remedy: what ends it.
        epoch: of the producer, None for the transaction's.
        severity: violation, suspicious, known or undecided.
    """
    identity = known.marker_epoch if epoch is None else epoch
    return place, Finding(
        rule, severity, offset, known.producer_id, identity, message, "", known.transactional_id, step, remedy
    )


def placed_once(found: Iterable[Located]) -> list[Located]:
    """The findings that several replicas of a partition have in common, each once."""
    seen: dict[tuple[str, int, str, int, int], Located] = {}
    for place, finding in found:
        key = (place.topic, place.partition, finding.rule.id, finding.offset, finding.producer_id)
        seen.setdefault(key, (place, finding))
    return list(seen.values())


# --- markers that are not in their place ------------------------------------------------------------------------------


def is_misplaced(ended: MarkedData, one: JoinedTransaction) -> bool:
    """The marker is one of this transaction's, except for its place."""
    marker, known = ended.marker, one.known
    if marker.producer_id != known.producer_id:
        return False
    registered = (ended.place.topic, ended.place.partition) in known.partitions
    return registered and bool(agrees(outcome_of(known), marker_of(marker)))


def misplaced(ended: MarkedData, one: JoinedTransaction) -> Located:
    """The finding at the marker's place."""
    marker, known = ended.marker, one.known
    own = next((each.marker.offset for each in one.ended if each.place is ended.place), None)
    message = (
        f"the {outcome_word(marker.outcome)} marker of the transaction whose Prepare record is at offset "
        f"{known.prepared_offset} of the coordinator's log stands "
    )
    early = own is not None and marker.offset < own
    message += "before earlier ones" if early else "behind later ones"
    if own is not None:
        message += f"; that has its marker at offset {own}{'' if early else ' already'}"
    if ended.runs:
        message += f"; it ends the data from offset {ended.runs[0].first_offset} on"
    step, epoch = Api.WRITE_TXN_MARKERS, marker.producer_epoch
    return located(ended.place, rules.TXN_MARKER_ONCE, marker.offset, known, message, step, "", epoch)


def copied_here(one: JoinedTransaction) -> Iterator[Located]:
    """Repeated markers of a transaction that change nothing, and are older than what the leader wrote before them."""
    for ended in one.ended:
        marker, known = ended.marker, one.known
        latest = _latest_before(ended) if ended.again else None
        if latest is None or not broken([judge_copy(outcome_of(known), ended.row(latest.timestamp))]):
            continue
        message = (
            f"a second {outcome_word(marker.outcome)} marker of its transaction, without data: its time is "
            f"{latest.timestamp - marker.timestamp} ms before that of the marker at offset {latest.offset}, which the "
            "same leader wrote before it; it changes nothing, and may have been copied here from another partition"
        )
        step, epoch = Api.WRITE_TXN_MARKERS, marker.producer_epoch
        rule, severity = rules.TXN_MARKER_ONCE, Severity.SUSPICIOUS
        yield located(ended.place, rule, marker.offset, known, message, step, "", epoch, severity)


def _latest_before(ended: MarkedData) -> AuditedMarker | None:
    own = ended.marker
    markers = (one for one in ended.place.summary.markers if one.offset < own.offset)
    led = (one for one in markers if one.leader_epoch == own.leader_epoch)
    return max(led, key=lambda one: one.timestamp, default=None)


def ended_early(producer: ProducerTransactions, ended: MarkedData) -> CoordinatorTransaction | None:
    """The transaction whose data another transaction's marker ended: its own marker comes next, and ends nothing."""
    own = [
        (each.marker.offset, one.known, each)
        for one in producer.transactions
        for each in one.ended
        if each.place is ended.place and each.marker.offset > ended.marker.offset
    ]
    _, known, following = min(own, key=lambda one: one[0], default=(0, None, ended))
    epochs = {run.producer_epoch for run in ended.runs}
    return known if known is not None and not following.runs and known.producer_epoch in epochs else None
