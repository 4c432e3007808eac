"""Markers and data that belong to no transaction that a coordinator's log has."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorTransaction, HeldProducerId
from model_tests.audit.copy_horizon import UNREACHED, Reach, may_be_copied_earlier, may_be_unknown
from model_tests.audit.findings import Finding
from model_tests.audit.transaction_findings import (
    BY_HAND,
    OFFSETS_TOPIC,
    Located,
    abort_command,
    ended_early,
    hidden,
    is_misplaced,
    located,
    misplaced,
    outcome_word,
)
from model_tests.audit.transactions_join import LogIndex, MarkedData, ProducerTransactions
from model_tests.audit.transactions_rows import broken, marker_of, outcome_of
from model_tests.audit.transactions_summary import AuditedMarker, DataRun
from model_tests.audit.without_coordinator_log import by_complete_record, judge_alone, judge_behind_hole
from model_tests.histories.severity import Severity
from spec import rules
from spec.judging.judge_join import has_outcome_of, is_during, is_of
from spec.judging.judge_orphans import (
    OrphanData,
    OrphanDoubt,
    OrphanKind,
    OrphanMarker,
    is_by_hand,
    judge_against_complete,
    judge_orphan_data,
    judge_orphan_marker,
    orphan_doubt,
    orphan_kind,
)
from spec.rules import Rule
from spec.vocabulary import ABSENT, Api, TransactionState

LATER: Final = "the newest records of a coordinator's log, which seems to have been copied before the partitions"

DOUBTS: Final = MappingProxyType(
    {
        OrphanDoubt.REGISTERED_LATER: (
            "it was registered after the coordinators' logs were copied: their newest record is older"
        ),
        OrphanDoubt.MARKED_LATER: (
            "its transaction is no longer in the coordinator's log, and its marker came after this log was copied"
        ),
    }
)
"""What may explain data without a marker."""


def is_later(producer: ProducerTransactions, identity: HeldProducerId, known_until_ms: int) -> bool:
    """Whether markers or data of the producer came after its coordinator's log was copied."""
    ended = any(one.marker.timestamp > identity.known_until_ms for one in producer.loose)
    return ended or any(run.appended_ms > known_until_ms for _, run, _ in producer.loose_runs)


def judge_loose(
    producer: ProducerTransactions, identity: HeldProducerId, known_until_ms: int, reported: Reach = UNREACHED
) -> Iterator[Located]:
    """Markers and data of a known producer id that belong to none of its transactions.

    Args:
        producer: with what the partitions have of it.
        identity: whose producer id it is.
        known_until_ms: the time of the newest record in any coordinator's log here.
        reported: how far each log is known to go.
    """
    newest = producer.transactions[-1].known if producer.transactions else None
    yield from judge_alone(producer, [ended for ended in producer.loose if may_be_unknown(producer, ended)])
    yield from judge_behind_hole(producer)
    turned: set[int] = set()
    for ended in producer.loose:
        other = _ended_otherwise(producer, ended)
        if other is None:
            yield from _loose_marker(producer, ended, identity)
        elif other.completed_offset not in turned:
            turned.add(other.completed_offset)
            yield _against_complete(ended, other)
    in_doubt = newest is not None and newest.doubtful and not newest.completed
    for place, run, before in producer.loose_runs:
        may_be_marked = any(offset > run.first_offset for offset in place.summary.unreadable)
        row = replace(
            _data_of(place, run, known_until_ms),
            later_unread=identity.later_unread or (may_be_marked and not identity.whole),
            newest_in_doubt=in_doubt,
            copied_earlier=may_be_copied_earlier(producer, identity, place, before, reported),
        )
        yield from _hanging(row, place, run, before, newest)


def _data_of(place: LogIndex, run: DataRun, known_until_ms: int) -> OrphanData:
    """Data without a marker as the decisions take it, by its own log."""
    return OrphanData(
        run.appended_ms,
        offsets=place.topic == OFFSETS_TOPIC,
        end_lost=place.summary.tail_lost or place.behind,
        known_until_ms=known_until_ms,
    )


