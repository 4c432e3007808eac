"""The transactions of the logs of a cluster: the partitions' summaries joined with their coordinator's log."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from model_tests.audit.controller_view import Controlled
from model_tests.audit.coordinator_log_history import CoordinatorHistory
from model_tests.audit.coordinators_compared import given_twice, judge_coordinator_epochs
from model_tests.audit.copy_horizon import reach_of
from model_tests.audit.ended_by import fenced_again
from model_tests.audit.findings import Finding
from model_tests.audit.marker_repairs import diagnose_markers
from model_tests.audit.orphan_markers import LATER, is_later, judge_loose, judge_unknown
from model_tests.audit.partition_verdict import AuditedTransactionLog
from model_tests.audit.transaction_findings import Located, placed_once
from model_tests.audit.transactions_causes import diagnose_causes
from model_tests.audit.transactions_clusters import all_coordinators, furthest, places_of
from model_tests.audit.transactions_join import JoinedTransaction, LogIndex, ProducerTransactions, joined
from model_tests.audit.transactions_judge import JudgedTransaction, TransactionStatus, judge_transactions
from model_tests.audit.transactions_overdue import (
    CoordinatorPlace,
    coordinator_place,
    overdue_data,
    with_overdue,
)
from model_tests.audit.transactions_summary import DataRun
from model_tests.common.reports import listed
from model_tests.logs.coordinator_log import TOPIC
from spec import rules
from spec.vocabulary import ABSENT

JUDGED: Final = (
    rules.TXN_ATOMIC,
    rules.TXN_ONE_OUTCOME,
    rules.TXN_MARKER_ONCE,
    rules.TXN_REGISTERED_BEFORE_DATA,
    rules.TXN_TIMEOUT,
    rules.TXN_COMPLETES,
)
"""Rules checked on every transaction that a coordinator's log has."""


@dataclass(frozen=True, slots=True)
class OpenData:
    """Data without a marker, of a producer id that no coordinator's log here knows."""

    place: LogIndex
    run: DataRun


@dataclass(frozen=True, slots=True)
class TransactionsReport:
    """What became of the transactions.

    Attributes:
        judged: every transaction that a coordinator's log has.
        unknown_open: open data of producer ids without a coordinator's log.
        unknown_ended: markers of such producer ids, by partition: what they end cannot be joined.
        missing: what would have to be given to decide more, each with how often it was missed.
        identities: for each transactional id of which everything is known, all producer ids that it had.
        coordinators: the partitions of the coordinators' log that are here.
        ids: the transactional ids in them, each with its partition.
        counted: for each rule's id, how much it was checked on.
    """

    judged: tuple[JudgedTransaction, ...] = ()
    unknown_open: tuple[OpenData, ...] = ()
    unknown_ended: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    identities: Mapping[str, frozenset[int]] = field(default_factory=dict)
    coordinators: tuple[int, ...] = ()
    ids: Mapping[str, int] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)

    @property
    def owners(self) -> dict[int, str]:
        """The transactional id of each producer id of which a transaction is known."""
        return {one.one.known.producer_id: one.one.known.transactional_id for one in self.judged}

    @property
    def counts(self) -> Counter[str]:
        """The number of transactions of each status."""
        return Counter(one.status.value for one in self.judged)

    def __bool__(self) -> bool:
        return bool(self.judged or self.unknown_open or self.unknown_ended)


def audit_transactions(
    logs: Sequence[AuditedTransactionLog], controllers: Mapping[str, Controlled] = MappingProxyType({})
) -> tuple[TransactionsReport, list[tuple[Finding, ...]]]:
    """Join the logs' evidence of transactions; with all findings of each log, in the order of the logs.

    Args:
        logs: every log.
        controllers: by cluster the view of the controller's log, where there is one.
    """
    clusters: dict[str, list[int]] = {}
    for number, log in enumerate(logs):
        if log.verdict.reported is not None:
            clusters.setdefault(log.cluster, []).append(number)
    reports, found = [], []
    for cluster, numbers in clusters.items():
        report, located = _cluster(logs, numbers, controllers.get(cluster))
        reports.append(report)
        found += located
    return _together(reports), _merged(logs, found)


def _cluster(
    logs: Sequence[AuditedTransactionLog], numbers: Iterable[int], controller: Controlled | None
) -> tuple[TransactionsReport, list[Located]]:
    reported = [(number, logs[number], logs[number].verdict.reported) for number in numbers]
    histories = furthest((number, one.coordinated, one.here) for number, _, one in reported if one and one.coordinated)
    known = [history for _, history in histories]
    places = places_of(
        ((number, log.topic, log.partition, one.here) for number, log, one in reported if one and log.topic != TOPIC),
        controller.led if controller is not None else {},
        controller.behind if controller is not None else frozenset(),
    )
    transactions = [transaction for history in known for transaction in history.transactions]
    coordinators = {
        name: coordinator_place(number, history.partition, evidence.here)
        for number, history in histories
        for evidence in [logs[number].verdict.reported]
        if evidence is not None
        for name in history.ids
    }
    given = {(place.topic, place.partition) for place in places}
    report, found = _judge(joined(places, transactions), known, given, coordinators)
    found += given_twice(histories)
    if controller is not None:
        found += judge_coordinator_epochs(places, known, controller)
    return report, placed_once(found)


