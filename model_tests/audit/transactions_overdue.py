"""Transactions that should have ended by the time until which the logs go on: open past their timeout, or prepared."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model_tests.audit.coordinator_log_history import CoordinatorTransaction
from model_tests.audit.findings import Finding
from model_tests.audit.times import clock, span
from model_tests.audit.transaction_findings import Located, abort_command, located, outcome_word
from model_tests.audit.transactions_join import JoinedTransaction, LogIndex, ProducerTransactions
from model_tests.audit.transactions_judge import JudgedTransaction, TransactionStatus
from model_tests.audit.transactions_summary import DataRun, PartitionTransactions
from model_tests.common.reports import listed
from model_tests.histories.severity import Severity
from model_tests.logs.coordinator_log import TOPIC
from spec import rules
from spec.evidence import Layer, evidences
from spec.judging.judge import RuleCheck
from spec.judging.judge_join import FARTHEST_CLOCKS_MS
from spec.judging.judge_overdue import REAPER_INTERVAL, judge_data, judge_ongoing, judge_prepared
from spec.protocol.coordinator import TransactionEntry
from spec.protocol.ids import LARGEST_TIMEOUT
from spec.vocabulary import ABSENT, MAX_EPOCH, TransactionState

TOOL: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT"

COPIED_BEFORE: Final = "its coordinator's log may have been copied before: copy it again"


@dataclass(frozen=True, slots=True)
class CoordinatorPlace:
    """The furthest copy of a partition of the coordinators' log.

    Attributes:
        until_ms: the newest time in it, by the clocks of its leaders, in milliseconds since 1970.
    """

    place: LogIndex
    until_ms: int


def coordinator_place(log: int, partition: int, here: PartitionTransactions) -> CoordinatorPlace:
    """The place of a coordinator's log, from its number in the report and its summary."""
    return CoordinatorPlace(LogIndex(log, TOPIC, partition, here), here.latest_ms)


def fetch_next(producer_id: int, here: Sequence[int]) -> str:
    """What to give an audit that has no coordinator's log of a producer id.

    Args:
        producer_id: the producer id.
        here: the partitions of the coordinators' log that are given.
    """
    given = f"; it is none of {', '.join(f'{TOPIC}-{one}' for one in here[:6])}" if here else ""
    return (
        f"give the log of its coordinator, too, {TOPIC}-N{given}: {TOOL} list names the transactional id of producer "
        f"{producer_id}, and `eos audit ... --transactional-id ID` the N"
    )


def entry_of(known: CoordinatorTransaction) -> TransactionEntry:
    """What the newest record of a transaction says, as the decisions take it; nothing where it is in doubt."""
    return TransactionEntry(
        known=not known.doubtful,
        state=known.state,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        timeout=known.timeout_ms,
        start_time=known.started_ms,
        update_time=known.prepared_ms,
        client_version=known.client_version,
    )


@evidences(rules.TXN_TIMEOUT, Layer.AUDIT)
@evidences(rules.TXN_COMPLETES, Layer.AUDIT)
def with_overdue(
    judged: Sequence[JudgedTransaction], coordinators: Mapping[str, CoordinatorPlace]
) -> list[JudgedTransaction]:
    """The transactions; those that should have ended say so.

    Args:
        judged: all transactions that a coordinator's log has.
        coordinators: of each transactional id, its coordinator's log.
    """
    return [_with_overdue(one, coordinators.get(one.one.known.transactional_id)) for one in judged]


def _with_overdue(judged: JudgedTransaction, coordinator: CoordinatorPlace | None) -> JudgedTransaction:
    open_ones = (TransactionStatus.OPEN, TransactionStatus.COMPLETING)
    if coordinator is None or judged.status not in open_ones:
        return judged
    known = judged.one.known
    if known.producer_epoch == MAX_EPOCH and not known.decided:
        finding = _beyond_fencing(judged.one, coordinator.place)
        return replace(judged, status=TransactionStatus.BROKEN, findings=(*judged.findings, finding))
    judge = judge_ongoing if judged.status is TransactionStatus.OPEN else judge_prepared
    shown = judge(entry_of(known), coordinator.until_ms)
    if not shown.holds:
        finding = _overdue(judged.one, coordinator, shown, coordinator.until_ms, "")
        return replace(judged, status=TransactionStatus.OVERDUE, findings=(*judged.findings, finding))
    elsewhere = _newest_in_partitions(judged.one) - FARTHEST_CLOCKS_MS
    doubted = judge(entry_of(known), elsewhere)
    if not doubted.holds:
        finding = _overdue(judged.one, coordinator, doubted, elsewhere, COPIED_BEFORE)
        return replace(judged, findings=(*judged.findings, finding))
    return judged


def _beyond_fencing(one: JoinedTransaction, coordinator: LogIndex) -> Located:
    """An open transaction with the epoch that is kept for the fence, which a producer is never given."""
    known = one.known
    place, run = one.open[0] if one.open else (coordinator, None)
    message = (
        f"Ongoing with epoch {MAX_EPOCH}, the last one, which coordinators keep for themselves: before 4.3 none can "
        "raise it, so that the transaction is never aborted, nor its producer fenced (KAFKA-20090, KAFKA-20310)"
    )
    remedy = (
        f"give the producer another transactional id; on 4.3 and later its coordinator can abort it again: {TOOL} "
        f"forceTerminateTransaction --transactional-id {known.transactional_id}; before, end what it holds back: "
        f"{'; '.join([abort_command(at, own) for at, own in one.open][:6]) or 'nothing'}"
    )
    offset = run.first_offset if run is not None else known.first_offset
    step = "rotation of the producer id"
    return located(place, rules.FENCE_EPOCH_EXHAUSTION, offset, known, message, step, remedy, MAX_EPOCH)