def _loose_marker(producer: ProducerTransactions, ended: MarkedData, identity: HeldProducerId) -> Iterator[Located]:
    """A marker that follows from no record of the coordinator."""
    marker, row = ended.marker, marker_of(ended.marker)
    known = [one.known for one in producer.transactions]
    candidates = ((one, outcome_of(one)) for one in known)
    during = next((one for one, of in candidates if is_of(of, row) and is_during(of, row)), None)
    whose = next((one for one in producer.transactions if is_misplaced(ended, one)), None)
    owner = _owner(ended, known) if during is None else ended_early(producer, ended)
    copied = _copied(marker, known)
    orphan = OrphanMarker(
        marker.outcome,
        marker.timestamp,
        has_data=bool(ended.runs),
        offsets=ended.place.topic == OFFSETS_TOPIC,
        hidden=hidden(ended.place, ended.runs[0].first_offset if ended.runs else marker.offset, marker.offset),
        has_transactions=bool(known),
        whole=identity.whole,
        known_until_ms=identity.known_until_ms,
        later_unread=identity.later_unread,
        during=during is not None,
        during_completed=during is not None and during.completed,
        may_be_unknown=may_be_unknown(producer, ended),
        misplaced=whose is not None,
        owned=owner is not None,
        copied=copied is not None,
    )
    kind = orphan_kind(orphan)
    for check in broken(judge_orphan_marker(orphan)):
        severity = Severity.SUSPICIOUS if is_by_hand(orphan) else Severity.VIOLATION
        if kind == OrphanKind.OF_NO_TRANSACTION.value:
            yield _marker_of_no_transaction(check.rule, severity, ended, identity.transactional_id)
        elif kind == OrphanKind.MISPLACED.value and whose is not None:
            yield misplaced(ended, whose)
        elif kind == OrphanKind.FOREIGN.value and owner is not None:
            yield _foreign_marker(check.rule, severity, ended, owner, copied, during)
        elif known:
            yield _unasked(check.rule, severity, ended, during, during or known[-1])


def _unasked(
    rule: Rule,
    severity: Severity,
    ended: MarkedData,
    during: CoordinatorTransaction | None,
    of: CoordinatorTransaction,
) -> Located:
    """A marker by its time of a transaction without the partition, or of none; with data, or without."""
    marker = ended.marker
    where = (
        f"while {during.transactional_id} completed a transaction that does not have this partition"
        if during
        else "while no transaction of its producer was to end"
    )
    outcome, by_hand = outcome_word(marker.outcome), BY_HAND if severity is Severity.SUSPICIOUS else ""
    if ended.runs:
        message = (
            f"data on a partition that is not registered, ended by the {outcome} marker at {marker.offset} {where}"
            f"{by_hand}"
        )
        offset, step = ended.runs[0].first_offset, Api.ADD_PARTITIONS_TO_TXN
        return located(ended.place, rule, offset, of, message, step, "", marker.producer_epoch, severity)
    message, epoch = f"a {outcome} marker {where}, and without data{by_hand}", marker.producer_epoch
    return located(ended.place, rule, marker.offset, of, message, Api.WRITE_TXN_MARKERS, "", epoch, severity)


def _ended_otherwise(producer: ProducerTransactions, ended: MarkedData) -> CoordinatorTransaction | None:
    """The transaction of the marker's epoch, where it has another outcome."""
    alone = by_complete_record(producer).get(ended.marker.producer_epoch)
    hides = hidden(ended.place, ended.runs[0].first_offset if ended.runs else ended.marker.offset, ended.marker.offset)
    completed = alone.outcome if alone is not None else ABSENT
    return alone if broken([judge_against_complete(ended.marker.outcome, completed, hides)]) else None


def _against_complete(ended: MarkedData, known: CoordinatorTransaction) -> Located:
    message = (
        f"the marker says {outcome_word(ended.marker.outcome)}, but the coordinator's Complete record (offset "
        f"{known.completed_offset}) says {outcome_word(known.outcome)}: under version 2 the epoch is of one transaction"
    )
    return located(ended.place, rules.TXN_ONE_OUTCOME, ended.marker.offset, known, message, Api.WRITE_TXN_MARKERS, "")


def _owner(ended: MarkedData, known: Sequence[CoordinatorTransaction]) -> CoordinatorTransaction | None:
    """The transaction that has registered the partition and was open when a marker of another ended its data."""
    name, at = (ended.place.topic, ended.place.partition), ended.marker.timestamp
    epochs = {run.producer_epoch for run in ended.runs}
    return next(
        (
            one
            for one in known
            if name in one.partitions
            and one.producer_epoch in epochs
            and one.started_ms <= at
            and (not one.decided or at < one.prepared_ms)
        ),
        None,
    )


def _copied(marker: AuditedMarker, known: Sequence[CoordinatorTransaction]) -> CoordinatorTransaction | None:
    """The newest transaction that was complete before the marker, and whose marker it may be once more."""
    row = marker_of(marker)
    complete = ((one, outcome_of(one)) for one in reversed(known) if one.completed_ms < marker.timestamp)
    own = (one for one, of in complete if one.completed and is_of(of, row) and has_outcome_of(of, row))
    return next(own, None)


