"""A marker behind later transactions of its producer, moved or written once more: one finding."""

from collections.abc import Iterable, Iterator

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.findings import Finding
from model_tests.audit.transaction_findings import Located, located, outcome_word
from model_tests.audit.transactions_join import JoinedTransaction, LogIndex, MarkedData, ProducerTransactions
from model_tests.audit.transactions_rows import broken, marker_of, outcome_of
from model_tests.audit.transactions_summary import AuditedMarker
from model_tests.histories.severity import Severity
from spec import rules
from spec.judging.judge_join import agrees, judge_copy
from spec.vocabulary import Api


def is_misplaced(ended: MarkedData, one: JoinedTransaction) -> bool:
    """The marker is in all but its place one of this transaction's."""
    marker, known = ended.marker, one.known
    if marker.producer_id != known.producer_id:
        return False
    registered = (ended.place.topic, ended.place.partition) in known.partitions
    return registered and bool(agrees(outcome_of(known), marker_of(marker)))


def misplaced(ended: MarkedData, one: JoinedTransaction) -> Located:
    """The finding, where the marker is."""
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
    """Further markers of a transaction that change nothing, and are older than what their leader wrote before them."""
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
    """The transaction whose data a marker of another ended: its own comes next, and ends nothing."""
    own = [
        (each.marker.offset, one.known, each)
        for one in producer.transactions
        for each in one.ended
        if each.place is ended.place and each.marker.offset > ended.marker.offset
    ]
    _, known, following = min(own, key=lambda one: one[0], default=(0, None, ended))
    epochs = {run.producer_epoch for run in ended.runs}
    return known if known is not None and not following.runs and known.producer_epoch in epochs else None


def found_misplaced(
    one: JoinedTransaction, place: LogIndex, loose: Iterable[MarkedData], found: Iterable[Located]
) -> Located | None:
    """What was found of the transaction's marker, where it is away from it at this place.

    Args:
        one: the transaction.
        place: the partition.
        loose: markers that end no transaction of the coordinator's log.
        found: what was found of these.
    """
    offsets = {each.marker.offset for each in loose if each.place is place and is_misplaced(each, one)}
    return next((each for each in found if each[0] is place and _is_one(each[1], offsets, one)), None)


def _is_one(finding: Finding, offsets: set[int], one: JoinedTransaction) -> bool:
    return finding.producer_id == one.known.producer_id and finding.offset in offsets


def with_lacking(misplaced: Located, lacking: Located) -> Located:
    """The finding as the cause of what the transaction lacks for it."""
    place, finding = misplaced
    return place, finding.causes([lacking[1]])