def _newest_in_partitions(one: JoinedTransaction) -> int:
    """The newest time in the partitions of a transaction that are here."""
    places = [
        *(place for place, _ in one.open),
        *(ended.place for ended in one.ended),
        *(gap.place for gap in one.gaps),
    ]
    return max((place.summary.latest_ms for place in places), default=ABSENT)


def _overdue(
    one: JoinedTransaction, coordinator: CoordinatorPlace, check: RuleCheck, until_ms: int, doubt: str
) -> Located:
    known = one.known
    continues = (
        f"its partitions continue until {clock(until_ms)} and later, but {doubt}"
        if doubt
        else (f"{coordinator.place.name} continues until {clock(until_ms)}")
    )
    severity = Severity.UNDECIDED if doubt else Severity.SUSPICIOUS
    if known.state == TransactionState.ONGOING.value:
        due = known.started_ms + known.timeout_ms
        message = (
            f"Ongoing since {clock(known.started_ms)} with a timeout of {span(known.timeout_ms)}: its coordinator "
            f"should have aborted it by {clock(due + REAPER_INTERVAL)}; {continues}"
        )
        place, run = one.open[0] if one.open else (coordinator.place, None)
        offset = run.first_offset if run is not None else known.first_offset
        held = listed(f"{at.name} offset {own.first_offset}" for at, own in one.open)
        message += f"; it holds back {held}" if held else ""
        step, remedy, epoch = "abort of timed out transactions", _end_it(known, coordinator.place), known.producer_epoch
    else:
        place, offset = coordinator.place, known.prepared_offset
        waiting = listed(gap.place.name for gap in one.gaps)
        markers = f"no marker in {waiting}" if waiting else f"{len(one.ended)} markers are written"
        state = "PrepareCommit" if outcome_word(known.outcome) == "COMMIT" else "PrepareAbort"
        message = (
            f"{state} since {clock(known.prepared_ms)} without its Complete record ({markers}); {continues}: until it "
            "is complete, the producer of the id is answered CONCURRENT_TRANSACTIONS"
        )
        step, remedy, epoch = "completion after the markers", _load_again(known, coordinator.place), known.marker_epoch
    if doubt:
        remedy = f"copy {coordinator.place.name} again; if nothing else is in it then, {remedy}"
    return located(place, check.rule, offset, known, message, step, remedy, epoch, severity)


def _end_it(known: CoordinatorTransaction, place: LogIndex) -> str:
    name = known.transactional_id
    return (
        f"see what its coordinator has in memory: {TOOL} describe --transactional-id {name}; a producer that calls "
        f"initTransactions with this id aborts it, as {TOOL} forceTerminateTransaction --transactional-id {name} does "
        f"from 4.1 on; where that does not help, restart the leader of {place.name}"
    )


def _load_again(known: CoordinatorTransaction, place: LogIndex) -> str:
    return (
        f"see what its coordinator has in memory: {TOOL} describe --transactional-id {known.transactional_id}; where "
        f"it stays prepared and all of its partitions have leaders, restart the leader of {place.name}, or let another "
        "replica lead it: a coordinator that loads the record sends the markers again and completes"
    )


@evidences(rules.TXN_TIMEOUT, Layer.AUDIT)
def overdue_data(producers: Iterable[ProducerTransactions], here: Sequence[int]) -> Iterator[Located]:
    """Data without a marker that is older than any timeout allows, of producer ids of unknown coordinators.

    Args:
        producers: of which no log of a coordinator has the producer id.
        here: the partitions of the coordinators' log that are given.
    """
    for producer in producers:
        for place, run, _ in producer.loose_runs:
            if place.summary.tail_lost or place.behind:
                continue
            since, until, whose = times_of(place.summary, run)
            check = judge_data(since, until)
            if ABSENT not in (since, until) and not check.holds:
                yield place, _overdue_data(check, run, since, until, whose, fetch_next(run.producer_id, here))


def times_of(summary: PartitionTransactions, run: DataRun) -> tuple[int, int, str]:
    """Since when data waits for its marker and until when its partition goes on, and by whose clocks.

    Markers have times of brokers. Timestamps of data are the clients' to set.
    """
    since = run.appended_ms
    after = max((one.timestamp for one in summary.markers if one.offset > run.last_offset), default=ABSENT)
    return (
        (since, after, "by the markers behind it")
        if after > since
        else (since, summary.latest_ms, "by the timestamps of its records, which clients may set as they like")
    )


def _overdue_data(check: RuleCheck, run: DataRun, since: int, until: int, whose: str, where: str) -> Finding:
    message = (
        f"transactional data without a marker since {clock(since)}, and the partition continues until {clock(until)} "
        f"({whose}): {span(until - since)}, while no transaction may take longer than {span(LARGEST_TIMEOUT)} "
        "(transaction.max.timeout.ms, if it is the default): it may hang"
    )
    return Finding(
        rule=check.rule,
        severity=Severity.SUSPICIOUS,
        offset=run.first_offset,
        producer_id=run.producer_id,
        producer_epoch=run.producer_epoch,
        message=message,
        step="abort of timed out transactions",
        remedy=where,
    )