def _foreign_marker(
    rule: Rule,
    severity: Severity,
    ended: MarkedData,
    owner: CoordinatorTransaction,
    copied: CoordinatorTransaction | None,
    during: CoordinatorTransaction | None,
) -> Located:
    """A marker that ended an open transaction before its outcome was decided: a late copy, or another partition's."""
    marker, outcome = ended.marker, outcome_word(ended.marker.outcome)
    cause = "no Prepare record asks for it"
    if copied is not None:
        cause = (
            f"a late copy of the marker of an earlier transaction, complete at offset {copied.completed_offset} of the "
            "coordinator's log; a leader takes it for one of the open transaction (KAFKA-19446; refused since 4.2)"
        )
    if during is not None:
        cause = f"it is of the transaction whose Prepare record is at offset {during.prepared_offset}, which has it not"
    by_hand = BY_HAND if severity is Severity.SUSPICIOUS else ""
    message = (
        f"a {outcome} marker of epoch {marker.producer_epoch} ended the data from offset {ended.runs[0].first_offset} "
        f"on while its transaction was open, registered here and not decided: {cause}{by_hand}"
    )
    decided = f"was decided to {outcome_word(owner.outcome)}" if owner.decided else "is not decided"
    remedy = (
        f"nothing can change a marker: the transaction {decided} afterwards; where that is not {outcome}, take these "
        f"records as {'wrongly visible' if outcome == 'COMMIT' else 'lost'} and undo or write them by hand"
    )
    epoch = marker.producer_epoch
    return located(ended.place, rule, marker.offset, owner, message, Api.WRITE_TXN_MARKERS, remedy, epoch, severity)


def _hanging(
    row: OrphanData, place: LogIndex, run: DataRun, before: MarkedData | None, newest: CoordinatorTransaction | None
) -> Iterator[Located]:
    """Data without a marker that no transaction will end, or a doubt about it."""
    doubt = DOUBTS.get(OrphanDoubt(orphan_doubt(row)), "")
    for check in judge_orphan_data(row):
        if check.at_stake and (doubt or not check.holds):
            finding = _hangs(check.rule, place, run, before, newest)
            yield place, _doubted(finding, doubt, row) if doubt else finding


def _hangs(
    rule: Rule, place: LogIndex, run: DataRun, before: MarkedData | None, newest: CoordinatorTransaction | None
) -> Finding:
    after = f"after the marker at offset {before.marker.offset}, " if before else ""
    known = (
        f"the newest transaction of {newest.transactional_id} is {_state_name(newest)} and does not have it"
        if newest
        else "no transactional id ever had this producer id"
    )
    return Finding(
        rule=rule,
        severity=Severity.VIOLATION,
        offset=run.first_offset,
        producer_id=run.producer_id,
        producer_epoch=run.producer_epoch,
        message=(
            f"transactional data {after}on a partition that its coordinator's log does not register for it ({known}): "
            "it hangs and holds the last stable offset"
        ),
        transactional_id=newest.transactional_id if newest else "",
        step="Produce without AddPartitionsToTxn, or after EndTxn",
        remedy=abort_command(place, run),
    )


def _doubted(finding: Finding, doubt: str, row: OrphanData) -> Finding:
    """The finding with what may explain it, and what to copy again to know."""
    again = "the log" if row.copied_earlier else "the coordinators' logs"
    return replace(
        finding,
        severity=Severity.UNDECIDED,
        message=f"{finding.message}, unless {doubt}",
        remedy=f"copy {again} again; if nothing else is in them then, {finding.remedy}",
    )


def _state_name(known: CoordinatorTransaction) -> str:
    return TransactionState(known.state).name.title().replace("_", "")


def judge_unknown(producer: ProducerTransactions, all_coordinators: bool, known_until_ms: int) -> Iterator[Located]:
    """A producer id that no coordinator's log here has: what its partitions alone decide."""
    yield from judge_alone(producer, producer.loose)
    if not all_coordinators:
        return
    for place, run, before in producer.loose_runs:
        yield from _hanging(_data_of(place, run, known_until_ms), place, run, before, None)
    for ended in producer.loose:
        orphan = OrphanMarker(
            ended.marker.outcome,
            ended.marker.timestamp,
            has_data=bool(ended.runs),
            hidden=hidden(ended.place, 0, ended.marker.offset),
            whole=True,
            known_until_ms=known_until_ms,
            later_unread=True,
        )
        for check in broken(judge_orphan_marker(orphan)):
            severity = Severity.SUSPICIOUS if is_by_hand(orphan) else Severity.VIOLATION
            yield _marker_of_no_transaction(check.rule, severity, ended)


def _marker_of_no_transaction(rule: Rule, severity: Severity, ended: MarkedData, transactional_id: str = "") -> Located:
    """A marker of a producer id that no coordinator gave away, or that never had a transaction, and what it ends."""
    marker, outcome = ended.marker, outcome_word(ended.marker.outcome)
    what = "and ends data of it" if ended.runs else "and ends no data"
    whose = f"with which {transactional_id} never" if transactional_id else "that no transactional id ever"
    message = f"a {outcome} marker of a producer id {whose} had{' a transaction' if transactional_id else ''}, {what}"
    finding = Finding(
        rule=rule,
        severity=severity,
        offset=ended.runs[0].first_offset if ended.runs else marker.offset,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        message=message + (BY_HAND if severity is Severity.SUSPICIOUS else ""),
        transactional_id=transactional_id,
        step=Api.ADD_PARTITIONS_TO_TXN if ended.runs else Api.WRITE_TXN_MARKERS,
    )
    return ended.place, finding
