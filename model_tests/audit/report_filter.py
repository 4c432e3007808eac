"""The part of an audit report that the options select: everything is judged, whatever is shown.

No segment is skipped for its time: the state that a batch meets, and the outcome of a transaction, come from all
that lies before and after it.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from model_tests.audit.findings import Finding
from model_tests.audit.times import times_at
from model_tests.audit.transactions_report import ListedTransactions
from model_tests.common.reports import BadInput
from model_tests.logs.kafka_log_folders import list_logs
from spec.vocabulary import ABSENT

if TYPE_CHECKING:
    from model_tests.audit.partition_verdict import AuditedTransactionLog
    from model_tests.audit.transactions import TransactionsReport


def time_of(text: str, option: str) -> int:
    """Milliseconds since 1970 of a time as ISO 8601 writes it (UTC unless it has a zone), or of such a number.

    Raises:
        BadInput: it is neither.
    """
    if not text:
        return ABSENT
    if text.isdecimal() and len(text) > 8:
        return int(text)
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        wanted = "a time as 2026-01-31T12:00:00Z, or milliseconds since 1970"
        raise BadInput(f"{option} takes {wanted}; not {text!r}") from error
    return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000)


def chosen_findings(
    logs: Sequence["AuditedTransactionLog"],
    findings: Sequence[tuple[Finding, ...]],
    shown: ListedTransactions,
    transactions: "TransactionsReport",
) -> list[tuple[Finding, ...]]:
    """The selected findings of each log.

    Args:
        logs: of all partitions and brokers, in order.
        findings: of each log.
        shown: what is to be reported.
        transactions: as they were joined over all logs.
    """
    producers = {
        one.one.known.producer_id
        for one in transactions.judged
        if one.one.known.transactional_id == shown.transactional_id
    }
    requested = [tuple(one for one in own if _is_about(one, shown, producers)) for own in findings]
    if not shown.timed:
        return requested
    return [_in_time(log, own, shown) if own else () for log, own in zip(logs, requested, strict=True)]


def _is_about(finding: Finding, shown: ListedTransactions, producers: Collection[int]) -> bool:
    """Whether it is about the selected producer and transactional id, among others or alone."""
    about = {finding.producer_id, finding.transactional_id, *finding.others}
    if shown.producer_id not in (ABSENT, *about):
        return False
    return not shown.transactional_id or shown.transactional_id in about or not about.isdisjoint(producers)


def _in_time(
    log: "AuditedTransactionLog", findings: tuple[Finding, ...], shown: ListedTransactions
) -> tuple[Finding, ...]:
    """Those of which a batch has a selected time, where it is missing or where it comes; or no time at all."""
    folder = next(iter(list_logs([log.path]).logs), None)
    if folder is None:
        return findings
    offsets = sorted({offset for one in findings for offset in (one.offset, *one.found_at)})
    times = dict(zip(offsets, times_at(folder, offsets), strict=True))

    def is_in_time(offset: int) -> bool:
        return times[offset] == ABSENT or shown.covers(times[offset], times[offset])

    return tuple(one for one in findings if any(map(is_in_time, (one.offset, *one.found_at))))


def shown_in_words(shown: ListedTransactions, topics: Sequence[str]) -> tuple[str, ...]:
    """What is shown, one line for each choice; none where that is everything."""
    lines = []
    if topics:
        lines.append(f"only {' and '.join(topics)}, and the brokers' own topics")
    if shown.producer_id != ABSENT:
        lines.append(f"only findings and transactions of producer {shown.producer_id}")
    if shown.transactional_id:
        lines.append(f"only findings and transactions of {shown.transactional_id}")
    if shown.timed:
        since = f" from {_worded(shown.since_ms)}" if shown.since_ms != ABSENT else ""
        until = f" up to {_worded(shown.until_ms)}" if shown.until_ms != ABSENT else ""
        lines.append(f"only findings and transactions{since}{until}; all of the logs was judged")
    return tuple(lines)


def _worded(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