def _judge(
    producers: Sequence[ProducerTransactions],
    known: Sequence[CoordinatorHistory],
    given: set[tuple[str, int]],
    coordinators: Mapping[str, CoordinatorPlace],
) -> tuple[TransactionsReport, list[Located]]:
    identities = {identity.producer_id: identity for history in known for identity in history.identities}
    whole = all_coordinators(known)
    until = max((history.known_until_ms for history in known), default=ABSENT)
    reported = reach_of(producers, known)
    found: list[Located] = []
    missing: Counter[str] = Counter()
    unknown = [producer for producer in producers if producer.producer_id not in identities]
    for producer in producers:
        identity = identities.get(producer.producer_id)
        if identity is None:
            found += judge_unknown(producer, whole, until)
            continue
        found += judge_loose(producer, identity, until, reported)
        if is_later(producer, identity, until):
            missing[LATER] += 1
    own = [one for producer in producers if producer.producer_id in identities for one in producer.transactions]
    judged = [_with_absent(one, given) for one in judge_transactions(own, reported)]
    judged, found = diagnose_markers(judged, [ended for producer in producers for ended in producer.loose], found)
    judged = with_overdue(judged, coordinators)
    found += fenced_again((transaction for history in known for transaction in history.transactions), coordinators)
    found += [located for one in judged for located in one.findings]
    if not whole:
        found += overdue_data(unknown, sorted(history.partition for history in known))
    for one in judged:
        missing.update(_kind(why) for why in one.missing)
    opened = [OpenData(place, run) for producer in unknown for place, run, _ in producer.loose_runs]
    ended = sum(len(producer.loose) for producer in unknown)
    if unknown and not whole:
        missing["the coordinator's log of a producer id (its partition of __transaction_state)"] += len(unknown)
    report = TransactionsReport(
        tuple(judged),
        tuple(opened) if not whole else (),
        ended,
        missing,
        _all_identities(known),
        tuple(sorted(history.partition for history in known)),
        {name: history.partition for history in known for name in history.ids},
        {rule.id: len(judged) for rule in JUDGED}
        | {rules.OFFSETS_ATOMIC.id: sum(_has_offsets(one.one) for one in judged)},
    )
    return report, found


def _with_absent(judged: JudgedTransaction, given: set[tuple[str, int]]) -> JudgedTransaction:
    """Name the registered partitions whose logs are not here."""
    absent = judged.one.known.partitions - given
    if not absent:
        return judged
    names = listed(f"{topic}-{partition}" for topic, partition in sorted(absent))
    return replace(judged, missing=(*judged.missing, f"{names}: no log of it was read"), unread=absent)


def _kind(why: str) -> str:
    return why.rpartition(": ")[2]


def _has_offsets(one: JoinedTransaction) -> bool:
    return any(topic == "__consumer_offsets" for topic, _ in one.known.partitions)


def _together(reports: Sequence[TransactionsReport]) -> TransactionsReport:
    missing: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for report in reports:
        missing.update(report.missing)
        counted.update(report.counted)
    return TransactionsReport(
        tuple(one for report in reports for one in report.judged),
        tuple(one for report in reports for one in report.unknown_open),
        sum(report.unknown_ended for report in reports),
        missing,
        {name: own for report in reports for name, own in report.identities.items()},
        tuple(dict.fromkeys(one for report in reports for one in report.coordinators)),
        {name: partition for report in reports for name, partition in report.ids.items()},
        counted,
    )


def _all_identities(known: Sequence[CoordinatorHistory]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for identity in (one for history in known if history.whole for one in history.identities):
        found.setdefault(identity.transactional_id, set()).add(identity.producer_id)
    return {name: frozenset(own) for name, own in found.items()}


def _merged(logs: Sequence[AuditedTransactionLog], found: Iterable[Located]) -> list[tuple[Finding, ...]]:
    """The findings of each log, those of the join among them, with their consequences."""
    joined: dict[int, list[Finding]] = {}
    for place, finding in found:
        joined.setdefault(place.log, []).append(finding)
    merged = [_diagnosed(log, joined.get(number, [])) for number, log in enumerate(logs)]
    return [tuple(sorted(held, key=lambda one: (one.offset, one.rule.id))) for held in merged]


def _diagnosed(log: AuditedTransactionLog, joined: Sequence[Finding]) -> list[Finding]:
    verdict = log.verdict
    runs = verdict.reported.here.runs if verdict.reported is not None else ()
    return diagnose_causes(verdict.findings, joined, runs, verdict.batches)


def doubtful(report: TransactionsReport) -> list[JudgedTransaction]:
    """The transactions that are neither committed nor aborted as they should be."""
    return [one for one in report.judged if one.status not in (TransactionStatus.COMMITTED, TransactionStatus.ABORTED)]
