"""A client's journal joined with all logs: one replica of each partition answers for what was acknowledged there."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from model_tests.audit.audited_log import AuditedTransactionLog
from model_tests.audit.findings import Finding
from model_tests.audit.history_judge import HistoryReport, TalliedLog, judge_history
from model_tests.audit.losses import Led
from model_tests.audit.transactions import TransactionsReport
from model_tests.audit.transactions_clusters import places_of
from model_tests.histories.journal import ClientJournal
from model_tests.histories.severity import Severity
from spec import rules

_HANGS = (rules.TXN_MARKER_ONCE, rules.OFFSETS_ATOMIC, rules.TXN_REGISTERED_BEFORE_DATA)


def audit_history(
    journal: ClientJournal,
    logs: Sequence[AuditedTransactionLog],
    transactions: TransactionsReport,
    findings: Sequence[tuple[Finding, ...]],
    led: Mapping[int, Led] = MappingProxyType({}),
) -> tuple[HistoryReport, list[tuple[Finding, ...]]]:
    """The journal's report, and all findings of each log with those that the journal adds.

    Args:
        journal: what clients wrote down.
        logs: of all partitions and brokers, in order.
        transactions: as they were joined over all logs.
        findings: of each log.
        led: by the number of the log who led its partition, and what elections may have taken from it.
    """
    hanging = {
        (number, finding.producer_id)
        for number, own in enumerate(findings)
        for finding in own
        if finding.rule in _HANGS and finding.severity in (Severity.VIOLATION, Severity.KNOWN)
    }
    report, located = judge_history(journal, _replicas(logs, led), transactions.identities, hanging)
    together = [list(own) for own in findings]
    for number, finding in located:
        together[number].append(finding)
    return report, [tuple(sorted(own, key=lambda one: (one.offset, one.rule.id))) for own in together]


def _replicas(logs: Sequence[AuditedTransactionLog], led: Mapping[int, Led]) -> list[TalliedLog]:
    """Of each partition the replica that is furthest."""
    places = places_of(
        (number, log.topic, log.partition, log.verdict.reported.here)
        for number, log in enumerate(logs)
        if log.verdict.reported is not None and log.verdict.tallies
    )
    first = {(place.topic, place.partition): place.log for place in reversed(places)}
    return [
        TalliedLog(
            number,
            f"{name[0]}-{name[1]}",
            *name,
            logs[number].verdict.tallies,
            led[number].losses if number in led else (),
            logs[number].verdict.offsets.log_end,
        )
        for name, number in sorted(first.items())
    ]
