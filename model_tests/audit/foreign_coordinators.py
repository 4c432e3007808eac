"""Folders of a coordinator's log of another cluster: none of its transactions is a transaction of these logs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from model_tests.audit.findings import Finding
from model_tests.audit.transactions_rows import marker_of, outcome_of
from model_tests.histories.severity import Severity
from model_tests.logs.kafka_log_segment import SegmentDamage
from spec.judging.judge_join import FARTHEST_CLOCKS_MS, agrees

if TYPE_CHECKING:
    from model_tests.audit.audited_log import AuditedTransactionLog
    from model_tests.audit.transactions import TransactionsReport

Findings = Sequence[tuple[Finding, ...]]

_EVENT: Final = 8
"""So many transactions of which no marker is here make it no chance, if so much is broken that is not without them."""

_EXPLAINED: Final = 8
"""At most one of so many findings may be left; that has another cause."""


def without_foreign(
    logs: Sequence["AuditedTransactionLog"],
    transactions: "TransactionsReport",
    findings: Findings,
    join: Callable[[Sequence["AuditedTransactionLog"]], Findings],
) -> tuple[list["AuditedTransactionLog"], list[SegmentDamage]]:
    """The logs, those of a coordinator of another cluster joined with none; and which these are.

    Args:
        logs: all of them.
        transactions: their evidence of transactions.
        findings: of each, joined with the coordinator's.
        join: the same of such logs.
    """
    odd = _broken(findings) >= _EVENT
    foreign = [number for number, log in enumerate(logs) if odd and _has_none_here(log, transactions)]
    if not foreign:
        return list(logs), []
    held = [
        replace(log, verdict=replace(log.verdict, reported=None)) if n in foreign else log for n, log in enumerate(logs)
    ]
    if _broken(join(held)) > _broken(findings) // _EXPLAINED:
        return list(logs), []
    return held, [SegmentDamage(logs[number].path, 0, _WHAT) for number in foreign]


_WHAT: Final = (
    "of all transactions that it has, no marker is here, by epoch, outcome and time: the folder is of another "
    "cluster, or of another time. Transactions are judged without it: copy the right one"
)


def _has_none_here(log: "AuditedTransactionLog", transactions: "TransactionsReport") -> bool:
    """Whether a log is a coordinator's, and none of the markers here is of one of its transactions."""
    reported = log.verdict.reported
    if reported is None or reported.coordinated is None:
        return False
    reports = set(reported.coordinated.transactions)
    own = [one.one for one in transactions.judged if one.one.known.completed and one.one.known in reports]
    markers = ((ended.marker, one.known) for one in own for ended in one.ended)
    here = any(agrees(outcome_of(of), marker_of(one), FARTHEST_CLOCKS_MS) for one, of in markers)
    return sum(bool(one.ended or one.gaps) for one in own) >= _EVENT and not here


def _broken(findings: Findings) -> int:
    return sum(one.severity is Severity.VIOLATION for own in findings for one in own)
